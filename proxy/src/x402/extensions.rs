//! The `extensions` of a v2 payment. Clients echo whatever the seller sent, and some extensions are powers of attorney
//! (`eip2612GasSponsoring` is an unlimited allowance, `erc20ApprovalGasSponsoring` a whole signed transaction): only an allow-list passes.

use sha2::{Digest, Sha256};
use tollgate_policy::Reason;

use super::claim::IdentifierHash;
use super::json::{Object, Value};
use super::refusal::PaymentRefusal;

const HARMLESS: [&str; 3] = ["bazaar", "builder-code", "offer-receipt"];
const IDENTIFIER: &str = "payment-identifier";

/// Checks the extensions and reads the client's payment identifier, if it sent one.
pub fn parse(extensions: Option<&Value<'_>>) -> Result<Option<IdentifierHash>, PaymentRefusal> {
    let extensions = match extensions {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Object(extensions)) => extensions,
        Some(_) => return Err(PaymentRefusal::malformed("extensions is not an object")),
    };
    refuse_foreign(extensions)?;
    match extensions.get(IDENTIFIER) {
        None => Ok(None),
        Some(Value::Object(extension)) => identifier(extension),
        Some(_) => Err(invalid("payment-identifier is not an object")),
    }
}

/// Why no payment could repeat these extensions of a challenge.
pub fn foreign(extensions: Option<&Value<'_>>) -> Option<PaymentRefusal> {
    match extensions {
        None | Some(Value::Null) => None,
        Some(Value::Object(extensions)) => refuse_foreign(extensions).err(),
        Some(_) => Some(PaymentRefusal::malformed("extensions is not an object")),
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

/// `info.id`: 16 to 128 of `[A-Za-z0-9_-]`; may be absent only where the seller does not require it.
fn identifier(extension: &Object<'_>) -> Result<Option<IdentifierHash>, PaymentRefusal> {
    let info = extension
        .object("info")
        .ok_or_else(|| invalid("payment-identifier has no info object"))?;
    let required = match info.get("required") {
        None => false,
        Some(Value::Bool(required)) => *required,
        Some(_) => return Err(invalid("payment-identifier: info.required is not a boolean")),
    };
    let id = match info.get("id") {
        None if required => return Err(invalid("the seller requires a payment identifier and there is none")),
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
