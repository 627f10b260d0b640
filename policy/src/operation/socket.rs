//! A client's message of GraphQL over WebSocket: of `graphql-transport-ws`, or of `graphql-ws` as it was before.
//!
//! Servers of one of them may take messages of the other, so both are read alike, and what is a message of neither is refused.

use super::{Operation, OperationError, envelope, look_alike, parse, within};
use crate::json::Value;

/// The subprotocols by which such messages are sent.
pub const GRAPHQL_SUBPROTOCOLS: [&str; 2] = ["graphql-transport-ws", "graphql-ws"];

/// What a message is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SocketMessage {
    /// The session itself: it asks for nothing.
    Session,
    /// It asks for these.
    Operations(Vec<Operation>),
}

/// Reads one text message.
pub fn socket_message(text: &str) -> Result<SocketMessage, OperationError> {
    let value = parse(text.as_bytes())?;
    let object = value.as_object().ok_or(OperationError::Member("type"))?;
    look_alike::refuse(object, &["id", "type", "payload"])?;
    match object.get("type") {
        Some(Value::String(kind)) => match kind.as_ref() {
            "connection_init" | "connection_terminate" | "ping" | "pong" | "complete" | "stop" => Ok(SocketMessage::Session),
            "subscribe" | "start" => match object.get("payload") {
                Some(Value::Object(payload)) => {
                    let operations = envelope(payload)?.into_iter().map(Operation::Graphql).collect();
                    within(operations).map(SocketMessage::Operations)
                }
                _ => Err(OperationError::Member("payload")),
            },
            _ => Err(OperationError::Member("type")),
        },
        _ => Err(OperationError::Member("type")),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn both_subprotocols_ask_in_their_payload() {
        for kind in ["subscribe", "start"] {
            let text = format!(r#"{{"id":"1","type":"{kind}","payload":{{"query":"query Q {{ viewer {{ login }} }}"}}}}"#);
            let SocketMessage::Operations(operations) = socket_message(&text).unwrap() else {
                panic!("{text}")
            };
            assert_eq!(
                operations.iter().map(ToString::to_string).collect::<Vec<_>>(),
                ["query Q { viewer }"]
            );
        }
        for text in [
            r#"{"type":"connection_init","payload":{"token":"t"}}"#,
            r#"{"type":"ping"}"#,
            r#"{"id":"1","type":"complete"}"#,
            r#"{"id":"1","type":"stop"}"#,
        ] {
            assert_eq!(socket_message(text), Ok(SocketMessage::Session), "{text}");
        }
    }

    #[test]
    fn what_is_a_message_of_neither_is_refused() {
        let cases = [
            ("hello", None),
            (r#"["subscribe"]"#, Some(OperationError::Member("type"))),
            ("{}", Some(OperationError::Member("type"))),
            (r#"{"type":"data","payload":{}}"#, Some(OperationError::Member("type"))),
            (r#"{"type":"subscribe"}"#, Some(OperationError::Member("payload"))),
            (r#"{"type":"subscribe","payload":{"data":"{}"}}"#, Some(OperationError::NoQuery)),
            (r#"{"type":"subscribe","payload":"{}"}"#, Some(OperationError::Member("payload"))),
            (
                r#"{"type":"ping","Payload":{"query":"{ a }"}}"#,
                Some(OperationError::LookAlike("payload")),
            ),
            (r#"{"type":"ping","type":"subscribe"}"#, None),
            (r#"{"type":"ping"}{"type":"subscribe"}"#, None),
        ];
        for (text, expected) in cases {
            let refused = socket_message(text).unwrap_err();
            assert!(expected.is_none_or(|expected| expected == refused), "{text}: {refused}");
        }
    }
}
