//! The payment of a case. A signed one in a file would expire, so it is written by its terms and signed when the case runs: with a key
//! made for that moment, which holds nothing; or, where agents have no key, written as they write it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderName, HeaderValue};
use serde_json::{Value, json};
use thiserror::Error;

use crate::demo::Payer;
use crate::signer::config::SignerRule;
use crate::x402::address::Address;
use crate::x402::amount::AmountError;
use crate::x402::assets;
use crate::x402::claim::{Asset, AtomicAmount, EvmAddress};
use crate::x402::network::Caip2;
use crate::x402::scheme::Scheme;
use crate::x402::solana::SolanaAddress;

const HEADER: HeaderName = HeaderName::from_static("payment-signature");
/// What SDKs are offered by default.
const LIFETIME: u64 = 60;

/// Why there is nothing to sign.
#[derive(Debug, Error)]
pub(super) enum PaymentError {
    /// It is unknown, or cannot be moved by the scheme, so nobody could sign for it.
    #[error("{asset} on {network} is not an asset that Tollgate knows how to sign for by `{scheme}`")]
    Asset { scheme: Scheme, network: Caip2, asset: Address },
    /// An address of another kind of chain.
    #[error("`payee`: {payee} is not an address on {network}")]
    Payee { network: Caip2, payee: Address },
    /// Not an amount of the asset.
    #[error("`amount`: {0}")]
    Amount(#[from] AmountError),
}

/// See the module.
pub(super) struct Payment {
    scheme: Scheme,
    asset: Asset,
    payee: Address,
    amount: AtomicAmount,
}

impl Payment {
    /// `amount` is in the asset's own units; of `upto` it is the ceiling.
    pub(super) fn new(scheme: Scheme, network: Caip2, asset: Address, payee: Address, amount: &str) -> Result<Self, PaymentError> {
        let asset = assets::table()
            .map(|known| known.asset)
            .find(|known| (known.network, known.address) == (network, asset) && scheme.can_move(known))
            .ok_or(PaymentError::Asset { scheme, network, asset })?;
        if payee.evm().is_some() != asset.address.evm().is_some() {
            return Err(PaymentError::Payee { network, payee });
        }
        let amount = AtomicAmount::parse_decimal(amount, asset.decimals)?;
        Ok(Payment {
            scheme,
            asset,
            payee,
            amount,
        })
    }

    /// What a seller's offer says of the scheme alone. Who settles is nobody.
    fn extra(&self) -> Value {
        let mut extra = match self.scheme {
            Scheme::Exact => json!({}),
            Scheme::ExactPermit2 => json!({ "assetTransferMethod": "permit2" }),
            Scheme::Upto => json!({ "facilitatorAddress": EvmAddress(rand::random()).to_string() }),
            Scheme::ExactSvm => json!({ "feePayer": SolanaAddress(rand::random()).to_string() }),
        };
        if let (Some(domain), Some(members)) = (self.asset.domain(), extra.as_object_mut()) {
            members.insert("name".to_owned(), domain.name.clone().into());
            members.insert("version".to_owned(), domain.version.clone().into());
        }
        extra
    }

    /// The header field of a client that was asked for this payment for `url`; `None` if the system has no randomness. `rule` is that of the
    /// operator's signer, if there is one.
    pub(super) fn signed(&self, url: &str, now: u64, rule: Option<&SignerRule>) -> Option<(HeaderName, HeaderValue)> {
        let challenge = json!({
            "x402Version": 2,
            "resource": { "url": url },
            "accepts": [{
                "scheme": if self.scheme == Scheme::Upto { "upto" } else { "exact" },
                "network": self.asset.network.to_string(),
                "asset": self.asset.address.to_string(),
                "amount": self.amount.0.to_string(),
                "payTo": self.payee.to_string(),
                "maxTimeoutSeconds": LIFETIME,
                "extra": self.extra(),
            }],
        });
        let challenge = HeaderValue::from_str(&STANDARD.encode(challenge.to_string())).ok()?;
        let value = Payer::new()?.pay(&challenge, &self.asset, now)?;
        let from = match self.scheme {
            Scheme::Exact => Some("/payload/authorization/from"),
            Scheme::ExactPermit2 | Scheme::Upto => Some("/payload/permit2Authorization/from"),
            // The operator's wallet is not on this chain.
            Scheme::ExactSvm => None,
        };
        let value = match rule.and_then(|rule| Some((rule.wallet, rule.placeholder?, from?))) {
            None => value,
            Some((wallet, placeholder, from)) => {
                let mut payment: Value = serde_json::from_slice(&STANDARD.decode(value.as_bytes()).ok()?).ok()?;
                *payment.pointer_mut(from)? = wallet.to_string().into();
                *payment.pointer_mut("/payload/signature")? = placeholder.to_string().into();
                HeaderValue::from_str(&STANDARD.encode(payment.to_string())).ok()?
            }
        };
        Some((HEADER, value))
    }
}
