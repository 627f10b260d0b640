//! What a payment looks like wherever it hides: in a cookie, a query, a JSON body, a string inside it.
//!
//! A signature is money for whoever reads it, so every other way out of the sandbox is searched for one. The search takes what any reader
//! might take (either base64 alphabet, keys in any case, escapes); what it finds is refused, never judged.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

use super::base64::{decode_tolerant, is_base64};
use super::carriers::{A2A_PAYMENT, MCP_PAYMENT, Sought};
use super::json::{self, Object, Value};
use super::solana::TokenProgram;
use super::solana::transaction::{MAX_BYTES, Transaction};
use super::words::Words;

/// Shorter text holds no payment: a signature alone is 132 characters.
pub const SHORTEST: usize = 128;

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trace {
    /// An EIP-3009 or Permit2 authorisation or a channel voucher with its signature, or a signed transaction.
    SignedAuthorization,
    /// An x402 payment object, bare or encoded.
    Payment,
    /// An AP2 payment mandate.
    Mandate,
    /// An MPP credential.
    MppCredential,
    /// `x402.payment.payload` of A2A.
    A2aPayment,
    /// `x402/payment` of MCP.
    McpPayment,
    /// A call to a facilitator.
    FacilitatorCall,
}

impl Trace {
    /// Whether it is another way to pay than x402's.
    pub(crate) const fn is_a_rail(self) -> bool {
        matches!(self, Trace::Mandate | Trace::MppCredential | Trace::FacilitatorCall)
    }
}

/// The strongest trace in a parsed document.
pub fn in_value(value: &Value<'_>) -> Option<Trace> {
    in_values([value])
}

/// The strongest trace in several parts of a document, taken together.
pub fn in_values<'v, 'a: 'v>(values: impl IntoIterator<Item = &'v Value<'a>>) -> Option<Trace> {
    walked(values, &Sought::default())
}

/// The strongest trace in a parsed document, but for the payments in their places, which are judged by themselves.
pub fn beside(value: &Value<'_>, judged: &Sought<'_>) -> Option<Trace> {
    walked([value], judged)
}

fn walked<'v, 'a: 'v>(values: impl IntoIterator<Item = &'v Value<'a>>, judged: &Sought<'_>) -> Option<Trace> {
    let mut walk = Walk {
        judged,
        strongest: None,
        authorization: false,
        signature: false,
    };
    for value in values {
        walk.value(value);
    }
    let naked = (walk.authorization && walk.signature).then_some(Trace::SignedAuthorization);
    walk.strongest.max(naked)
}

struct Walk<'w> {
    judged: &'w Sought<'w>,
    strongest: Option<Trace>,
    authorization: bool,
    signature: bool,
}

impl Walk<'_> {
    fn value(&mut self, value: &Value<'_>) {
        match value {
            Value::Array(values) => values.iter().for_each(|value| self.value(value)),
            Value::Object(object) => self.object(object),
            Value::String(text) if hides_payment(text) => self.found(Trace::Payment),
            Value::String(text) if hides_transaction(text) => self.found(Trace::SignedAuthorization),
            // A header line, a data URL, JSON within JSON: what a partner outside would take apart again.
            Value::String(text) if text.len() >= SHORTEST && in_text(text.as_bytes()).is_some() => self.found(Trace::Payment),
            _ => {}
        }
    }

    fn found(&mut self, trace: Trace) {
        self.strongest = self.strongest.max(Some(trace));
    }

    fn object(&mut self, object: &Object<'_>) {
        // Go readers take keys in any case.
        let has = |name: &str| object.members().any(|(key, _)| key.eq_ignore_ascii_case(name));
        let has_all = |names: &[&str]| names.iter().all(|name| has(name));
        if has_all(&["paymentPayload", "paymentRequirements"]) {
            self.found(Trace::FacilitatorCall);
        }
        if has_all(&["x402Version", "payload"]) {
            self.found(Trace::Payment);
        }
        self.authorization |= has_all(&["from", "to", "value", "validAfter", "validBefore", "nonce"])
            || has_all(&["permitted", "spender", "deadline"])
            || has_all(&["channelId", "maxClaimableAmount"])
            || has("permit2Authorization");
        // A whole transaction, ready to be broadcast by whoever reads it.
        if has("signedTransaction") {
            self.found(Trace::SignedAuthorization);
        }
        self.signature |= has("signature") || has_all(&["v", "r", "s"]);
        for (key, value) in object.members() {
            if key.len() >= SHORTEST && in_text(key.as_bytes()).is_some() {
                self.found(Trace::Payment);
            }
            if self.judged.has(value) {
                continue;
            }
            match key {
                MCP_PAYMENT => self.found(Trace::McpPayment),
                A2A_PAYMENT => self.found(Trace::A2aPayment),
                "org.paymentauth/credential" => self.found(Trace::MppCredential),
                "ap2.mandates.PaymentMandate" => self.found(Trace::Mandate),
                _ => {}
            }
            self.value(value);
        }
    }
}

/// Whether a string is, as a whole, a base64 spelling of a document with a payment in it. One level: who encodes twice has a partner
/// outside who could take any other encoding as well.
fn hides_payment(text: &str) -> bool {
    let run = text.trim().trim_end_matches('=').as_bytes();
    run.len() >= SHORTEST && run.iter().all(|b| is_base64(*b)) && decodes_to_payment(run)
}

/// Whether a string is base64 of a Solana transaction that somebody has signed: the money of whoever sends it off. Other bytes are not taken
/// for one by chance, as every length in it has to come out even.
fn hides_transaction(text: &str) -> bool {
    let run = text.trim().trim_end_matches('=').as_bytes();
    let fits = (SHORTEST..=MAX_BYTES.div_ceil(3) * 4).contains(&run.len()) && run.iter().all(|b| is_base64(*b));
    fits && decode_tolerant(run).is_some_and(|bytes| {
        let transaction = Transaction::read(&bytes);
        transaction.is_ok_and(|transaction| transaction.signatures.iter().any(|signature| **signature != [0; 64]))
    })
}

fn decodes_to_payment(run: &[u8]) -> bool {
    let Some(bytes) = decode_tolerant(run) else {
        return false;
    };
    match json::parse(&bytes, 64) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => in_value(&value).is_some(),
        Ok(_) => false,
        // Cut off, with duplicate keys, or behind something else: the words decide.
        Err(_) => speaks_of_payment(&bytes) || (contains(&bytes, b"x402Version") && contains(&bytes, b"payload")),
    }
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|window| window == word)
}

const WORDS: [&str; 4] = ["x402Version", "validBefore", "permit2Authorization", "maxClaimableAmount"];

static SPEAKS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| AhoCorasick::builder().ascii_case_insensitive(true).build(WORDS).ok());

/// Whether text that is not (one) document speaks of a payment and holds something as long as a signature.
fn speaks_of_payment(text: &[u8]) -> bool {
    // An automaton that cannot be built must not open the gate.
    SPEAKS.as_ref().is_none_or(|words| words.is_match(text)) && holds_signature(text)
}

fn holds_signature(text: &[u8]) -> bool {
    text.windows(2).enumerate().any(|(at, pair)| {
        pair.eq_ignore_ascii_case(b"0x")
            && text
                .get(at + 2..at + 132)
                .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}

/// What encoded payments have in common whatever stands before it: base64 of a word at each of the three offsets.
pub(crate) fn encoded_words() -> Vec<String> {
    WORDS
        .into_iter()
        .flat_map(|word| (0..3).map(move |offset| encoded_at(word.as_bytes(), offset)))
        .collect()
}

/// What transactions that transfer tokens have in common in base64: the address of a token program at each of the three offsets.
pub(crate) fn transaction_words() -> Vec<String> {
    TokenProgram::ALL
        .into_iter()
        .flat_map(|program| (0..3).map(move |offset| encoded_at(&program.address().0, offset)))
        .collect()
}

/// How many characters of the first group of four belong to the byte before the word.
const fn lead(offset: usize) -> usize {
    (offset * 8).div_ceil(6)
}

fn encoded_at(word: &[u8], offset: usize) -> String {
    use ::base64::Engine;
    let padded: Vec<u8> = std::iter::repeat_n(0, offset).chain(word.iter().copied()).collect();
    let text = ::base64::engine::general_purpose::STANDARD_NO_PAD.encode(padded);
    let last = (offset + word.len()) * 8 / 6;
    text.get(lead(offset)..last).unwrap_or_default().to_owned()
}

static TEXT: LazyLock<Option<Words>> = LazyLock::new(|| {
    let words: Vec<String> = encoded_words().into_iter().chain(WORDS.map(str::to_owned)).collect();
    Words::new(&words).ok()
});

/// Searches text of no particular form: a header value, a cookie, a query, a form, a multipart body, an event stream. Percent-encoding
/// is looked through, since every server undoes it in a query, and some in cookies.
pub fn in_text(text: &[u8]) -> Option<Trace> {
    if text.len() < SHORTEST {
        return None;
    }
    in_plain_text(text).or_else(|| {
        let once = percent_decoded(text)?;
        in_plain_text(&once).or_else(|| in_plain_text(&percent_decoded(&once)?))
    })
}

/// One level of percent-encoding undone; `None` where there is none. `+` stays: in base64 it is a digit.
fn percent_decoded(text: &[u8]) -> Option<Vec<u8>> {
    memchr::memchr(b'%', text)?;
    let digit = |at: usize| {
        text.get(at)
            .and_then(|b| char::from(*b).to_digit(16))
            .and_then(|digit| u8::try_from(digit).ok())
    };
    let mut decoded = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        if let (b'%', Some(high), Some(low)) = (byte, digit(at + 1), digit(at + 2)) {
            decoded.push(high << 4 | low);
            at += 3;
        } else {
            decoded.push(*byte);
            at += 1;
        }
    }
    Some(decoded)
}

fn in_plain_text(text: &[u8]) -> Option<Trace> {
    if text.len() < SHORTEST {
        return None;
    }
    let Some(words) = TEXT.as_ref() else {
        return Some(Trace::Payment);
    };
    if !words.any(text) {
        return None;
    }
    let mut looked_at = 0;
    let encoded = words.each(text).any(|found| {
        if found.word >= WORDS.len() * 3 || found.start < looked_at {
            return false;
        }
        let (before, after) = text.split_at(found.start);
        let start = before.iter().rposition(|b| !is_base64(*b)).map_or(0, |at| at + 1);
        looked_at = after.iter().position(|b| !is_base64(*b)).map_or(text.len(), |at| found.start + at);
        // The word tells where groups of four begin, so text that runs into the encoding (a path) does not shift it.
        let group = found.start.saturating_sub(lead(found.word % 3));
        let aligned = start + group.saturating_sub(start) % 4;
        [start, aligned]
            .into_iter()
            .any(|from| text.get(from..looked_at).is_some_and(decodes_to_payment))
    });
    (encoded || speaks_of_payment(text)).then_some(Trace::Payment)
}

#[cfg(test)]
mod tests;
