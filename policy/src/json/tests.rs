#![allow(clippy::unwrap_used)]
use proptest::prelude::*;

use super::*;

fn error(text: &str) -> JsonError {
    parse(text.as_bytes(), 16).map(|_| ()).unwrap_err()
}

#[test]
fn duplicate_keys_are_found_after_unescaping_and_at_any_depth() {
    for text in [r#"{"to":1,"to":2}"#, r#"{"to":1,"\u0074o":2}"#, r#"{"a":[{"b":{"c":1,"c":1}}]}"#] {
        assert_eq!(error(text), JsonError::DuplicateKey, "{text}");
    }
    let many = (0..500).map(|i| format!("\"k{i}\":0,")).collect::<Vec<_>>().concat();
    assert_eq!(error(&format!("{{{many}\"k77\":1}}")), JsonError::DuplicateKey);
    assert!(parse(format!("{{{many}\"x\":1}}").as_bytes(), 1).is_ok());
}

#[test]
fn documents_that_parsers_read_differently_are_errors() {
    for text in [
        "",
        " ",
        "{",
        "{}{}",
        "{} x",
        "{\"a\":NaN}",
        "{\"a\":Infinity}",
        "\u{feff}{}",
        "{'a':1}",
        "{\"a\":1,}",
        "{\"a\":01}",
        "[1,]",
        "// c\n{}",
        r#"{"a":"\ud800"}"#,
        "{\"a\":\"\n\"}",
        "{\"a\":1e999}",
    ] {
        assert_eq!(error(text), JsonError::Malformed, "{text:?}");
    }
    assert_eq!(parse(b"{\"a\":\"\xff\"}", 16).map(|_| ()), Err(JsonError::NotUtf8));
    assert!(parse(b"\xff\xfe{\x00}\x00", 16).is_err());
    assert_eq!(error(&"[".repeat(17)), JsonError::TooDeep);
    assert_eq!(error(&"[".repeat(100_000)), JsonError::TooDeep);
    assert!(parse(format!("{}{}", "[".repeat(16), "]".repeat(16)).as_bytes(), 16).is_ok());
}

#[test]
fn integers_are_told_from_other_numbers() {
    for (text, integer) in [
        ("2", Some(2)),
        ("18446744073709551615", Some(u64::MAX)),
        ("2.0", None),
        ("2e0", None),
        ("-1", None),
        ("-0", None),
        ("18446744073709551616", None),
    ] {
        let found = match parse(text.as_bytes(), 1).unwrap() {
            Value::Integer(n) => Some(n),
            Value::OtherNumber => None,
            other => panic!("{other:?}"),
        };
        assert_eq!(found, integer, "{text}");
    }
}

proptest! {
    #[test]
    fn any_bytes_parse_or_err(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = parse(&bytes, 16);
    }

    #[test]
    fn whatever_is_taken_serde_json_reads_too(text in r#"[\[\]{}",:a-c0-9\\u. -]{0,40}"#) {
        if parse(text.as_bytes(), 16).is_ok() {
            prop_assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
        }
    }
}
