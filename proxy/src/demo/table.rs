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

const HEADINGS: [&str; 4] = ["RULE", "TRIED", "ANSWER", "THE OTHER SIDE SAW"];

pub(super) fn render(report: &Report, paint: Paint) -> String {
    let lines: Vec<[&str; 4]> = report.rows.iter().map(cells).collect();
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
    let _ = writeln!(text, "{ruler}\n{sum}");
    text
}

fn cells(row: &Row) -> [&str; 4] {
    [row.rule, row.tried, &row.actual.answer, &row.actual.other_side]
}

fn widths(lines: &[[&str; 4]]) -> [usize; 4] {
    let mut widths = HEADINGS.map(str::len);
    for cells in lines {
        for (width, cell) in widths.iter_mut().zip(cells) {
            *width = (*width).max(cell.chars().count());
        }
    }
    widths
}

fn line(cells: &[&str; 4], widths: &[usize; 4]) -> String {
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
