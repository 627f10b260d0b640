//! What `tollgate.yaml` may hold, as a JSON Schema (draft 7) for editors: every key with its type, its unit, its default and what it means.
//!
//! Defaults and limits are taken from the code that has them. The keys are held by a test against those that the reader knows.

mod sections;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value, json};

use super::Config;
use crate::gate::payment;
use crate::settings::schema::{duration, size, with};
use crate::settings::{Insecure, Limits, Unit};

/// The schema.
pub fn json() -> Value {
    let config = Config::default();
    let mut properties = Map::new();
    let sections = [
        ("listen", sections::listen(&config.listen)),
        ("tls", sections::tls(&config.tls)),
        ("verdict", sections::verdict(&config.verdict)),
        ("payments", payment::schema::operator()),
        ("rails", sections::rails()),
        ("upstream", sections::upstream(&config.upstream)),
        ("credentials", sections::credentials()),
        ("limits", limits(&config.limits)),
        ("audit", sections::audit()),
        ("kill_switch", sections::kill_switch()),
        ("insecure", insecure()),
    ];
    for (key, section) in sections {
        properties.insert(key.to_owned(), section);
    }
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "tollgate.yaml of Tollgate",
        "type": "object",
        "description": "The operator's settings. Every key may be left out; relative paths start at the file's own folder.",
        "properties": properties,
        "additionalProperties": false,
    })
}

fn limits(limits: &Limits) -> Value {
    let rows = limits.rows();
    let rows = rows.iter().filter_map(|row| Some((row.key.strip_prefix("limits.")?, row)));
    let properties: Map<String, Value> = rows
        .map(|(key, row)| {
            let default = match row.unit {
                Unit::Count => row.value.parse::<u64>().map_or(Value::Null, Value::from),
                Unit::Duration | Unit::Size => row.value.as_str().into(),
            };
            let property = match row.unit {
                Unit::Duration => duration(row.meaning),
                Unit::Size => size(row.meaning),
                Unit::Count => json!({ "type": "integer", "minimum": 1, "description": row.meaning }),
            };
            (key.to_owned(), with(property, "default", default))
        })
        .collect();
    map(
        "Every bound on time, size and number. None can be switched off: zero is refused.",
        &properties,
    )
}

fn insecure() -> Value {
    let switch = |consequence: &str| json!({ "type": "boolean", "default": false, "description": format!("Weakens: {consequence}.") });
    let properties: Map<String, Value> = Insecure::SWITCHES
        .iter()
        .map(|weakening| (weakening.switch.to_owned(), switch(weakening.consequence)))
        .collect();
    map(
        "Every switch that weakens Tollgate; each that is on is logged at start.",
        &properties,
    )
}

/// A map with these keys and no others.
fn map(description: &str, properties: &Map<String, Value>) -> Value {
    json!({ "type": "object", "description": description, "properties": properties, "additionalProperties": false })
}
