//! Why a configuration can't be used, at the line and column where it says so.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::{Error as YamlError, Location};

const UNREADABLE: &str = "unreadable";

/// A configuration that can't be used. Prints as `file:line:col: error[code]: text`, then the line itself, then a hint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct ConfigError {
    /// The file.
    pub file: PathBuf,
    /// Line and column, from 1; `None` where no place in the file is at fault.
    pub position: Option<(u32, u32)>,
    /// A stable kebab-case code, the same as the policy loader's where both have it.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// The offending line.
    pub line: Option<Box<str>>,
    /// What to do.
    pub hint: Option<Box<str>>,
}

impl ConfigError {
    pub(crate) fn whole_file(file: &Path, code: &'static str, message: String) -> Self {
        ConfigError {
            file: file.to_path_buf(),
            position: None,
            code,
            message,
            line: None,
            hint: None,
        }
    }

    /// The file could not even be read.
    pub(crate) fn unreadable(file: &Path, error: &std::io::Error) -> Self {
        Self::whole_file(file, UNREADABLE, format!("cannot be read: {error}"))
    }

    /// Whether the file could not even be read.
    pub fn is_unreadable(&self) -> bool {
        self.code == UNREADABLE
    }

    pub(crate) fn from_yaml(file: &Path, source: &str, error: &YamlError) -> Self {
        let error = error.without_snippet();
        let (code, message, hint) = describe(error);
        let position = error.location().and_then(position);
        ConfigError {
            hint: hint.map(String::into_boxed_str),
            ..Self::at(file, source, position, code, message)
        }
    }

    pub(crate) fn at(file: &Path, source: &str, position: Option<(u32, u32)>, code: &'static str, message: String) -> Self {
        let line = position.and_then(|(line, _)| source.lines().nth(usize::try_from(line).ok()?.checked_sub(1)?));
        ConfigError {
            position,
            line: line.map(Box::from),
            ..Self::whole_file(file, code, message)
        }
    }
}

/// Longer lines are cut: a file squeezed into one line must not flood the terminal.
const LONGEST_LINE: usize = 160;

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file.display())?;
        if let Some((line, column)) = self.position {
            write!(f, "{line}:{column}:")?;
        }
        write!(f, " error[{}]: {}", self.code, visible(&self.message))?;
        if let (Some(text), Some((line, column))) = (&self.line, self.position) {
            let before = usize::try_from(column.saturating_sub(1)).unwrap_or(usize::MAX);
            let skipped = before.saturating_sub(LONGEST_LINE / 2);
            let shown: String = text.chars().skip(skipped).take(LONGEST_LINE).collect();
            // Tabs stay tabs, so that the caret stands under its character whatever the tab width.
            let blank = |c: char| if c == '\t' { '\t' } else { ' ' };
            let caret: String = shown.chars().take(before - skipped).map(blank).chain(['^']).collect();
            let margin = " ".repeat(line.to_string().len());
            write!(f, "\n{line} | {}\n{margin} | {caret}", visible(&shown))?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\nhint: {}", visible(hint))?;
        }
        Ok(())
    }
}

/// Control characters of the file must not reach the terminal as commands.
fn visible(text: &str) -> String {
    let shown = |c: char| if c.is_control() && c != '\t' && c != '\n' { '\u{fffd}' } else { c };
    text.chars().map(shown).collect()
}

/// A place as people count it; `None` where the library knows none.
pub(crate) fn position(place: Location) -> Option<(u32, u32)> {
    let line = u32::try_from(place.line()).ok().filter(|line| *line > 0)?;
    Some((line, u32::try_from(place.column()).unwrap_or(u32::MAX)))
}

fn describe(error: &YamlError) -> (&'static str, String, Option<String>) {
    match error {
        YamlError::SerdeUnknownField { field, expected, .. } => {
            ("unknown-key", format!("there is no `{field}` here"), Some(nearest(field, expected)))
        }
        YamlError::SerdeUnknownVariant { variant, expected, .. } => (
            "unknown-value",
            format!("`{variant}` is not one of the values"),
            Some(nearest(variant, expected)),
        ),
        YamlError::DuplicateMappingKey { key, .. } => (
            "duplicate-key",
            key.as_ref()
                .map_or_else(|| "a key stands twice".into(), |key| format!("`{key}` stands twice")),
            Some("remove one of the two".into()),
        ),
        YamlError::SerdeMissingField { field, .. } => ("missing-key", format!("`{field}` is missing"), None),
        YamlError::SerdeInvalidType { unexpected, expected, .. } | YamlError::SerdeInvalidValue { unexpected, expected, .. } => {
            ("wrong-type", format!("expected {expected}, found {unexpected}"), None)
        }
        YamlError::NullIntoString { .. } => (
            "wrong-type",
            "expected text, found nothing".into(),
            Some("give it a value, or leave the key out".into()),
        ),
        YamlError::Unexpected { expected, .. } => ("wrong-type", format!("expected {}", kind(expected)), None),
        YamlError::Budget { breach, .. } => {
            let (message, hint) = over_budget(breach);
            ("yaml-syntax", message.into(), Some(hint.into()))
        }
        YamlError::Message { msg, .. } => ("invalid-value", msg.clone(), None),
        other => ("yaml-syntax", plain(other), None),
    }
}

/// The library's events in an author's words.
fn kind(expected: &str) -> &str {
    match expected {
        "sequence start" => "a list",
        "mapping start" => "a map",
        other => other,
    }
}

/// What the one strict way of reading forbids; see `tollgate_policy::yaml`.
fn over_budget(breach: &BudgetBreach) -> (&'static str, &'static str) {
    match breach {
        BudgetBreach::Anchors { .. } => ("anchors are not read", "write the value out where it is used"),
        BudgetBreach::Aliases { .. } => ("aliases are not read", "write the value out where it is used"),
        BudgetBreach::MergeKeys { .. } => ("merge keys are not read", "write the keys out"),
        BudgetBreach::Documents { .. } => ("a file is one document", "remove what follows `---`"),
        BudgetBreach::Depth { .. } => ("the file is nested too deeply", "no honest one is"),
        _ => ("the file is too large", "split it"),
    }
}

/// The library's own text, without the position that it puts behind and we put in front.
fn plain(error: &YamlError) -> String {
    let text = error.to_string();
    let first = text.lines().next().unwrap_or_default();
    let end = first.rfind(" at line ").unwrap_or(first.len());
    first.get(..end).unwrap_or(first).to_owned()
}

/// The likeliest intention, or all there are.
pub(crate) fn nearest(written: &str, expected: &[&'static str]) -> String {
    let distance = |candidate: &&&str| edit_distance(written, candidate);
    match expected.iter().min_by_key(distance) {
        Some(likely) if edit_distance(written, likely) <= written.len() / 2 => format!("did you mean `{likely}`?"),
        Some(_) => format!("known here: {}", expected.join(", ")),
        None => "nothing is known here".into(),
    }
}

/// Levenshtein's, by bytes.
fn edit_distance(from: &str, to: &str) -> usize {
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.bytes().enumerate() {
        let mut previous = i + 1;
        let mut diagonal = i;
        for (b, cell) in to.bytes().zip(row.iter_mut().skip(1)) {
            let above = *cell;
            *cell = (diagonal + usize::from(a != b)).min(above + 1).min(previous + 1);
            diagonal = above;
            previous = *cell;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}
