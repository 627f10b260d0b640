//! A finding as a person reads it in a terminal.

use std::fmt::Write as _;

use super::Diagnostic;

/// Longer lines are cut: a policy squeezed into one line must not flood the terminal.
const MAX_LINE: usize = 160;

pub(super) fn render(diagnostic: &Diagnostic, file: &str, source: &str) -> String {
    let Diagnostic {
        severity,
        code,
        line,
        column,
        message,
        hint,
    } = diagnostic;
    let mut out = format!("{file}:{line}:{column}: {severity}[{code}]: {}", visible(message));
    if let Some(text) = source_line(source, *line) {
        let gutter = line.to_string();
        let margin = " ".repeat(gutter.len());
        let skipped = (*column as usize).saturating_sub(1).saturating_sub(MAX_LINE / 2);
        let shown: String = text.chars().skip(skipped).take(MAX_LINE).collect();
        let _ = write!(out, "\n{gutter} | {}\n{margin} | ", visible(&shown));
        // Tabs stay tabs, so that the caret stands under its character whatever the tab width.
        for c in shown.chars().take((*column as usize).saturating_sub(1) - skipped) {
            out.push(if c == '\t' { '\t' } else { ' ' });
        }
        out.push('^');
    }
    if let Some(hint) = hint {
        let _ = write!(out, "\nhint: {}", visible(hint));
    }
    out
}

fn source_line(source: &str, line: u32) -> Option<&str> {
    let text = source.lines().nth((line as usize).checked_sub(1)?)?;
    (!text.trim().is_empty()).then_some(text)
}

/// Control characters of the file must not reach the terminal as commands.
fn visible(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() && c != '\t' && c != '\n' { '\u{fffd}' } else { c })
        .collect()
}
