//! The `extensions` of a v2 payment. Clients echo whatever the seller sent and add their own part, and some extensions are powers of attorney
//! (`eip2612GasSponsoring` is an allowance, `erc20ApprovalGasSponsoring` a whole signed transaction): only an allow-list passes, and what
//! gives a power only where it is switched on.

mod allowance;
pub mod approval;
mod identifier;

use std::fmt;

use super::claim::IdentifierHash;
use super::enabled::Enabled;
use super::json::{Object, Value};
use super::refusal::PaymentRefusal;
pub use allowance::Allowance;
pub use identifier::IdentifierTerms;

const HARMLESS: [&str; 3] = ["bazaar", "builder-code", "offer-receipt"];
const IDENTIFIER: &str = "payment-identifier";

/// The extensions that give somebody more than the payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Extension {
    /// An allowance for the Permit2 contract, by signature.
    Eip2612GasSponsoring,
    /// An allowance for the Permit2 contract, as a transaction that somebody else sends off.
    Erc20ApprovalGasSponsoring,
    /// A wallet's signature that proves who asks.
    SignInWithX,
}

impl Extension {
    /// Every one.
    pub const ALL: [Extension; 3] = [
        Extension::Eip2612GasSponsoring,
        Extension::Erc20ApprovalGasSponsoring,
        Extension::SignInWithX,
    ];

    /// The name on the wire and in `payments.allow_extensions`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Extension::Eip2612GasSponsoring => "eip2612GasSponsoring",
            Extension::Erc20ApprovalGasSponsoring => "erc20ApprovalGasSponsoring",
            Extension::SignInWithX => "sign-in-with-x",
        }
    }

    /// The extension of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|extension| extension.as_str() == name)
    }
}

impl fmt::Display for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a payment's extensions carry.
#[derive(Debug, Clone, Default)]
pub struct Carried {
    /// The client's payment identifier, if it sent one.
    pub identifier: Option<IdentifierHash>,
    /// How the seller asked for one, as the client repeats it.
    pub asked: Option<IdentifierTerms>,
    /// The allowances that it gives; still to be held against the payment.
    pub allowances: Vec<Allowance>,
}

/// Checks the extensions and reads what matters of them.
pub fn parse(extensions: Option<&Value<'_>>, enabled: &Enabled) -> Result<Carried, PaymentRefusal> {
    let Some(extensions) = object(extensions)? else {
        return Ok(Carried::default());
    };
    let mut carried = Carried::default();
    for (name, value) in extensions.members() {
        match (name, Extension::named(name)) {
            (IDENTIFIER, _) => {
                let (terms, identifier) = identifier::read(value)?;
                carried.identifier = identifier;
                carried.asked = Some(terms);
            }
            (_, Some(extension)) if enabled.extensions.contains(&extension) => match extension {
                Extension::SignInWithX => {}
                Extension::Eip2612GasSponsoring => carried.allowances.extend(allowance::permit(value)?),
                Extension::Erc20ApprovalGasSponsoring => carried.allowances.extend(allowance::transaction(value)?),
            },
            (name, None) if HARMLESS.contains(&name) => {}
            _ => return Err(refused()),
        }
    }
    Ok(carried)
}

/// The parts that are free text to us, in which a second payment could ride. An allowance is read member by member.
pub(super) fn free_parts<'o, 'a>(extensions: Option<&'o Value<'a>>) -> impl Iterator<Item = &'o Value<'a>> {
    let read = |name: &str| matches!(Extension::named(name), Some(extension) if extension != Extension::SignInWithX);
    extensions
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(Object::members)
        .filter(move |(name, _)| !read(name))
        .map(|(_, value)| value)
}

/// What the extensions of a challenge ask of a payment that repeats them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// What has to be switched on.
    pub powers: Vec<Extension>,
    /// Whether and how a payment identifier is asked for.
    pub identifier: Option<IdentifierTerms>,
    /// Why no payment could repeat them, whatever is switched on.
    pub foreign: Option<PaymentRefusal>,
}

impl Asked {
    /// Reads them.
    pub fn read(extensions: Option<&Value<'_>>) -> Self {
        let mut asked = Asked::default();
        match object(extensions) {
            Err(refusal) => asked.foreign = Some(refusal),
            Ok(extensions) => {
                for (name, value) in extensions.into_iter().flat_map(Object::members) {
                    match Extension::named(name) {
                        Some(extension) => asked.powers.push(extension),
                        None if name == IDENTIFIER => match identifier::asked(value) {
                            Ok(terms) => asked.identifier = Some(terms),
                            Err(refusal) => asked.foreign = Some(refusal),
                        },
                        None if HARMLESS.contains(&name) => {}
                        None => asked.foreign = Some(refused()),
                    }
                }
            }
        }
        asked
    }

    /// Why no payment may repeat them.
    pub fn refusal(&self, enabled: &Enabled) -> Option<PaymentRefusal> {
        let missing = self.powers.iter().any(|power| !enabled.extensions.contains(power));
        self.foreign.clone().or_else(|| missing.then(refused))
    }
}

fn object<'o, 'a>(extensions: Option<&'o Value<'a>>) -> Result<Option<&'o Object<'a>>, PaymentRefusal> {
    match extensions {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(extensions)) => Ok(Some(extensions)),
        Some(_) => Err(PaymentRefusal::malformed("extensions is not an object")),
    }
}

fn refused() -> PaymentRefusal {
    PaymentRefusal::scheme("the payment carries an extension that is neither known to be harmless nor switched on")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use tollgate_policy::Reason;

    use super::*;

    fn reason(text: &str) -> Option<Reason> {
        let value = super::super::json::parse(text.as_bytes(), 16).unwrap();
        parse(Some(&value), &Enabled::default()).err().map(|refusal| refusal.reason)
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
