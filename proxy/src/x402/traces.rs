//! What a payment looks like wherever it hides: in a cookie, a query, a JSON body, a string inside it.
//!
//! A signature is money for whoever reads it, so every other way out of the sandbox is searched for one. The search takes what any reader
//! might take (either base64 alphabet, keys in any case, escapes); what it finds is refused, never judged.

mod layers;
mod passing;
mod text;
mod transaction;

use super::base64::is_base64;
use super::carriers::{A2A_PAYMENT, MCP_PAYMENT, Sought};
use super::json::{Object, Value};
pub(crate) use layers::may_be_in_layers;
pub use passing::Passing;
pub(crate) use text::{CREDENTIAL, encoded_words};
pub use text::{SHORTEST, in_text};
pub(crate) use transaction::{may_be_in_base58, words as transaction_words};

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
            Value::String(text) => self.strongest = self.strongest.max(in_string(text)),
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
        if has_all(&["challenge", "payload"]) && object.object("challenge").is_some_and(is_mpp) {
            self.found(Trace::MppCredential);
        }
        self.signature |= has("signature") || has_all(&["v", "r", "s"]);
        for (key, value) in object.members() {
            self.strongest = self.strongest.max(in_text(key.as_bytes()));
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

/// Whether an object is a challenge of MPP (draft-httpauth-payment).
pub(crate) fn is_mpp(challenge: &Object<'_>) -> bool {
    ["method", "intent", "request"].iter().all(|name| challenge.has(name))
}

/// What a string holds: as a whole in base64, or as a header line, a data URL, JSON within JSON, which a partner outside would take apart again.
fn in_string(text: &str) -> Option<Trace> {
    let run = text.trim().trim_end_matches('=').as_bytes();
    if run.len() >= SHORTEST && run.iter().all(|b| is_base64(*b)) {
        let transaction = || transaction::is_hidden_in(run).then_some(Trace::SignedAuthorization);
        if let Some(trace) = text::in_decoded(run).or_else(transaction) {
            return Some(trace);
        }
    }
    in_text(text.as_bytes())
}

#[cfg(test)]
mod tests;
