//! Decoding a payment: from the bytes of a header's value, or of a JSON object in a body, to what was signed and what was offered, in one
//! reading or none.

use ruint::aliases::U256;
use sha2::{Digest, Sha256};
use tollgate_policy::Reason;

use super::claim::{AtomicAmount, EvmAddress, IdentifierHash, PaymentHash, Scheme, Version};
use super::eip712::DomainSeparator;
use super::json::{self, Object, Value};
use super::network::Caip2;
use super::offer::{self, Offer};
use super::refusal::{PaymentRefusal, PaymentSummary};
use super::resource::ResourceUrl;
use super::signature::Signature;
use super::{base64, exact, extensions, traces};

/// The largest header value that is looked at, in bytes; honest ones are under 2 KiB.
pub const MAX_HEADER_BYTES: usize = 16 * 1024;
/// The largest payment in a body, in bytes of its JSON.
pub const MAX_PAYMENT_BYTES: usize = MAX_HEADER_BYTES;
/// The deepest nesting in a payment; honest ones reach 7 (a JSON Schema inside an extension).
pub const MAX_DEPTH: u8 = 16;

/// What a judged scheme gives the judge: the transfer that its signature releases.
pub trait Signed {
    /// Which scheme this is.
    fn scheme(&self) -> Scheme;
    /// Who pays.
    fn payer(&self) -> EvmAddress;
    /// Who is paid.
    fn payee(&self) -> EvmAddress;
    /// How much moves at most.
    fn amount(&self) -> AtomicAmount;
    /// Unix seconds from which the signature can be used.
    fn valid_after(&self) -> U256;
    /// Unix seconds until which it can be used.
    fn valid_before(&self) -> U256;
    /// The single-use number.
    fn nonce(&self) -> [u8; 32];
    /// What is signed, for a token contract.
    fn digest(&self, domain: &DomainSeparator) -> [u8; 32];
    /// The signature.
    fn signature(&self) -> &Signature;
}

/// A decoded payment. Well-formed and in agreement with itself, but neither proved nor judged.
#[derive(Debug, Clone)]
pub struct Payment {
    /// By header name and `x402Version` alike.
    pub version: Version,
    /// The chain it is for.
    pub network: Caip2,
    /// What was signed.
    pub signed: exact::Eip3009,
    /// v2: the offer it answers.
    pub offer: Option<Offer>,
    /// v2: what it says it buys.
    pub resource: Option<ResourceUrl>,
    /// v2: the client's identifier.
    pub identifier: Option<IdentifierHash>,
    /// Names these bytes.
    pub payment_hash: PaymentHash,
}

impl Payment {
    /// Decodes the value of a payment header. Each refusal carries what was known by then.
    pub fn decode(version: Version, value: &[u8]) -> Result<Self, PaymentRefusal> {
        let mut known = PaymentSummary {
            version: Some(version),
            ..PaymentSummary::default()
        };
        let decoded = decode(version, value, &mut known);
        decoded.map_err(|refusal| with_scheme(refusal, known))
    }

    /// Decodes a payment that stands as JSON in a body: its version is the one that it states.
    pub fn decode_json(text: &[u8]) -> Result<Self, PaymentRefusal> {
        let mut known = PaymentSummary::default();
        let decoded = decode_json(text, &mut known);
        decoded.map_err(|refusal| with_scheme(refusal, known))
    }

    /// What an audit line of a refusal may say.
    pub fn summary(&self) -> PaymentSummary {
        PaymentSummary {
            version: Some(self.version),
            scheme: Some(self.signed.scheme().into()),
            network: Some(self.network),
            asset: self.offer.as_ref().map(|offer| offer.asset),
            amount: Some(self.signed.amount()),
            payee: Some(self.signed.payee()),
            payer: Some(self.signed.payer()),
        }
    }
}

fn with_scheme(mut refusal: PaymentRefusal, mut known: PaymentSummary) -> PaymentRefusal {
    known.scheme = refusal.summary.scheme.or(known.scheme);
    refusal.summary = Box::new(known);
    refusal
}

/// One GO must not release a second signature that rides in the parts of a payment which nobody signs.
fn refuse_stowaway(document: &json::Object<'_>) -> Result<(), PaymentRefusal> {
    let unsigned = document.members().filter(|(name, _)| *name != "payload");
    for (_, value) in unsigned {
        if traces::in_value(value).is_some() {
            return Err(PaymentRefusal::new(
                Reason::PaymentConflicting,
                "the payment holds a second payment",
            ));
        }
    }
    Ok(())
}

fn decode(version: Version, value: &[u8], known: &mut PaymentSummary) -> Result<Payment, PaymentRefusal> {
    if value.len() > MAX_HEADER_BYTES {
        return Err(PaymentRefusal::new(
            Reason::PaymentTooLarge,
            "the payment header is larger than 16 KiB",
        ));
    }
    if value.contains(&b',') {
        return Err(PaymentRefusal::new(
            Reason::PaymentConflicting,
            "the payment header holds more than one value",
        ));
    }
    let bytes = base64::decode_canonical(value).ok_or_else(|| PaymentRefusal::malformed("the payment header is not canonical base64"))?;
    let document = parse(&bytes)?;
    let document = object(&document)?;
    check_version(version, document)?;
    read(version, document, PaymentHash(Sha256::digest(value).into()), known)
}

fn decode_json(text: &[u8], known: &mut PaymentSummary) -> Result<Payment, PaymentRefusal> {
    let document = parse(text)?;
    let document = object(&document)?;
    let version = match document.get("x402Version") {
        Some(Value::Integer(1)) => Version::V1,
        Some(Value::Integer(2)) => Version::V2,
        _ => return Err(PaymentRefusal::malformed("x402Version is not the integer 1 or 2")),
    };
    known.version = Some(version);
    read(version, document, PaymentHash(Sha256::digest(text).into()), known)
}

fn parse(bytes: &[u8]) -> Result<Value<'_>, PaymentRefusal> {
    json::parse(bytes, MAX_DEPTH).map_err(|error| PaymentRefusal::malformed(format!("the payment is {error}")))
}

fn object<'o, 'a>(document: &'o Value<'a>) -> Result<&'o Object<'a>, PaymentRefusal> {
    document
        .as_object()
        .ok_or_else(|| PaymentRefusal::malformed("the payment is not a JSON object"))
}

fn read(version: Version, document: &Object<'_>, payment_hash: PaymentHash, known: &mut PaymentSummary) -> Result<Payment, PaymentRefusal> {
    let payment = match version {
        Version::V1 => decode_v1(document, payment_hash, known)?,
        Version::V2 => decode_v2(document, payment_hash, known)?,
    };
    *known = payment.summary();
    refuse_stowaway(document)?;
    Ok(payment)
}

fn check_version(version: Version, document: &Object<'_>) -> Result<(), PaymentRefusal> {
    match document.get("x402Version") {
        Some(Value::Integer(number)) if *number == version.number() => Ok(()),
        Some(Value::Integer(1 | 2)) => Err(PaymentRefusal::mismatch("x402Version does not go with the header's name")),
        _ => Err(PaymentRefusal::malformed("x402Version is not the integer 1 or 2")),
    }
}

fn payload<'o, 'a>(document: &'o Object<'a>) -> Result<&'o Object<'a>, PaymentRefusal> {
    document
        .object("payload")
        .ok_or_else(|| PaymentRefusal::malformed("payload is not an object"))
}

fn decode_v1(document: &Object<'_>, payment_hash: PaymentHash, known: &mut PaymentSummary) -> Result<Payment, PaymentRefusal> {
    known.scheme = Some(offer::scheme_of(document.get("scheme"))?);
    let payload = payload(document)?;
    exact::refuse_other_flavours(payload)?;
    let network = document
        .string("network")
        .ok_or_else(|| PaymentRefusal::malformed("network is not a string"))?;
    let network = Caip2::from_v1_name(network)?;
    known.network = Some(network);
    if !document.has_only(&["x402Version", "scheme", "network", "payload"]) {
        return Err(PaymentRefusal::malformed("the payment has an unknown member"));
    }
    Ok(Payment {
        version: Version::V1,
        network,
        signed: exact::parse(payload)?,
        offer: None,
        resource: None,
        identifier: None,
        payment_hash,
    })
}

fn decode_v2(document: &Object<'_>, payment_hash: PaymentHash, known: &mut PaymentSummary) -> Result<Payment, PaymentRefusal> {
    let accepted = document
        .object("accepted")
        .ok_or_else(|| PaymentRefusal::malformed("accepted is not an object"))?;
    known.scheme = Some(offer::scheme_of(accepted.get("scheme"))?);
    let payload = payload(document)?;
    exact::refuse_other_flavours(payload)?;
    let identifier = extensions::parse(document.get("extensions"))?;
    if !document.has_only(&["x402Version", "accepted", "payload", "resource", "extensions"]) {
        return Err(PaymentRefusal::malformed("the payment has an unknown member"));
    }
    let offer = offer::parse(accepted)?;
    known.network = Some(offer.network);
    known.asset = Some(offer.asset);
    let signed = exact::parse(payload)?;
    known.amount = Some(signed.amount());
    known.payee = Some(signed.payee());
    known.payer = Some(signed.payer());
    agree(&signed, &offer)?;
    Ok(Payment {
        version: Version::V2,
        network: offer.network,
        signed,
        offer: Some(offer),
        resource: Some(resource(document)?),
        identifier,
        payment_hash,
    })
}

/// The seller may look at either copy, so they have to say the same.
fn agree(signed: &impl Signed, offer: &Offer) -> Result<(), PaymentRefusal> {
    if signed.payee() != offer.pay_to {
        return Err(PaymentRefusal::mismatch("the signature pays another address than accepted.payTo"));
    }
    if signed.amount() != offer.amount {
        return Err(PaymentRefusal::mismatch("the signed value is not accepted.amount"));
    }
    Ok(())
}

fn resource(document: &Object<'_>) -> Result<ResourceUrl, PaymentRefusal> {
    let resource = document
        .object("resource")
        .ok_or_else(|| PaymentRefusal::mismatch("the payment does not name its resource"))?;
    if !resource.has_only(&["url", "description", "mimeType", "serviceName", "tags", "iconUrl"]) {
        return Err(PaymentRefusal::malformed("resource has an unknown member"));
    }
    let url = resource
        .string("url")
        .ok_or_else(|| PaymentRefusal::malformed("resource.url is not a string"))?;
    ResourceUrl::parse(url).ok_or_else(|| {
        PaymentRefusal::mismatch("resource.url is neither an http or https URL without user information nor mcp://tool/<name>")
    })
}
