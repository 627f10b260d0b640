#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::*;

fn finding(line: u32, column: u32) -> Diagnostic {
    let at = Position {
        source: SourceId::FIRST,
        line,
        column,
    };
    Diagnostic::new(Severity::Error, Code::UnknownKey, at, "unknown key `hots`", "did you mean `host`?")
}

fn rendered(finding: &Diagnostic, file: &str, source: &str) -> String {
    Sources::one(file, source).render(finding, Style::Plain)
}

#[test]
fn codes_are_unique_kebab_case_and_explained() {
    let mut seen = std::collections::BTreeSet::new();
    for code in Code::ALL {
        let name = code.as_str();
        assert!(seen.insert(name), "{name} twice");
        assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{name}");
        assert!(code.summary().ends_with('.'), "{name} has no summary");
    }
}

#[test]
fn carets_stand_under_the_offending_part() {
    let text = rendered(&finding(2, 3), "policy.yaml", "a: 1\n  hots: x\n");
    assert_eq!(
        text,
        "policy.yaml:2:3: error[unknown-key]: unknown key `hots`\n2 |   hots: x\n  |   ^^^^\nhint: did you mean `host`?"
    );
}

#[test]
fn a_place_outside_the_file_renders_without_the_line() {
    for source in ["", "a", "\n\n"] {
        assert!(rendered(&finding(9, 900), "p", source).starts_with("p:9:900: error[unknown-key]"));
    }
    assert!(rendered(&finding(0, 0), "p", "abc").starts_with("p:0:0:"));
}

#[test]
fn a_column_past_the_end_of_its_line_does_not_panic() {
    assert!(rendered(&finding(1, 4000), "p", "abc").contains('^'));
    assert!(
        rendered(&finding(1, 300), "p", &"x".repeat(400))
            .lines()
            .all(|line| line.len() < 400)
    );
}

#[test]
fn terminal_escapes_in_a_policy_are_not_replayed() {
    let mut diagnostic = finding(1, 1);
    diagnostic.message = "unknown key `\u{1b}[2J`".into();
    assert!(!rendered(&diagnostic, "p", "\u{1b}]0;pwned").contains('\u{1b}'));
}

#[test]
fn machines_read_the_published_fields() {
    let json = serde_json::to_value(finding(2, 3)).unwrap();
    assert_eq!(json["severity"], "error");
    assert_eq!(json["code"], "unknown-key");
    assert_eq!((json["line"].as_u64(), json["column"].as_u64()), (Some(2), Some(3)));
    assert_eq!(json["hint"], "did you mean `host`?");
}

#[test]
fn colour_adds_escapes_and_changes_no_text() {
    let sources = Sources::one("policy.yaml", "a: 1\n  hots: x\n");
    let coloured = sources.render(&finding(2, 3), Style::Coloured);
    assert!(coloured.contains("\u{1b}["));
    let mut plain = String::new();
    let mut rest = coloured.as_str();
    while let Some((before, escape)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = escape.split_once('m').unwrap().1;
    }
    assert_eq!(plain + rest, sources.render(&finding(2, 3), Style::Plain));
}
