//! Rules about what bodies and messages ask for, in words.

use std::fmt::Write as _;

use super::list;
use crate::matcher::SegmentedGlob;
use crate::operation::{OperationKind, RootSelection};
use crate::policy::{BodyRules, GraphqlRule, GraphqlRules, JsonRpcRule, McpRule, OperationRules, OtherMethods};

/// `mutation named Add* of addComment or addLabel`.
pub(in crate::compare) fn graphql(rule: &GraphqlRule) -> String {
    let mut text = rule.kind.map_or("any operation", OperationKind::as_str).to_owned();
    if let Some(name) = &rule.name {
        let _ = write!(text, " named {name}");
    }
    if !rule.fields.is_empty() {
        let _ = write!(text, " of {}", either(&rule.fields));
    }
    text
}

/// `the persisted query `hash` (query { viewer })`.
pub(in crate::compare) fn persisted(key: &str, root: &RootSelection) -> String {
    format!("the persisted query `{key}` ({root})")
}

/// `calls of eth_call`.
pub(in crate::compare) fn json_rpc(rule: &JsonRpcRule) -> String {
    format!("calls of {}", rule.method.as_deref().unwrap_or("any method"))
}

/// `tools/call of read_file or search_*`.
pub(in crate::compare) fn mcp(rule: &McpRule) -> String {
    if rule.tools.is_empty() {
        rule.method.to_string()
    } else {
        format!("{} of {}", rule.method, either(&rule.tools))
    }
}

fn either(globs: &[SegmentedGlob]) -> String {
    globs.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ")
}

/// What a protocol's rules let pass.
pub(super) fn passes(rules: &BodyRules) -> String {
    match &rules.rules {
        OperationRules::Graphql(rules) => passes_graphql(rules),
        OperationRules::JsonRpc(rules) => but_not(&list_of(&rules.allow, json_rpc), &rules.deny, json_rpc),
        OperationRules::Mcp(rules) => {
            let mut allowed = list_of(&rules.allow, mcp);
            match rules.other {
                OtherMethods::NeedRule => {}
                OtherMethods::Pass => allowed.push("every other method".to_owned()),
                OtherMethods::PassWithoutTools => allowed.push("every other method but tools".to_owned()),
            }
            but_not(&allowed, &rules.deny, mcp)
        }
    }
}

pub(super) fn passes_graphql(rules: &GraphqlRules) -> String {
    let mut allowed = list_of(&rules.allow, graphql);
    if !rules.persisted.is_empty() {
        allowed.push(format!("{} persisted queries", rules.persisted.len()));
    }
    but_not(&allowed, &rules.deny, graphql)
}

fn list_of<R>(rules: &[R], told: impl Fn(&R) -> String) -> Vec<String> {
    rules.iter().map(told).collect()
}

fn but_not<R>(allowed: &[String], deny: &[R], told: impl Fn(&R) -> String) -> String {
    let mut text = list(allowed);
    if !deny.is_empty() {
        let _ = write!(text, ", but not {}", list(&list_of(deny, told)));
    }
    text
}
