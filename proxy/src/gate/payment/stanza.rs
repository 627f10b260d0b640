//! Checking the `config:` of a `tollgate/x402` stanza before it is used: every mistake at once, each with its place.

use serde_json::{Map, Value};

use super::config::PaymentsConfig;
use super::terms::{Terms, TermsError};

pub(super) const FIELDS: [&str; 16] = [
    "networks",
    "assets",
    "max_amount",
    "payees",
    "payers",
    "pins",
    "pinned_only",
    "schemes",
    "allow_extensions",
    "allow_smart_wallets",
    "require_challenge",
    "screen_challenges",
    "allow_http_resource",
    "max_timeout",
    "clock_skew",
    "asset_definitions",
];

/// What is about the whole process, and so cannot be said by a policy.
const OPERATORS: [&str; 3] = ["store", "rate", "signer"];

/// Reads a stanza's configuration, against the built-in asset table. Errors are (JSON pointer, message); the loader knows the lines.
pub fn validate_stanza(config: &Value) -> Result<PaymentsConfig, Vec<(String, String)>> {
    validate_stanza_with(config, &PaymentsConfig::default())
}

/// Reads a stanza's configuration, against the operator's file: its asset definitions count as known.
pub fn validate_stanza_with(config: &Value, operator: &PaymentsConfig) -> Result<PaymentsConfig, Vec<(String, String)>> {
    let Value::Object(members) = config else {
        return match config {
            Value::Null => Ok(PaymentsConfig::default()),
            _ => Err(vec![(String::new(), "expected a mapping".to_owned())]),
        };
    };
    let mut errors: Vec<(String, String)> = members.iter().filter_map(|(name, value)| field_error(name, value)).collect();
    if !errors.is_empty() {
        return Err(errors);
    }
    match serde_json::from_value::<PaymentsConfig>(config.clone()) {
        Ok(parsed) => match Terms::narrowed(operator, &parsed) {
            Ok(_) => Ok(parsed),
            Err(mistakes) => Err(mistakes
                .into_iter()
                .map(|TermsError { pointer, message }| (pointer, message))
                .collect()),
        },
        Err(error) => {
            errors.push((String::new(), error.to_string()));
            Err(errors)
        }
    }
}

/// Reads each field by itself, so that one mistake does not hide the next.
fn field_error(name: &str, value: &Value) -> Option<(String, String)> {
    let pointer = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
    if OPERATORS.contains(&name) {
        return Some((pointer, "only the operator's tollgate.yaml can say this".to_owned()));
    }
    if !FIELDS.contains(&name) {
        return Some((pointer, format!("unknown field; known are {}", FIELDS.join(", "))));
    }
    if name == "max_amount" && value.is_number() {
        return Some((
            pointer,
            "write the amount in quotes, like \"1.00\": a number may lose digits".to_owned(),
        ));
    }
    let alone = Value::Object(Map::from_iter([(name.to_owned(), value.clone())]));
    serde_json::from_value::<PaymentsConfig>(alone)
        .err()
        .map(|error| (pointer, error.to_string()))
}
