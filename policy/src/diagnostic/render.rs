//! A finding as a person reads it in a terminal.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Effects};

use super::extent::extent;
use super::{Diagnostic, Severity};
use crate::source::Source;

/// Longer lines are cut: a policy squeezed into one line must not flood the terminal.
const MAX_LINE: usize = 160;

/// Whether findings are coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Style {
    /// Text alone: files, logs, documents.
    #[default]
    Plain,
    /// With the escapes of a terminal.
    Coloured,
}

impl Style {
    fn paint(self, style: anstyle::Style, text: &str) -> String {
        match self {
            Style::Plain => text.to_owned(),
            Style::Coloured => format!("{style}{text}{style:#}"),
        }
    }
}

const BOLD: anstyle::Style = anstyle::Style::new().effects(Effects::BOLD);
const GUTTER: anstyle::Style = AnsiColor::Blue.on_default().effects(Effects::BOLD);
const HINT: anstyle::Style = AnsiColor::Cyan.on_default().effects(Effects::BOLD);

fn colour(severity: Severity) -> anstyle::Style {
    match severity {
        Severity::Error => AnsiColor::Red,
        Severity::Warning => AnsiColor::Yellow,
    }
    .on_default()
    .effects(Effects::BOLD)
}

pub(super) fn render(diagnostic: &Diagnostic, source: Option<&Source>, style: Style) -> String {
    let Diagnostic {
        severity,
        code,
        source: _,
        line,
        column,
        message,
        hint,
    } = diagnostic;
    let file = visible(source.map_or("policy", Source::name));
    let kind = style.paint(colour(*severity), &format!("{severity}[{code}]"));
    let place = style.paint(BOLD, &format!("{file}:{line}:{column}:"));
    let mut out = format!("{place} {kind}: {}", style.paint(BOLD, &visible(message)));
    let text = source.and_then(|source| source.line(*line)).filter(|text| !text.trim().is_empty());
    if let Some(text) = text {
        let gutter = line.to_string();
        let margin = " ".repeat(gutter.len());
        let before = (*column as usize).saturating_sub(1);
        let skipped = before.saturating_sub(MAX_LINE / 2);
        let shown: String = text.chars().skip(skipped).take(MAX_LINE).collect();
        // Tabs stay tabs, so that the caret stands under its character whatever the tab width.
        let indent = shown.chars().take(before - skipped);
        let indent: String = indent.map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        let room = shown.chars().count().saturating_sub(before - skipped).max(1);
        let carets = "^".repeat((extent(text, *column) as usize).min(room));
        let _ = write!(
            out,
            "\n{} {}\n{} {indent}{}",
            style.paint(GUTTER, &format!("{gutter} |")),
            visible(&shown),
            style.paint(GUTTER, &format!("{margin} |")),
            style.paint(colour(*severity), &carets)
        );
    }
    if let Some(hint) = hint {
        let _ = write!(out, "\n{} {}", style.paint(HINT, "hint:"), visible(hint));
    }
    out
}

/// Control characters of the file must not reach the terminal as commands.
fn visible(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() && c != '\t' && c != '\n' { '\u{fffd}' } else { c })
        .collect()
}
