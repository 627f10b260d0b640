//! Findings for people and for machines.

use serde::Serialize;

use super::checked::{Checked, Severity};
use crate::cli::output;

/// Findings on stderr, one line a file on stdout.
pub(super) fn human(files: &[Checked]) {
    for Checked { file, diagnostics, .. } in files {
        for finding in diagnostics {
            output::error(&finding.printed);
        }
        let errors = diagnostics.iter().filter(|finding| finding.severity == Severity::Error).count();
        let summary = match (errors, diagnostics.len() - errors) {
            (0, 0) => "ok".to_owned(),
            (0, warnings) => format!("ok, {}", counted(warnings, "warning")),
            (errors, 0) => counted(errors, "error"),
            (errors, warnings) => format!("{}, {}", counted(errors, "error"), counted(warnings, "warning")),
        };
        output::result(format_args!("{file}: {summary}"));
    }
}

fn counted(count: usize, of: &str) -> String {
    format!("{count} {of}{}", if count == 1 { "" } else { "s" })
}

#[derive(Serialize)]
struct Document<'a> {
    files: &'a [Checked],
}

/// One document on stdout and nothing else.
pub(super) fn json(files: &[Checked]) {
    output::result(document(files));
}

fn document(files: &[Checked]) -> String {
    serde_json::to_string_pretty(&Document { files }).unwrap_or_default()
}
