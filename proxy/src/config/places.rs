//! Where in a file the value of a JSON pointer stands, for mistakes that show only once everything is read.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Options, Spanned};

use super::error::position;

/// The document as places only.
enum Node {
    Map(Vec<(Spanned<String>, Spanned<Node>)>),
    List(Vec<Spanned<Node>>),
    Scalar,
}

/// The line and column of the value at `pointer` (RFC 6901), or of the nearest thing around it.
pub(super) fn of(source: &str, pointer: &str, options: Options) -> Option<(u32, u32)> {
    let root: Spanned<Node> = serde_saphyr::from_str_with_options(source, options).ok()?;
    let mut place = root.referenced;
    let mut node = &root.value;
    for step in pointer.split('/').skip(1) {
        let step = step.replace("~1", "/").replace("~0", "~");
        let found = match node {
            Node::Map(members) => members
                .iter()
                .find(|(key, _)| key.value == step)
                .map(|(key, value)| (key.referenced, value)),
            Node::List(items) => step
                .parse::<usize>()
                .ok()
                .and_then(|at| items.get(at))
                .map(|item| (item.referenced, item)),
            Node::Scalar => None,
        };
        let Some((at, next)) = found else { break };
        // A block's own place is its first key's; the key it stands under says more.
        place = if matches!(next.value, Node::Scalar) { next.referenced } else { at };
        node = &next.value;
    }
    position(place)
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(Node::Map(members))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Node, E> {
        Ok(Node::Scalar)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Node, E> {
        Ok(Node::Scalar)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Node, E> {
        Ok(Node::Scalar)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Node, E> {
        Ok(Node::Scalar)
    }

    fn visit_str<E>(self, _: &str) -> Result<Node, E> {
        Ok(Node::Scalar)
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Scalar)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Scalar)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Node::Scalar)
    }
}
