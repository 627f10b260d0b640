//! Endpoint fields that are typed already and enforced by no one yet: validation refuses them, so that none is silently ignored.

use super::reader::{MapReader, entries, list, text};
use super::tree::Node;
use crate::diagnostic::{Diagnostics, Position};

/// A field that is set to something other than its default.
#[derive(Debug)]
pub(crate) struct LaterField {
    pub(crate) name: &'static str,
    pub(crate) at: Position,
    pub(crate) why: LaterWhy,
}

/// What the field is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaterWhy {
    Credentials,
    Graphql,
    JsonRpc,
    Mcp,
    Sql,
}

pub(super) fn read_all(map: &mut MapReader, found: &mut Diagnostics) -> Vec<LaterField> {
    let mut fields = Vec::new();
    let mut set = |name, at, why| fields.push(LaterField { name, at, why });
    for name in [
        "websocket_credential_rewrite",
        "request_body_credential_rewrite",
        "allow_uninspected_credentials",
    ] {
        if let Some(flag) = map.boolean(name, found).filter(|flag| flag.value) {
            set(name, flag.at, LaterWhy::Credentials);
        }
    }
    for name in ["credential_signing", "signing_service", "signing_region"] {
        if let Some(value) = map.text(name, found).filter(|text| !text.value.is_empty()) {
            set(name, value.at, LaterWhy::Credentials);
        }
    }
    if let Some(node) = map.take("credential_binding") {
        let at = node.at;
        typed_map(node, "credential_binding", found, |map, found| {
            let _ = map.text("provider", found);
        });
        set("credential_binding", at, LaterWhy::Credentials);
    }
    if let Some(value) = map
        .text("persisted_queries", found)
        .filter(|text| !matches!(text.value.as_str(), "" | "deny"))
    {
        set("persisted_queries", value.at, LaterWhy::Graphql);
    }
    if let Some(node) = map.take("graphql_persisted_queries") {
        let at = node.at;
        persisted_queries(node, found);
        set("graphql_persisted_queries", at, LaterWhy::Graphql);
    }
    if let Some(value) = map.integer("graphql_max_body_bytes", found) {
        set("graphql_max_body_bytes", value.at, LaterWhy::Graphql);
    }
    if let Some(node) = map.take("json_rpc") {
        let at = node.at;
        typed_map(node, "json_rpc", found, |map, found| {
            let _ = map.integer("max_body_bytes", found);
        });
        set("json_rpc", at, LaterWhy::JsonRpc);
    }
    if let Some(node) = map.take("mcp") {
        let at = node.at;
        typed_map(node, "mcp", found, |map, found| {
            let _ = map.integer("max_body_bytes", found);
            let _ = map.boolean("strict_tool_names", found);
            let _ = map.boolean("allow_all_known_mcp_methods", found);
        });
        set("mcp", at, LaterWhy::Mcp);
    }
    fields
}

fn typed_map(node: Node, what: &'static str, found: &mut Diagnostics, fields: impl FnOnce(&mut MapReader, &mut Diagnostics)) {
    if let Some(mut map) = MapReader::open(node, what, found) {
        fields(&mut map, found);
        map.finish(found);
    }
}

fn persisted_queries(node: Node, found: &mut Diagnostics) {
    for (_, query) in entries(node, "graphql_persisted_queries", found).unwrap_or_default() {
        typed_map(query, "a persisted query", found, |map, found| {
            let _ = map.text("operation_type", found);
            let _ = map.text("operation_name", found);
            let _ = map.texts("fields", found);
        });
    }
}

/// Types of the matcher fields that come later; gives those that are set.
pub(super) fn matcher_fields(map: &mut MapReader, found: &mut Diagnostics) -> Vec<LaterField> {
    let mut fields = Vec::new();
    for (name, why) in [
        ("command", LaterWhy::Sql),
        ("operation_type", LaterWhy::Graphql),
        ("operation_name", LaterWhy::Graphql),
        ("fields", LaterWhy::Graphql),
        ("tool", LaterWhy::Mcp),
        ("params", LaterWhy::Mcp),
    ] {
        let Some(node) = map.take(name) else { continue };
        let at = node.at;
        let typed = match name {
            "fields" => list(node, name, found).is_some(),
            "tool" | "params" => true,
            _ => text(node, name, found).is_some(),
        };
        if typed {
            fields.push(LaterField { name, at, why });
        }
    }
    fields
}
