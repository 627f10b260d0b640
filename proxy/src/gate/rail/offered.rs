//! Rails by answer: what an origin offers to be paid by, other than x402. Clients answer such an offer at once and unattended, so it is
//! kept from them; the credential that they would make is refused in [`super::scheme`] anyway.
//!
//! In: the head of a 402, or a JSON-RPC answer. Out: a [`RailHit`]; or the fields of the head that offer one, as they are without.

use http::header::{HeaderMap, HeaderName, HeaderValue};
use memchr::memmem;
use tollgate_policy::Reason;

use super::list::SchemeEntry;
use super::scheme::matches;
use super::{RailHit, Rails};
use crate::x402::carriers::MAX_DEPTH;
use crate::x402::json::{self, Value};
use crate::x402::traces::is_mpp;
use crate::x402::words::without_escapes;

/// Under which an MCP server asks in the `_meta` of a result.
const MPP_REQUIRED: &str = "org.paymentauth/payment-required";

/// Where in a field value something stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    /// Between quoted strings.
    Plain,
    /// In one.
    Quotes,
    /// In one, behind a backslash.
    Escape,
}

impl Within {
    fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Within::Plain, b'"') | (Within::Escape, _) => Within::Quotes,
            (Within::Quotes, b'\\') => Within::Escape,
            (Within::Quotes, b'"') => Within::Plain,
            (within, _) => within,
        }
    }
}

impl Rails {
    /// Whether the head of an answer asks to be paid by a rail: `WWW-Authenticate: Payment …`, `X-Cashu`, `crawler-price`.
    pub fn offered(&self, headers: &HeaderMap) -> Option<RailHit> {
        headers.iter().find_map(|(name, value)| {
            let entry = match self.listed_header(name) {
                None if is_challenge(name) => &*self.scheme_in(value.as_bytes())?.scheme,
                entry => entry?,
            };
            Some(offer(entry))
        })
    }

    /// The fields that do, each with the values that are left of it without.
    pub fn without_offers(&self, headers: &HeaderMap) -> Vec<(HeaderName, Vec<HeaderValue>)> {
        let left = |name: &HeaderName| -> Option<Vec<HeaderValue>> {
            if self.listed_header(name).is_some() {
                return Some(Vec::new());
            }
            let values = || headers.get_all(name).iter();
            let offers = is_challenge(name) && values().any(|value| self.scheme_in(value.as_bytes()).is_some());
            offers.then(|| values().filter_map(|value| self.others(value)).collect())
        };
        headers.keys().filter_map(|name| Some((name.clone(), left(name)?))).collect()
    }

    /// Whether a JSON-RPC answer asks to be paid by MPP (draft-payment-transport-mcp): in an error's `data`, or in the `_meta` of a result.
    pub fn offered_in(&self, answer: &[u8]) -> Option<RailHit> {
        let read = json::parse(answer, MAX_DEPTH);
        let offers = read.map_or_else(|_| speaks_of_mpp(answer), |value| offers_mpp(&value));
        offers.then(|| offer("org.paymentauth"))
    }

    fn listed_header(&self, name: &HeaderName) -> Option<&str> {
        let is_named = |how, wanted: &str| matches(name.as_str().as_bytes(), wanted.as_bytes(), how);
        let mut entries = self.list.headers.iter();
        entries.find(|entry| is_named(entry.how, &entry.name)).map(|entry| &*entry.name)
    }

    /// The scheme that a field value offers, to readers that look for it anywhere: not only behind a comma, and in a quoted string if it
    /// goes on there like a challenge.
    fn scheme_in(&self, value: &[u8]) -> Option<&SchemeEntry> {
        let (mut within, mut before) = (Within::Plain, b',');
        for (at, byte) in value.iter().enumerate() {
            let begins = !is_token(before) && (within != Within::Plain || before != b'=');
            let found = begins
                .then(|| self.scheme_at(value.get(at..).unwrap_or_default(), within))
                .flatten();
            if found.is_some() {
                return found;
            }
            (within, before) = (within.after(*byte), *byte);
        }
        None
    }

    fn scheme_at(&self, rest: &[u8], within: Within) -> Option<&SchemeEntry> {
        self.list.schemes.iter().find(|entry| {
            let Some((scheme, after)) = rest.split_at_checked(entry.scheme.len()) else {
                return false;
            };
            let ends = after.first().is_none_or(|byte| byte.is_ascii_whitespace() || *byte == b',');
            ends && scheme.eq_ignore_ascii_case(entry.scheme.as_bytes()) && (within == Within::Plain || begins_with_parameter(after))
        })
    }

    /// What is left of a list of challenges (RFC 9110 section 11.6.1) without those of the listed schemes, as it was written. Nothing, where
    /// it is no such list.
    fn others(&self, value: &HeaderValue) -> Option<HeaderValue> {
        let mut left: Vec<&[u8]> = Vec::new();
        let mut keeping = None;
        for element in elements(value.as_bytes())? {
            let name = element.iter().position(|byte| !is_token(*byte)).unwrap_or(element.len());
            let (name, after) = element.split_at_checked(name).filter(|(name, _)| !name.is_empty())?;
            if !after.trim_ascii_start().starts_with(b"=") {
                let pays = self
                    .list
                    .schemes
                    .iter()
                    .any(|entry| entry.scheme.as_bytes().eq_ignore_ascii_case(name));
                keeping = Some(!pays);
            }
            if keeping? {
                left.push(element);
            }
        }
        let left = left.join(&b", "[..]);
        if left.is_empty() || self.scheme_in(&left).is_some() {
            return None;
        }
        HeaderValue::from_bytes(&left).ok()
    }
}

fn offer(entry: &str) -> RailHit {
    let detail = "the origin asks to be paid by another scheme than x402";
    RailHit::new(Reason::RailPaymentScheme, detail, entry)
}

fn is_challenge(name: &HeaderName) -> bool {
    name.as_str().ends_with("-authenticate")
}

/// Of a token (RFC 9110 section 5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

fn begins_with_parameter(after: &[u8]) -> bool {
    let after = after.trim_ascii_start();
    let name = after.iter().position(|byte| !is_token(*byte)).unwrap_or(after.len());
    name > 0 && after.get(name..).is_some_and(|rest| rest.trim_ascii_start().starts_with(b"="))
}

/// What stands between the commas; `None` where a quoted string does not end.
fn elements(value: &[u8]) -> Option<Vec<&[u8]>> {
    let (mut within, mut start, mut elements) = (Within::Plain, 0, Vec::new());
    for (at, byte) in value.iter().enumerate() {
        if within == Within::Plain && *byte == b',' {
            elements.push(value.get(start..at)?);
            start = at + 1;
        }
        within = within.after(*byte);
    }
    elements.push(value.get(start..)?);
    let stated = elements.into_iter().map(<[u8]>::trim_ascii).filter(|element| !element.is_empty());
    (within == Within::Plain).then(|| stated.collect())
}

fn offers_mpp(value: &Value<'_>) -> bool {
    match value {
        Value::Array(values) => values.iter().any(offers_mpp),
        Value::Object(object) => object.members().any(|(name, value)| match value {
            Value::Null => false,
            _ if name == MPP_REQUIRED => true,
            Value::Array(challenges) if name == "challenges" => challenges.iter().filter_map(Value::as_object).any(is_mpp),
            value => offers_mpp(value),
        }),
        _ => false,
    }
}

/// Of an answer that some read in a way of their own.
fn speaks_of_mpp(answer: &[u8]) -> bool {
    let plain = without_escapes(answer);
    let has = |word: &[u8]| memmem::find(&plain, word).is_some();
    has(MPP_REQUIRED.as_bytes()) || (has(b"\"challenges\"") && has(b"\"intent\""))
}

#[cfg(test)]
mod tests;
