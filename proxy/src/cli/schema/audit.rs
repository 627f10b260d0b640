//! An audit line as a JSON Schema (draft 7): every member with its type and what it means.
//!
//! Words come from the sets that lines and metrics are made of. Members may be added to lines, so those that are not known here are no
//! error to a reader; a test holds the known ones against what is written.

use serde_json::{Map, Value, json};
use tollgate_policy::Reason;

use crate::audit::vocabulary::{Adapter, Decision, Protocol, Scheme, VerdictBackend, VerdictOutcome, Vocabulary};
use crate::settings::schema::{nullable, with};

/// The schema.
pub(super) fn json() -> Value {
    let schema = record(
        "One decision. Every member is always there, and `null` where it does not apply.",
        &[
            ("time", moment("When the request was decided on.")),
            (
                "request_id",
                text("Names the request; the answer carries it too. The lines of a WebSocket's upgrade and of its end share one."),
            ),
            ("connection", number("The client connection, numbered from 1 in each run.")),
            ("generation", number("The generation of the policy that decided; 0 is none.")),
            ("process", nullable(process())),
            ("adapter", words::<Adapter>("How the request came in.")),
            ("protocol", nullable(words::<Protocol>("What was spoken."))),
            (
                "method",
                nullable(text("The request's method; `WEBSOCKET_TEXT` and `WEBSOCKET_BINARY` are messages.")),
            ),
            (
                "scheme",
                nullable(words::<Scheme>("Left open by CONNECT, and where bytes pass unread.")),
            ),
            (
                "host",
                nullable(text(
                    "The host, in its canonical form; `null` where the request was too malformed to tell.",
                )),
            ),
            (
                "port",
                nullable(json!({ "type": "integer", "minimum": 0, "maximum": 65535, "description": "The port." })),
            ),
            ("path", nullable(text("The canonical path, without the query."))),
            (
                "decision",
                words::<Decision>("What was decided; `would_deny` was let out only because the endpoint audits."),
            ),
            ("reason_code", nullable(reasons())),
            (
                "policy",
                nullable(text("The key of the policy's rule that decided, or came nearest.")),
            ),
            (
                "rule",
                nullable(text("The allow or deny rule in it: `rules[0]`, `deny_rules[1]`, `access`.")),
            ),
            (
                "operation",
                nullable(text(
                    "What the body asked for, where rules are about that: names of operations, calls and tools only.",
                )),
            ),
            (
                "operations",
                json!({
                    "type": ["array", "null"],
                    "items": { "type": "object", "required": ["protocol", "asks"] },
                    "description": "All of that, each once and in full; null where there is none, or more than a line should hold.",
                }),
            ),
            (
                "messages",
                json!({
                    "type": ["integer", "null"],
                    "minimum": 0,
                    "description": "On the last line of a WebSocket: how many of the client's messages were judged as a whole and passed.",
                }),
            ),
            (
                "addresses",
                json!({
                    "type": "array",
                    "items": { "type": "string" },
                    "description": "The addresses that the host resolved to, as far as they were asked for.",
                }),
            ),
            ("payment", nullable(payment())),
            ("verdict", nullable(verdict())),
            (
                "status",
                nullable(
                    json!({ "type": "integer", "minimum": 100, "maximum": 599, "description": "The status that the client was given." }),
                ),
            ),
            ("bytes_up", number("Body bytes from the client to the origin.")),
            ("bytes_down", number("Body bytes from the origin to the client.")),
            ("duration_ms", milliseconds("From the head to the last byte.")),
        ],
    );
    let schema = with(schema, "$schema", "http://json-schema.org/draft-07/schema#");
    with(schema, "title", "An audit line of Tollgate")
}

fn process() -> Value {
    record(
        "The client process, where a rule asked for it.",
        &[
            ("binary", text("The executable's resolved path.")),
            ("pid", number("The process id as Tollgate sees it.")),
            (
                "ancestors",
                json!({
                    "type": "array",
                    "items": { "type": "string" },
                    "description": "The executables of its parents, nearest first.",
                }),
            ),
        ],
    )
}

/// What was not known when a payment was refused is empty.
fn payment() -> Value {
    record(
        "The payment in the request: what is public about it, and hashes by which other records know it. Empty where it was not known.",
        &[
            ("version", text("The generation of x402: `1` or `2`.")),
            ("scheme", text("The scheme, such as `exact`.")),
            ("network", text("The network's CAIP-2 identifier.")),
            ("asset", text("The token contract.")),
            (
                "amount",
                json!({ "type": "string", "pattern": "^[0-9]*$", "description": "In the asset's smallest unit." }),
            ),
            ("payee", text("Who is paid, as signed.")),
            ("payer", text("Who pays, as signed.")),
            ("payment_hash", hash("SHA-256 of the payment header.")),
            ("nonce_hash", hash("SHA-256 of what makes the authorisation unique.")),
            (
                "identifier_hash",
                nullable(hash("SHA-256 of the payment identifier, where one was sent.")),
            ),
        ],
    )
}

fn verdict() -> Value {
    record(
        "What the verdict service said.",
        &[
            ("backend", words::<VerdictBackend>("Which service.")),
            (
                "verdict",
                words::<VerdictOutcome>("Its answer; `none` where there was no acceptable one."),
            ),
            ("receipt_id", nullable(text("The service's own name for the verdict."))),
            ("latency_ms", milliseconds("How long it took.")),
        ],
    )
}

fn record(description: &str, members: &[(&str, Value)]) -> Value {
    let required: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
    let properties: Map<String, Value> = members.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({ "type": "object", "description": description, "required": required, "properties": properties })
}

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

fn number(description: &str) -> Value {
    json!({ "type": "integer", "minimum": 0, "description": description })
}

fn milliseconds(description: &str) -> Value {
    json!({ "type": "number", "minimum": 0, "description": format!("{description} In milliseconds.") })
}

fn moment(description: &str) -> Value {
    json!({ "type": "string", "format": "date-time", "description": format!("{description} UTC, with milliseconds.") })
}

fn hash(description: &str) -> Value {
    json!({ "type": "string", "pattern": "^([0-9a-f]{64})?$", "description": format!("{description} In hexadecimal digits.") })
}

fn words<V: Vocabulary>(description: &str) -> Value {
    let words: Vec<&str> = V::ALL.iter().map(|word| word.as_str()).collect();
    json!({ "type": "string", "enum": words, "description": description })
}

fn reasons() -> Value {
    let codes: Vec<&str> = Reason::ALL.iter().map(|reason| reason.as_str()).collect();
    json!({ "type": "string", "enum": codes, "description": "Why it was refused, or would be, or was cut; `null` where it was let out." })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::*;
    use crate::audit::{ConnectionId, Event, PaymentRecord, Process, RequestId, VerdictRecord};

    fn keys(value: &Value) -> BTreeSet<&str> {
        value.as_object().unwrap().keys().map(String::as_str).collect()
    }

    #[test]
    fn the_schema_has_the_members_of_a_line() {
        let process = Process {
            binary: "/usr/bin/curl".to_owned(),
            pid: 1,
            ancestors: Vec::new(),
        };
        let (payment, verdict) = (
            PaymentRecord::default(),
            VerdictRecord {
                backend: VerdictBackend::Local,
                verdict: VerdictOutcome::Go,
                receipt_id: None,
                latency: Duration::ZERO,
            },
        );
        let event = Event {
            process: Some(&process),
            payment: Some(&payment),
            verdict: Some(&verdict),
            ..Event::new(RequestId::next(), ConnectionId::next(), Adapter::Connect, Decision::Allow)
        };
        let line = serde_json::to_value(&event).unwrap();
        let schema = json();
        assert_eq!(keys(&schema["properties"]), keys(&line));
        for part in ["process", "payment", "verdict"] {
            assert_eq!(keys(&schema["properties"][part]["properties"]), keys(&line[part]), "{part}");
        }
    }
}
