//! What the loader has to say about a policy file.
//!
//! In: findings of the reader and of the validation, each with its place. Out: [`Diagnostic`]s with a stable code, for people
//! ([`Diagnostic::render`]) and for machines (`serde`).

use std::fmt;

use serde::Serialize;

mod code;
mod render;
#[cfg(test)]
mod tests;

pub use code::Code;

/// A place in the file; lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl Position {
    /// The first character of the file: where findings about the file as a whole are reported.
    pub const START: Position = Position { line: 1, column: 1 };
}

/// Whether a finding keeps the policy from loading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The policy does not load.
    Error,
    /// The policy loads, and probably does not do what its author means.
    Warning,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
        })
    }
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// The stable code.
    pub code: Code,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1, in characters.
    pub column: u32,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// Where it was found.
    pub fn position(&self) -> Position {
        Position {
            line: self.line,
            column: self.column,
        }
    }

    /// Whether this one keeps the policy from loading.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// `file:line:col: error[code]: text`, the offending line with a caret, and the hint. Without a trailing newline.
    pub fn render(&self, file: &str, source: &str) -> String {
        render::render(self, file, source)
    }
}

/// No more errors and no more warnings than this are kept: a file with more of them is no policy.
const MAX_FINDINGS: usize = 500;

/// Whether a part of the file was read without an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    Complete,
    Broken,
}

/// Findings as they come in.
#[derive(Debug, Default)]
pub(crate) struct Diagnostics {
    found: Vec<Diagnostic>,
}

impl Diagnostics {
    pub(crate) fn error(&mut self, code: Code, at: Position, message: impl Into<String>, hint: impl Into<String>) {
        self.push(Severity::Error, code, at, message.into(), hint.into());
    }

    pub(crate) fn warn(&mut self, code: Code, at: Position, message: impl Into<String>, hint: impl Into<String>) {
        self.push(Severity::Warning, code, at, message.into(), hint.into());
    }

    fn push(&mut self, severity: Severity, code: Code, at: Position, message: String, hint: String) {
        if self.is_full(severity) {
            return;
        }
        self.found.push(Diagnostic {
            severity,
            code,
            line: at.line,
            column: at.column,
            message,
            hint: (!hint.is_empty()).then_some(hint),
        });
    }

    /// Whether further findings of this kind are dropped.
    pub(crate) fn is_full(&self, severity: Severity) -> bool {
        self.found.len() >= MAX_FINDINGS && self.found.iter().filter(|diagnostic| diagnostic.severity == severity).count() >= MAX_FINDINGS
    }

    /// The number of errors so far.
    pub(crate) fn errors(&self) -> usize {
        self.found.iter().filter(|diagnostic| diagnostic.is_error()).count()
    }

    /// Takes over the findings about one part of the file. If that part could not be read in full, findings that something is not
    /// there are left out: it may well be there, under the key that was misspelt.
    pub(crate) fn append(&mut self, part: Diagnostics, reading: Reading) {
        let kept = part
            .found
            .into_iter()
            .filter(|finding| reading == Reading::Complete || !finding.code.is_about_absence());
        self.found.extend(kept);
    }

    pub(crate) fn has_errors(&self) -> bool {
        self.found.iter().any(Diagnostic::is_error)
    }

    /// Reads a part and says whether it was read without an error.
    pub(crate) fn watch<T>(&mut self, read: impl FnOnce(&mut Self) -> T) -> (T, Reading) {
        let before = self.errors();
        let value = read(self);
        (
            value,
            if self.errors() == before {
                Reading::Complete
            } else {
                Reading::Broken
            },
        )
    }

    pub(crate) fn sorted(mut self) -> Vec<Diagnostic> {
        self.found.sort_by_key(|d| (d.line, d.column, d.severity));
        self.found
    }
}
