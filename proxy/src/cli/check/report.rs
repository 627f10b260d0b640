//! Findings for people and for machines.

use serde::Serialize;
use tollgate_policy::Severity;

use super::checked::Checked;
use crate::cli::output;

/// Findings on stderr with a blank line after each, one line a file on stdout.
pub(super) fn human(files: &[Checked]) {
    for checked in files {
        for finding in &checked.diagnostics {
            output::error(format_args!("{}\n", finding.printed));
        }
        output::result(summary(checked));
    }
}

pub(super) fn summary(Checked { file, diagnostics, .. }: &Checked) -> String {
    let errors = diagnostics.iter().filter(|finding| finding.severity == Severity::Error).count();
    match (errors, diagnostics.len() - errors) {
        (0, 0) => format!("{file}: ok"),
        (0, warnings) => format!("{file}: ok, {}", counted(warnings, "warning")),
        (errors, 0) => format!("{file}: {}", counted(errors, "error")),
        (errors, warnings) => format!("{file}: {}, {}", counted(errors, "error"), counted(warnings, "warning")),
    }
}

fn counted(count: usize, of: &str) -> String {
    format!("{count} {of}{}", if count == 1 { "" } else { "s" })
}

#[derive(Serialize)]
struct Document<'a> {
    files: &'a [Checked],
}

/// Findings on stderr, and nothing on stdout.
pub(super) fn findings(files: &[Checked]) {
    for finding in files.iter().flat_map(|checked| &checked.diagnostics) {
        output::error(format_args!("{}\n", finding.printed));
    }
}

/// One document on stdout and nothing else.
pub(super) fn json(files: &[Checked]) {
    output::result(document(files));
}

pub(super) fn document(files: &[Checked]) -> String {
    // Texts and numbers only: nothing that JSON can't hold.
    serde_json::to_string_pretty(&Document { files }).unwrap_or_default()
}
