//! Path canonicalisation: OpenShell's table B, by number, and what must hold for every input.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use tollgate_policy::PathError::{
    self, AboveRoot, Control, EncodedSlash as HasEncodedSlash, Fragment, HiddenDotSegment, NotEncoded, TooLong,
};
use tollgate_policy::{CanonicalPath, EncodedSlash, Target};

fn reject(raw: &str) -> Result<String, PathError> {
    CanonicalPath::parse(raw, EncodedSlash::Reject).map(|path| path.to_string())
}

fn keep(raw: &str) -> Result<String, PathError> {
    CanonicalPath::parse(raw, EncodedSlash::Keep).map(|path| path.to_string())
}

#[test]
fn b1_to_b6_dot_segments_and_empty_segments() {
    for (number, raw, expected) in [
        ("B1", "/a/./b", "/a/b"),
        ("B1", "/a/b/.", "/a/b/"),
        ("B1", "/a/../b", "/b"),
        ("B1", "/a/b/..", "/a/"),
        ("B2", "/public/%2e%2e/secret", "/secret"),
        ("B2", "/public/%2E%2E/secret", "/secret"),
        ("B2", "/public/../secret", "/secret"),
        ("B2", "//public/../secret", "/secret"),
        ("B2", "/public/./../secret", "/secret"),
        ("B3", "/public/%2e/secret", "/public/secret"),
        ("B5", "//", "/"),
        ("B5", "", "/"),
        ("B5", "/", "/"),
        ("B6", "//public//../secret", "/secret"),
        ("B6", "/public//secret", "/public/secret"),
    ] {
        assert_eq!(reject(raw).as_deref(), Ok(expected), "{number}: {raw}");
    }
}

#[test]
fn b4_climbing_above_the_root() {
    for raw in [
        "/..",
        "/a/../..",
        "/a/%2e%2e/%2e%2e",
        "/..;",
        "/public/..;/..;/secret",
        "/api/v1/..;/..;/..;/admin/keys",
        "/%2e%2e",
        "//..",
    ] {
        assert_eq!(reject(raw), Err(AboveRoot), "B4: {raw}");
    }
}

#[test]
fn b7_to_b9_encoded_slashes() {
    for raw in ["/a/%2f/b", "/public/..%2fsecret", "/public/%2E%2E%2Fsecret", "/a%2F", "/a;x%2fy"] {
        assert_eq!(reject(raw), Err(HasEncodedSlash), "B7: {raw}");
    }
    assert_eq!(keep("/a/%2f/b").as_deref(), Ok("/a/%2F/b"), "B8");
    assert_eq!(
        keep("/repos/group%2fproject/issues").as_deref(),
        Ok("/repos/group%2Fproject/issues"),
        "B8"
    );
    for raw in [
        "/public/..%2fsecret",
        "/public/..%2f..%2fsecret",
        "/public/.%2fsecret",
        "/a%2F%2e%2e",
        "/a%2f.%2fb",
    ] {
        assert_eq!(keep(raw), Err(HiddenDotSegment), "B9: {raw}");
    }
    assert!(CanonicalPath::parse("/a%2Fb", EncodedSlash::Keep).unwrap().has_encoded_slash());
    assert!(!CanonicalPath::parse("/a%2Fb/../c", EncodedSlash::Keep).unwrap().has_encoded_slash());
}

#[test]
fn b10_to_b13_characters() {
    for raw in ["/a%00b", "/a%0Ab", "/a%0Db", "/a%7Fb", "/a\nb", "/a\tb", "/a;\0"] {
        assert_eq!(reject(raw), Err(Control), "B10: {raw:?}");
    }
    assert_eq!(reject("/a#b"), Err(Fragment), "B11");
    assert_eq!(reject("/users/café"), Err(NotEncoded), "B12");
    assert_eq!(reject("/a b"), Err(NotEncoded));
    for (number, raw, expected) in [
        ("B12", "/users/caf%C3%A9", "/users/caf%C3%A9"),
        ("B12", "/a/caf%c3%a9", "/a/caf%C3%A9"),
        ("B13", "/files/hello%20world.txt", "/files/hello%20world.txt"),
        ("B13", "/search/a%3Fb", "/search/a%3Fb"),
        ("B13", "/users/%40alice", "/users/@alice"),
        ("2.5", "/%61%62%63/%7euser", "/abc/~user"),
    ] {
        assert_eq!(reject(raw).as_deref(), Ok(expected), "{number}: {raw}");
    }
    for raw in ["/a%", "/a%4", "/a%zz", "/a%4z", "/a;%"] {
        assert_eq!(reject(raw), Err(PathError::BrokenEncoding), "{raw}");
    }
    for raw in ["*", "a/b", "?", "/a?b"] {
        assert_eq!(reject(raw), Err(PathError::NotAPath), "{raw}");
    }
    for raw in ["/public/..\\secret", "/public/..%5csecret"] {
        assert_eq!(reject(raw), Err(PathError::Backslash), "{raw}");
    }
}

#[test]
fn b14_to_b16_parameters_and_double_encoding() {
    for (number, raw, expected) in [
        ("B14", "/a;jsessionid=xyz/b", "/a/b"),
        ("B14", "/public;x=1/../secret", "/secret"),
        ("B14", "/public/..;/secret", "/secret"),
        ("B14", "/public/..;x/secret", "/secret"),
        ("B14", "/public/%2e%2e;/secret", "/secret"),
        ("B14", "/public/..%3B/secret", "/secret"),
        ("B15", "/public/.;/secret", "/public/secret"),
        ("B16", "/a/%252F/b", "/a/%252F/b"),
        ("B16", "/a/100%25/b", "/a/100%25/b"),
    ] {
        assert_eq!(reject(raw).as_deref(), Ok(expected), "{number}: {raw}");
    }
    assert!(
        !CanonicalPath::parse("/a/%252F/b", EncodedSlash::Keep).unwrap().has_encoded_slash(),
        "B16"
    );
}

#[test]
fn b17_b18_b20_request_targets() {
    for (number, raw, authority, path, query) in [
        ("B17", "http://host/a/../b", Some("host"), "/b", None),
        ("B17", "https://host", Some("host"), "/", None),
        ("B17", "http://host:443/foo", Some("host:443"), "/foo", None),
        (
            "B18",
            "/fetch/http://example.test?next=http://other.test",
            None,
            "/fetch/http:/example.test",
            Some("next=http://other.test"),
        ),
        ("B20", "/a?q=1&r=2", None, "/a", Some("q=1&r=2")),
        ("E18", "http://host:8080?k=v", Some("host:8080"), "/", Some("k=v")),
        ("2.5", "/a?b?c=%2f+", None, "/a", Some("b?c=%2f+")),
    ] {
        let target = Target::parse(raw).unwrap();
        assert_eq!(target.absolute.map(|absolute| absolute.authority), authority, "{number}: {raw}");
        assert_eq!(reject(target.path).as_deref(), Ok(path), "{number}: {raw}");
        assert_eq!(target.query, query, "{number}: {raw}");
    }
    for raw in [
        "*",
        "host:443",
        "",
        "http://",
        "http:///a",
        "://host/",
        "1http://host/",
        "/a#b",
        "/a?b#c",
        "/a b",
        "/a?b c",
        "/\u{e9}",
        "/a?\r\n",
    ] {
        assert!(Target::parse(raw).is_err(), "{raw:?}");
    }
}

#[test]
fn b19_the_longest_path() {
    assert_eq!(reject(&format!("/{}", "a".repeat(4096))), Err(TooLong), "B19");
    assert!(reject(&format!("/{}", "a".repeat(4095))).is_ok());
}

/// Pieces that paths are attacked with.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-zA-Z0-9._~-]{1,6}",
        1 => Just("/".to_owned()),
        1 => Just("..".to_owned()),
        1 => Just(".".to_owned()),
        1 => Just(";".to_owned()),
        1 => Just("//".to_owned()),
        2 => "%[0-9a-fA-F]{2}",
        1 => prop_oneof!["%2[eEfF5]", "%3[bB]", "%5[cC]"],
        1 => "[!$&'()*+,=:@|^\"<>{}]",
        1 => any::<char>().prop_map(|c| c.to_string()),
    ]
}

fn raw_path() -> impl Strategy<Value = String> {
    proptest::collection::vec(piece(), 0..24).prop_map(|pieces| format!("/{}", pieces.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(800))]

    #[test]
    fn the_canonical_form_is_canonical(raw in raw_path(), keeps in any::<bool>()) {
        let mode = if keeps { EncodedSlash::Keep } else { EncodedSlash::Reject };
        let Ok(path) = CanonicalPath::parse(&raw, mode) else { return Ok(()) };
        let text = path.as_str();
        prop_assert!(text.starts_with('/'));
        prop_assert!(text.len() <= raw.len());
        prop_assert!(!text.contains("//") && !text.contains(';') && !text.contains('\\') && !text.contains('?'));
        prop_assert!(text.bytes().all(|b| (0x21..=0x7e).contains(&b)));
        prop_assert!(text.split('/').flat_map(|segment| segment.split("%2F")).all(|part| part != "." && part != ".."));
        prop_assert!(!text.contains("%2f") && !text.contains("%2e") && !text.contains("%2E"));
        prop_assert_eq!(path.has_encoded_slash(), text.contains("%2F"));
        prop_assert_eq!(CanonicalPath::parse(text, mode), Ok(path.clone()));
    }

    #[test]
    fn any_bytes_are_a_path_or_an_error(raw in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _ = CanonicalPath::parse(&raw, EncodedSlash::Keep);
        let _ = CanonicalPath::parse([b"/".as_slice(), &raw].concat(), EncodedSlash::Reject);
    }

    #[test]
    fn a_target_is_never_rewritten(path in "[a-z/]{0,12}", query in "[a-z=&?/]{0,12}") {
        let raw = format!("/{path}?{query}");
        let target = Target::parse(&raw).unwrap();
        prop_assert_eq!(format!("{}?{}", target.path, target.query.unwrap()), raw);
    }
}
