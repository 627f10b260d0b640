//! For people: a line a case; under a wrong one what differs, and how it came about.

use std::fmt::Write as _;

use super::{Tested, Tried};

pub(super) fn text(all: &[Tested<'_>]) -> String {
    let mut text = String::new();
    for tested in all {
        let _ = writeln!(text, "{}", tested.file());
        for tried in &tested.results {
            case(&mut text, &tested.file(), tried);
        }
        let _ = writeln!(text);
    }
    let cases: usize = all.iter().map(|tested| tested.results.len()).sum();
    let failed: usize = all.iter().map(Tested::failed).sum();
    let word = if cases == 1 { "case" } else { "cases" };
    let _ = match failed {
        0 => writeln!(text, "{cases} {word}, all as expected"),
        failed => writeln!(text, "{cases} {word}, {} as expected, {failed} not", cases - failed),
    };
    text
}

fn case(
    text: &mut String,
    file: &str,
    Tried {
        case,
        mismatches,
        explained,
    }: &Tried<'_>,
) {
    if mismatches.is_empty() {
        let _ = writeln!(text, "  ok    {}", case.name);
        return;
    }
    let line = case.line.map(|line| format!(":{line}")).unwrap_or_default();
    let _ = writeln!(text, "  FAIL  {}\n        {file}{line}", case.name);
    for mismatch in mismatches {
        let actual = mismatch.actual.as_deref().unwrap_or("none");
        let _ = writeln!(
            text,
            "        - {}: {}\n        + {}: {actual}",
            mismatch.part, mismatch.expected, mismatch.part
        );
    }
    let _ = writeln!(text);
    for line in explained.text().lines() {
        let _ = writeln!(text, "{}", format!("        {line}").trim_end());
    }
    let _ = writeln!(text);
}
