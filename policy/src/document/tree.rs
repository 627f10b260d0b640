//! YAML as a tree of values with their places.
//!
//! The parser's own limits stand against bombs: no anchors, no aliases, no merge keys, no deep nesting, one document.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{DuplicateKeyPolicy, Location, Spanned};

use crate::diagnostic::{Code, Diagnostics, Position};
use crate::load::Limits;
use crate::source::SourceId;
use crate::yaml;

/// A value and its place.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) at: Position,
    pub(crate) value: Value,
}

/// A YAML value as the core schema reads it.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Integer(i64),
    /// Above `i64::MAX`.
    Large(u64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    /// In the order of the file, repeated keys included: the reader reports them.
    Map(Vec<(Node, Node)>),
}

impl Value {
    /// With its article, for "expected …, found …".
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Value::Null => "nothing",
            Value::Bool(_) => "a boolean",
            Value::Integer(_) | Value::Large(_) => "a whole number",
            Value::Float(_) => "a number with a fraction",
            Value::Text(_) => "text",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }
}

impl Node {
    /// The parser knows of one file only.
    fn belongs_to(&mut self, file: SourceId) {
        self.at.source = file;
        match &mut self.value {
            Value::List(items) => items.iter_mut().for_each(|item| item.belongs_to(file)),
            Value::Map(entries) => entries.iter_mut().for_each(|(key, value)| {
                key.belongs_to(file);
                value.belongs_to(file);
            }),
            _ => {}
        }
    }

    /// The same as JSON; keys that are not text are left out, the reader has reported them.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            Value::Integer(value) => (*value).into(),
            Value::Large(value) => (*value).into(),
            Value::Float(value) => (*value).into(),
            Value::Text(value) => value.as_str().into(),
            Value::List(items) => items.iter().map(Node::to_json).collect(),
            Value::Map(entries) => entries
                .iter()
                .filter_map(|(key, value)| match &key.value {
                    Value::Text(key) => Some((key.clone(), value.to_json())),
                    _ => None,
                })
                .collect(),
        }
    }

    /// Where a JSON pointer (RFC 6901) leads; as far as it goes where it leads nowhere.
    pub(crate) fn locate(&self, pointer: &str) -> Position {
        let mut node = self;
        for token in pointer.split('/').skip(1) {
            let token = token.replace("~1", "/").replace("~0", "~");
            let next = match &node.value {
                Value::List(items) => token.parse::<usize>().ok().and_then(|index| items.get(index)),
                Value::Map(entries) => entries
                    .iter()
                    .find(|(key, _)| matches!(&key.value, Value::Text(text) if *text == token))
                    .map(|(_, value)| value),
                _ => None,
            };
            match next {
                Some(next) => node = next,
                None => break,
            }
        }
        node.at
    }
}

/// Reads the text; `None` after a syntax error.
pub(super) fn parse(file: SourceId, text: &str, limits: Limits, found: &mut Diagnostics) -> Option<Node> {
    // Every repetition is reported, each at its place, by the reader.
    match serde_saphyr::from_str_with_options::<Node>(text, yaml::strict(limits, DuplicateKeyPolicy::PassThrough)) {
        Ok(mut node) => {
            if file != SourceId::FIRST {
                node.belongs_to(file);
            }
            Some(node)
        }
        Err(error) => {
            let error = error.without_snippet();
            let mut at = error.location().map_or(Position::START, position);
            at.source = file;
            let (message, hint) = explain(&error.to_string());
            found.error(Code::YamlSyntax, at, message, hint);
            None
        }
    }
}

/// The library's message without the place, which is shown already; its budgets in our words.
fn explain(text: &str) -> (String, &'static str) {
    const BUDGETS: [(&str, &str, &str); 6] = [
        ("Anchors", "a policy may not use anchors", "write the value out where it is used"),
        ("Aliases", "a policy may not use aliases", "write the value out where it is used"),
        ("MergeKeys", "a policy may not use merge keys", "write the keys out"),
        ("Documents", "a policy is one document", "remove what follows `---`"),
        ("Depth", "the policy is nested too deeply", ""),
        ("", "the policy is too large", "split it, or use wildcards"),
    ];
    if let Some((_, breach)) = text.split_once("budget breached: ") {
        let budget = BUDGETS.iter().find(|(name, ..)| breach.starts_with(name));
        if let Some((_, message, hint)) = budget {
            return ((*message).to_owned(), hint);
        }
    }
    let message = text
        .split(" at line ")
        .next()
        .unwrap_or(text)
        .trim_end_matches([',', ':', ' '])
        .to_owned();
    let hint = HINTS.iter().find(|(part, _)| message.contains(part)).map_or("", |(_, hint)| *hint);
    (message, hint)
}

/// What is mostly behind a syntax error, by a part of the library's message.
const HINTS: [(&str, &str); 8] = [
    ("tab", "indent with spaces"),
    ("unknown anchor", "put a value that begins with `*` in quotes"),
    ("unclosed quote", "close the quote on the same line"),
    ("unclosed bracket", "close the bracket"),
    ("did not find expected '-'", "indent the keys of one entry alike, under the first"),
    (
        "':' indicator",
        "a `[`, `{` or quote above may not be closed; or put the value in quotes",
    ),
    ("unsupported tag", "write the value without a tag"),
    ("simple key", "put a space after the colon, or the value in quotes"),
];

fn position(location: Location) -> Position {
    let count = |value: u64| u32::try_from(value).unwrap_or(u32::MAX).max(1);
    Position {
        source: SourceId::FIRST,
        line: count(location.line()),
        column: count(location.column()),
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Value>::deserialize(deserializer)?;
        Ok(Node {
            at: position(spanned.referenced),
            value: spanned.value,
        })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Integer(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(i64::try_from(value).map_or(Value::Large(value), Value::Integer))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Value::Map(entries))
    }
}
