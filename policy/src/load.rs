//! From text to a policy.
//!
//! In: the file's text, and the middlewares' own schema. Out: the policy, unless something is wrong with it, and everything there is
//! to say about it, sorted by place. No input makes it panic, recurse deeply or run long: the file comes from people, and is read
//! again while the gate is running.

use crate::diagnostic::{Code, Diagnostic, Diagnostics, Position};
use crate::policy::Policy;

/// What the middlewares say about their own configuration.
pub trait MiddlewareSchema {
    /// Checks the `config` of a stanza. An unknown middleware name is an error of this method too.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    fn validate(&self, middleware: &str, config: &serde_json::Value) -> Result<(), Vec<ConfigFault>>;
}

/// Something wrong with a middleware's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFault {
    /// Where, as a JSON pointer (RFC 6901) into `config`; empty for the whole. `None`: it is the middleware's name that is wrong.
    pub pointer: Option<String>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl ConfigFault {
    /// No middleware has this name.
    pub fn unknown_middleware(message: impl Into<String>) -> Self {
        ConfigFault {
            pointer: None,
            message: message.into(),
            hint: None,
        }
    }

    /// Something is wrong at this place of the configuration.
    pub fn at(pointer: impl Into<String>, message: impl Into<String>) -> Self {
        ConfigFault {
            pointer: Some(pointer.into()),
            message: message.into(),
            hint: None,
        }
    }

    /// With what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// How much a policy may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the file.
    pub bytes: usize,
    /// YAML nodes: keys, values, lists and maps.
    pub nodes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            bytes: 1 << 20,
            nodes: 250_000,
        }
    }
}

/// What came of loading.
#[derive(Debug)]
pub struct Loaded {
    /// The policy; `None` if a diagnostic is an error.
    pub policy: Option<Policy>,
    /// Sorted by line and column.
    pub diagnostics: Vec<Diagnostic>,
}

/// Loads a policy within the default [`Limits`].
pub fn load(source: &str, schema: &dyn MiddlewareSchema) -> Loaded {
    load_within(source, schema, Limits::default())
}

/// Loads a policy within other limits.
pub fn load_within(source: &str, schema: &dyn MiddlewareSchema, limits: Limits) -> Loaded {
    let mut diagnostics = Diagnostics::default();
    let policy = read(source, schema, limits, &mut diagnostics);
    let policy = if diagnostics.has_errors() { None } else { policy };
    Loaded {
        policy,
        diagnostics: diagnostics.sorted(),
    }
}

fn read(source: &str, schema: &dyn MiddlewareSchema, limits: Limits, diagnostics: &mut Diagnostics) -> Option<Policy> {
    if source.len() > limits.bytes {
        let message = format!("the policy has {} bytes; at most {} are read", source.len(), limits.bytes);
        diagnostics.error(Code::FileTooLarge, Position::START, message, "");
        return None;
    }
    let document = crate::document::read(source, limits, diagnostics)?;
    Some(crate::validate::validate(document, schema, diagnostics))
}
