//! Strict JSON: one reading or none.
//!
//! Go matches keys without regard to case and takes the last duplicate, first-wins readers take the first; Python takes `NaN` and UTF-16.
//! Here a duplicate key (after unescaping), a byte order mark, other encodings, lone surrogates and anything after the document are errors,
//! and numbers keep the difference between `2` and `2.0`.

use std::borrow::Cow;
use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use thiserror::Error;

/// Why bytes are not one strict JSON document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum JsonError {
    /// Invalid UTF-8.
    #[error("not UTF-8")]
    NotUtf8,
    /// Not JSON, or something after it.
    #[error("not one JSON document")]
    Malformed,
    /// Two members of one object have the same name.
    #[error("an object has a member twice")]
    DuplicateKey,
    /// Nested deeper than allowed.
    #[error("nested too deeply")]
    TooDeep,
}

/// A parsed document. It has no content in its `Debug`, as it may hold a signature.
pub enum Value<'a> {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A number written without sign, fraction and exponent that fits 64 bits.
    Integer(u64),
    /// Any other number.
    OtherNumber,
    /// A string, unescaped.
    String(Cow<'a, str>),
    /// An array.
    Array(Vec<Value<'a>>),
    /// An object.
    Object(Object<'a>),
}

/// The members of an object in their order; names are unique.
#[derive(Default)]
pub struct Object<'a>(Vec<(Cow<'a, str>, Value<'a>)>);

impl<'a> Object<'a> {
    /// The member with exactly this name.
    pub fn get(&self, name: &str) -> Option<&Value<'a>> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// Whether there is such a member.
    pub fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The string member of this name.
    pub fn string(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Value::as_str)
    }

    /// The object member of this name.
    pub fn object(&self, name: &str) -> Option<&Object<'a>> {
        self.get(name).and_then(Value::as_object)
    }

    /// All members.
    pub fn members(&self) -> impl Iterator<Item = (&str, &Value<'a>)> {
        self.0.iter().map(|(key, value)| (key.as_ref(), value))
    }

    /// Whether every member is one of these.
    pub fn has_only(&self, names: &[&str]) -> bool {
        self.0.iter().all(|(key, _)| names.contains(&key.as_ref()))
    }

    /// Number of members.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn names_are_unique(&self) -> bool {
        if self.0.len() <= 16 {
            return (1..self.0.len()).all(|i| {
                let (before, rest) = self.0.split_at(i);
                rest.first().is_none_or(|(key, _)| before.iter().all(|(other, _)| other != key))
            });
        }
        let mut names: Vec<&str> = self.0.iter().map(|(key, _)| key.as_ref()).collect();
        names.sort_unstable();
        names.windows(2).all(|pair| pair.first() != pair.last())
    }
}

impl<'a> Value<'a> {
    /// The string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The object, if it is one.
    pub fn as_object(&self) -> Option<&Object<'a>> {
        match self {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Value::Null => "null",
            Value::Bool(_) => "bool",
            Value::Integer(_) | Value::OtherNumber => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        })
    }
}

impl fmt::Debug for Object<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "object of {}", self.len())
    }
}

/// Reads exactly one document, nested at most `depth` levels.
pub fn parse(bytes: &[u8], depth: u8) -> Result<Value<'_>, JsonError> {
    let mut documents = Documents::new(bytes, depth)?;
    let first = documents.next().ok_or(JsonError::Malformed)??;
    if documents.at_end() { Ok(first) } else { Err(JsonError::Malformed) }
}

/// Reads documents that follow each other, as in NDJSON.
pub struct Documents<'a> {
    reader: serde_json::Deserializer<serde_json::de::StrRead<'a>>,
    depth: u8,
    failed: bool,
}

impl<'a> Documents<'a> {
    /// Documents in these bytes, each nested at most `depth` levels.
    pub fn new(bytes: &'a [u8], depth: u8) -> Result<Self, JsonError> {
        let text = std::str::from_utf8(bytes).map_err(|_| JsonError::NotUtf8)?;
        Ok(Documents {
            reader: serde_json::Deserializer::from_str(text),
            depth,
            failed: false,
        })
    }

    fn at_end(&mut self) -> bool {
        self.reader.end().is_ok()
    }
}

impl<'a> Iterator for Documents<'a> {
    type Item = Result<Value<'a>, JsonError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.at_end() {
            return None;
        }
        let why = Cell::new(JsonError::Malformed);
        let seed = Seed {
            depth: self.depth,
            why: &why,
        };
        let value = seed.deserialize(&mut self.reader).map_err(|_| why.get());
        self.failed = value.is_err();
        Some(value)
    }
}

#[derive(Clone, Copy)]
struct Seed<'w> {
    depth: u8,
    why: &'w Cell<JsonError>,
}

impl Seed<'_> {
    fn fail<E: serde::de::Error>(self, why: JsonError) -> E {
        self.why.set(why);
        E::custom(why)
    }

    fn inner<E: serde::de::Error>(self) -> Result<Self, E> {
        match self.depth.checked_sub(1) {
            Some(depth) => Ok(Seed { depth, ..self }),
            None => Err(self.fail(JsonError::TooDeep)),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Value<'de>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value<'de>, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value<'de>, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value<'de>, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value<'de>, E> {
        Ok(Value::Integer(value))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Value<'de>, E> {
        Ok(Value::OtherNumber)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Value<'de>, E> {
        Ok(Value::OtherNumber)
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Value<'de>, E> {
        Ok(Value::String(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value<'de>, E> {
        Ok(Value::String(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value<'de>, A::Error> {
        let inner = self.inner()?;
        let mut values = Vec::new();
        while let Some(value) = seq.next_element_seed(inner)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value<'de>, A::Error> {
        let inner = self.inner()?;
        let mut object = Object::default();
        while let Some(name) = map.next_key_seed(Name)? {
            object.0.push((name, map.next_value_seed(inner)?));
        }
        if object.names_are_unique() {
            Ok(Value::Object(object))
        } else {
            Err(self.fail(JsonError::DuplicateKey))
        }
    }
}

/// A member's name, borrowed where it has no escapes.
struct Name;

impl<'de> DeserializeSeed<'de> for Name {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Name {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a member name")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

#[cfg(test)]
mod tests;
