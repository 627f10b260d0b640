//! Endpoints and rules as they stand, for the parts that are not compared by meaning.
//!
//! Every key that the comparison does not know, of this version or a later one, is held against its counterpart as text: a protocol
//! whose rules are not understood here must never count as unchanged because nobody looked.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::diagnostic::{Diagnostics, Position};
use crate::document::raw;
use crate::load::Limits;
use crate::source::Sources;

/// The keys of an endpoint that are compared by meaning.
const KNOWN: [&str; 18] = [
    "host",
    "port",
    "ports",
    "path",
    "protocol",
    "tls",
    "enforcement",
    "access",
    "rules",
    "deny_rules",
    "allowed_ips",
    "allow_encoded_slash",
    "name",
    "graphql_max_body_bytes",
    "graphql_persisted_queries",
    "json_rpc",
    "mcp",
    "persisted_queries",
];

/// The keys of a matcher that are compared by meaning.
const KNOWN_OF_MATCHERS: [&str; 8] = [
    "method",
    "path",
    "query",
    "operation_type",
    "operation_name",
    "fields",
    "tool",
    "params",
];

/// By the place of the endpoint, and of each entry of `rules` and `deny_rules`.
#[derive(Debug, Default)]
pub(super) struct Contents {
    endpoints: HashMap<Position, Map<String, Value>>,
    matchers: HashMap<Position, Map<String, Value>>,
}

impl Contents {
    /// Of files that have been loaded before.
    pub(super) fn read(sources: &Sources) -> Self {
        let mut contents = Contents::default();
        let endpoints = sources
            .iter()
            .flat_map(|(id, source)| raw::endpoints(id, source.text(), Limits::default(), &mut Diagnostics::default()));
        for endpoint in endpoints {
            for (at, matcher) in endpoint.matchers {
                contents.matchers.insert(at, matcher);
            }
            contents.endpoints.insert(endpoint.at, endpoint.content);
        }
        contents
    }

    /// What an endpoint says beside what is compared by meaning.
    pub(super) fn beside(&self, endpoint: Position) -> Value {
        kept(self.endpoints.get(&endpoint), |key| !KNOWN.contains(&key))
    }

    /// A matcher as it is written; a preset has none.
    pub(super) fn matcher(&self, matcher: Position) -> Option<Value> {
        self.matchers.get(&matcher).cloned().map(Value::Object)
    }

    /// What a matcher says beside what is compared by meaning.
    pub(super) fn beside_matcher(&self, matcher: Position) -> Value {
        let content = self.matchers.get(&matcher);
        kept(content, |key| !KNOWN_OF_MATCHERS.contains(&key))
    }
}

fn kept(content: Option<&Map<String, Value>>, keep: impl Fn(&str) -> bool) -> Value {
    let members = content.into_iter().flatten().filter(|(key, value)| keep(key) && !is_unset(value));
    members
        .map(|(key, value)| (key.clone(), unordered(value)))
        .collect::<Map<_, _>>()
        .into()
}

/// What means the same as leaving the key out, for every key there is.
fn is_unset(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        _ => false,
    }
}

/// Lists of rules have no order.
fn unordered(value: &Value) -> Value {
    let Value::Array(items) = value else { return value.clone() };
    let mut items: Vec<Value> = items.clone();
    items.sort_by_cached_key(Value::to_string);
    items.dedup();
    Value::Array(items)
}
