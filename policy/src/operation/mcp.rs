//! The streamable HTTP transport of MCP: messages by POST, a stream by GET, the session's end by DELETE.

use super::json_rpc::{CallKind, Message, messages};
use super::{McpMessage, OperationError, Sent, ToolNames, look_alike};

/// The method whose calls are told apart by tool.
const TOOLS_CALL: &str = "tools/call";

pub(super) fn request(sent: &Sent<'_>, tool_names: ToolNames) -> Result<Vec<McpMessage>, OperationError> {
    let without_body = match sent.method {
        "GET" => McpMessage::Stream,
        "DELETE" => McpMessage::SessionEnd,
        _ => return messages(sent, |message| one(&message, tool_names)),
    };
    if sent.body.is_empty() {
        Ok(vec![without_body])
    } else {
        Err(OperationError::UnexpectedBody)
    }
}

fn one(message: &Message<'_>, tool_names: ToolNames) -> Result<McpMessage, OperationError> {
    let Message::Call { method, params, kind } = message else {
        return Ok(McpMessage::Response);
    };
    if *method != TOOLS_CALL {
        // A server that is lenient about methods would call a tool that nobody judged.
        if look_alike::folds_to(method.trim(), TOOLS_CALL) {
            return Err(OperationError::LookAlike(TOOLS_CALL));
        }
        return Ok(McpMessage::Call {
            method: (*method).into(),
            tool: None,
        });
    }
    if *kind == CallKind::Notification {
        return Err(OperationError::Member("id"));
    }
    let params = params.ok_or(OperationError::Member("params"))?;
    look_alike::refuse(params, &["name"])?;
    let tool = params.string("name").ok_or(OperationError::Member("name"))?;
    if tool_names == ToolNames::Strict && !is_strict(tool) {
        return Err(OperationError::ToolName);
    }
    Ok(McpMessage::Call {
        method: (*method).into(),
        tool: Some(tool.into()),
    })
}

/// `[A-Za-z0-9_.-]{1,128}`.
pub(crate) fn is_strict(name: &str) -> bool {
    (1..=128).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
}
