//! Rails by body: JSON-RPC calls that sign or broadcast, facilitator calls, loose signatures, x402 payments in places where none belongs.
//! The one payment in the place that MCP or A2A has for it comes out, to be judged by the payment rule.
//!
//! A body is first searched for a few words, in one pass that allocates nothing; only one that has any is parsed, and then strictly. What
//! can't be parsed strictly but has the words is refused: `{"method":"eth_chainId","method":"eth_sendRawTransaction"}` is read differently
//! by different nodes.

use memchr::memmem::{self, Finder};
use tollgate_policy::Reason;

use super::list::{List, Match, MethodEntry};
use super::preamble::{self, Preamble};
use super::{RailHit, Rails, RailsError};
use crate::x402::carriers::{A2A_PAYMENT, Carried, MAX_DEPTH, MCP_PAYMENT, Sought};
use crate::x402::json::{Documents, Object, Value};
use crate::x402::refusal::PaymentRefusal;
use crate::x402::traces::{self, Trace};
use crate::x402::words::{Words, without_escapes};

/// What a word in a body announces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    /// A key of a payment or facilitator call.
    Payment,
    /// A JSON-RPC method.
    Method,
    /// Something that may hide one of the others: base64.
    Hidden,
}

/// The words that cause a closer look.
#[derive(Debug)]
pub struct Triggers {
    search: Words,
    kinds: Vec<Word>,
    /// What an escape begins with that may be of ASCII.
    escape: Finder<'static>,
    /// What the words are made of, and escapes themselves: a bit for each character of ASCII.
    letters: u128,
}

/// Go readers take keys in any case; each payment and each facilitator call has one of `x402Version` and `validBefore` in it, so these two
/// are listed in the spellings that a marshaller could make.
const PAYMENT_WORDS: [&str; 14] = [
    "x402",
    "X402",
    "validBefore",
    "ValidBefore",
    "validbefore",
    "Validbefore",
    "VALIDBEFORE",
    "paymentauth",
    "ap2.mandates",
    "ermit2Authorization",
    "\"paymentPayload\"",
    "\"paymentRequirements\"",
    "\"permitted\"",
    "\"maxClaimableAmount\"",
];

impl Triggers {
    pub(super) fn new(list: &List) -> Result<Self, RailsError> {
        let payment = PAYMENT_WORDS.map(|word| (word.to_owned(), Word::Payment));
        let encoded = traces::encoded_words().into_iter().chain(traces::transaction_words());
        let encoded = encoded.chain([traces::CREDENTIAL.to_owned()]);
        let encoded = encoded.map(|word| (word, Word::Hidden));
        let methods = list.methods.iter().map(|entry| {
            let start = if matches!(entry.how, Match::Exact | Match::Prefix) {
                "\""
            } else {
                ""
            };
            let end = if matches!(entry.how, Match::Exact | Match::Suffix) {
                "\""
            } else {
                ""
            };
            (format!("{start}{}{end}", entry.name), Word::Method)
        });
        let words: Vec<(String, Word)> = payment.into_iter().chain(encoded).chain(methods).collect();
        let letters = words.iter().flat_map(|(word, _)| word.bytes()).chain(*b"\\%");
        let letters = letters.fold(0, |letters, byte| letters | 1 << (byte & 127));
        let (patterns, kinds): (Vec<String>, Vec<Word>) = words.into_iter().unzip();
        let search = Words::new(&patterns).map_err(|error| RailsError::BuiltIn(error.to_string()))?;
        Ok(Triggers {
            search,
            kinds,
            escape: Finder::new("\\u00"),
            letters,
        })
    }

    /// Whether a body has to be read.
    pub(super) fn any(&self, body: &[u8]) -> bool {
        self.search.any(body) || self.is_escaped(body)
    }

    /// Whether a letter of some word is escaped: JSON may escape any character. Writers that make it safe for HTML escape `<`, `>` and `&`,
    /// which are in none.
    fn is_escaped(&self, body: &[u8]) -> bool {
        let digit = |at: usize| body.get(at).and_then(|digit| char::from(*digit).to_digit(16));
        self.escape.find_iter(body).any(|at| match (digit(at + 4), digit(at + 5)) {
            (Some(high @ 2..=7), Some(low)) => self.letters & 1 << (high * 16 + low) != 0,
            (Some(2..=7), None) => true,
            _ => false,
        })
    }

    fn has(&self, body: &[u8], kind: Word) -> bool {
        self.search.each(body).any(|found| self.kinds.get(found.word) == Some(&kind))
    }
}

impl Rails {
    /// Looks through a request's decoded body. `path` is the canonical path: at `…/verify` and `…/settle` a payment is a facilitator call.
    pub fn in_body(&self, path: &str, body: &[u8]) -> Result<Option<Carried>, RailHit> {
        // JSON has no raw NUL in UTF-8 (RFC 8259 section 8.1). UTF-16 is read for what it says; anything else, as UTF-32, is not.
        let unreadable = || {
            let detail = "the body is JSON in an encoding that is not read, so it cannot be judged";
            Err(RailHit::new(Reason::UninspectableTraffic, detail, "encoding"))
        };
        let not_paid = |found: Result<Option<Carried>, RailHit>| match found? {
            None => Ok(None),
            // Bytes that other readers take for something else.
            Some(_) => Err(refused(PaymentRefusal::malformed("a payment in a body that is not plain UTF-8"))),
        };
        if let Some(text) = from_utf16(body) {
            return if text.contains('\0') {
                unreadable()
            } else {
                not_paid(self.in_utf8(path, text.as_bytes()))
            };
        }
        if memchr::memchr(0, body).is_some() {
            return unreadable();
        }
        match body.strip_prefix(b"\xef\xbb\xbf") {
            Some(body) => not_paid(self.in_utf8(path, body)),
            None => self.in_utf8(path, body),
        }
    }

    fn in_utf8(&self, path: &str, body: &[u8]) -> Result<Option<Carried>, RailHit> {
        match preamble::skip(body) {
            Preamble::None => {}
            // No strict reader goes on here.
            Preamble::Skipped => return self.unreadable(path, body),
            Preamble::Unfinished | Preamble::OfAnotherKind => {
                return traces::in_text(body).map_or(Ok(None), |trace| Err(trace_hit(path, trace)));
            }
        }
        if !self.triggers.any(body) && !traces::may_be_in_base58(body) && !traces::may_be_in_layers(body) {
            return Ok(None);
        }
        let (Ok(documents), Ok(text)) = (Documents::new(body, MAX_DEPTH), std::str::from_utf8(body)) else {
            return self.unreadable(path, body);
        };
        let mut carried = None;
        for (number, document) in documents.enumerate() {
            let Ok(value) = document else { return self.unreadable(path, body) };
            if let Some(hit) = self.rpc(&value) {
                return Err(hit);
            }
            let sought = Sought::of(&value);
            let beside = traces::beside(&value, &sought);
            if number > 0 && (carried.is_some() || !sought.is_empty()) {
                return Err(refused(PaymentRefusal::malformed("a payment in one of several documents")));
            }
            match beside {
                None => {}
                Some(trace) if sought.is_empty() || trace.is_a_rail() || is_facilitator(path) => return Err(trace_hit(path, trace)),
                Some(_) => {
                    let detail = "the body holds a payment, and another one or a signature beside it";
                    return Err(RailHit::new(Reason::PaymentConflicting, detail, "two payments"));
                }
            }
            if !sought.is_empty() && is_facilitator(path) {
                return Err(trace_hit(path, Trace::Payment));
            }
            carried = sought.one(text).map_err(refused)?;
        }
        Ok(carried)
    }

    /// A body that begins like JSON and is not strictly so.
    fn unreadable(&self, path: &str, body: &[u8]) -> Result<Option<Carried>, RailHit> {
        let plain = without_escapes(body);
        let detail = "the body cannot be read in one way only, and speaks of a payment or transaction";
        let hit = |reason| Err(RailHit::new(reason, detail, "unreadable JSON"));
        if self.triggers.has(&plain, Word::Method) {
            return hit(Reason::RailBroadcast);
        }
        if self.triggers.has(&plain, Word::Payment) {
            let paid = [MCP_PAYMENT, A2A_PAYMENT]
                .iter()
                .any(|name| memmem::find(&plain, name.as_bytes()).is_some());
            let settled = memmem::find(&plain, b"paymentRequirements").is_some() || is_facilitator(path);
            return hit(if paid && !settled {
                Reason::PaymentMalformed
            } else {
                Reason::RailFacilitatorCall
            });
        }
        traces::in_text(&plain).map_or(Ok(None), |trace| Err(trace_hit(path, trace)))
    }

    fn rpc(&self, value: &Value<'_>) -> Option<RailHit> {
        match value {
            Value::Array(values) => values.iter().find_map(|value| self.rpc(value)),
            Value::Object(object) => self
                .rpc_object(object)
                .or_else(|| object.members().find_map(|(_, value)| self.nested_rpc(value))),
            _ => None,
        }
    }

    /// Below the top only what is a whole JSON-RPC request counts: a gateway may unwrap it.
    fn nested_rpc(&self, value: &Value<'_>) -> Option<RailHit> {
        match value {
            Value::Array(values) => values.iter().find_map(|value| self.nested_rpc(value)),
            Value::Object(object) => {
                let own = if object.has("jsonrpc") { self.rpc_object(object) } else { None };
                own.or_else(|| object.members().find_map(|(_, value)| self.nested_rpc(value)))
            }
            _ => None,
        }
    }

    fn rpc_object(&self, object: &Object<'_>) -> Option<RailHit> {
        // Go nodes take `Method` for `method`.
        let named = |wanted: &'static str| {
            object
                .members()
                .filter(move |(key, _)| key.eq_ignore_ascii_case(wanted))
                .map(|(_, value)| value)
        };
        named("method")
            .chain(named("command"))
            .filter_map(Value::as_str)
            .find_map(|method| {
                self.list
                    .methods
                    .iter()
                    .find(|entry| method_matches(entry, method) && has_needed(entry, object))
                    .map(|entry| RailHit::new(Reason::RailBroadcast, "the call signs or broadcasts a transaction", &*entry.name))
            })
    }
}

/// At these paths whatever pays is handed to somebody who settles it.
fn is_facilitator(path: &str) -> bool {
    let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    ["verify", "settle"].iter().any(|call| last.eq_ignore_ascii_case(call))
}

fn refused(refusal: PaymentRefusal) -> RailHit {
    RailHit::new(refusal.reason, refusal.detail, "a payment in a body")
}

/// What a trace is in a request for this path.
pub(crate) fn trace_hit(path: &str, trace: Trace) -> RailHit {
    match trace {
        Trace::FacilitatorCall => RailHit::new(
            Reason::RailFacilitatorCall,
            "the body asks a facilitator to verify or settle",
            "paymentPayload",
        ),
        _ if is_facilitator(path) => RailHit::new(
            Reason::RailFacilitatorCall,
            "the body hands a payment to verify or settle",
            "verify, settle",
        ),
        Trace::SignedAuthorization => RailHit::new(
            Reason::RailBroadcast,
            "the body holds a signed authorisation that anybody could settle",
            "signed authorisation",
        ),
        Trace::Mandate => RailHit::new(
            Reason::RailPaymentScheme,
            "AP2 payment mandates are not allowed",
            "ap2.mandates.PaymentMandate",
        ),
        Trace::MppCredential => RailHit::new(
            Reason::RailPaymentScheme,
            "MPP credentials are not allowed",
            "org.paymentauth/credential",
        ),
        Trace::McpPayment => RailHit::new(
            Reason::PaymentMalformed,
            "an MCP payment stands elsewhere than in the _meta of one call's params",
            MCP_PAYMENT,
        ),
        Trace::A2aPayment => RailHit::new(
            Reason::PaymentMalformed,
            "an A2A payment stands elsewhere than in the metadata of one message",
            A2A_PAYMENT,
        ),
        Trace::Payment => RailHit::new(
            Reason::PaymentSchemeNotAllowed,
            "the body holds a payment in a place where none is judged",
            "x402Version",
        ),
    }
}

pub(super) fn method_matches(entry: &MethodEntry, method: &str) -> bool {
    match entry.how {
        Match::Prefix => method.starts_with(&*entry.name),
        Match::Suffix => method.ends_with(&*entry.name),
        Match::Contains => method.contains(&*entry.name),
        Match::Exact => *method == *entry.name,
    }
}

fn has_needed(entry: &MethodEntry, request: &Object<'_>) -> bool {
    fn has(value: &Value<'_>, names: &[Box<str>]) -> bool {
        match value {
            Value::Array(values) => values.iter().any(|value| has(value, names)),
            Value::Object(object) => object
                .members()
                .any(|(key, value)| names.iter().any(|name| **name == *key) || has(value, names)),
            _ => false,
        }
    }
    entry.needs.is_empty()
        || request
            .members()
            .any(|(key, value)| entry.needs.iter().any(|name| **name == *key) || has(value, &entry.needs))
}

/// Python's `json.loads` takes UTF-16 with or without a byte order mark, so a word search of the raw bytes is not enough.
fn from_utf16(body: &[u8]) -> Option<String> {
    let (big, rest) = match body {
        [0xff, 0xfe, rest @ ..] => (false, rest),
        [0xfe, 0xff, rest @ ..] => (true, rest),
        [b'{' | b'[', 0, ..] => (false, body),
        [0, b'{' | b'[', ..] => (true, body),
        _ => return None,
    };
    let (pairs, _) = rest.as_chunks::<2>();
    let units = pairs.iter().map(|pair| {
        if big {
            u16::from_be_bytes(*pair)
        } else {
            u16::from_le_bytes(*pair)
        }
    });
    Some(
        char::decode_utf16(units)
            .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect(),
    )
}
