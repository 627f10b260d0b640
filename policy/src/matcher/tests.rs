#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

fn path(glob: &str) -> SegmentedGlob {
    SegmentedGlob::parse(glob, b'/').unwrap()
}

#[test]
fn segmented_globs() {
    for (glob, text, expected) in [
        ("/a", "/a", true),
        ("/a", "/a/", false),
        ("/a/*", "/a/", true),
        ("/a/**", "/a", false),
        ("/a/**", "/a/", true),
        ("/a/**/b", "/a/b", true),
        ("/a/**/b", "/a/x/y/b", true),
        ("/a/**/b", "/a/b/c", false),
        ("/**/b/**/c", "/x/b/y/b/c", true),
        ("/a**b", "/axb", true),
        ("/a**b", "/a/b", false),
        ("/x?z", "/x/z", false),
        ("/[a-c]", "/b", true),
        ("/[!a-c]", "/b", false),
        ("/[]]", "/]", true),
        ("/[a-]", "/-", true),
        ("/\\*", "/*", true),
        ("/\\*", "/x", false),
        ("/{a,b/c}/d", "/b/c/d", true),
        ("/{a,{b,c}}", "/c", true),
        ("/[{]x", "/{x", true),
        ("**", "", true),
        ("/**", "/", true),
        ("/**", "x", false),
    ] {
        assert_eq!(path(glob).matches(text.as_bytes()), expected, "{glob} and {text}");
    }
}

#[test]
fn broken_globs() {
    for (glob, error) in [
        ("/[", GlobError::UnclosedClass),
        ("/[]", GlobError::UnclosedClass),
        ("/[z-a]", GlobError::BackwardsRange),
        ("/{a", GlobError::UnbalancedBrace),
        ("/a}", GlobError::UnbalancedBrace),
        ("/\\", GlobError::DanglingEscape),
        (&"/{a,b}".repeat(7), GlobError::TooManyAlternatives),
        (&"{".repeat(1000), GlobError::UnbalancedBrace),
        (&"a".repeat(1025), GlobError::TooLong),
    ] {
        assert_eq!(SegmentedGlob::parse(glob, b'/'), Err(error), "{glob}");
    }
}

#[test]
fn which_globs_match_everything() {
    for (glob, expected) in [
        ("**", true),
        ("/**", true),
        ("/usr/**", false),
        ("/*", false),
        ("{/bin/x,/**}", true),
    ] {
        assert_eq!(path(glob).matches_everything(), expected, "{glob}");
    }
}

#[test]
fn endpoint_paths_cross_slashes_and_include_the_base() {
    for (glob, text, expected) in [
        ("/repos/**", "/repos", true),
        ("/repos/**", "/repos/", true),
        ("/repos/**", "/repos/a/b", true),
        ("/repos/**", "/reposx", false),
        ("/v1/*", "/v1/a/b", true),
        ("/a/**/b", "/a/b", true),
        ("/a/**/b", "/a/x/y/b", true),
        ("**", "/x", true),
        ("", "/x", true),
        ("/graphql", "/graphql", true),
        ("/graphql", "/graphql/x", false),
    ] {
        assert_eq!(EndpointPath::parse(glob).unwrap().matches(text), expected, "{glob} and {text}");
    }
    assert_eq!(EndpointPath::parse("/repos/**").unwrap().specificity(), 7);
    let overlap = |a: &str, b: &str| EndpointPath::parse(a).unwrap().overlaps(&EndpointPath::parse(b).unwrap());
    assert!(overlap("/a/*", "/*/b") && overlap("/a/**", "/a") && overlap("", "/x"));
    assert!(!overlap("/a/*", "/b/*") && !overlap("/a", "/ab"));
}

/// A pattern and a path that make a backtracking matcher take exponential time.
#[test]
fn hostile_patterns_and_paths_take_linear_time() {
    let started = Instant::now();
    let long = "a".repeat(4000);
    let deep = "/a".repeat(2000);
    for (glob, text) in [
        (format!("/{}b", "a*".repeat(400)), format!("/{long}")),
        (format!("/{}b", "*a".repeat(400)), format!("/{long}")),
        (format!("{}/b", "/**/a".repeat(200)), deep.clone()),
        (format!("{}/b", "/**/a*".repeat(150)), deep.clone()),
        (format!("/{}b", "?*".repeat(400)), format!("/{long}")),
        (format!("/{}x", "[a-z]*".repeat(150)), format!("/{long}")),
    ] {
        assert!(!path(&glob).matches(text.as_bytes()));
        let _ = EndpointPath::parse(&glob).map(|glob| glob.matches(&text));
    }
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

fn glob_piece() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        5 => Just("/"),
        5 => prop_oneof![Just("a"), Just("b"), Just("ab")],
        2 => Just("*"),
        2 => Just("/**/"),
        1 => Just("/**"),
        1 => Just("?"),
        1 => Just("[ab]"),
        1 => Just("[!a]"),
        1 => Just("{a,b}"),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// The engine that OpenShell's rules run on, for everything but `**` alone, which OpenShell itself treats apart.
    #[test]
    fn path_globs_agree_with_globset(pieces in proptest::collection::vec(glob_piece(), 0..10), paths in proptest::collection::vec("(/|a|b|ab|/a/|/b){0,8}", 12)) {
        let glob = format!("/{}", pieces.concat());
        // Three stars in a row mean different things to different engines.
        prop_assume!(!glob.contains("***"));
        let theirs = globset::GlobBuilder::new(&glob).literal_separator(true).build().unwrap().compile_matcher();
        let ours = path(&glob);
        for text in paths {
            let text = format!("/{text}");
            prop_assert_eq!(ours.matches(text.as_bytes()), theirs.is_match(&text), "{} and {}", glob, text);
        }
    }

    #[test]
    fn a_glob_without_wildcards_matches_itself_only(text in "[a-z/]{0,12}", other in "[a-z/]{0,12}") {
        let glob = path(&text);
        prop_assert!(glob.matches(text.as_bytes()));
        prop_assert_eq!(glob.matches(other.as_bytes()), text == other);
    }

    #[test]
    fn any_text_is_a_glob_or_an_error(glob in any::<String>(), text in any::<String>()) {
        if let Ok(glob) = SegmentedGlob::parse(&glob, b'/') {
            let _ = glob.matches(text.as_bytes());
        }
        let _ = EndpointPath::parse(&glob).map(|glob| glob.matches(&text));
        let _ = HostPattern::parse_endpoint(&glob);
        let _ = HostPattern::parse_selector(&glob);
    }

    /// Patterns that share a host must be called overlapping: the ambiguity check stands on it.
    #[test]
    fn patterns_that_share_a_host_overlap(a in "(\\*|\\*\\*|a|b|a\\*)(\\.(\\*|\\*\\*|a|b)){0,3}", b in "(\\*|\\*\\*|a|b|\\*b)(\\.(\\*|\\*\\*|a|b)){0,3}", host in "(a|b|ab)(\\.(a|b|ab)){0,4}") {
        let (Ok(a), Ok(b)) = (HostPattern::parse_selector(&a), HostPattern::parse_selector(&b)) else { return Ok(()) };
        let host = crate::host::Host::parse(&host).unwrap();
        if a.matches(&host) && b.matches(&host) {
            prop_assert!(a.overlaps(&b) && b.overlaps(&a), "{} and {} share {}", a, b, host);
        }
        if a.covers(&b) && b.matches(&host) {
            prop_assert!(a.matches(&host), "{} does not cover {}: {}", a, b, host);
        }
    }
}
