//! The `extensions` of a v2 payment. Clients echo whatever the seller sent, and some extensions are powers of attorney
//! (`eip2612GasSponsoring` is an unlimited allowance, `erc20ApprovalGasSponsoring` a whole signed transaction): only an allow-list passes.

use sha2::{Digest, Sha256};
use tollgate_policy::Reason;

use super::claim::IdentifierHash;
use super::json::{Object, Value};
use super::refusal::PaymentRefusal;

const HARMLESS: [&str; 3] = ["bazaar", "builder-code", "offer-receipt"];
const IDENTIFIER: &str = "payment-identifier";

/// What the extensions of a payment say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extensions {
    /// Names the client's payment identifier, if it sent one.
    pub identifier: Option<IdentifierHash>,
    /// How the seller asked for one, as the client repeats it.
    pub asked: Option<IdentifierTerms>,
}

/// How a seller asks for payment identifiers. Clients repeat it word for word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdentifierTerms {
    /// Whether a payment without one is turned down.
    pub required: bool,
    /// SHA-256 of the JSON Schema that it comes with.
    schema: Option<[u8; 32]>,
}

/// Checks the extensions of a payment and reads the client's payment identifier, if it sent one.
pub fn parse(extensions: Option<&Value<'_>>) -> Result<Extensions, PaymentRefusal> {
    let Some((extension, terms)) = identifier_extension(extensions)? else {
        return Ok(Extensions::default());
    };
    Ok(Extensions {
        identifier: identifier(extension, terms)?,
        asked: Some(terms),
    })
}

/// How a challenge asks for payment identifiers; an error if no payment could repeat its extensions.
pub fn asked(extensions: Option<&Value<'_>>) -> Result<Option<IdentifierTerms>, PaymentRefusal> {
    Ok(identifier_extension(extensions)?.map(|(_, terms)| terms))
}

fn identifier_extension<'v, 'a>(extensions: Option<&'v Value<'a>>) -> Result<Option<(&'v Object<'a>, IdentifierTerms)>, PaymentRefusal> {
    let extensions = match extensions {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Object(extensions)) => extensions,
        Some(_) => return Err(PaymentRefusal::malformed("extensions is not an object")),
    };
    refuse_foreign(extensions)?;
    match extensions.get(IDENTIFIER) {
        None => Ok(None),
        Some(Value::Object(extension)) => Ok(Some((extension, terms(extension)?))),
        Some(_) => Err(invalid("payment-identifier is not an object")),
    }
}

fn refuse_foreign(extensions: &Object<'_>) -> Result<(), PaymentRefusal> {
    let harmless = |name: &str| name == IDENTIFIER || HARMLESS.contains(&name);
    if extensions.members().all(|(name, _)| harmless(name)) {
        return Ok(());
    }
    Err(PaymentRefusal::scheme(
        "the payment carries an extension that is not known to be harmless",
    ))
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn reason(text: &str) -> Option<Reason> {
        let value = super::super::json::parse(text.as_bytes(), 16).unwrap();
        parse(Some(&value)).err().map(|refusal| refusal.reason)
    }

    #[test]
    fn powers_of_attorney_and_unknown_extensions_are_refused() {
        for (text, expected) in [
            (r"{}", None),
            (r"null", None),
            (r#"{"bazaar":{"any":[1]},"builder-code":1,"offer-receipt":{}}"#, None),
            (r#"{"eip2612GasSponsoring":{}}"#, Some(Reason::PaymentSchemeNotAllowed)),
            (r#"{"erc20ApprovalGasSponsoring":{}}"#, Some(Reason::PaymentSchemeNotAllowed)),
            (r#"{"bazaar":{},"new-thing":{}}"#, Some(Reason::PaymentSchemeNotAllowed)),
            (r#"{"Bazaar":{}}"#, Some(Reason::PaymentSchemeNotAllowed)),
            (r"[]", Some(Reason::PaymentMalformed)),
        ] {
            assert_eq!(reason(text), expected, "{text}");
        }
    }

    #[test]
    fn a_payment_identifier_keeps_its_rules() {
        let bad = Some(Reason::PaymentIdentifierInvalid);
        for (info, expected) in [
            (r#"{"required":true,"id":"pay_7d5d747be160e280504c099d984bcfe0"}"#.to_owned(), None),
            (r#"{"required":false}"#.to_owned(), None),
            (r#"{"required":true}"#.to_owned(), bad),
            (r#"{"required":"yes"}"#.to_owned(), bad),
            (r#"{"id":"short"}"#.to_owned(), bad),
            (format!(r#"{{"id":"{}"}}"#, "a".repeat(16)), None),
            (format!(r#"{{"id":"{}"}}"#, "a".repeat(15)), bad),
            (format!(r#"{{"id":"{}"}}"#, "a".repeat(128)), None),
            (format!(r#"{{"id":"{}"}}"#, "a".repeat(129)), bad),
            (r#"{"id":"0123456789abcde\n"}"#.to_owned(), bad),
            (r#"{"id":1234567890123456}"#.to_owned(), bad),
            ("[]".to_owned(), bad),
        ] {
            assert_eq!(
                reason(&format!(r#"{{"payment-identifier":{{"info":{info}}}}}"#)),
                expected,
                "{info}"
            );
        }
    }
}
