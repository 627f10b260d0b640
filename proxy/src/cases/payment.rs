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
use crate::x402::claim::{Asset, AtomicAmount};
use crate::x402::network::Caip2;

const HEADER: HeaderName = HeaderName::from_static("payment-signature");
/// What SDKs are offered by default.
const LIFETIME: u64 = 60;

/// Why there is nothing to sign.
#[derive(Debug, Error)]
pub(super) enum PaymentError {
    /// Its EIP-712 domain is unknown, so nobody could sign for it.
    #[error("{asset} on {network} is not an asset that Tollgate knows how to sign for")]
    Asset { network: Caip2, asset: Address },
    /// Not an amount of the asset.
    #[error("`amount`: {0}")]
    Amount(#[from] AmountError),
}

/// See the module.
pub(super) struct Payment {
    asset: Asset,
    payee: Address,
    amount: AtomicAmount,
}

impl Payment {
    /// `amount` is in the asset's own units.
    pub(super) fn new(network: Caip2, asset: Address, payee: Address, amount: &str) -> Result<Self, PaymentError> {
        let asset = assets::table()
            .map(|known| known.asset)
            .find(|known| (known.network, known.address) == (network, asset) && known.domain().is_some())
            .ok_or(PaymentError::Asset { network, asset })?;
        let amount = AtomicAmount::parse_decimal(amount, asset.decimals)?;
        Ok(Payment { asset, payee, amount })
    }

    /// The header field of a client that was asked for this payment for `url`; `None` if the system has no randomness. `rule` is that of the
    /// operator's signer, if there is one.
    pub(super) fn signed(&self, url: &str, now: u64, rule: Option<&SignerRule>) -> Option<(HeaderName, HeaderValue)> {
        let domain = self.asset.domain()?;
        let challenge = json!({
            "x402Version": 2,
            "resource": { "url": url },
            "accepts": [{
                "scheme": "exact",
                "network": self.asset.network.to_string(),
                "asset": self.asset.address.to_string(),
                "amount": self.amount.0.to_string(),
                "payTo": self.payee.to_string(),
                "maxTimeoutSeconds": LIFETIME,
                "extra": { "name": domain.name, "version": domain.version },
            }],
        });
        let challenge = HeaderValue::from_str(&STANDARD.encode(challenge.to_string())).ok()?;
        let value = Payer::new()?.pay(&challenge, &self.asset, now)?;
        let value = match rule.and_then(|rule| Some((rule.wallet, rule.placeholder?))) {
            None => value,
            Some((wallet, placeholder)) => {
                let mut payment: Value = serde_json::from_slice(&STANDARD.decode(value.as_bytes()).ok()?).ok()?;
                *payment.pointer_mut("/payload/authorization/from")? = wallet.to_string().into();
                *payment.pointer_mut("/payload/signature")? = placeholder.to_string().into();
                HeaderValue::from_str(&STANDARD.encode(payment.to_string())).ok()?
            }
        };
        Some((HEADER, value))
    }
}
