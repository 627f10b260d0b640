//! Finding the payment in a request's headers: broadly, in one pass, without allocation for a request that has none.
//!
//! Sellers take many spellings that we do not judge. So everything that could be read as a payment and is not the one canonical header is
//! refused, never passed as "no payment".

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use tollgate_policy::Reason;

use super::claim::Version;
use super::refusal::PaymentRefusal;
use super::traces;

/// What the headers hold.
#[derive(Debug)]
pub enum Found<'h> {
    /// No trace of a payment.
    Nothing,
    /// Exactly one payment header. Its bytes are still to be decoded; forward exactly these. The value is marked sensitive nowhere: do not
    /// log it.
    Payment {
        /// By the header's name.
        version: Version,
        /// The header's value.
        value: &'h HeaderValue,
    },
    /// No payment, but exactly one `SIGN-IN-WITH-X`. Do not log its value.
    SignIn {
        /// The header's value.
        value: &'h HeaderValue,
    },
    /// A payment that cannot be judged, or more than one.
    Refused(PaymentRefusal),
}

/// What a header's name says about it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Name {
    Payment(Version),
    /// A wallet signature that is no payment.
    SignIn,
    /// Harmless companions that SDKs send next to a payment.
    Tolerated,
    /// Names headers: may strip or announce a payment header on the way.
    Nominates,
    /// Another spelling of the wallet signature's name, or a seller's internal header.
    Forbidden(&'static str),
    /// Another spelling or relative of the payment headers.
    Related,
    Other,
}

const SIGNS_IN: &str = "a wallet sign-in is a signature that leaves; it is not allowed";

/// Looks through a header section: of a request, of a CONNECT, or of trailers (in the last two anything but `Nothing` is a refusal).
pub fn find(headers: &HeaderMap) -> Found<'_> {
    let mut payment = None;
    let mut sign_in = None;
    let mut refusal = None;
    for (name, value) in headers {
        let kind = classify(name, value);
        match kind {
            Name::Payment(version) if payment.is_none() => payment = Some((version, value)),
            Name::Payment(_) => {
                return Found::Refused(PaymentRefusal::new(
                    Reason::PaymentConflicting,
                    "the request has more than one payment header",
                ));
            }
            Name::SignIn if sign_in.is_some() => return Found::Refused(PaymentRefusal::scheme(SIGNS_IN)),
            Name::Other | Name::Tolerated | Name::SignIn => {
                if kind == Name::SignIn {
                    sign_in = Some(value);
                }
                if value.len() >= traces::SHORTEST && traces::in_text(value.as_bytes()).is_some() {
                    refusal.get_or_insert("a header other than the payment header holds a payment");
                }
            }
            Name::Nominates => {
                if nominates_payment(value.as_bytes()) {
                    refusal.get_or_insert("Connection or Trailer names a payment header");
                }
            }
            Name::Forbidden(why) => return Found::Refused(PaymentRefusal::scheme(why)),
            Name::Related => {
                refusal.get_or_insert("a header's name is one of a payment, but not the canonical one");
            }
        }
    }
    if headers.len() > headers.keys_len() && lines_hold_payment(headers) {
        refusal.get_or_insert("the lines of a header field, put together, hold a payment");
    }
    match (payment, refusal) {
        (None, None) => sign_in.map_or(Found::Nothing, |value| Found::SignIn { value }),
        // SDKs sign in first and pay only if that was not enough.
        (Some(_), None) if sign_in.is_some() => Found::Refused(PaymentRefusal::scheme(SIGNS_IN)),
        (Some((_, value)), None) if value.as_bytes().contains(&b',') => Found::Refused(PaymentRefusal::new(
            Reason::PaymentConflicting,
            "the payment header holds more than one value",
        )),
        (Some((version, value)), None) => Found::Payment { version, value },
        (_, Some(why)) => Found::Refused(PaymentRefusal::malformed(why)),
    }
}

/// Fields that come in several lines: a receiver may put them together with commas (RFC 9110 section 5.3), cookies with semicolons.
fn lines_hold_payment(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| {
        let lines: Vec<&[u8]> = headers.get_all(name).iter().map(HeaderValue::as_bytes).collect();
        let between: &[&[u8]] = if *name == header::COOKIE {
            &[b"; ", b""]
        } else {
            &[b", ", b",", b""]
        };
        lines.len() > 1 && between.iter().any(|between| traces::in_text(&lines.join(*between)).is_some())
    })
}

/// A payment in what a credential has been put into: it was none when it was judged.
pub fn is_in(text: &[u8]) -> bool {
    traces::in_text(text).is_some()
}

/// A payment in the request target. It is no transport of x402, but a signature leaves with it (and ends up in the origin's logs).
pub fn find_in_target(path_and_query: &str) -> Option<PaymentRefusal> {
    traces::in_text(path_and_query.as_bytes()).map(|_| PaymentRefusal::malformed("the request target holds a payment"))
}

fn classify(name: &HeaderName, value: &HeaderValue) -> Name {
    if *name == header::CONNECTION || *name == header::TRAILER {
        return Name::Nominates;
    }
    let name = name.as_str();
    match name {
        "payment-signature" => Name::Payment(Version::V2),
        "x-payment" => Name::Payment(Version::V1),
        "sign-in-with-x" => Name::SignIn,
        "payment-retry" | "payment-recovery" if value == "1" => Name::Tolerated,
        "accept-payment" => Name::Tolerated,
        _ => classify_rare(name.as_bytes()),
    }
}

fn classify_rare(name: &[u8]) -> Name {
    if folded_eq(name, b"sign-in-with-x") {
        return Name::Forbidden(SIGNS_IN);
    }
    if folded_eq(name, b"settlement-overrides") {
        return Name::Forbidden("Settlement-Overrides belongs to the seller and must not come from a client");
    }
    // Each of the words has one of these two letters, and few other names do. Names are lower case in a header map.
    if name.iter().any(|b| matches!(b, b'y' | b'4'))
        && [b"payment".as_slice(), b"x402", b"x-402", b"x_402"]
            .iter()
            .any(|word| contains(name, word))
    {
        return Name::Related;
    }
    Name::Other
}

fn folded_eq(name: &[u8], dashed: &[u8]) -> bool {
    name.len() == dashed.len() && name.iter().zip(dashed).all(|(a, b)| a == b || (*a == b'_' && *b == b'-'))
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.len() >= word.len() && text.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word))
}

fn nominates_payment(value: &[u8]) -> bool {
    contains(value, b"payment") || contains(value, b"x402") || contains(value, b"sign-in-with-x")
}

#[cfg(test)]
mod tests;
