//! Decoding a payment: from the bytes of a header's value, or of a JSON object in a body, to what was signed and what was offered, in one
//! reading or none.

use sha2::{Digest, Sha256};
use tollgate_policy::Reason;

use super::address::Address;
use super::claim::{PaymentHash, Version};
use super::enabled::Enabled;
use super::extensions;
use super::json::{self, Object, Value};
use super::network::Caip2;
use super::offer::{self, Offer};
use super::refusal::{PaymentRefusal, PaymentSummary};
use super::resource::ResourceUrl;
use super::scheme::{self, Scheme};
use super::{base64, traces};
pub use scheme::Signed;

/// The largest header value that is looked at, in bytes; honest ones are under 2 KiB.
pub const MAX_HEADER_BYTES: usize = 16 * 1024;
/// The largest payment in a body, in bytes of its JSON.
pub const MAX_PAYMENT_BYTES: usize = MAX_HEADER_BYTES;
/// The deepest nesting in a payment; honest ones reach 7 (a JSON Schema inside an extension).
pub const MAX_DEPTH: u8 = 16;

/// A decoded payment. Well-formed and in agreement with itself, but neither proved nor judged.
#[derive(Debug)]
pub struct Payment {
    /// By header name and `x402Version` alike.
    pub version: Version,
    /// The chain it is for.
    pub network: Caip2,
    /// What was signed.
    pub signed: Box<dyn Signed>,
    /// v2: the offer it answers.
    pub offer: Option<Offer>,
    /// v2: what it says it buys.
    pub resource: Option<ResourceUrl>,
    /// v2: what its extensions carry: the client's identifier and how it was asked for, allowances.
    pub extensions: extensions::Carried,
    /// Names these bytes.
    pub payment_hash: PaymentHash,
}

impl Payment {
    /// Decodes the value of a payment header, if all of it is switched on. Each refusal carries what was known by then.
    pub fn decode(version: Version, value: &[u8], enabled: &Enabled) -> Result<Self, PaymentRefusal> {
        let mut known = PaymentSummary {
            version: Some(version),
            ..PaymentSummary::default()
        };
        let decoded = decode(version, value, enabled, &mut known);
        decoded.map_err(|refusal| with_scheme(refusal, known))
    }

    /// Decodes a payment that stands as JSON in a body: its version is the one that it states.
    pub fn decode_json(text: &[u8], enabled: &Enabled) -> Result<Self, PaymentRefusal> {
        let mut known = PaymentSummary::default();
        let decoded = decode_json(text, enabled, &mut known);
        decoded.map_err(|refusal| with_scheme(refusal, known))
    }

    /// The token, where the payment names it.
    pub fn asset(&self) -> Option<Address> {
        self.offer.as_ref().map(|offer| offer.asset).or_else(|| self.signed.asset())
    }

    /// Who is paid, where the payment names them: an offer's payee is the one that the signature pays.
    pub fn payee(&self) -> Option<Address> {
        self.signed.payee().or_else(|| self.offer.as_ref().map(|offer| offer.pay_to))
    }

    /// What an audit line of a refusal may say.
    pub fn summary(&self) -> PaymentSummary {
        PaymentSummary {
            version: Some(self.version),
            scheme: Some(self.signed.scheme().into()),
            network: Some(self.network),
            asset: self.asset(),
            amount: Some(self.signed.amount()),
            payee: self.payee(),
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
    let unsigned = document.members().filter(|(name, _)| !matches!(*name, "payload" | "extensions"));
    let unsigned = unsigned
        .map(|(_, value)| value)
        .chain(extensions::free_parts(document.get("extensions")));
    if traces::in_values(unsigned).is_none() {
        return Ok(());
    }
    Err(PaymentRefusal::new(
        Reason::PaymentConflicting,
        "the payment holds a second payment",
    ))
}

fn decode(version: Version, value: &[u8], enabled: &Enabled, known: &mut PaymentSummary) -> Result<Payment, PaymentRefusal> {
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
    read(version, document, PaymentHash(Sha256::digest(value).into()), enabled, known)
}

fn decode_json(text: &[u8], enabled: &Enabled, known: &mut PaymentSummary) -> Result<Payment, PaymentRefusal> {
    let document = parse(text)?;
    let document = object(&document)?;
    let version = match document.get("x402Version") {
        Some(Value::Integer(1)) => Version::V1,
        Some(Value::Integer(2)) => Version::V2,
        _ => return Err(PaymentRefusal::malformed("x402Version is not the integer 1 or 2")),
    };
    known.version = Some(version);
    read(version, document, PaymentHash(Sha256::digest(text).into()), enabled, known)
}

fn parse(bytes: &[u8]) -> Result<Value<'_>, PaymentRefusal> {
    json::parse(bytes, MAX_DEPTH).map_err(|error| PaymentRefusal::malformed(format!("the payment is {error}")))
}

fn object<'o, 'a>(document: &'o Value<'a>) -> Result<&'o Object<'a>, PaymentRefusal> {
    document
        .as_object()
        .ok_or_else(|| PaymentRefusal::malformed("the payment is not a JSON object"))
}

fn read(
    version: Version,
    document: &Object<'_>,
    payment_hash: PaymentHash,
    enabled: &Enabled,
    known: &mut PaymentSummary,
) -> Result<Payment, PaymentRefusal> {
    let payment = match version {
        Version::V1 => decode_v1(document, payment_hash, enabled, known)?,
        Version::V2 => decode_v2(document, payment_hash, enabled, known)?,
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

/// The scheme of a payment; whatever is known of it by then is in the refusal.
fn scheme(
    stated: &Object<'_>,
    payload: Option<&Object<'_>>,
    enabled: &Enabled,
    known: &mut PaymentSummary,
) -> Result<Scheme, PaymentRefusal> {
    let scheme = scheme::of_payload(stated.get("scheme"), payload)?;
    known.scheme = Some(scheme.into());
    scheme.require(enabled)?;
    Ok(scheme)
}

fn decode_v1(
    document: &Object<'_>,
    payment_hash: PaymentHash,
    enabled: &Enabled,
    known: &mut PaymentSummary,
) -> Result<Payment, PaymentRefusal> {
    let payload = document.object("payload");
    let scheme = scheme(document, payload, enabled, known)?;
    if !matches!(scheme, Scheme::Exact | Scheme::ExactSvm) {
        return Err(PaymentRefusal::scheme("x402 v1 has no payments over Permit2"));
    }
    let network = document
        .string("network")
        .ok_or_else(|| PaymentRefusal::malformed("network is not a string"))?;
    let network = Caip2::from_v1_name(network)?;
    known.network = Some(network);
    scheme.require_network(network)?;
    if !document.has_only(&["x402Version", "scheme", "network", "payload"]) {
        return Err(PaymentRefusal::malformed("the payment has an unknown member"));
    }
    Ok(Payment {
        version: Version::V1,
        network,
        signed: scheme::read(scheme, payload.unwrap_or(&Object::default()), enabled)?,
        offer: None,
        resource: None,
        extensions: extensions::Carried::default(),
        payment_hash,
    })
}

fn decode_v2(
    document: &Object<'_>,
    payment_hash: PaymentHash,
    enabled: &Enabled,
    known: &mut PaymentSummary,
) -> Result<Payment, PaymentRefusal> {
    let accepted = document
        .object("accepted")
        .ok_or_else(|| PaymentRefusal::malformed("accepted is not an object"))?;
    let payload = document.object("payload");
    let scheme = scheme(accepted, payload, enabled, known)?;
    let extensions = extensions::parse(document.get("extensions"), enabled)?;
    if !document.has_only(&["x402Version", "accepted", "payload", "resource", "extensions"]) {
        return Err(PaymentRefusal::malformed("the payment has an unknown member"));
    }
    let offer = offer::parse(accepted, scheme)?;
    known.network = Some(offer.network);
    known.asset = Some(offer.asset);
    let signed = scheme::read(scheme, payload.unwrap_or(&Object::default()), enabled)?;
    known.amount = Some(signed.amount());
    known.payee = signed.payee();
    known.payer = Some(signed.payer());
    agree(&*signed, &offer)?;
    Ok(Payment {
        version: Version::V2,
        network: offer.network,
        signed,
        offer: Some(offer),
        resource: Some(resource(document)?),
        extensions,
        payment_hash,
    })
}

/// The seller may look at either copy, so they have to say the same.
fn agree(signed: &dyn Signed, offer: &Offer) -> Result<(), PaymentRefusal> {
    if !signed.pays(offer.pay_to) {
        return Err(PaymentRefusal::mismatch("the signature pays another address than accepted.payTo"));
    }
    if signed.amount() != offer.amount {
        return Err(PaymentRefusal::mismatch("the signed value is not accepted.amount"));
    }
    if signed.asset().is_some_and(|asset| asset != offer.asset) {
        return Err(PaymentRefusal::mismatch("the signature moves another token than accepted.asset"));
    }
    signed.agrees_with(&offer.extra)
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
