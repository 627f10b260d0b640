//! `payment-identifier`: the seller asks for a name of the purchase, and the client repeats how it asked and adds one.

use sha2::{Digest, Sha256};
use tollgate_policy::Reason;

use super::super::claim::IdentifierHash;
use super::super::json::{Object, Value};
use super::super::refusal::PaymentRefusal;

/// How a seller asks for payment identifiers. Clients repeat it word for word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdentifierTerms {
    /// Whether a payment without one is turned down.
    pub required: bool,
    /// SHA-256 of the JSON Schema that it comes with.
    schema: Option<[u8; 32]>,
}

/// The terms that a payment repeats, and the client's identifier, if it sent one.
pub(super) fn read(extension: &Value<'_>) -> Result<(IdentifierTerms, Option<IdentifierHash>), PaymentRefusal> {
    let terms = asked(extension)?;
    Ok((terms, identifier(object(extension)?, terms)?))
}

/// The terms of a challenge.
pub(super) fn asked(extension: &Value<'_>) -> Result<IdentifierTerms, PaymentRefusal> {
    terms(object(extension)?)
}

fn object<'v, 'a>(extension: &'v Value<'a>) -> Result<&'v Object<'a>, PaymentRefusal> {
    extension.as_object().ok_or_else(|| invalid("payment-identifier is not an object"))
}

fn info<'v, 'a>(extension: &'v Object<'a>) -> Result<&'v Object<'a>, PaymentRefusal> {
    extension
        .object("info")
        .ok_or_else(|| invalid("payment-identifier has no info object"))
}

fn terms(extension: &Object<'_>) -> Result<IdentifierTerms, PaymentRefusal> {
    let required = match info(extension)?.get("required") {
        None => false,
        Some(Value::Bool(required)) => *required,
        Some(_) => return Err(invalid("payment-identifier: info.required is not a boolean")),
    };
    Ok(IdentifierTerms {
        required,
        schema: extension.get("schema").map(fingerprint),
    })
}

/// Names a JSON value, whatever the order of its members.
fn fingerprint(value: &Value<'_>) -> [u8; 32] {
    let mut hash = Sha256::new();
    match value {
        Value::Null => hash.update("n"),
        Value::Bool(bool) => hash.update([b'b', u8::from(*bool)]),
        Value::Integer(number) => {
            hash.update("i");
            hash.update(number.to_be_bytes());
        }
        Value::OtherNumber => hash.update("o"),
        Value::String(text) => {
            hash.update("s");
            hash.update(text.as_bytes());
        }
        Value::Array(items) => {
            hash.update("a");
            for item in items {
                hash.update(fingerprint(item));
            }
        }
        Value::Object(object) => {
            hash.update("m");
            let mut members: Vec<_> = object.members().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            for (name, value) in members {
                hash.update(Sha256::digest(name.as_bytes()));
                hash.update(fingerprint(value));
            }
        }
    }
    hash.finalize().into()
}

/// `info.id`: 16 to 128 of `[A-Za-z0-9_-]`; may be absent only where the seller does not require it.
fn identifier(extension: &Object<'_>, terms: IdentifierTerms) -> Result<Option<IdentifierHash>, PaymentRefusal> {
    let id = match info(extension)?.get("id") {
        None if terms.required => return Err(invalid("the seller requires a payment identifier and there is none")),
        None => return Ok(None),
        Some(Value::String(id)) => id,
        Some(_) => return Err(invalid("payment-identifier: info.id is not a string")),
    };
    if !(16..=128).contains(&id.len()) || !id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-') {
        return Err(invalid("payment-identifier: info.id is not 16 to 128 of A-Z a-z 0-9 _ -"));
    }
    Ok(Some(IdentifierHash(Sha256::digest(id.as_bytes()).into())))
}

fn invalid(detail: &'static str) -> PaymentRefusal {
    PaymentRefusal::new(Reason::PaymentIdentifierInvalid, detail)
}
