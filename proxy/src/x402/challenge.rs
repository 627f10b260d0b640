//! A seller's challenge: what a 402 (or a 412, after a missing allowance) asks for, so that a payment can be held against it.
//!
//! In: the `PAYMENT-REQUIRED` field (v2) or the body (v1). Out: its options, as far as they could be judged if they were
//! paid, and the same document with fewer of them. Options in other schemes, chains or shapes cannot be paid: a payment for them is
//! refused anyway. What is read here is believed in one direction only: a payment has to match it.

use serde::Deserialize;
use serde_json::value::RawValue;
use thiserror::Error;

use super::address::Address;
use super::base64;
use super::claim::{AtomicAmount, Version};
use super::enabled::Enabled;
use super::extensions::{self, IdentifierTerms};
use super::json::{self, JsonError, Object, Value};
use super::network::Caip2;
use super::offer::{self, Extra, Offer};
use super::payment::MAX_DEPTH;
use super::refusal::PaymentRefusal;
use super::resource::ResourceUrl;
use super::scheme::{self, Scheme};
use super::solana::SolanaAddress;

/// The largest challenge that is read, in bytes; the ones seen in the wild are under 4 KiB.
pub const MAX_CHALLENGE_BYTES: usize = 64 << 10;
/// Options of one challenge that are looked at; real ones have up to a dozen.
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
    /// Something that some client may read as a challenge, in a spelling that we do not.
    #[error("{0}")]
    Shape(&'static str),
    /// Nothing that asks for a payment.
    #[error("the document does not ask for a payment")]
    Nothing,
}

/// Whether the seller vouches for its offers with a signature (extension `offer-receipt`), so that none may be taken out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vouched {
    /// It does.
    Signed,
    /// It does not.
    Unsigned,
}

/// What one answer asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    /// By `x402Version`.
    pub version: Version,
    /// In the seller's order; `None` for one that cannot be judged.
    pub options: Vec<Option<Asked>>,
    /// Whether options may be taken out.
    pub vouched: Vouched,
    /// What a payment has to repeat, whichever option it takes.
    extensions: extensions::Asked,
    text: Box<str>,
}

/// One way to pay, of a scheme that could be judged if it were switched on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// What a payment for it would be.
    pub scheme: Scheme,
    /// The chain.
    pub network: Caip2,
    /// The token.
    pub asset: Address,
    /// The price, or for `upto` the most that it may become.
    pub amount: AtomicAmount,
    /// Who is to be paid.
    pub pay_to: Address,
    /// How long the seller waits for the payment, in seconds.
    pub max_timeout: u64,
    /// What is for sale.
    pub resource: ResourceUrl,
    /// What the scheme needs besides.
    pub extra: Extra,
    /// Whether and how it asks for payment identifiers.
    pub identifier: Option<IdentifierTerms>,
}

/// The document's `accepts` as it stands in the text.
#[derive(Deserialize)]
struct Accepts<'a> {
    #[serde(borrow)]
    accepts: &'a RawValue,
}

impl Challenge {
    /// Reads the value of a `PAYMENT-REQUIRED` field.
    pub fn from_header(value: &[u8]) -> Result<Self, ChallengeError> {
        if value.len() > MAX_CHALLENGE_BYTES {
            return Err(ChallengeError::TooLarge);
        }
        let bytes = base64::decode_canonical(value).ok_or(ChallengeError::Base64)?;
        match read(&bytes)? {
            challenge if challenge.version == Version::V2 => Ok(challenge),
            _ => Err(ChallengeError::Shape("PAYMENT-REQUIRED holds a challenge of another version")),
        }
    }

    /// Reads the body of an answer, its content coding undone. v1's challenge stands there; some v2 clients look there as well.
    pub fn from_body(bytes: &[u8]) -> Result<Self, ChallengeError> {
        if bytes.len() > MAX_CHALLENGE_BYTES {
            return Err(ChallengeError::TooLarge);
        }
        read(bytes)
    }

    /// Why no payment may answer it, whichever option it takes: clients repeat the seller's extensions.
    pub fn unanswerable(&self, enabled: &Enabled) -> Option<PaymentRefusal> {
        self.extensions.refusal(enabled)
    }

    /// The options that can be judged.
    pub fn asked(&self) -> impl Iterator<Item = &Asked> {
        self.options.iter().flatten()
    }

    /// The document with only the options for which `keep` says so; all the rest of it as the seller wrote it.
    pub fn only(&self, keep: impl Fn(&Asked) -> bool) -> Option<String> {
        let accepts = serde_json::from_str::<Accepts<'_>>(&self.text).ok()?.accepts.get();
        let options: Vec<&RawValue> = serde_json::from_str(accepts).ok()?;
        let kept: Vec<&str> = options
            .iter()
            .zip(&self.options)
            .filter(|(_, option)| option.as_ref().is_some_and(&keep))
            .map(|(raw, _)| raw.get())
            .collect();
        let start = (accepts.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize)?;
        let (before, rest) = self.text.split_at_checked(start)?;
        let after = rest.get(accepts.len()..)?;
        Some(format!("{before}[{}]{after}", kept.join(",")))
    }
}

fn read(bytes: &[u8]) -> Result<Challenge, ChallengeError> {
    let document = json::parse(bytes, MAX_DEPTH)?;
    let document = document.as_object().ok_or(ChallengeError::Nothing)?;
    if !document.members().any(|(name, _)| asks(name)) {
        return Err(ChallengeError::Nothing);
    }
    let version = match document.get("x402Version") {
        Some(Value::Integer(1)) => Version::V1,
        Some(Value::Integer(2)) => Version::V2,
        _ => return Err(ChallengeError::Shape("x402Version is not the integer 1 or 2")),
    };
    let Some(Value::Array(accepts)) = document.get("accepts") else {
        return Err(ChallengeError::Shape("accepts is not an array"));
    };
    let sold = document.object("resource").and_then(|resource| resource.string("url"));
    let extensions = extensions::Asked::read(document.get("extensions"));
    let identifier = extensions.identifier;
    let read = |(place, offer): (usize, &Value<'_>)| {
        let offer = offer.as_object().filter(|_| place < MOST_OFFERS)?;
        let asked = Asked::read(offer, version, sold)?;
        Some(Asked { identifier, ..asked })
    };
    let receipts = document
        .object("extensions")
        .and_then(|extensions| extensions.object("offer-receipt"));
    let signed = receipts
        .and_then(|receipts| receipts.object("info"))
        .is_some_and(|info| info.has("offers"));
    Ok(Challenge {
        version,
        options: accepts.iter().enumerate().map(read).collect(),
        extensions,
        vouched: if signed { Vouched::Signed } else { Vouched::Unsigned },
        text: std::str::from_utf8(bytes).map_err(|_| JsonError::NotUtf8)?.into(),
    })
}

/// Whether a member makes its document a challenge to some client: Python takes `1.0` and `true` for version 1 and reads snake_case, others
/// do not look at the version at all.
pub(super) fn asks(name: &str) -> bool {
    let letters = name.trim().chars().filter(|c| *c != '_').map(|c| c.to_ascii_lowercase());
    matches!(letters.collect::<String>().as_str(), "x402version" | "accepts")
}

impl Asked {
    fn read(offer: &Object<'_>, version: Version, sold: Option<&str>) -> Option<Self> {
        match version {
            Version::V1 => Self::v1(offer),
            Version::V2 => Self::repeatable(offer, sold?),
        }
    }

    fn v1(offer: &Object<'_>) -> Option<Self> {
        let network = Caip2::from_v1_name(offer.string("network")?).ok()?;
        let scheme = scheme::of_offer(offer, network).ok()?;
        let extra = offer.object("extra");
        let stated = |name| extra.and_then(|extra| extra.string(name));
        let extra = match scheme {
            Scheme::Exact => Extra {
                domain_name: stated("name").map(str::to_owned),
                domain_version: stated("version").map(str::to_owned),
                ..Extra::default()
            },
            Scheme::ExactSvm => Extra {
                fee_payer: Some(SolanaAddress::parse(stated("feePayer")?).ok()?),
                ..Extra::default()
            },
            Scheme::ExactPermit2 | Scheme::Upto => return None,
        };
        let max_timeout = match offer.get("maxTimeoutSeconds") {
            Some(Value::Integer(seconds)) if *seconds > 0 => *seconds,
            _ => return None,
        };
        Some(Asked {
            scheme,
            network,
            asset: Address::parse_on(network, offer.string("asset")?).ok()?,
            amount: AtomicAmount::parse(offer.string("maxAmountRequired")?).ok()?,
            pay_to: Address::parse_on(network, offer.string("payTo")?).ok()?,
            max_timeout,
            resource: ResourceUrl::parse(offer.string("resource")?)?,
            extra,
            identifier: None,
        })
    }

    /// v2 clients repeat the option as `accepted`: what a payment could not repeat, nobody can pay.
    fn repeatable(offer: &Object<'_>, sold: &str) -> Option<Self> {
        let network = Caip2::parse(offer.string("network")?).ok()?;
        let scheme = scheme::of_offer(offer, network).ok()?;
        let Offer {
            asset,
            amount,
            pay_to,
            max_timeout,
            extra,
            ..
        } = offer::parse(offer, scheme).ok()?;
        Some(Asked {
            scheme,
            network,
            asset,
            amount,
            pay_to,
            max_timeout,
            resource: ResourceUrl::parse(sold)?,
            extra,
            identifier: None,
        })
    }
}

#[cfg(test)]
mod tests;
