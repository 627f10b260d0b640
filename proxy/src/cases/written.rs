//! A cases file as it is written: its keys and their types, and nothing else.

use std::fmt;
use std::path::PathBuf;

use http::{HeaderName, HeaderValue, Method};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::expectation::Decision;
use crate::x402::address::Address;
use crate::x402::network::Caip2;
use crate::x402::scheme::Scheme;

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    pub(super) policy: PathBuf,
    #[serde(default, deserialize_with = "stated")]
    pub(super) config: Option<PathBuf>,
    pub(super) cases: Spanned<Vec<Case>>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    pub(super) name: Spanned<String>,
    pub(super) request: Request,
    pub(super) expect: Spanned<Expectation>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    pub(super) method: MethodText,
    pub(super) url: Spanned<String>,
    #[serde(default, deserialize_with = "stated")]
    pub(super) binary: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) ancestors: Vec<Spanned<String>>,
    #[serde(default)]
    pub(super) headers: Fields,
    #[serde(default, deserialize_with = "stated")]
    pub(super) body: Option<String>,
    #[serde(default, deserialize_with = "stated")]
    pub(super) body_file: Option<Spanned<PathBuf>>,
    #[serde(default, deserialize_with = "stated")]
    pub(super) payment: Option<Spanned<Payment>>,
    #[serde(default, deserialize_with = "stated")]
    pub(super) at: Option<Instant>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Payment {
    #[serde(default = "exact", with = "SchemeText")]
    pub(super) scheme: Scheme,
    pub(super) network: NetworkText,
    pub(super) asset: AddressText,
    pub(super) payee: AddressText,
    pub(super) amount: String,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expectation {
    pub(super) decision: Decision,
    #[serde(default, deserialize_with = "stated")]
    pub(super) reason_code: Option<Spanned<String>>,
    #[serde(default, deserialize_with = "stated")]
    pub(super) policy: Option<String>,
    #[serde(default, deserialize_with = "stated")]
    pub(super) rule: Option<String>,
}

/// A key that may be left out, but says something where it stands: an empty value is a mistake, not "anything".
fn stated<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// The names of [`Scheme::as_str`].
#[derive(serde::Deserialize)]
#[serde(remote = "Scheme", rename_all = "kebab-case")]
enum SchemeText {
    Exact,
    ExactPermit2,
    Upto,
    ExactSvm,
}

const fn exact() -> Scheme {
    Scheme::Exact
}

/// A method, in the spelling in which it is sent.
pub(super) struct MethodText(pub(super) Method);

impl<'de> Deserialize<'de> for MethodText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let method = text
            .parse()
            .map_err(|_| D::Error::custom(format_args!("`{text}` is not an HTTP method")))?;
        Ok(MethodText(method))
    }
}

/// RFC 3339, as audit lines have it.
pub(super) struct Instant(pub(super) u64);

impl<'de> Deserialize<'de> for Instant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let moment = OffsetDateTime::parse(&text, &Rfc3339).ok();
        let seconds = moment.and_then(|moment| u64::try_from(moment.unix_timestamp()).ok());
        seconds
            .map(Instant)
            .ok_or_else(|| D::Error::custom(format_args!("`{text}` is not a moment like 2026-01-31T12:00:00Z")))
    }
}

pub(super) struct AddressText(pub(super) Address);

impl<'de> Deserialize<'de> for AddressText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Address::parse(&text)
            .map(AddressText)
            .map_err(|error| D::Error::custom(format_args!("address: {error}")))
    }
}

pub(super) struct NetworkText(pub(super) Caip2);

impl<'de> Deserialize<'de> for NetworkText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Caip2::parse(&text).map(NetworkText).map_err(D::Error::custom)
    }
}

/// Header fields: a value, or a list of values where a field is repeated.
#[derive(Default)]
pub(super) struct Fields(pub(super) Vec<(HeaderName, HeaderValue)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of header fields")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
        let mut fields = Vec::new();
        while let Some(NameText(name)) = map.next_key()? {
            let Values(values) = map.next_value()?;
            fields.extend(values.into_iter().map(|value| (name.clone(), value)));
        }
        Ok(Fields(fields))
    }
}

struct NameText(HeaderName);

impl<'de> Deserialize<'de> for NameText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        HeaderName::from_bytes(text.as_bytes())
            .map(NameText)
            .map_err(|_| D::Error::custom(format_args!("`{text}` is not a header field's name")))
    }
}

struct Values(Vec<HeaderValue>);

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValuesVisitor)
    }
}

struct ValuesVisitor;

impl<'de> Visitor<'de> for ValuesVisitor {
    type Value = Values;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a header field's value as text, or a list of such values")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Values, E> {
        // The value itself may be a credential: it is never repeated.
        HeaderValue::from_str(text)
            .map(|value| Values(vec![value]))
            .map_err(|_| E::custom("a header field's value has no line breaks or control characters"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Values, A::Error> {
        let mut values = Vec::new();
        while let Some(text) = seq.next_element::<String>()? {
            values.extend(self::ValuesVisitor.visit_str::<A::Error>(&text)?.0);
        }
        Ok(Values(values))
    }
}
