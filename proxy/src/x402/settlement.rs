//! A seller's word on what became of a payment: `PAYMENT-RESPONSE` (v2) or `X-PAYMENT-RESPONSE` (v1), or a member of the answer to a call.
//!
//! In: the fields of its answer, or the [answer to a call](call). Out: whether it says that the payment was settled, and where. Read leniently, because nothing is allowed or
//! refused by it, and within bounds, because the seller writes it. It proves nothing: it is passed on as what the seller said.

pub mod call;

use std::fmt;

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use http::{HeaderMap, HeaderName};
use serde::Deserialize;

use super::claim::{AtomicAmount, Version};

/// The largest field value or member that is looked at; honest ones are under 1 KiB.
const MAX_BYTES: usize = 8 << 10;
const V1: HeaderName = HeaderName::from_static("x-payment-response");
const V2: HeaderName = HeaderName::from_static("payment-response");

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settlement {
    /// Whether the money moved.
    pub outcome: SettlementOutcome,
    /// The transaction, if one is named as EVM chains name them.
    pub transaction: Option<TransactionHash>,
    /// How much was taken, if that is said.
    pub amount: Option<AtomicAmount>,
}

/// What the seller says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettlementOutcome {
    /// `"success": true`.
    Settled,
    /// Anything else.
    Failed,
}

/// 32 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransactionHash([u8; 32]);

impl fmt::Display for TransactionHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{}", hex::encode(self.0))
    }
}

impl TransactionHash {
    fn parse(text: &str) -> Option<Self> {
        let mut hash = [0; 32];
        hex::decode_to_slice(text.strip_prefix("0x")?, &mut hash).ok()?;
        Some(TransactionHash(hash))
    }
}

#[derive(Deserialize)]
struct Document {
    success: bool,
    #[serde(default)]
    transaction: serde_json::Value,
    #[serde(default)]
    amount: serde_json::Value,
}

impl Settlement {
    /// What the fields say; first the one that goes with the payment's version. `None`: nothing that can be read.
    pub fn find(version: Version, headers: &HeaderMap) -> Option<Self> {
        let names = match version {
            Version::V1 => [V1, V2],
            Version::V2 => [V2, V1],
        };
        names.iter().find_map(|name| Self::parse(headers.get(name)?.as_bytes()))
    }

    fn parse(value: &[u8]) -> Option<Self> {
        if value.len() > MAX_BYTES {
            return None;
        }
        Self::read(&decode(value.trim_ascii())?)
    }

    fn read(document: &[u8]) -> Option<Self> {
        if !document.trim_ascii_start().starts_with(b"{") {
            return None; // serde takes an array for an object without names
        }
        let Document {
            success,
            transaction,
            amount,
        } = serde_json::from_slice(document).ok()?;
        Some(Settlement {
            outcome: if success {
                SettlementOutcome::Settled
            } else {
                SettlementOutcome::Failed
            },
            transaction: transaction.as_str().and_then(TransactionHash::parse),
            amount: amount.as_str().and_then(|text| AtomicAmount::parse(text).ok()),
        })
    }
}

/// Either alphabet, with padding or without.
fn decode(value: &[u8]) -> Option<Vec<u8>> {
    let lenient = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    [STANDARD, URL_SAFE]
        .iter()
        .find_map(|alphabet| GeneralPurpose::new(alphabet, lenient).decode(value).ok())
}

#[cfg(test)]
mod tests;
