//! Rules as YAML, ready to be pasted.

use std::fmt::Write as _;

use crate::decide::{Caller, Facts, HttpFacts};
use crate::matcher::literal_glob;
use crate::operation::{GraphqlOperation, JsonRpcMessage, McpMessage, Operation};
use crate::suggest::key_for;

/// The smallest rule that allows exactly this.
pub(super) fn new_rule(facts: &Facts<'_>) -> String {
    let mut text = format!(
        "{}:\n  endpoints:\n    - host: {}\n      port: {}\n",
        key_for(&facts.host.to_string()),
        quoted(&facts.host.to_string()),
        facts.port
    );
    if let Some(request) = &facts.request {
        let _ = write!(
            text,
            "      protocol: {}\n      enforcement: enforce\n{}      rules:\n        {}\n",
            if request.is_message() { "websocket" } else { "rest" },
            if request.path.has_encoded_slash() {
                "      allow_encoded_slash: true\n"
            } else {
                ""
            },
            allow_rule(request)
        );
    }
    let binary = match facts.caller {
        Caller::Identified(process) => quoted(&process.binary),
        _ => "\"/**\"".to_owned(),
    };
    let _ = write!(text, "  binaries:\n    - path: {binary}");
    text
}

/// One entry of `rules`.
pub(super) fn allow_rule(request: &HttpFacts<'_>) -> String {
    format!(
        "- allow: {{ method: {}, path: {} }}",
        quoted(request.method),
        quoted(&literal_glob(request.path.as_str()))
    )
}

/// One entry of `rules` for exactly this; `None` for what no rule allows.
pub(super) fn allow_operation(operation: &Operation) -> Option<String> {
    let matcher = match operation {
        Operation::Graphql(GraphqlOperation::Document(root)) => {
            let fields: Vec<String> = root.fields.iter().map(|field| quoted(&literal_glob(field))).collect();
            format!("operation_type: {}, fields: [{}]", root.kind.as_str(), fields.join(", "))
        }
        Operation::JsonRpc(JsonRpcMessage::Call { method }) => format!("method: {}", quoted(method)),
        Operation::Mcp(McpMessage::Call { method, tool: None }) => format!("method: {}", quoted(&literal_glob(method))),
        Operation::Mcp(McpMessage::Call { method, tool: Some(tool) }) => {
            format!("method: {}, tool: {}", quoted(method), quoted(&literal_glob(tool)))
        }
        Operation::Graphql(GraphqlOperation::Persisted { .. }) | Operation::JsonRpc(_) | Operation::Mcp(_) => return None,
    };
    Some(format!("- allow: {{ {matcher} }}"))
}

/// A double-quoted YAML scalar.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
