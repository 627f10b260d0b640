//! Maps read key by key, and values by type; what doesn't fit becomes a finding, and reading goes on.

mod advice;
#[cfg(test)]
pub(crate) mod asked;

use super::At;
use super::tree::{Node, Value};
use crate::diagnostic::{Code, Diagnostics, Position, Severity};

/// More keys than this are not listed in a hint.
const MAX_LISTED: usize = 12;

/// A map whose keys are taken one after the other; what is left at the end is unknown.
pub(super) struct MapReader {
    what: &'static str,
    at: Position,
    entries: Vec<(String, Position, Option<Node>)>,
    asked: Vec<&'static str>,
}

impl MapReader {
    /// Opens a map. `what` stands in messages: "an endpoint".
    pub(super) fn open(node: Node, what: &'static str, found: &mut Diagnostics) -> Option<Self> {
        let at = node.at;
        let entries = entries(node, what, found)?;
        Some(MapReader {
            what,
            at,
            entries: entries.into_iter().map(|(key, value)| (key.value, key.at, Some(value))).collect(),
            asked: Vec::new(),
        })
    }

    pub(super) fn at(&self) -> Position {
        self.at
    }

    /// The value of a key, if it is there.
    pub(super) fn take(&mut self, key: &'static str) -> Option<Node> {
        self.asked.push(key);
        self.entries
            .iter_mut()
            .find(|(own, ..)| own == key)
            .and_then(|(.., value)| value.take())
    }

    /// The value of a key that must be there.
    pub(super) fn required(&mut self, key: &'static str, found: &mut Diagnostics) -> Option<Node> {
        let node = self.take(key);
        if node.is_none() {
            found.error(Code::MissingKey, self.at, format!("{} needs `{key}`", self.what), "");
        }
        node
    }

    pub(super) fn text(&mut self, key: &'static str, found: &mut Diagnostics) -> Option<At<String>> {
        self.take(key).and_then(|node| text(node, key, found))
    }

    pub(super) fn boolean(&mut self, key: &'static str, found: &mut Diagnostics) -> Option<At<bool>> {
        self.take(key).and_then(|node| boolean(&node, key, found))
    }

    pub(super) fn integer(&mut self, key: &'static str, found: &mut Diagnostics) -> Option<At<i64>> {
        self.take(key).and_then(|node| integer(&node, key, found))
    }

    pub(super) fn texts(&mut self, key: &'static str, found: &mut Diagnostics) -> Option<At<Vec<At<String>>>> {
        let items = self.list(key, found)?;
        let value = items.value.into_iter().filter_map(|item| text(item, key, found)).collect();
        Some(At { value, at: items.at })
    }

    pub(super) fn list(&mut self, key: &'static str, found: &mut Diagnostics) -> Option<At<Vec<Node>>> {
        self.take(key).and_then(|node| list(node, key, found))
    }

    fn listing(&self) -> String {
        let more = if self.asked.len() > MAX_LISTED { ", …" } else { "" };
        let listed: Vec<&str> = self.asked.iter().take(MAX_LISTED).copied().collect();
        format!("{} has the keys {}{more}", self.what, listed.join(", "))
    }

    /// Reports the keys that nobody asked for.
    pub(super) fn finish(self, found: &mut Diagnostics) {
        #[cfg(test)]
        asked::note(self.what, &self.asked);
        for (key, at, value) in &self.entries {
            if value.is_none() || found.is_full(Severity::Error) {
                continue;
            }
            let hint = match (advice::for_key(self.what, key), nearest(key, &self.asked)) {
                (Some(advice), _) => advice.to_owned(),
                (None, Some(similar)) => format!("did you mean `{similar}`?"),
                (None, None) => self.listing(),
            };
            found.error(Code::UnknownKey, *at, format!("unknown key `{key}`"), hint);
        }
    }
}

/// The entries of a map whose keys are names chosen by the author. Repeated keys are reported and left out.
pub(super) fn entries(node: Node, what: &'static str, found: &mut Diagnostics) -> Option<Vec<(At<String>, Node)>> {
    let Value::Map(raw) = node.value else {
        let hint = if what == "the policy" {
            "begin with `version: 1` and `network_policies:`"
        } else if matches!(node.value, Value::Null) {
            "write its keys below it, or leave it out"
        } else {
            advice::for_map(what)
        };
        found.error(
            Code::WrongType,
            node.at,
            format!("{what} must be a map, not {}", node.value.kind()),
            hint,
        );
        return None;
    };
    let mut first: std::collections::HashMap<String, Position> = std::collections::HashMap::with_capacity(raw.len());
    let mut entries = Vec::with_capacity(raw.len());
    for (key, value) in raw {
        let Value::Text(name) = key.value else {
            found.error(
                Code::WrongType,
                key.at,
                format!("a key must be text, not {}", key.value.kind()),
                "put it in quotes",
            );
            continue;
        };
        if let Some(earlier) = first.get(&name) {
            let hint = format!(
                "it stands on {} already; only one of them can be meant",
                found.other_place(*earlier, key.at)
            );
            found.error(Code::DuplicateKey, key.at, format!("the key `{name}` is repeated"), hint);
            continue;
        }
        first.insert(name.clone(), key.at);
        entries.push((At { value: name, at: key.at }, value));
    }
    Some(entries)
}

pub(super) fn text(node: Node, key: &'static str, found: &mut Diagnostics) -> Option<At<String>> {
    match node.value {
        Value::Text(value) => Some(At { value, at: node.at }),
        _ => wrong_type(&node, key, "text", found),
    }
}

pub(super) fn boolean(node: &Node, key: &'static str, found: &mut Diagnostics) -> Option<At<bool>> {
    match node.value {
        Value::Bool(value) => Some(At { value, at: node.at }),
        _ => wrong_type(node, key, "true or false", found),
    }
}

pub(super) fn integer(node: &Node, key: &'static str, found: &mut Diagnostics) -> Option<At<i64>> {
    match node.value {
        Value::Integer(value) => Some(At { value, at: node.at }),
        _ => wrong_type(node, key, "a whole number", found),
    }
}

pub(super) fn list(node: Node, key: &'static str, found: &mut Diagnostics) -> Option<At<Vec<Node>>> {
    match node.value {
        Value::List(value) => Some(At { value, at: node.at }),
        _ => wrong_type(&node, key, "a list", found),
    }
}

/// Reports it; always `None`.
pub(super) fn wrong_type<T>(node: &Node, key: &str, expected: &str, found: &mut Diagnostics) -> Option<T> {
    let hint = match (&node.value, expected) {
        (Value::Integer(_) | Value::Large(_) | Value::Float(_) | Value::Bool(_), "text") => "put it in quotes",
        (Value::Text(text), "true or false") if matches!(text.as_str(), "yes" | "no" | "on" | "off") => "write true or false",
        (Value::Text(text), "a whole number") if text.bytes().all(|b| b.is_ascii_digit()) => "leave the quotes out",
        (Value::Null, _) => "give it a value, or leave the key out",
        (_, "a list") => "write one entry per line, each after a dash",
        _ => "",
    };
    found.error(
        Code::WrongType,
        node.at,
        format!("`{key}` takes {expected}, not {}", node.value.kind()),
        hint,
    );
    None
}

/// The key that a typo was probably meant to be.
fn nearest(key: &str, known: &[&'static str]) -> Option<&'static str> {
    if key.len() > 64 {
        return None;
    }
    let plain = key.to_ascii_lowercase().replace('-', "_");
    known
        .iter()
        .map(|candidate| (distance(&plain, candidate), *candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len() / 4)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Levenshtein's.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        let mut next = vec![left];
        for (y, above) in b.bytes().zip(row.iter().skip(1)) {
            left = (left + 1).min(above + 1).min(diagonal + usize::from(x != y));
            diagonal = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or(usize::MAX)
}
