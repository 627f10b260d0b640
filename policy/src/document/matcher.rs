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
    pub(crate) later: Vec<LaterField>,
}

#[derive(Debug)]
pub(crate) struct QueryEntry {
    pub(crate) name: At<String>,
    pub(crate) value: QueryValue,
}

/// A glob, or a map that should hold exactly one of `glob` and `any`.
#[derive(Debug)]
pub(crate) enum QueryValue {
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
            later: later::matcher_fields(&mut map, found),
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
                value: query_value(node, found)?,
            })
        })
        .collect()
}

fn query_value(node: Node, found: &mut Diagnostics) -> Option<QueryValue> {
    match node.value {
        Value::Text(_) => text(node, "query", found).map(QueryValue::Glob),
        Value::Map(_) => {
            let mut map = MapReader::open(node, "a query matcher", found)?;
            let value = QueryValue::Map {
                at: map.at(),
                glob: map.text("glob", found),
                any: map.texts("any", found),
            };
            map.finish(found);
            Some(value)
        }
        _ => wrong_type(&node, "query", "text", found),
    }
}
