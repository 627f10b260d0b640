#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeSet;
use std::path::Path;

use jsonschema::Validator;
use serde_json::Value;

use super::*;
use crate::config::ConfigError;

fn parse(source: &str) -> Result<Config, ConfigError> {
    Config::parse(source, Path::new("tollgate.yaml"))
}

fn validator() -> Validator {
    jsonschema::draft7::new(&json()).unwrap()
}

fn document(source: &str) -> Value {
    serde_saphyr::from_str(source).unwrap()
}

/// What the schema has against a file.
fn errors(source: &str) -> Vec<String> {
    let document = document(source);
    let validator = validator();
    let errors = validator.iter_errors(&document);
    errors.map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
fn every_map_has_the_keys_that_the_reader_knows() {
    // Like no key there is, so that the reader lists all it knows instead of the nearest.
    let unknown = "9".repeat(60);
    let entry = format!("'{unknown}': 1");
    let mut maps = vec![
        ("/properties".to_owned(), entry.clone()),
        (
            "/properties/credentials/items/properties".to_owned(),
            format!("credentials: [ {{ {entry} }} ]"),
        ),
        (
            "/properties/payments/properties/pins/items/properties".to_owned(),
            format!("payments: {{ pins: [ {{ {entry} }} ] }}"),
        ),
        (
            "/properties/payments/properties/asset_definitions/items/properties".to_owned(),
            format!("payments: {{ asset_definitions: [ {{ {entry} }} ] }}"),
        ),
        (
            "/properties/payments/properties/rate/properties".to_owned(),
            format!("payments: {{ rate: {{ {entry} }} }}"),
        ),
        (
            "/properties/payments/properties/signer/properties".to_owned(),
            format!("payments: {{ signer: {{ {entry} }} }}"),
        ),
        (
            "/properties/payments/properties/signer/properties/remote/properties".to_owned(),
            format!("payments: {{ signer: {{ wallet: a, remote: {{ {entry} }} }} }}"),
        ),
        (
            "/properties/verdict/properties/breaker/properties".to_owned(),
            format!("verdict: {{ breaker: {{ {entry} }} }}"),
        ),
        (
            "/properties/verdict/properties/action_safety/properties".to_owned(),
            format!("verdict: {{ action_safety: {{ {entry} }} }}"),
        ),
    ];
    for section in [
        "listen",
        "tls",
        "verdict",
        "payments",
        "rails",
        "upstream",
        "limits",
        "audit",
        "kill_switch",
        "insecure",
    ] {
        maps.push((format!("/properties/{section}/properties"), format!("{section}: {{ {entry} }}")));
    }
    let schema = json();
    for (pointer, source) in &maps {
        let hint = parse(source).unwrap_err().hint.unwrap();
        let known: BTreeSet<&str> = hint.strip_prefix("known here: ").unwrap().split(", ").collect();
        let named: BTreeSet<&str> = schema
            .pointer(pointer)
            .unwrap()
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(named, known, "{pointer}");
        assert!(!errors(source).is_empty(), "{source}");
    }
    // No other map has keys of its own.
    assert_eq!(count(&schema), maps.len());
}

fn count(schema: &Value) -> usize {
    match schema {
        Value::Object(members) => {
            let own = usize::from(members.get("additionalProperties") == Some(&Value::Bool(false)));
            own + members.values().map(count).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(count).sum(),
        _ => 0,
    }
}

/// Each default, written down, means what leaving it out means.
#[test]
fn defaults_are_those_of_the_reader() {
    let mut seen = 0;
    for (section, schema) in json()["properties"].as_object().unwrap() {
        let Some(properties) = schema["properties"].as_object() else {
            continue;
        };
        for (key, property) in properties {
            let Some(default) = property.get("default") else { continue };
            let source = format!("{section}: {{ {key}: {default} }}");
            let written = parse(&source).unwrap_or_else(|error| panic!("{error}"));
            // What the reader keeps as "not written" it makes up for later; tests of the rooms hold those.
            if section != "payments" {
                assert_eq!(format!("{written:?}"), format!("{:?}", Config::default()), "{source}");
            }
            seen += 1;
        }
    }
    assert!(seen > 40, "{seen}");
}

/// `null` is a value for some keys, and then means what leaving them out means.
#[test]
fn null_is_valid_where_the_reader_takes_it() {
    for (section, schema) in json()["properties"].as_object().unwrap() {
        for key in schema["properties"].as_object().into_iter().flat_map(Map::keys) {
            let source = format!("{section}: {{ {key}: null }}");
            assert_eq!(errors(&source).is_empty(), parse(&source).is_ok(), "{source}");
        }
    }
}

#[test]
fn everything_is_described() {
    fn walk(schema: &Value, path: &str) {
        if let Some(properties) = schema["properties"].as_object() {
            for (key, property) in properties {
                let description = property["description"].as_str().unwrap_or_default();
                assert!(description.ends_with('.') && description.len() > 8, "{path}/{key}: {description:?}");
                walk(property, &format!("{path}/{key}"));
                walk(&property["items"], &format!("{path}/{key}/items"));
            }
        }
    }
    walk(&json(), "");
}

#[test]
fn the_sample_of_the_readme_is_valid() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md")).unwrap();
    let blocks = readme.split("```yaml\n").skip(1).map(|block| block.split("```").next().unwrap());
    let samples: Vec<&str> = blocks
        .filter(|block| block.starts_with("listen: ") || block.starts_with("# tollgate.yaml"))
        .collect();
    assert!(samples.len() >= 2, "{samples:?}");
    for sample in samples {
        assert_eq!(errors(sample), [] as [&str; 0], "{sample}");
        parse(sample).unwrap();
    }
}

/// What an editor can know, it says; and what it says, the reader says too.
#[test]
fn broken_files_are_invalid_and_refused() {
    for source in [
        "listn: {}",
        "listen: { proxy: 3128 }",
        "listen: { proxy: localhost }",
        "tls: { leaf_lifetime: 1d }",
        "tls: { extra_upstream_roots: roots.pem }",
        "verdict: { backend: oracle }",
        "verdict: { backend: blackwall }",
        "verdict: { url: 'http://127.0.0.1:1' }",
        "verdict: { backend: blackwall, url: 'http://127.0.0.1:1', payees: x }",
        "verdict: { backend: blackwall, url: 'ftp://127.0.0.1' }",
        "verdict: { max_in_flight: 0 }",
        "verdict: { max_in_flight: 257 }",
        "verdict: { timeout: 0s }",
        "payments: { max_amount: '-1' }",
        "payments: { schemes: [permit] }",
        "payments: { pins: [ { method: GET, url: 'https://a.example.com/' } ] }",
        "rails: { hosts: rail.example.com }",
        "upstream: { proxy: 'socks5://proxy.example.com:1080' }",
        "upstream: { hosts: { a.example.com: [] } }",
        "upstream: { hosts: { a.example.com: [ b.example.com ] } }",
        "upstream: { connect_timeout: 5 }",
        "credentials: [ { placeholder: A, from_env: A } ]",
        "credentials: [ { placeholder: A, from_env: A, hosts: [] } ]",
        "credentials: [ { placeholder: 1A, from_env: A, hosts: [a.example.com] } ]",
        "limits: { idle: 5 minutes }",
        "limits: { idle: 0ms }",
        "limits: { body_held: 64KB }",
        "limits: { body_held: 65536 }",
        "limits: { connections: 0 }",
        "audit: { path: '' }",
        "audit: { file: x }",
        "insecure: { allow_loopback: often }",
        "insecure: { everything: true }",
    ] {
        assert!(!errors(source).is_empty(), "{source} is valid");
        assert!(parse(source).is_err(), "{source} is accepted");
    }
}

#[test]
fn units_are_what_the_parsers_read() {
    use crate::settings::units::{self, parse_duration, parse_size};
    let valid = |pattern: &str, text: &str| {
        let schema = serde_json::json!({ "type": "string", "pattern": pattern });
        jsonschema::draft7::new(&schema).unwrap().is_valid(&Value::from(text))
    };
    for text in [
        "500ms", "2s", "90s", "5m", "24h", "007s", "1d", "5", "s", "-1s", "1.5s", "5 s", "5sec", "", "0s", "00ms",
    ] {
        let read = parse_duration(text).is_ok_and(|duration| !duration.is_zero());
        assert_eq!(valid(units::DURATION_PATTERN, text), read, "{text}");
    }
    for text in ["1B", "64KiB", "4MiB", "1GiB", "5KB", "5kib", "64", "0B", "", "1TiB", "010KiB"] {
        let read = parse_size(text).is_ok_and(|size| size > 0);
        assert_eq!(valid(units::SIZE_PATTERN, text), read, "{text}");
    }
}
