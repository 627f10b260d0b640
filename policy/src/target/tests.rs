#![allow(clippy::unwrap_used)]
use super::*;

#[test]
fn targets_are_split_and_the_query_is_kept_verbatim() {
    let plain = Target::parse("/a?q=1&r=2?3").unwrap();
    assert_eq!((plain.absolute, plain.path, plain.query), (None, "/a", Some("q=1&r=2?3")));
    let nested = Target::parse("/fetch/http://example.test?next=http://other.test").unwrap();
    assert_eq!(
        (nested.path, nested.query),
        ("/fetch/http://example.test", Some("next=http://other.test"))
    );
    let absolute = Target::parse("http://host:8080?k=v").unwrap();
    let form = AbsoluteForm {
        scheme: "http",
        authority: "host:8080",
    };
    assert_eq!((absolute.absolute, absolute.path, absolute.query), (Some(form), "", Some("k=v")));
}

#[test]
fn what_is_no_target_is_refused_by_kind() {
    let cases = [
        ("", PathError::NotAPath),
        ("*", PathError::NotAPath),
        ("host:443", PathError::NotAPath),
        ("/a#b", PathError::Fragment),
        ("/a b", PathError::NotEncoded),
        ("/caf\u{e9}", PathError::NotEncoded),
        ("/a\tb", PathError::Control),
        ("http:///x", PathError::BadAbsoluteForm),
        ("1http://host/", PathError::BadAbsoluteForm),
    ];
    for (target, error) in cases {
        assert_eq!(Target::parse(target), Err(error), "{target:?}");
    }
}
