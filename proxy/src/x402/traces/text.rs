//! Payments in text of no particular form: a header value, a cookie, a query, a form, a part of a multipart body, an event stream.
//!
//! In: bytes. Out: the trace in them. One pass for a few words at memory speed; only where one is there, or a run as long as a transaction
//! in base58, is anything decoded. Percent-encoding and JSON's escapes are looked through, since every server undoes them in a query or form.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::layers::in_layers;
use super::{Trace, in_value, transaction};
use crate::x402::base64::{decode_tolerant, is_base64};
use crate::x402::json::{self, Value};
use crate::x402::words::{Words, without_escapes};

/// Shorter text holds no payment: a signature alone is 132 characters.
pub const SHORTEST: usize = 128;

/// What base64 says: a payment of x402, of whatever kind, or another rail's.
pub(super) fn in_decoded(run: &[u8]) -> Option<Trace> {
    let bytes = decode_tolerant(run)?;
    match json::parse(&bytes, 64) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => in_value(&value).map(|trace| match trace {
            Trace::Mandate | Trace::MppCredential => trace,
            _ => Trace::Payment,
        }),
        Ok(_) => None,
        // Cut off, with duplicate keys, or behind something else: the words decide.
        Err(_) => {
            let paid = spoken(&bytes).is_some() || (contains(&bytes, b"x402Version") && contains(&bytes, b"payload"));
            paid.then_some(Trace::Payment)
        }
    }
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}

/// The first is of a whole payment, the others of what is signed in one.
const WORDS: [&str; 4] = ["x402Version", "validBefore", "permit2Authorization", "maxClaimableAmount"];

static SPEAKS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| AhoCorasick::builder().ascii_case_insensitive(true).build(WORDS).ok());

/// Whether text that is not (one) document speaks of a payment and holds something as long as a signature.
fn spoken(text: &[u8]) -> Option<Trace> {
    // An automaton that cannot be built must not open the gate.
    let Some(words) = SPEAKS.as_ref() else {
        return Some(Trace::Payment);
    };
    if !words.is_match(text) || !holds_signature(text) {
        return None;
    }
    let whole = words.find_iter(text).any(|found| found.pattern().as_usize() == 0);
    Some(if whole { Trace::Payment } else { Trace::SignedAuthorization })
}

fn holds_signature(text: &[u8]) -> bool {
    memchr::memchr2_iter(b'x', b'X', text).any(|at| {
        let zero = at.checked_sub(1).and_then(|at| text.get(at)) == Some(&b'0');
        let digits = text.get(at + 1..at + 131);
        zero && digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}

/// What encoded payments have in common whatever stands before it: base64 of a word at each of the three offsets.
pub(crate) fn encoded_words() -> Vec<String> {
    WORDS
        .into_iter()
        .flat_map(|word| (0..3).map(move |offset| encoded_at(word.as_bytes(), offset)))
        .collect()
}

/// How many characters of the first group of four belong to the byte before the word.
pub(super) const fn lead(offset: usize) -> usize {
    (offset * 8).div_ceil(6)
}

pub(super) fn encoded_at(word: &[u8], offset: usize) -> String {
    use ::base64::Engine;
    let padded: Vec<u8> = std::iter::repeat_n(0, offset).chain(word.iter().copied()).collect();
    let text = ::base64::engine::general_purpose::STANDARD_NO_PAD.encode(padded);
    let last = (offset + word.len()) * 8 / 6;
    text.get(lead(offset)..last).unwrap_or_default().to_owned()
}

/// Other spellings of the words: of readers that take keys in any case.
const SPELLINGS: [&str; 5] = ["x402version", "X402Version", "validbefore", "ValidBefore", "VALIDBEFORE"];

/// What a credential of MPP begins with in base64: `{"challenge"`.
pub(crate) const CREDENTIAL: &str = "eyJjaGFsbGVuZ2Ui";

/// What names the payments of other rails in JSON, and the word that finds each.
const NAMED: [(&str, &str, Trace); 2] = [
    ("paymentauth", "org.paymentauth/credential", Trace::MppCredential),
    ("ap2.mandates", "ap2.mandates.PaymentMandate", Trace::Mandate),
];

static TEXT: LazyLock<Option<Words>> = LazyLock::new(|| {
    let encoded = encoded_words().into_iter().chain(transaction::words());
    let plain = WORDS
        .into_iter()
        .chain(SPELLINGS)
        .chain(NAMED.map(|(word, ..)| word))
        .map(str::to_owned);
    let credential = std::iter::once(CREDENTIAL.to_owned());
    // Up to 32 of them are searched for at twice the speed.
    Words::new(&encoded.chain(credential).chain(plain).collect::<Vec<_>>()).ok()
});

/// What a word that was found is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A payment's, encoded at this offset.
    Payment(usize),
    /// A token program's address, encoded at this offset.
    Transaction(usize),
    Plain,
}

/// By its place in [`TEXT`]: three offsets for each encoded word, then [`CREDENTIAL`].
fn kind(word: usize) -> Kind {
    let payments = WORDS.len() * 3;
    match word.checked_sub(payments) {
        None => Kind::Payment(word % 3),
        Some(word) if word < transaction::WORDS => Kind::Transaction(word % 3),
        Some(transaction::WORDS) => Kind::Payment(0),
        Some(_) => Kind::Plain,
    }
}

/// Searches text. What it says in percent-encoding is read up to two levels deep.
pub fn in_text(text: &[u8]) -> Option<Trace> {
    let found = spelled(text);
    if found.is_some() || text.len() < SHORTEST || !hides_in_percents(text) {
        return found;
    }
    let once = percent_decoded(text);
    spelled(&once).or_else(|| hides_in_percents(&once).then(|| spelled(&percent_decoded(&once)))?)
}

/// In the text itself, with JSON's escapes or without them.
fn spelled(text: &[u8]) -> Option<Trace> {
    in_plain_text(text, LAYERS).or_else(|| hides_in_escapes(text).then(|| in_plain_text(&without_escapes(text), LAYERS))?)
}

/// Whether there is a percent-encoded character that could hide a letter of a word, or a digit of base64.
fn hides_in_percents(text: &[u8]) -> bool {
    memchr::memchr_iter(b'%', text).any(|at| {
        let beside = text.get(at + 3).is_none_or(|byte| is_base64(*byte) || *byte == b'%');
        beside && escaped(text, at).is_some_and(|byte| byte.is_ascii_graphic())
    })
}

/// The same for `\u0078` and `\/`.
fn hides_in_escapes(text: &[u8]) -> bool {
    memchr::memchr_iter(b'\\', text).any(|at| match text.get(at + 1..) {
        Some([b'u', b'0', b'0', ..]) => true,
        Some([b'/', next, ..]) => is_base64(*next) && at.checked_sub(1).and_then(|at| text.get(at)).is_some_and(|byte| is_base64(*byte)),
        _ => false,
    })
}

/// The byte that a percent sign here stands for.
fn escaped(text: &[u8], at: usize) -> Option<u8> {
    let digit = |at: usize| {
        text.get(at)
            .and_then(|b| char::from(*b).to_digit(16))
            .and_then(|digit| u8::try_from(digit).ok())
    };
    Some(digit(at + 1)? << 4 | digit(at + 2)?)
}

/// One level of percent-encoding undone. `+` stays: in base64 it is a digit.
fn percent_decoded(text: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let hidden = if *byte == b'%' { escaped(text, at) } else { None };
        decoded.push(hidden.unwrap_or(*byte));
        at += if hidden.is_some() { 3 } else { 1 };
    }
    decoded
}

/// How many more encodings are undone: who made more has a partner outside who could take any other as well, and each costs time.
const LAYERS: u8 = 2;

/// `layers` more encodings are undone.
pub(super) fn in_plain_text(text: &[u8], layers: u8) -> Option<Trace> {
    if text.len() < SHORTEST {
        return None;
    }
    let Some(words) = TEXT.as_ref() else {
        return Some(Trace::Payment);
    };
    in_lines(words, text, layers).or_else(|| is_broken(text).then(|| in_lines(words, &in_one_line(text), layers))?)
}

/// In text whose lines mean something.
fn in_lines(words: &Words, text: &[u8], layers: u8) -> Option<Trace> {
    if transaction::in_base58(text) {
        return Some(Trace::SignedAuthorization);
    }
    let found = words
        .any(text)
        .then(|| encoded(words, text).or_else(|| spoken(text)).or_else(|| named(text)));
    found.flatten().or_else(|| in_layers(text, layers.checked_sub(1)?))
}

/// A payment of another rail, as the member of a document that may stand in a string of another.
fn named(text: &[u8]) -> Option<Trace> {
    let is_member = |name: &str| {
        memchr::memmem::find_iter(text, name.as_bytes()).any(|at| {
            let after = text.get(at + name.len()..).unwrap_or_default();
            let quotes = after
                .iter()
                .position(|byte| !matches!(byte, b'\\' | b'"' | b'\''))
                .unwrap_or(after.len());
            quotes > 0 && after.get(quotes..).is_some_and(|rest| rest.trim_ascii_start().starts_with(b":"))
        })
    };
    NAMED.into_iter().find(|(_, name, _)| is_member(name)).map(|(_, _, trace)| trace)
}

/// A body in base64 is broken into lines (RFC 2045 section 6.8), none of which is as short as this.
const SHORTEST_LINE: usize = 32;

/// Whether a line of base64 ends, and the next one goes on.
fn is_broken(text: &[u8]) -> bool {
    memchr::memchr_iter(b'\n', text).any(|end| {
        let (before, after) = text.split_at(end);
        let before = before.strip_suffix(b"\r").unwrap_or(before);
        let line = before.len().checked_sub(SHORTEST_LINE).and_then(|start| before.get(start..));
        after.get(1).is_some_and(|byte| is_base64(*byte)) && line.is_some_and(|line| line.iter().all(|byte| is_base64(*byte)))
    })
}

/// Lines put together, but for empty ones and the boundaries of a multipart body.
fn in_one_line(text: &[u8]) -> Vec<u8> {
    let mut joined = Vec::with_capacity(text.len());
    for line in text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii) {
        if line.is_empty() || line.starts_with(b"--") {
            joined.push(b'\n');
        }
        joined.extend_from_slice(line);
    }
    joined
}

fn encoded(words: &Words, text: &[u8]) -> Option<Trace> {
    let mut looked_at = 0;
    words.each(text).find_map(|found| {
        let (Kind::Payment(offset) | Kind::Transaction(offset)) = kind(found.word) else {
            return None;
        };
        if found.start < looked_at {
            return None;
        }
        let (before, after) = text.split_at(found.start);
        let start = before.iter().rposition(|b| !is_base64(*b)).map_or(0, |at| at + 1);
        looked_at = after.iter().position(|b| !is_base64(*b)).map_or(text.len(), |at| found.start + at);
        // The word tells where groups of four begin, so text that runs into the encoding (a path) does not shift it.
        let group = found.start.saturating_sub(lead(offset));
        let aligned = start + group.saturating_sub(start) % 4;
        let run = |from: usize| text.get(from..looked_at).unwrap_or_default();
        if transaction::ends_base64(run(aligned)) {
            return Some(Trace::SignedAuthorization);
        }
        [start, aligned].into_iter().find_map(|from| in_decoded(run(from)))
    })
}
