#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet};

use super::rule::{POLICY, RULE};
use super::*;
use crate::document::reader::asked;
use crate::load::{ConfigFault, MiddlewareSchema, load};

/// A document with every kind of map in it.
const EVERYTHING: &str = "
version: 1
filesystem_policy: {}
landlock: {}
process: {}
network_policies:
  a:
    endpoints:
      - credential_binding: {}
        graphql_persisted_queries: { x: {} }
        json_rpc: {}
        mcp: {}
        rules: [ { allow: { query: { a: { glob: x } }, tool: { any: [x] } } } ]
        deny_rules: [ {} ]
    binaries: [ {} ]
network_middlewares:
  m: { endpoints: {} }
";

struct Anything;

impl MiddlewareSchema for Anything {
    fn validate(&self, _: &str, _: &serde_json::Value) -> Result<(), Vec<ConfigFault>> {
        Ok(())
    }
}

fn collect(shape: &'static Shape, keys: &mut BTreeMap<&'static str, BTreeSet<&'static str>>) {
    keys.insert(shape.what, shape.fields.iter().map(|field| field.key).collect());
    shape.fields.iter().for_each(|field| descend(&field.kind, keys));
}

fn descend(kind: &'static Kind, keys: &mut BTreeMap<&'static str, BTreeSet<&'static str>>) {
    match kind {
        Kind::List(kind) | Kind::NonEmpty(kind) | Kind::Named(kind) => descend(kind, keys),
        Kind::Either(kinds) => kinds.iter().for_each(|kind| descend(kind, keys)),
        Kind::Map(shape) => collect(shape, keys),
        _ => {}
    }
}

#[test]
fn the_tables_have_the_keys_that_the_reader_asks_for() {
    let _ = asked::take();
    let _ = load(EVERYTHING, &Anything);
    let mut tables = BTreeMap::new();
    collect(&POLICY, &mut tables);
    assert_eq!(asked::take(), tables);
}

#[test]
fn defaults_are_of_their_keys_type() {
    let mut seen = 0;
    let mut check = |shape: &'static Shape| {
        for field in shape.fields {
            let Presence::Default(default) = field.presence else { continue };
            let value: serde_json::Value = serde_json::from_str(default).unwrap_or_else(|_| default.into());
            let fits = match &field.kind {
                Kind::Text => value.is_string(),
                Kind::Boolean => value.is_boolean(),
                Kind::Integer { least, most } => value.as_i64().is_some_and(|value| (*least..=*most).contains(&value)),
                Kind::OneOf(choices) | Kind::OneOfAnyCase(choices) => choices.iter().any(|choice| value == choice.value),
                Kind::List(_) => value.is_array(),
                Kind::Free | Kind::Map(_) | Kind::Named(_) => value.is_object(),
                Kind::NonEmpty(_) | Kind::Either(_) | Kind::TextOrInteger => false,
            };
            assert!(fits, "{}.{}: {default}", shape.what, field.key);
            seen += 1;
        }
    };
    [&RULE, &ENDPOINT, &MIDDLEWARE, &FILESYSTEM, &LANDLOCK]
        .into_iter()
        .for_each(&mut check);
    assert!(seen > 15);
}

#[test]
fn everything_is_described() {
    fn walk(value: &serde_json::Value, path: &str) {
        if let Some(properties) = value["properties"].as_object() {
            for (key, property) in properties {
                let description = property["description"].as_str().unwrap_or_default();
                assert!(
                    description.ends_with('.') && description.len() > 10,
                    "{path}.{key}: {description:?}"
                );
            }
        }
    }
    let schema = json(&[]);
    walk(&schema, "policy");
    for (name, definition) in schema["definitions"].as_object().unwrap() {
        walk(definition, name);
    }
}
