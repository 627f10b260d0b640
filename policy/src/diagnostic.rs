//! What the loader has to say about a policy file.
//!
//! In: findings of the reader and of the validation, each with its place. Out: [`Diagnostic`]s with a stable code, for people
//! ([`Sources::render`](crate::Sources::render)) and for machines (`serde`).

use std::fmt;

use serde::Serialize;

use crate::source::{SourceId, Sources};

mod code;
mod extent;
mod render;
#[cfg(test)]
mod tests;

pub use code::Code;
pub use render::Style;

/// A place in a file; lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Position {
    /// The file, by its place among those of the policy; left out for the first.
    #[serde(skip_serializing_if = "SourceId::is_first")]
    pub source: SourceId,
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl Position {
    /// The first character of the first file: where findings about the policy as a whole are reported.
    pub const START: Position = Position::start_of(SourceId::FIRST);

    /// The first character of a file.
    pub const fn start_of(source: SourceId) -> Self {
        Position {
            source,
            line: 1,
            column: 1,
        }
    }
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
    /// The file.
    #[serde(skip)]
    pub source: SourceId,
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
    /// A finding; an empty hint is none.
    pub fn new(severity: Severity, code: Code, at: Position, message: impl Into<String>, hint: impl Into<String>) -> Self {
        let hint = hint.into();
        Diagnostic {
            severity,
            code,
            source: at.source,
            line: at.line,
            column: at.column,
            message: message.into(),
            hint: (!hint.is_empty()).then_some(hint),
        }
    }

    /// Where it was found.
    pub fn position(&self) -> Position {
        Position {
            source: self.source,
            line: self.line,
            column: self.column,
        }
    }

    /// Whether this one keeps the policy from loading.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl Sources {
    /// `file:line:col: error[code]: text`, the offending line with carets under the offending part, and the hint. Without a trailing
    /// newline.
    pub fn render(&self, finding: &Diagnostic, style: Style) -> String {
        render::render(finding, self.get(finding.source), style)
    }

    /// Where the offending part of the line ends: the column after it.
    pub fn end_column(&self, finding: &Diagnostic) -> u32 {
        let line = self.get(finding.source).and_then(|source| source.line(finding.line));
        let length = line.map_or(1, |line| extent::extent(line, finding.column));
        finding.column.saturating_add(length)
    }

    /// All of them, one after the other.
    pub fn render_all<'d>(&self, findings: impl IntoIterator<Item = &'d Diagnostic>, style: Style) -> String {
        let rendered: Vec<String> = findings.into_iter().map(|finding| self.render(finding, style)).collect();
        rendered.join("\n\n")
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
    /// The files' names, for findings about two places.
    names: Vec<String>,
}

impl Diagnostics {
    /// For a policy of these files.
    pub(crate) fn of(sources: &Sources) -> Self {
        Diagnostics {
            found: Vec::new(),
            names: sources.iter().map(|(_, source)| source.name().to_owned()).collect(),
        }
    }

    /// Another place, as a finding about `at` speaks of it: `line 4`, or `base.yaml:4` where that is another file.
    pub(crate) fn other_place(&self, other: Position, at: Position) -> String {
        match self.names.get(other.source.index()) {
            Some(name) if other.source != at.source => format!("{name}:{}", other.line),
            _ => format!("line {}", other.line),
        }
    }

    /// The name of the file that this place is in, where there are several. Without its folder: denials show it to the sandbox, which has no
    /// business with the operator's paths. Two of one name are told apart by the rule that stands beside it.
    pub(crate) fn file_of(&self, at: Position) -> Option<&str> {
        let name = self.names.get(at.source.index()).filter(|_| self.names.len() > 1)?;
        name.rsplit('/').next()
    }

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
        self.found.push(Diagnostic::new(severity, code, at, message, hint));
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
        self.found.sort_by_key(|d| (d.position(), d.severity));
        self.found
    }
}
