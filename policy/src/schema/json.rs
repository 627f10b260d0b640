//! The tables as a JSON Schema (draft 7, which editors' YAML language servers know best).

use serde_json::{Map, Value, json};

use super::rule::POLICY;
use super::shape::{Choice, Field, Kind, Presence, Shape};

/// The schema of one middleware's `config`, which only the middleware knows.
#[derive(Debug, Clone)]
pub struct MiddlewareConfig {
    /// Its registered name.
    pub middleware: &'static str,
    /// A JSON Schema of `config`.
    pub schema: Value,
}

/// The schema of `policy.yaml`.
pub fn json(middlewares: &[MiddlewareConfig]) -> Value {
    let mut definitions = Map::new();
    let mut schema = shape(&POLICY, &mut definitions);
    if let Some(Value::Object(middleware)) = definitions.get_mut("middleware") {
        let known = middlewares.iter().map(|known| {
            json!({
                "if": { "properties": { "middleware": { "const": known.middleware } }, "required": ["middleware"] },
                "then": { "properties": { "config": known.schema } },
            })
        });
        middleware.insert("allOf".to_owned(), known.collect());
    }
    if let Some(Value::Object(endpoint)) = definitions.get_mut("endpoint") {
        endpoint.insert("allOf".to_owned(), endpoint_conditions());
    }
    if let Value::Object(members) = &mut schema {
        members.insert("$schema".to_owned(), "http://json-schema.org/draft-07/schema#".into());
        members.insert("title".to_owned(), "policy.yaml of Tollgate and OpenShell".into());
        members.insert("definitions".to_owned(), Value::Object(definitions));
    }
    schema
}

/// What holds between the keys of an endpoint.
fn endpoint_conditions() -> Value {
    json!([
        { "anyOf": [{ "required": ["host"] }, { "required": ["allowed_ips"] }] },
        { "oneOf": [{ "required": ["port"] }, { "required": ["ports"] }] },
        {
            "if": { "properties": { "protocol": { "pattern": any_case("rest") } }, "required": ["protocol"] },
            "then": { "oneOf": [{ "required": ["access"] }, { "required": ["rules"] }] },
        },
    ])
}

fn shape(shape: &'static Shape, definitions: &mut Map<String, Value>) -> Value {
    let mut properties = Map::new();
    for field in shape.fields {
        properties.insert(field.key.to_owned(), described(field, definitions));
    }
    let required: Vec<&str> = shape
        .fields
        .iter()
        .filter(|field| matches!(field.presence, Presence::Required))
        .map(|field| field.key)
        .collect();
    let mut schema = json!({
        "type": "object",
        "description": shape.description,
        "properties": properties,
        "additionalProperties": false,
    });
    if let Value::Object(members) = &mut schema
        && !required.is_empty()
    {
        members.insert("required".to_owned(), json!(required));
    }
    schema
}

/// The field's own words are shown, not those of the shape that it refers to; draft 7 ignores what stands beside `$ref`.
fn described(field: &'static Field, definitions: &mut Map<String, Value>) -> Value {
    let mut schema = match kind(&field.kind, definitions) {
        Value::Object(members) if members.contains_key("$ref") => Map::from_iter([("allOf".to_owned(), json!([members]))]),
        Value::Object(members) => members,
        _ => Map::new(),
    };
    schema.insert("description".to_owned(), field.description.into());
    if let Presence::Default(default) = field.presence {
        // The tables hold YAML that is JSON as well, or a plain word.
        let default = serde_json::from_str(default).unwrap_or_else(|_| Value::from(default));
        schema.insert("default".to_owned(), default);
    }
    Value::Object(schema)
}

fn kind(of: &'static Kind, definitions: &mut Map<String, Value>) -> Value {
    match of {
        Kind::Text => json!({ "type": "string" }),
        Kind::Boolean => json!({ "type": "boolean" }),
        Kind::Integer { least, most } => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Kind::OneOf(choices) => json!({ "oneOf": choices.iter().map(word).collect::<Vec<_>>() }),
        Kind::OneOfAnyCase(choices) => {
            let pattern: Vec<String> = choices.iter().map(|choice| any_case(choice.value)).collect();
            let mut words: Vec<Value> = choices.iter().map(word).collect();
            words.push(json!({ "type": "string", "pattern": pattern.join("|") }));
            json!({ "anyOf": words })
        }
        Kind::List(item) => json!({ "type": "array", "items": kind(item, definitions) }),
        Kind::NonEmpty(item) => json!({ "type": "array", "minItems": 1, "items": kind(item, definitions) }),
        Kind::Named(value) => json!({ "type": "object", "additionalProperties": kind(value, definitions) }),
        Kind::Either(kinds) => {
            let kinds: Vec<Value> = kinds.iter().map(|one| kind(one, definitions)).collect();
            json!({ "anyOf": kinds })
        }
        Kind::TextOrInteger => json!({ "type": ["string", "integer"] }),
        Kind::Free => json!({ "type": "object" }),
        Kind::Map(own) => {
            if !definitions.contains_key(own.name) {
                // Taken before its fields are read, which may refer to it.
                definitions.insert(own.name.to_owned(), Value::Null);
                let schema = shape(own, definitions);
                definitions.insert(own.name.to_owned(), schema);
            }
            json!({ "$ref": format!("#/definitions/{}", own.name) })
        }
    }
}

fn word(choice: &Choice) -> Value {
    json!({ "const": choice.value, "description": choice.description })
}

/// A pattern for one word in any case: JSON Schema's patterns have no flag for it.
fn any_case(word: &str) -> String {
    let letters = word.chars().map(|c| {
        if c.is_ascii_alphabetic() {
            format!("[{}{}]", c.to_ascii_uppercase(), c.to_ascii_lowercase())
        } else {
            c.to_string()
        }
    });
    format!("^{}$", letters.collect::<String>())
}
