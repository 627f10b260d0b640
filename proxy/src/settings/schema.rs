//! What JSON Schemas of several rooms are put together from.

use serde_json::{Value, json};

use super::units;

/// The schema with one more member.
#[must_use]
pub fn with(mut schema: Value, member: &str, value: impl Into<Value>) -> Value {
    if let Value::Object(members) = &mut schema {
        members.insert(member.to_owned(), value.into());
    }
    schema
}

/// The same, or `null`.
#[must_use]
pub fn nullable(mut schema: Value) -> Value {
    if let Value::Object(members) = &mut schema {
        if let Some(kind) = members.remove("type") {
            members.insert("type".to_owned(), json!([kind, "null"]));
        }
        if let Some(Value::Array(words)) = members.get_mut("enum") {
            words.push(Value::Null);
        }
    }
    schema
}

/// A duration above zero, such as `500ms`.
pub fn duration(description: &str) -> Value {
    json!({ "type": "string", "pattern": units::DURATION_PATTERN, "description": description })
}

/// A size above zero, such as `64KiB`.
pub fn size(description: &str) -> Value {
    json!({ "type": "string", "pattern": units::SIZE_PATTERN, "description": description })
}
