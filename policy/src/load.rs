//! From text to a policy.
//!
//! In: the text of one file or of several, and the middlewares' own schema. Out: the policy, unless something is wrong with it, and
//! everything there is to say about it, sorted by file and place. No input makes it panic, recurse deeply or run long: the file comes from people, and is read
//! again while the gate is running.

use crate::diagnostic::{Code, Diagnostic, Diagnostics, Position};
use crate::document::Document;
use crate::policy::Policy;
use crate::source::{Source, SourceId, Sources};

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
    /// Bytes of all its files.
    pub bytes: usize,
    /// YAML nodes of each file: keys, values, lists and maps.
    pub nodes: usize,
    /// Files.
    pub files: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            bytes: 1 << 20,
            nodes: 250_000,
            files: 256,
        }
    }
}

/// What came of loading.
#[derive(Debug)]
pub struct Loaded {
    /// The policy; `None` if a diagnostic is an error.
    pub policy: Option<Policy>,
    /// Sorted by file, line and column.
    pub diagnostics: Vec<Diagnostic>,
}

/// Loads a policy of one file within the default [`Limits`].
pub fn load(source: &str, schema: &dyn MiddlewareSchema) -> Loaded {
    load_within(&Sources::one("policy.yaml", source), schema, Limits::default())
}

/// Loads a policy of any number of files within other limits. Rules and middlewares are joined by key; a key that stands in two files
/// is an error, as is a static section that does.
pub fn load_within(sources: &Sources, schema: &dyn MiddlewareSchema, limits: Limits) -> Loaded {
    let mut diagnostics = Diagnostics::of(sources);
    let policy = read(sources, limits, &mut diagnostics).map(|document| crate::validate::validate(document, schema, &mut diagnostics));
    let policy = if diagnostics.has_errors() { None } else { policy };
    Loaded {
        policy,
        diagnostics: diagnostics.sorted(),
    }
}

/// `None` where a file is not even a document; the others are still read, so that their errors are known too.
fn read(sources: &Sources, limits: Limits, found: &mut Diagnostics) -> Option<Document> {
    check_size(sources, limits, found)?;
    let documents: Vec<Option<Document>> = sources.iter().map(|(id, source)| read_one(id, source, limits, found)).collect();
    let documents: Option<Vec<Document>> = documents.into_iter().collect();
    Document::joined(documents?, found)
}

fn read_one(id: SourceId, source: &Source, limits: Limits, found: &mut Diagnostics) -> Option<Document> {
    if let Some((line, column)) = source.damage() {
        let at = Position { source: id, line, column };
        found.error(Code::NotUnicode, at, "the file is not UTF-8 from here on", "save it as UTF-8");
        return None;
    }
    crate::document::read(id, source.text(), limits, found)
}

fn check_size(sources: &Sources, limits: Limits, found: &mut Diagnostics) -> Option<()> {
    let mut total = 0_usize;
    for (index, (id, source)) in sources.iter().enumerate() {
        total = total.saturating_add(source.text().len());
        let at = Position::start_of(id);
        if total > limits.bytes {
            let message = format!("the policy has more than {} bytes; no more are read", limits.bytes);
            found.error(Code::FileTooLarge, at, message, "use wildcards, or leave out what no client needs");
            return None;
        }
        if index >= limits.files {
            let message = format!("the policy has more than {} files", limits.files);
            found.error(Code::FileTooLarge, at, message, "put more rules into each file");
            return None;
        }
    }
    Some(())
}
