//! The words that the tables are written in.

/// A map with known keys.
#[derive(Debug)]
pub(crate) struct Shape {
    /// As the reader's findings call it: "an endpoint". A test finds the reader's keys by it.
    #[cfg_attr(not(test), allow(dead_code, reason = "only the test needs it"))]
    pub(crate) what: &'static str,
    /// Its name in the JSON Schema.
    pub(crate) name: &'static str,
    pub(crate) description: &'static str,
    pub(crate) fields: &'static [Field],
}

/// A key of a map.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) key: &'static str,
    pub(crate) kind: Kind,
    pub(crate) presence: Presence,
    pub(crate) description: &'static str,
}

/// Whether a key must be there, and what holds where it is not.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Presence {
    Required,
    /// What leaving it out means is not a value that could be written.
    Optional,
    /// Leaving it out means this, as YAML.
    Default(&'static str),
}

/// What a key takes.
#[derive(Debug)]
pub(crate) enum Kind {
    Text,
    Boolean,
    Integer {
        least: i64,
        most: i64,
    },
    /// One of a closed set of words.
    OneOf(&'static [Choice]),
    /// The same, in any case.
    OneOfAnyCase(&'static [Choice]),
    List(&'static Kind),
    /// A list that may not be empty.
    NonEmpty(&'static Kind),
    Map(&'static Shape),
    /// A map whose keys are names that the author chooses.
    Named(&'static Kind),
    /// One of several.
    Either(&'static [Kind]),
    /// A text or a whole number.
    TextOrInteger,
    /// A map that somebody else reads.
    Free,
}

/// A word and what it means.
#[derive(Debug)]
pub(crate) struct Choice {
    pub(crate) value: &'static str,
    pub(crate) description: &'static str,
}

pub(super) const fn choice(value: &'static str, description: &'static str) -> Choice {
    Choice { value, description }
}

pub(super) const fn required(key: &'static str, kind: Kind, description: &'static str) -> Field {
    Field {
        key,
        kind,
        presence: Presence::Required,
        description,
    }
}

pub(super) const fn optional(key: &'static str, kind: Kind, description: &'static str) -> Field {
    Field {
        key,
        kind,
        presence: Presence::Optional,
        description,
    }
}

pub(super) const fn defaulted(key: &'static str, kind: Kind, default: &'static str, description: &'static str) -> Field {
    Field {
        key,
        kind,
        presence: Presence::Default(default),
        description,
    }
}
