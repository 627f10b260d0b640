//! The endpoints of a document as they stand, without a word on whether they make sense.

use serde_json::{Map, Value as Json};

use super::tree::{self, Node, Value};
use crate::diagnostic::{Diagnostics, Position};
use crate::load::Limits;
use crate::source::SourceId;

/// An endpoint.
pub(crate) struct RawEndpoint {
    pub(crate) at: Position,
    pub(crate) content: Map<String, Json>,
    /// The entries of `rules`, at the entry, and of `deny_rules`.
    pub(crate) matchers: Vec<(Position, Map<String, Json>)>,
}

/// All of them.
pub(crate) fn endpoints(file: SourceId, text: &str, limits: Limits, found: &mut Diagnostics) -> Vec<RawEndpoint> {
    let root = tree::parse(file, text, limits, found);
    let rules = root.as_ref().and_then(|root| member(root, "network_policies")).map(entries);
    let endpoints = rules.into_iter().flatten().filter_map(|(_, rule)| member(rule, "endpoints"));
    endpoints.flat_map(items).map(RawEndpoint::read).collect()
}

impl RawEndpoint {
    fn read(node: &Node) -> Self {
        let list = |key| member(node, key).map(items).unwrap_or_default();
        let allow = list("rules")
            .iter()
            .map(|entry| (entry.at, object(member(entry, "allow").unwrap_or(entry))));
        let deny = list("deny_rules").iter().map(|entry| (entry.at, object(entry)));
        RawEndpoint {
            at: node.at,
            content: object(node),
            matchers: allow.chain(deny).collect(),
        }
    }
}

fn entries(node: &Node) -> &[(Node, Node)] {
    match &node.value {
        Value::Map(entries) => entries,
        _ => &[],
    }
}

fn items(node: &Node) -> &[Node] {
    match &node.value {
        Value::List(items) => items,
        _ => &[],
    }
}

fn member<'a>(node: &'a Node, key: &str) -> Option<&'a Node> {
    let found = entries(node)
        .iter()
        .find(|(name, _)| matches!(&name.value, Value::Text(text) if text == key));
    found.map(|(_, value)| value)
}

fn object(node: &Node) -> Map<String, Json> {
    match node.to_json() {
        Json::Object(members) => members,
        _ => Map::new(),
    }
}
