//! The report as a table in plain ASCII.

use std::fmt::Write as _;

use super::{Report, Row};

/// Whether the reader can show colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// A terminal: verdicts are green or red.
    Ansi,
    /// A file or a pipe.
    Plain,
}

const COLUMNS: usize = 5;
const HEADINGS: [&str; COLUMNS] = ["RULE", "TRIED", "EXPECTED", "ANSWER", "THE OTHER SIDE SAW"];
const NOTE: &str = "A payment counts as one only if it arrives byte for byte as it was signed; \"nothing\" means not even a connection.";

pub(super) fn render(report: &Report, paint: Paint) -> String {
    let lines: Vec<[&str; COLUMNS]> = report.rows.iter().map(cells).collect();
    let widths = widths(&lines);
    let mut text = String::new();
    let ruler = "-".repeat(widths.iter().sum::<usize>() + 2 * widths.len() + "  ok".len());
    let _ = writeln!(text, "{}\n{ruler}", line(&HEADINGS, &widths).trim_end());
    let mut last = "";
    for (row, mut cells) in report.rows.iter().zip(lines) {
        if last == row.rule {
            cells[0] = "";
        } else if !last.is_empty() {
            let _ = writeln!(text);
        }
        last = row.rule;
        let verdict = if row.is_as_expected() {
            paint.green("ok")
        } else {
            paint.red("NOT OK")
        };
        let _ = writeln!(text, "{}  {verdict}", line(&cells, &widths));
        if !row.is_as_expected() {
            let expected = [
                "",
                "  should have been",
                "",
                row.expected.answer.as_str(),
                row.expected.other_side.as_str(),
            ];
            let _ = writeln!(text, "{}", line(&expected, &widths).trim_end());
        }
    }
    let right = report.rows.iter().filter(|row| row.is_as_expected()).count();
    let sum = format!(
        "{right} of {} as expected, {:.2} s",
        report.rows.len(),
        report.elapsed.as_secs_f64()
    );
    let sum = if report.is_as_expected() {
        paint.green(&sum)
    } else {
        paint.red(&sum)
    };
    let _ = writeln!(text, "{ruler}\n{NOTE}\n{sum}");
    text
}

fn cells(row: &Row) -> [&str; COLUMNS] {
    [row.rule, row.tried, row.outcome, &row.actual.answer, &row.actual.other_side]
}

fn widths(lines: &[[&str; COLUMNS]]) -> [usize; COLUMNS] {
    let mut widths = HEADINGS.map(str::len);
    for cells in lines {
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = (*width).max(cell.chars().count());
        }
    }
    widths
}

fn line(cells: &[&str; COLUMNS], widths: &[usize; COLUMNS]) -> String {
    let padded = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
    padded.collect::<Vec<_>>().join("  ")
}

impl Paint {
    fn green(self, text: &str) -> String {
        self.paint("32", text)
    }

    fn red(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        match self {
            Paint::Ansi => format!("\x1b[{code}m{text}\x1b[0m"),
            Paint::Plain => text.to_owned(),
        }
    }
}
