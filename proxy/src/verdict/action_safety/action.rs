//! An action as the Action Safety contract has it: texts within bounds, and the hash that binds an answer to them.
//!
//! The binding is compact JSON of twelve members, sorted, missing ones `null`, UTF-8 unescaped; its SHA-256 in lower hex is what an answer
//! must repeat. A text that somebody may trim or cut is refused: two sides would hash two actions.

use bytes::Bytes;
use serde::Serialize;
use sha2::{Digest, Sha256};
use thiserror::Error;

/// The contract's name for this way of binding.
pub(super) const BINDING_VERSION: &str = "hermes-action-v1";

/// Why a text can't be part of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(super) enum TextError {
    /// Empty, or blanks only.
    #[error("blank")]
    Blank,
    /// White space that JavaScript, Python or Rust would trim.
    #[error("with white space at an end")]
    Untrimmed,
    /// Longer than the contract allows. It is never cut.
    #[error("longer than {0} UTF-16 units")]
    TooLong(usize),
}

/// A text of at most `MOST` UTF-16 units, the larger of the two ways in which the contract's "characters" are counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(super) struct Text<const MOST: usize>(Box<str>);

impl<const MOST: usize> Text<MOST> {
    /// The text, if everybody reads it alike.
    pub(super) fn parse(text: &str) -> Result<Self, TextError> {
        // Of the three trim sets: Python alone has U+001C to U+001F, JavaScript alone the byte order mark, Rust and Python U+0085.
        let trimmed = |c: char| c.is_whitespace() || matches!(c, '\u{feff}' | '\u{1c}'..='\u{1f}');
        if text.chars().all(trimmed) {
            return Err(TextError::Blank);
        }
        if text.starts_with(trimmed) || text.ends_with(trimmed) {
            return Err(TextError::Untrimmed);
        }
        if text.encode_utf16().count() > MOST {
            return Err(TextError::TooLong(MOST));
        }
        Ok(Text(text.into()))
    }
}

/// The command line.
pub(super) type Command = Text<2000>;
/// A repository, a directory, a branch, an environment, an actor.
pub(super) type Place = Text<500>;
/// What it is for, or what it is done to.
pub(super) type Purpose = Text<1000>;
/// A hash.
pub(super) type Digits = Text<200>;
/// A summary of changes.
pub(super) type Summary = Text<1500>;

/// An action. The members stand in the contract's order of sorted names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Action {
    /// Who.
    pub(super) actor: Option<Place>,
    /// On which branch.
    pub(super) branch: Option<Place>,
    /// What.
    pub(super) command: Command,
    /// At which commit.
    pub(super) commit: Option<Digits>,
    /// In which directory.
    pub(super) cwd: Option<Place>,
    /// Of which change.
    pub(super) diff_hash: Option<Digits>,
    /// How large it is.
    pub(super) diff_stat: Option<Summary>,
    /// Where.
    pub(super) environment: Option<Place>,
    /// What for.
    pub(super) intent: Option<Purpose>,
    /// In which repository.
    pub(super) repo: Option<Place>,
    /// To what.
    pub(super) target: Option<Purpose>,
}

/// What is hashed.
#[derive(Serialize)]
struct Binding<'a> {
    #[serde(flatten)]
    action: &'a Action,
    version: &'static str,
}

/// The lower-case hex SHA-256 of an action's binding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ActionHash(String);

impl ActionHash {
    /// The digits.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Action {
    /// An action of which only the command is said.
    pub(super) fn new(command: Command) -> Self {
        Action {
            actor: None,
            branch: None,
            command,
            commit: None,
            cwd: None,
            diff_hash: None,
            diff_stat: None,
            environment: None,
            intent: None,
            repo: None,
            target: None,
        }
    }

    /// What is hashed, as UTF-8.
    fn binding(&self) -> Vec<u8> {
        // Texts only: serialising them cannot fail.
        let binding = Binding {
            action: self,
            version: BINDING_VERSION,
        };
        serde_json::to_vec(&binding).unwrap_or_default()
    }

    /// The hash that an answer has to repeat.
    pub(super) fn hash(&self) -> ActionHash {
        ActionHash(hex::encode(Sha256::digest(self.binding())))
    }

    /// The body of the question: missing members are left out, never `null`.
    pub(super) fn body(&self) -> Bytes {
        let mut asked = serde_json::to_value(self).unwrap_or_default();
        if let Some(members) = asked.as_object_mut() {
            members.retain(|_, value| !value.is_null());
            members.insert("failClosedOnUnmatched".to_owned(), true.into());
        }
        Bytes::from(asked.to_string())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use serde_json::{Map, Value};

    use super::*;

    fn text<const MOST: usize>(value: &Value) -> Result<Option<Text<MOST>>, TextError> {
        value.as_str().map(Text::parse).transpose()
    }

    fn read(request: &Map<String, Value>) -> Result<Action, TextError> {
        let member = |name: &str| request.get(name).cloned().unwrap_or_default();
        Ok(Action {
            actor: text(&member("actor"))?,
            branch: text(&member("branch"))?,
            command: text(&member("command"))?.ok_or(TextError::Blank)?,
            commit: text(&member("commit"))?,
            cwd: text(&member("cwd"))?,
            diff_hash: text(&member("diffHash"))?,
            diff_stat: text(&member("diffStat"))?,
            environment: text(&member("environment"))?,
            intent: text(&member("intent"))?,
            repo: text(&member("repo"))?,
            target: text(&member("target"))?,
        })
    }

    fn vectors() -> Value {
        serde_json::from_str(include_str!("../../../testdata/action-binding.json")).unwrap()
    }

    #[test]
    fn actions_are_bound_as_the_contract_has_it() {
        let vectors = vectors();
        let vectors = vectors["vectors"].as_array().unwrap();
        assert_eq!(vectors.len(), 16);
        for vector in vectors {
            let request = vector["request"].as_object().unwrap();
            let action = read(request).unwrap();
            assert_eq!(
                action.binding(),
                vector["canonical"].as_str().unwrap().as_bytes(),
                "{}",
                vector["name"]
            );
            assert_eq!(action.hash().as_str(), vector["sha256"], "{}", vector["name"]);
            let sent: Value = serde_json::from_slice(&action.body()).unwrap();
            assert_eq!(sent.as_object(), Some(request), "{}", vector["name"]);
        }
    }

    #[test]
    fn texts_that_two_sides_could_read_differently_are_refused() {
        let vectors = vectors();
        let rejected = vectors["must_reject"].as_array().unwrap();
        assert_eq!(rejected.len(), 12);
        for case in rejected {
            let value = match case["value"].as_str() {
                Some("x*2001 (2001 ASCII characters)") => Value::from("x".repeat(2001)),
                Some("x*201 (201 ASCII characters)") => Value::from("x".repeat(201)),
                Some("U+1F680 x 101") => Value::from("\u{1f680}".repeat(101)),
                _ => case["value"].clone(),
            };
            let field = case["field"].as_str().unwrap();
            let mut request = Map::from_iter([("command".to_owned(), Value::from("ls"))]);
            request.insert(field.to_owned(), value);
            assert!(read(&request).is_err(), "{}", case["name"]);
        }
    }
}
