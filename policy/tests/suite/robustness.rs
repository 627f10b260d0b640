//! No file stalls the loader or makes it panic.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use crate::judge::{Schema, loaded};
use tollgate_policy::effective::effective;
use tollgate_policy::{Code, Limits, Position, Source, Sources, Style, load_within};

const COMPLETE: &str = include_str!("../fixtures/good/complete.yaml");

#[test]
fn a_file_over_the_limit_is_not_even_parsed() {
    let source = format!("version: 1\n# {}\n", "x".repeat(1 << 20));
    let loaded = loaded(&source);
    assert!(loaded.policy.is_none());
    assert_eq!(loaded.diagnostics[0].code, Code::FileTooLarge);
    assert_eq!(loaded.diagnostics[0].position(), Position::START);
}

fn many_keys() -> String {
    (0..5_000).map(|i| i.to_string()).map(|i| ["k", &i, ": 1\n"].concat()).collect()
}

#[test]
fn bombs_are_refused_quickly() {
    let aliases = format!("version: 1\na: &a [{}]\nb: [{}]\n", "x,".repeat(1000), "*a,".repeat(2000));
    let keys = many_keys();
    let dashes = "- ".repeat(400_000);
    let braces = format!("version: 1\nx: {}", "{a: ".repeat(100_000));
    for bomb in [
        "[".repeat(100_000),
        "[".repeat(1 << 20),
        aliases,
        keys,
        dashes,
        braces,
        "?".repeat(500_000),
        "'".repeat(1 << 20),
    ] {
        let started = Instant::now();
        assert!(loaded(&bomb).policy.is_none());
        // Debug builds on a busy machine included; the attack takes minutes where it works.
        assert!(
            started.elapsed() < Duration::from_secs(20),
            "{:?} for {}…",
            started.elapsed(),
            &bomb[..20]
        );
    }
}

#[test]
fn more_nodes_than_allowed_are_not_read() {
    let source = format!("version: 1\nnetwork_policies: [{}]\n", "a,".repeat(20_000));
    let limits = Limits {
        nodes: 1_000,
        ..Limits::default()
    };
    let loaded = load_within(&Sources::one("p", source), &Schema, limits);
    assert_eq!(loaded.diagnostics[0].code, Code::YamlSyntax);
    assert_eq!(loaded.diagnostics[0].message, "the policy is too large");
}

#[test]
fn more_files_or_more_bytes_in_all_files_than_allowed_are_not_read() {
    let file = |name: usize| Source::new(format!("{name}.yaml"), format!("version: 1\n# {}\n", "x".repeat(9_000)));
    for (count, files, line) in [(150, 200, "more than 1048576 bytes"), (100, 40, "more than 40 files")] {
        let sources: Sources = (0..count).map(file).collect::<Vec<_>>().into();
        let limits = Limits {
            files,
            ..Limits::default()
        };
        let loaded = load_within(&sources, &Schema, limits);
        assert!(loaded.policy.is_none());
        assert_eq!(loaded.diagnostics.len(), 1);
        assert_eq!(loaded.diagnostics[0].code, Code::FileTooLarge);
        assert!(loaded.diagnostics[0].message.contains(line), "{}", loaded.diagnostics[0].message);
    }
}

#[test]
fn findings_without_end_are_cut() {
    let loaded = loaded(&many_keys());
    assert!(loaded.policy.is_none());
    assert!((500..=1_000).contains(&loaded.diagnostics.len()), "{}", loaded.diagnostics.len());
}

#[test]
fn many_overlapping_wildcards_do_not_stall_the_ambiguity_check() {
    let mut source = String::from("version: 1\nnetwork_policies:\n  a:\n    binaries: [ { path: '/**' } ]\n    endpoints:\n");
    for i in 0..800 {
        let tls = if i % 2 == 0 { ", tls: skip" } else { "" };
        let _ = writeln!(source, "      - {{ host: 'h{i}-*.example.com', port: 443{tls} }}");
        let _ = writeln!(
            source,
            "      - {{ host: h.example.org, port: {}, protocol: rest, access: full, enforcement: enforce }}",
            i + 1
        );
    }
    let started = Instant::now();
    assert!(loaded(&source).policy.is_some());
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(250))]

    #[test]
    fn any_text_loads_or_is_explained(source in any::<String>()) {
        let loaded = loaded(&source);
        prop_assert_eq!(loaded.policy.is_none(), loaded.diagnostics.iter().any(tollgate_policy::Diagnostic::is_error));
        for diagnostic in &loaded.diagnostics {
            let _ = Sources::one("p", source.as_str()).render(diagnostic, Style::Plain);
        }
    }

    #[test]
    fn any_bytes_beside_a_good_file_load_or_are_explained(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        let sources: Sources = vec![Source::new("good", COMPLETE), Source::new("any", bytes)].into();
        let loaded = load_within(&sources, &Schema, Limits::default());
        prop_assert_eq!(loaded.policy.is_none(), loaded.diagnostics.iter().any(tollgate_policy::Diagnostic::is_error));
        let _ = sources.render_all(&loaded.diagnostics, Style::Coloured);
        let _ = effective(&sources, Limits::default());
    }

    #[test]
    fn a_damaged_policy_loads_or_is_explained(at in 0..COMPLETE.len(), length in 0..40_usize, junk in "[\\x00-\\x7f]{0,6}") {
        let end = (at + length).min(COMPLETE.len());
        let source = format!("{}{junk}{}", &COMPLETE[..at], &COMPLETE[end..]);
        let loaded = loaded(&source);
        prop_assert_eq!(loaded.policy.is_none(), loaded.diagnostics.iter().any(tollgate_policy::Diagnostic::is_error));
        prop_assert!(loaded.diagnostics.is_sorted_by_key(|diagnostic| diagnostic.line));
        for diagnostic in &loaded.diagnostics {
            prop_assert!(diagnostic.line >= 1 && diagnostic.column >= 1);
            let _ = Sources::one("p", source.as_str()).render(diagnostic, Style::Plain);
        }
        if loaded.policy.is_some() {
            // What loads can be shown, and what is shown loads.
            let shown = effective(&Sources::one("p", source.as_str()), Limits::default()).unwrap_or_default();
            prop_assert!(crate::judge::loaded(&shown).policy.is_some(), "{}\n---\n{}", source, shown);
        }
    }
}
