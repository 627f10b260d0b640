//! Reads a Blackwall answer by the acceptance rule, strictly: what two readers could understand differently is not an answer.

use std::collections::HashSet;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;

use super::super::{Answer, Failure, ReceiptId, ReportToken, Unacceptable, Verdict};

/// What our own errors say, so that they can be told apart from the parser's.
const TWICE: &str = "a member occurs twice";

/// The answer in the body of a 200.
pub(super) fn read(body: &[u8]) -> Result<Answer, Failure> {
    let members: Members = serde_json::from_slice(body).map_err(|error| match error.classify() {
        Category::Data if error.to_string().starts_with(TWICE) => Failure::Unacceptable(Unacceptable::DuplicateMember),
        Category::Data => Failure::Unacceptable(Unacceptable::NotObject),
        Category::Syntax | Category::Eof | Category::Io => Failure::NotJson,
    })?;
    members.judge().map_err(Failure::Unacceptable)
}

/// The members that matter, as found.
#[derive(Default)]
struct Members {
    verdict: Node,
    hard_stop: Node,
    receipt_id: Node,
    report_token: Node,
}

impl Members {
    fn judge(self) -> Result<Answer, Unacceptable> {
        let stopped = self.hard_stop == Node::Bool(true);
        let verdict = match self.verdict.text() {
            _ if stopped => Verdict::Stop,
            Some("STOP") => Verdict::Stop,
            Some("HOLD") => Verdict::Hold,
            Some("GO") if self.hard_stop == Node::Bool(false) => Verdict::Go,
            Some("GO") => return Err(Unacceptable::HardStop),
            _ => return Err(Unacceptable::Verdict),
        };
        let receipt_id = self.receipt_id.text().and_then(ReceiptId::parse);
        if verdict == Verdict::Go && receipt_id.is_none() {
            return Err(Unacceptable::Receipt);
        }
        let report_token = match self.report_token {
            Node::Text(token) => ReportToken::parse(token),
            Node::Bool(_) | Node::Other => None,
        };
        Ok(Answer {
            verdict,
            receipt_id,
            report_token,
        })
    }
}

/// A value, as far as it matters. Visiting it finds a member that occurs twice at any depth.
#[derive(Default, PartialEq, Eq)]
enum Node {
    Bool(bool),
    Text(String),
    /// A number, null, array, object, or nothing.
    #[default]
    Other,
}

impl Node {
    fn text(&self) -> Option<&str> {
        match self {
            Node::Text(text) => Some(text),
            Node::Bool(_) | Node::Other => None,
        }
    }
}

/// Hands each member to `take`; an error if a name (escapes undone) comes again.
fn each_member<'de, A: MapAccess<'de>>(mut map: A, mut take: impl FnMut(&str, Node)) -> Result<(), A::Error> {
    let mut seen = HashSet::new();
    while let Some(name) = map.next_key::<String>()? {
        let value = map.next_value::<Node>()?;
        take(&name, value);
        if !seen.insert(name) {
            return Err(de::Error::custom(TWICE));
        }
    }
    Ok(())
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Text(text.to_owned()))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Node, E> {
        Ok(Node::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Node, E> {
        Ok(Node::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Node, E> {
        Ok(Node::Other)
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node, A::Error> {
        while seq.next_element::<Node>()?.is_some() {}
        Ok(Node::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Node, A::Error> {
        each_member(map, |_, _| {})?;
        Ok(Node::Other)
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Members, A::Error> {
        let mut members = Members::default();
        each_member(map, |name, value| match name {
            "verdict" => members.verdict = value,
            "hard_stop" => members.hard_stop = value,
            "receipt_id" => members.receipt_id = value,
            "report_token" => members.report_token = value,
            _ => {}
        })?;
        Ok(members)
    }
}

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

#[cfg(test)]
mod tests;
