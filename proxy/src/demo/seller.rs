//! An x402 seller (version 2, scheme `exact`): asks for payment with a real challenge, checks what it gets, and delivers.
//!
//! Three resources at one price, of three payees: one that the operator knows, one that nobody knows, one that is refused.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::ServerConfig;
use serde_json::{Value, json};

use super::server::Server;
use crate::x402::address::Address;
use crate::x402::assets;
use crate::x402::claim::{Asset, EvmAddress, NonceHash, Version};
use crate::x402::eip712::SigningDomains;
use crate::x402::enabled::Enabled;
use crate::x402::network::Caip2;
use crate::x402::payment::Payment;
use crate::x402::scheme::Signer;

/// Base Sepolia: a test network, in case anybody takes the signatures elsewhere.
const CHAIN: Caip2 = Caip2::Eip155 { chain_id: 84_532 };
/// In atomic units: one cent.
const PRICE: &str = "10000";
/// The same in the asset's own units.
pub(super) const PRICE_DECIMAL: &str = "0.01";

/// What is for sale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Resource {
    /// Its payee is on the operator's list.
    Weather,
    /// Nobody knows its payee.
    Gossip,
    /// Its payee is refused.
    Casino,
}

impl Resource {
    const ALL: [Resource; 3] = [Resource::Weather, Resource::Gossip, Resource::Casino];

    pub(super) fn path(self) -> &'static str {
        match self {
            Resource::Weather => "/weather",
            Resource::Gossip => "/gossip",
            Resource::Casino => "/casino",
        }
    }

    pub(super) fn payee(self) -> Address {
        Address::Evm(EvmAddress(match self {
            Resource::Weather => [0x11; 20],
            Resource::Gossip => [0x22; 20],
            Resource::Casino => [0x33; 20],
        }))
    }
}

/// The token that is paid with.
pub(super) fn asset() -> Option<Asset> {
    assets::table()
        .map(|known| known.asset)
        .find(|asset| asset.network == CHAIN && asset.domain().is_some())
}

/// See the module.
pub(super) struct Seller {
    pub(super) server: Server,
    till: Arc<Till>,
}

/// What came in.
#[derive(Default)]
struct Till {
    /// `https://host:port` of the seller; known once it listens.
    base: Mutex<String>,
    asset: Option<Asset>,
    ledger: Mutex<Ledger>,
}

#[derive(Default)]
struct Ledger {
    unpaid: usize,
    /// Payment headers as they came, checked or not.
    headers: Vec<HeaderValue>,
    nonces: HashSet<NonceHash>,
}

impl Seller {
    pub(super) async fn start(name: &str, tls: &ServerConfig) -> io::Result<Self> {
        let till = Arc::new(Till {
            asset: asset(),
            ..Till::default()
        });
        let router = Router::new().fallback(serve).with_state(till.clone());
        let server = Server::start(router, tls).await?;
        *till.base.lock().unwrap_or_else(PoisonError::into_inner) = format!("https://{name}:{}", server.port());
        Ok(Seller { server, till })
    }

    /// Requests without a payment so far.
    pub(super) fn unpaid(&self) -> usize {
        self.till.ledger.lock().unwrap_or_else(PoisonError::into_inner).unpaid
    }

    /// Payment headers so far, in their order.
    pub(super) fn payments(&self) -> Vec<HeaderValue> {
        self.till.ledger.lock().unwrap_or_else(PoisonError::into_inner).headers.clone()
    }
}

async fn serve(State(till): State<Arc<Till>>, uri: Uri, headers: HeaderMap) -> Response {
    let Some(resource) = Resource::ALL.into_iter().find(|resource| resource.path() == uri.path()) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let mut ledger = till.ledger.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(header) = headers.get("payment-signature") else {
        ledger.unpaid += 1;
        return till.challenge(resource, "payment required");
    };
    ledger.headers.push(header.clone());
    match till.accept(resource, header, &mut ledger.nonces) {
        Ok(receipt) => (StatusCode::OK, [("payment-response", receipt)], "sunny, 21 degrees\n").into_response(),
        Err(why) => till.challenge(resource, why),
    }
}

impl Till {
    fn challenge(&self, resource: Resource, error: &str) -> Response {
        let url = format!("{}{}", self.base.lock().unwrap_or_else(PoisonError::into_inner), resource.path());
        let accepts: Vec<Value> = self.asset.iter().map(|asset| offer(resource, asset)).collect();
        let challenge = json!({
            "x402Version": 2,
            "error": error,
            "resource": { "url": url, "description": "one answer", "mimeType": "text/plain" },
            "accepts": accepts,
        });
        let head = [
            ("payment-required", STANDARD.encode(challenge.to_string())),
            (header::CONTENT_TYPE.as_str(), "application/json".into()),
        ];
        (StatusCode::PAYMENT_REQUIRED, head, "{}").into_response()
    }

    /// What a facilitator would check before it settles: who signed, for whom, how much, and that it is the first time.
    fn accept(&self, resource: Resource, header: &HeaderValue, nonces: &mut HashSet<NonceHash>) -> Result<String, &'static str> {
        let asset = self.asset.as_ref().ok_or("the seller has no asset")?;
        let payment = Payment::decode(Version::V2, header.as_bytes(), &Enabled::default()).map_err(|_| "the payment cannot be read")?;
        let signed = &payment.signed;
        if signed.signer(&SigningDomains::of(asset)) != Signer::Payer {
            return Err("the signature is not the payer's");
        }
        if !signed.pays(resource.payee()) || signed.amount().to_string() != PRICE {
            return Err("another payee or amount");
        }
        if !nonces.insert(signed.single_use().key(asset, signed.payer())) {
            return Err("the authorisation is used up");
        }
        let receipt =
            json!({ "success": true, "network": asset.network.to_string(), "payer": signed.payer().to_string(), "transaction": "" });
        Ok(STANDARD.encode(receipt.to_string()))
    }
}

fn offer(resource: Resource, asset: &Asset) -> Value {
    json!({
        "scheme": "exact",
        "network": asset.network.to_string(),
        "asset": asset.address.to_string(),
        "amount": PRICE,
        "payTo": resource.payee().to_string(),
        "maxTimeoutSeconds": 60,
        "extra": { "name": asset.domain().map(|domain| &domain.name), "version": asset.domain().map(|domain| &domain.version) },
    })
}
