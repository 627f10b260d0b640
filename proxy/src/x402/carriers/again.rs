//! What of a paid call stays the same when its client makes it again: all but the payment, and what clients number and trace requests by.
//!
//! In: the text of a call, read strictly before. Out: the hash of its rest. MCP clients count `id` up and repeat it as `progressToken`, and
//! trace contexts (W3C `traceparent`) are new for each request; A2A clients make up a new `id` and `messageId` for each message.

use std::ops::Range;

use sha2::{Digest, Sha256};

use super::{A2A_PAYMENT, MCP_PAYMENT, text};

/// Names a call without its payment; safe to store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallHash(pub [u8; 32]);

/// Where the members that are new each time stand, and what they are.
pub(super) type Anew = (&'static [&'static str], &'static [&'static str]);

pub(super) const IN_MCP: &[Anew] = &[(&["params", "_meta"], &[MCP_PAYMENT, "progressToken", "traceparent", "tracestate"])];
pub(super) const IN_A2A: &[Anew] = &[
    (&["params", "message"], &["messageId"]),
    (&["params", "message", "metadata"], &[A2A_PAYMENT]),
];

impl CallHash {
    /// The call without the values of these members, nor of its `id`.
    pub(super) fn of(call: &str, anew: &[Anew]) -> Self {
        let anew = anew.iter().copied().chain([(&[][..], &["id"][..])]);
        let mut cuts: Vec<Range<usize>> = anew
            .filter_map(|(place, names)| Some((text::at(call, place)?, names)))
            .flat_map(|(object, names)| names.iter().filter_map(move |name| text::place(call, text::member(object, name)?)))
            .collect();
        cuts.sort_unstable_by_key(|cut| cut.start);
        let mut hash = Sha256::new();
        let mut part = |range: Range<usize>| {
            let bytes = call.as_bytes().get(range).unwrap_or_default();
            // With its length, so that no value can stand for the place of another.
            hash.update((bytes.len() as u64).to_be_bytes());
            hash.update(bytes);
        };
        let mut end = 0;
        for cut in cuts {
            part(end..cut.start);
            end = cut.end;
        }
        part(end..call.len());
        CallHash(hash.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mcp(id: &str, city: &str, meta: &str) -> CallHash {
        let call =
            format!(r#"{{"id":{id},"method":"tools/call","params":{{"name":"t","arguments":{{"city":{city}}},"_meta":{{{meta}}}}}}}"#);
        CallHash::of(&call, IN_MCP)
    }

    #[test]
    fn what_is_new_each_time_makes_no_other_call_and_anything_else_does() {
        let meta =
            |token: &str, payment: &str| format!(r#""progressToken":{token},"x402/payment":{payment},"traceparent":"{token}","a":1"#);
        let first = mcp("7", "\"Oslo\"", &meta("7", "{}"));
        assert_eq!(first, mcp("\"8\"", "\"Oslo\"", &meta("8", r#"{"payload":{"nonce":"0x1"}}"#)));
        for (name, other) in [
            ("another argument", mcp("7", "\"Bergen\"", &meta("7", "{}"))),
            (
                "another member",
                mcp("7", "\"Oslo\"", &meta("7", "{}").replace("\"a\":1", "\"a\":2")),
            ),
            ("no token", mcp("7", "\"Oslo\"", r#""x402/payment":{},"traceparent":"7","a":1"#)),
            // Names that are new each time are so in their places alone.
            ("an id elsewhere", mcp("7", r#"{"id":1}"#, &meta("7", "{}"))),
            ("another id elsewhere", mcp("7", r#"{"id":2}"#, &meta("7", "{}"))),
        ] {
            assert_ne!(first, other, "{name}");
        }
        assert_ne!(mcp("7", r#"{"id":1}"#, ""), mcp("7", r#"{"id":2}"#, ""));
    }

    #[test]
    fn a_message_to_an_agent_is_the_same_under_another_id() {
        let message = |id: &str, text: &str, payment: &str| {
            let metadata = format!(r#""metadata":{{"x402.payment.payload":{payment}}}"#);
            let call = format!(r#"{{"id":"{id}","params":{{"message":{{{metadata},"messageId":"{id}","parts":["{text}"]}}}}}}"#);
            CallHash::of(&call, IN_A2A)
        };
        assert_eq!(message("a", "x", "{}"), message("b", "x", r#"{"a":1}"#));
        assert_ne!(message("a", "x", "{}"), message("a", "y", "{}"));
    }
}
