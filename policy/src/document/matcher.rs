//! Allow and deny matchers.

use super::At;
use super::later::{self, LaterField};
use super::reader::{MapReader, entries, text, wrong_type};
use super::tree::{Node, Value};
use crate::diagnostic::{Code, Diagnostics, Position};

/// One entry of `rules`: `{allow: {…}}`.
#[derive(Debug)]
pub(crate) struct AllowEntry {
    pub(crate) at: Position,
    pub(crate) allow: Option<MatcherSection>,
}

#[derive(Debug)]
pub(crate) struct MatcherSection {
    pub(crate) at: Position,
    pub(crate) method: Option<At<String>>,
    pub(crate) path: Option<At<String>>,
    pub(crate) query: Vec<QueryEntry>,
    pub(crate) operation_type: Option<At<String>>,
    pub(crate) operation_name: Option<At<String>>,
    pub(crate) fields: Option<At<Vec<At<String>>>>,
    pub(crate) tool: Option<At<GlobValue>>,
    pub(crate) params: Option<ParamsSection>,
    pub(crate) later: Option<LaterField>,
}

#[derive(Debug)]
pub(crate) struct QueryEntry {
    pub(crate) name: At<String>,
    pub(crate) value: GlobValue,
}

/// `params`: only `name`, the tool, can be matched.
#[derive(Debug)]
pub(crate) struct ParamsSection {
    pub(crate) at: Position,
    pub(crate) name: Option<At<GlobValue>>,
    pub(crate) others: Vec<At<String>>,
}

/// A glob, or a map that should hold exactly one of `glob` and `any`.
#[derive(Debug)]
pub(crate) enum GlobValue {
    Glob(At<String>),
    Map {
        at: Position,
        glob: Option<At<String>>,
        any: Option<At<Vec<At<String>>>>,
    },
}

impl AllowEntry {
    pub(super) fn read(node: Node, found: &mut Diagnostics) -> Option<Self> {
        let mut map = MapReader::open(node, "an entry of rules", found)?;
        let at = map.at();
        let allow = map.take("allow");
        if allow.is_none() {
            found.error(
                Code::MissingKey,
                at,
                "an entry of rules needs `allow`",
                "write `- allow: { method: GET, path: \"/…\" }`",
            );
        }
        let allow = allow.and_then(|node| MatcherSection::read(node, "an allow rule", found));
        map.finish(found);
        Some(AllowEntry { at, allow })
    }
}

impl MatcherSection {
    pub(super) fn read(node: Node, what: &'static str, found: &mut Diagnostics) -> Option<Self> {
        let mut map = MapReader::open(node, what, found)?;
        let section = MatcherSection {
            at: map.at(),
            method: map.text("method", found),
            path: map.text("path", found),
            query: map.take("query").map(|node| query(node, found)).unwrap_or_default(),
            operation_type: map.text("operation_type", found).filter(is_set),
            operation_name: map.text("operation_name", found).filter(is_set),
            fields: map.texts("fields", found),
            tool: map.take("tool").and_then(|node| glob_value(node, "tool", found)),
            params: map.take("params").and_then(|node| params(node, found)),
            later: later::command(&mut map, found),
        };
        map.finish(found);
        Some(section)
    }
}

fn query(node: Node, found: &mut Diagnostics) -> Vec<QueryEntry> {
    let entries = entries(node, "query", found).unwrap_or_default();
    entries
        .into_iter()
        .filter_map(|(name, node)| {
            Some(QueryEntry {
                name,
                value: glob_value(node, "query", found)?.value,
            })
        })
        .collect()
}

fn params(node: Node, found: &mut Diagnostics) -> Option<ParamsSection> {
    let mut section = ParamsSection {
        at: node.at,
        name: None,
        others: Vec::new(),
    };
    for (key, node) in entries(node, "params", found)? {
        if key.value == "name" {
            section.name = glob_value(node, "name", found);
        } else {
            section.others.push(key);
        }
    }
    Some(section)
}

fn is_set(text: &At<String>) -> bool {
    !text.value.is_empty()
}

fn glob_value(node: Node, key: &'static str, found: &mut Diagnostics) -> Option<At<GlobValue>> {
    let at = node.at;
    let value = match node.value {
        Value::Text(_) => text(node, key, found).map(GlobValue::Glob),
        Value::Map(_) => {
            let mut map = MapReader::open(node, "a matcher of values", found)?;
            let value = GlobValue::Map {
                at: map.at(),
                glob: map.text("glob", found),
                any: map.texts("any", found),
            };
            map.finish(found);
            Some(value)
        }
        _ => wrong_type(&node, key, "text", found),
    };
    value.map(|value| At { value, at })
}
