//! JSON-RPC 2.0 over HTTP: single messages and batches.

use super::{JsonRpcMessage, Media, OperationError, Sent, look_alike, parse};
use crate::json::{Object, Value};

const MEMBERS: [&str; 6] = ["jsonrpc", "method", "params", "id", "result", "error"];

pub(super) fn request(sent: &Sent<'_>) -> Result<Vec<JsonRpcMessage>, OperationError> {
    messages(sent, |message| {
        Ok(match message {
            Message::Call { method, .. } => JsonRpcMessage::Call { method: method.into() },
            Message::Response => JsonRpcMessage::Response,
        })
    })
}

/// One message, as far as either protocol asks.
pub(super) enum Message<'a> {
    Call {
        method: &'a str,
        params: Option<&'a Object<'a>>,
        /// A request has an id, a notification none.
        kind: CallKind,
    },
    Response,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallKind {
    Request,
    Notification,
}

/// Every message of the body, each made into what the protocol has for it.
pub(super) fn messages<T>(sent: &Sent<'_>, each: impl Fn(Message<'_>) -> Result<T, OperationError>) -> Result<Vec<T>, OperationError> {
    if sent.media == Media::Graphql {
        return Err(OperationError::Media);
    }
    match parse(sent.body)? {
        Value::Object(object) => Ok(vec![each(message(&object)?)?]),
        Value::Array(batch) => batch
            .iter()
            .map(|item| each(message(item.as_object().ok_or(OperationError::Message)?)?))
            .collect(),
        _ => Err(OperationError::Message),
    }
}

fn message<'a>(object: &'a Object<'a>) -> Result<Message<'a>, OperationError> {
    look_alike::refuse(object, &MEMBERS)?;
    if object.string("jsonrpc") != Some("2.0") {
        return Err(OperationError::Member("jsonrpc"));
    }
    if !matches!(
        object.get("id"),
        None | Some(Value::Null | Value::String(_) | Value::Integer(_) | Value::OtherNumber)
    ) {
        return Err(OperationError::Member("id"));
    }
    match (object.has("method"), object.has("result"), object.has("error")) {
        (true, false, false) => call(object),
        (false, true, false) => response(object),
        (false, false, true) if object.object("error").is_some() => response(object),
        _ => Err(OperationError::Message),
    }
}

fn call<'a>(object: &'a Object<'a>) -> Result<Message<'a>, OperationError> {
    let method = object
        .string("method")
        .filter(|method| !method.is_empty())
        .ok_or(OperationError::Member("method"))?;
    let params = match object.get("params") {
        None | Some(Value::Null | Value::Array(_)) => None,
        Some(Value::Object(params)) => Some(params),
        Some(_) => return Err(OperationError::Member("params")),
    };
    let kind = if object.has("id") {
        CallKind::Request
    } else {
        CallKind::Notification
    };
    Ok(Message::Call { method, params, kind })
}

fn response<'a>(object: &Object<'_>) -> Result<Message<'a>, OperationError> {
    if object.has("id") {
        Ok(Message::Response)
    } else {
        Err(OperationError::Member("id"))
    }
}
