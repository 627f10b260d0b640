#![allow(clippy::unwrap_used)]

use clap::CommandFactory as _;

use super::*;

#[test]
fn the_definitions_hold_together() {
    Cli::command().debug_assert();
}

#[test]
fn the_stable_interface_parses() {
    for line in [
        "run --policy p.yaml",
        "run --policy p.yaml --config t.yaml --listen 127.0.0.1:0 --admin [::1]:9",
        "run --policy p.yaml --log-format json",
        "exec --policy p.yaml -- curl -v https://example.com",
        "exec --policy p.yaml --config t.yaml -- true",
        "env",
        "env --format dotenv --ca-dir /run/ca --proxy http://10.0.0.1:3128",
        "check a.yaml b.yaml",
        "check a.yaml --format json",
        "explain --policy p.yaml GET https://example.com/",
        "explain --policy p.yaml --config t.yaml POST https://example.com/ --binary /usr/bin/curl --header A:b --header C:d --body f --format json",
        "suggest a.jsonl",
        "suggest - b.jsonl --policy p.yaml --config t.yaml --skip-broken",
        "diff old.yaml new.yaml",
        "diff old.yaml new.yaml --config t.yaml --format json --fail-on-widening",
        "test cases.yaml",
        "test a/cases.yaml b/cases.yaml --format junit",
        "test cases.yaml --format json",
        "demo",
    ] {
        let words = std::iter::once("tollgate").chain(line.split(' '));
        Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
}

#[test]
fn what_has_no_meaning_is_refused_with_code_2() {
    for line in [
        "",
        "run",
        "run --policy p.yaml --listen localhost:1",
        "run --policy p.yaml extra",
        "exec --policy p.yaml",
        "exec --policy p.yaml --",
        "exec --policy p.yaml curl",
        "check",
        "check a.yaml --format xml",
        "explain --policy p.yaml GET",
        "explain --policy p.yaml GET https://example.com/ --header no-colon",
        "explain --policy p.yaml G@T https://example.com/",
        "suggest",
        "diff old.yaml",
        "test",
        "test cases.yaml --format xml",
        "serve",
    ] {
        let words = std::iter::once("tollgate").chain(line.split(' ').filter(|word| !word.is_empty()));
        let error = Cli::try_parse_from(words).err().unwrap_or_else(|| panic!("accepted: {line}"));
        assert_eq!(error.exit_code(), 2, "{line}");
    }
}
