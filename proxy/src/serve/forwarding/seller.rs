//! The origin: it writes down what arrives, and reads it as the most lenient seller would.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::Response;
use k256::ecdsa::{RecoveryId, Signature, VerifyingKey};
use ruint::aliases::U256;
use serde_json::Value;
use tokio::net::TcpListener;

use super::base64::decode_tolerant;
use super::vessel::{Vessel, domain};
use crate::x402::claim::EvmAddress;
use crate::x402::eip712::TransferWithAuthorization;
use crate::x402::signature::address_of;

/// What a signature moves.
pub(super) type Money = TransferWithAuthorization;

type Log = Arc<Mutex<HashMap<String, Vec<Seen>>>>;

pub(super) struct Seller {
    pub(super) port: u16,
    log: Log,
}

/// A request as it arrived.
#[derive(Debug)]
pub(super) struct Seen {
    /// The values of the fields that some seller takes for a payment's.
    pub(super) payments: Vec<Vec<u8>>,
    pub(super) body: Vec<u8>,
}

impl Seller {
    pub(super) async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let log = Log::default();
        let router = axum::Router::new().fallback(write_down).with_state(log.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        Seller { port, log }
    }

    /// What arrived, by path.
    pub(super) fn seen(self) -> HashMap<String, Vec<Seen>> {
        std::mem::take(&mut *self.log.lock().unwrap())
    }
}

async fn write_down(log: axum::extract::State<Log>, request: Request) -> Response<Body> {
    let (head, body) = request.into_parts();
    let named = |name: &str| matches!(name.replace('_', "-").as_str(), "x-payment" | "payment-signature");
    let payments = head.headers.iter().filter(|(name, _)| named(name.as_str()));
    let seen = Seen {
        payments: payments.map(|(_, value)| value.as_bytes().to_vec()).collect(),
        body: to_bytes(body, 1 << 20).await.unwrap().to_vec(),
    };
    log.lock().unwrap().entry(head.uri.path().to_owned()).or_default().push(seen);
    Response::new(Body::empty())
}

impl Seen {
    /// What a seller would get who takes all that any seller takes.
    pub(super) fn money(&self) -> Vec<Money> {
        let in_fields = self.payments.iter().flat_map(|value| value.split(|byte| *byte == b','));
        let in_fields = in_fields.filter_map(|value| document(&from_base64(value)?));
        let body = String::from_utf8_lossy(&self.body);
        let documents = serde_json::Deserializer::from_str(body.trim_start_matches('\u{feff}')).into_iter::<Value>();
        let calls = documents.map_while(Result::ok).flat_map(|document| match document {
            Value::Array(calls) => calls,
            call => vec![call],
        });
        let in_body = calls.flat_map(|call| {
            let ways = [Vessel::Mcp.path(), Vessel::A2a.path()].into_iter();
            ways.filter_map(|way| way.iter().try_fold(&call, |value, name| member(value, name)).cloned())
                .collect::<Vec<_>>()
        });
        in_fields.chain(in_body).filter_map(|payment| moves(&payment)).collect()
    }
}

/// Foreign bytes are dropped, what follows the padding is not read.
fn from_base64(value: &[u8]) -> Option<Vec<u8>> {
    let digits = value.iter().take_while(|byte| **byte != b'=');
    let digits = digits
        .filter(|byte| byte.is_ascii_alphanumeric() || b"+/-_".contains(byte))
        .map(|byte| match byte {
            b'-' => b'+',
            b'_' => b'/',
            other => *other,
        });
    decode_tolerant(&digits.collect::<Vec<_>>())
}

/// The first document; the last of two members counts.
fn document(bytes: &[u8]) -> Option<Value> {
    let text = String::from_utf8_lossy(bytes);
    serde_json::Deserializer::from_str(text.trim_start_matches('\u{feff}'))
        .into_iter()
        .next()?
        .ok()
}

/// In any case.
fn member<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    let object = value.as_object()?;
    let folded = || {
        object
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    };
    object.get(name).or_else(folded)
}

/// What the chain would move: the signature has to be the payer's.
fn moves(payment: &Value) -> Option<Money> {
    let payload = member(payment, "payload")?;
    let authorization = member(payload, "authorization")?;
    let text = |name: &str| {
        let value = member(authorization, name)?;
        Some(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    };
    let bytes = |text: &str| hex::decode(text.trim().trim_start_matches("0x").trim_start_matches("0X")).ok();
    let address = |name: &str| bytes(&text(name)?)?.try_into().ok().map(EvmAddress);
    let number = |name: &str| text(name)?.trim().parse::<U256>().ok();
    let transfer = TransferWithAuthorization {
        from: address("from")?,
        to: address("to")?,
        value: number("value")?,
        valid_after: number("validAfter")?,
        valid_before: number("validBefore")?,
        nonce: bytes(&text("nonce")?)?.try_into().ok()?,
    };
    let signature = bytes(member(payload, "signature")?.as_str()?)?;
    let (rs, v) = signature.split_at_checked(64)?;
    let recovery = RecoveryId::from_byte(v.first()? % 27)?;
    let key = VerifyingKey::recover_from_prehash(&transfer.digest(&domain()), &Signature::from_slice(rs).ok()?, recovery).ok()?;
    (address_of(&key) == Some(transfer.from)).then_some(transfer)
}
