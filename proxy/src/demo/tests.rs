#![allow(clippy::unwrap_used)]

use super::*;

fn row(rule: &'static str, answer: &str, expected: &str) -> Row {
    let seen = |answer: &str| Seen {
        answer: answer.to_owned(),
        other_side: "nothing".to_owned(),
    };
    Row {
        rule,
        tried: "something",
        outcome: "pass",
        expected: seen(expected),
        actual: seen(answer),
    }
}

#[test]
fn an_outcome_that_differs_is_seen_and_spoils_the_report() {
    let good = Report {
        rows: vec![row("route", "200", "200")],
        elapsed: Duration::from_millis(1234),
    };
    assert!(good.is_as_expected());
    assert!(good.table(Paint::Plain).contains("1 of 1 as expected, 1.23 s"));
    let bad = Report {
        rows: vec![row("route", "200", "200"), row("rail", "200", "403 rail_destination")],
        elapsed: Duration::ZERO,
    };
    assert!(!bad.is_as_expected());
    let table = bad.table(Paint::Plain);
    assert!(
        table.contains("NOT OK") && table.contains("should have been") && table.contains("1 of 2 as expected"),
        "{table}"
    );
}

#[test]
fn without_colour_the_table_is_plain_ascii_and_aligned() {
    let report = Report {
        rows: vec![row("route", "200", "200"), row("route", "403 x", "403 x")],
        elapsed: Duration::ZERO,
    };
    let table = report.table(Paint::Plain);
    assert!(table.is_ascii() && !table.contains('\x1b'), "{table:?}");
    let ends: Vec<usize> = table.lines().filter(|line| line.ends_with("  ok")).map(str::len).collect();
    assert_eq!(ends.len(), 2);
    assert_eq!(ends.first(), ends.last(), "{table}");
    assert!(report.table(Paint::Ansi).contains("\x1b[32mok\x1b[0m"));
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_as_it_should_be() {
    let report = run().await.unwrap();
    assert!(report.is_as_expected(), "{}", report.table(Paint::Plain));
    assert_eq!(report.rows.len(), 12);
}
