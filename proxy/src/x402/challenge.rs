//! A seller's challenge: what a 402 (or a 412, after a missing allowance) asks for, so that a payment can be held against it.
//!
//! In: the `PAYMENT-REQUIRED` field (v2) or the body (v1). Out: the offers that could be judged if they were paid. Offers in other
//! schemes, chains or shapes are left out: a payment for them is refused anyway. What is read here is not signed by anybody and is
//! believed in one direction only: a payment has to match it.

use thiserror::Error;

use super::base64;
use super::claim::{AtomicAmount, EvmAddress, Version};
use super::json::{self, JsonError, Object, Value};
use super::network::Caip2;
use super::payment::MAX_DEPTH;
use super::resource::ResourceUrl;

/// The largest challenge that is read, in bytes; the ones seen in the wild are under 4 KiB.
pub const MAX_CHALLENGE_BYTES: usize = 64 << 10;
/// Offers of one challenge that are remembered; real ones have up to a dozen.
const MOST_OFFERS: usize = 32;

/// Why an answer holds no challenge that a payment could answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ChallengeError {
    /// Larger than [`MAX_CHALLENGE_BYTES`].
    #[error("the challenge is too large to be read")]
    TooLarge,
    /// The field is not base64 in its one spelling.
    #[error("PAYMENT-REQUIRED is not canonical base64")]
    Base64,
    /// Not one strict JSON document.
    #[error("the challenge is {0}")]
    Json(#[from] JsonError),
    /// JSON, but not a challenge of this version.
    #[error("{0}")]
    Shape(&'static str),
}

/// What one answer asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    /// By where it stood and `x402Version` alike.
    pub version: Version,
    /// In the seller's order.
    pub offers: Vec<Asked>,
}

/// One way to pay: scheme `exact` on an EVM chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The chain.
    pub network: Caip2,
    /// The token contract.
    pub asset: EvmAddress,
    /// The price.
    pub amount: AtomicAmount,
    /// Who is to be paid.
    pub pay_to: EvmAddress,
    /// How long the seller waits for the payment, in seconds.
    pub max_timeout: u64,
    /// What is sold.
    pub resource: ResourceUrl,
}

impl Challenge {
    /// Reads the value of a `PAYMENT-REQUIRED` field.
    pub fn from_header(value: &[u8]) -> Result<Self, ChallengeError> {
        if value.len() > MAX_CHALLENGE_BYTES {
            return Err(ChallengeError::TooLarge);
        }
        let bytes = base64::decode_canonical(value).ok_or(ChallengeError::Base64)?;
        read(&bytes, Version::V2)
    }

    /// Reads the body of a 402, its content coding undone.
    pub fn from_body(bytes: &[u8]) -> Result<Self, ChallengeError> {
        if bytes.len() > MAX_CHALLENGE_BYTES {
            return Err(ChallengeError::TooLarge);
        }
        read(bytes, Version::V1)
    }
}

fn read(bytes: &[u8], version: Version) -> Result<Challenge, ChallengeError> {
    let document = json::parse(bytes, MAX_DEPTH)?;
    let document = document
        .as_object()
        .ok_or(ChallengeError::Shape("the challenge is not an object"))?;
    match document.get("x402Version") {
        Some(Value::Integer(number)) if *number == version.number() => {}
        _ => return Err(ChallengeError::Shape("x402Version is not the one that belongs here")),
    }
    let Some(Value::Array(accepts)) = document.get("accepts") else {
        return Err(ChallengeError::Shape("accepts is not an array"));
    };
    let sold = document.object("resource").and_then(|resource| resource.string("url"));
    let offers = accepts.iter().take(MOST_OFFERS).filter_map(Value::as_object);
    Ok(Challenge {
        version,
        offers: offers.filter_map(|offer| Asked::read(offer, version, sold)).collect(),
    })
}

impl Asked {
    fn read(offer: &Object<'_>, version: Version, sold: Option<&str>) -> Option<Self> {
        if offer.string("scheme") != Some("exact") {
            return None;
        }
        let network = offer.string("network")?;
        let (network, amount, resource) = match version {
            Version::V1 => (
                Caip2::from_v1_name(network).ok()?,
                offer.string("maxAmountRequired")?,
                offer.string("resource")?,
            ),
            Version::V2 => (Caip2::parse(network).ok()?, offer.string("amount")?, sold?),
        };
        let max_timeout = match offer.get("maxTimeoutSeconds") {
            Some(Value::Integer(seconds)) if *seconds > 0 => *seconds,
            _ => return None,
        };
        Some(Asked {
            network,
            asset: EvmAddress::parse(offer.string("asset")?).ok()?,
            amount: AtomicAmount::parse(amount).ok()?,
            pay_to: EvmAddress::parse(offer.string("payTo")?).ok()?,
            max_timeout,
            resource: ResourceUrl::parse(resource)?,
        })
    }
}

#[cfg(test)]
mod tests;
