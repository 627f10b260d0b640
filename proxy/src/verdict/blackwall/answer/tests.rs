#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use proptest::prelude::*;

use super::*;

const GO: &str = r#"{"verdict":"GO","hard_stop":false,"receipt_id":"bw_0123456789abcdef01234567"}"#;

/// The body of GO with one piece of text replaced.
fn go_but(from: &str, to: &str) -> String {
    assert!(GO.contains(from), "{from}");
    GO.replace(from, to)
}

#[test]
fn the_acceptance_rule_row_by_row() {
    use Unacceptable::{DuplicateMember, HardStop, NotObject, Receipt, Verdict as Word};
    let (go, hold, stop) = (Ok(Verdict::Go), Ok(Verdict::Hold), Ok(Verdict::Stop));
    let invalid = |what| Err(Failure::Unacceptable(what));
    let not_json = || Err(Failure::NotJson);
    let deep = |levels: usize| go_but("{", &format!("{{\"x\":{}{},", "[".repeat(levels), "]".repeat(levels)));
    #[rustfmt::skip]
    let table: Vec<(&str, String, Result<Verdict, Failure>)> = vec![
        ("exact", GO.into(), go),
        ("surrounding white space", format!(" \r\n\t{GO}\n"), go),
        ("unknown members", go_but("{", r#"{"score":0.99,"reasons":["a","a"],"signals":{"a":null,"b":{"a":1}},"new":1e3,"#), go),
        ("members in another order", r#"{"receipt_id":"bw_0123456789abcdef01234567","hard_stop":false,"verdict":"GO"}"#.into(), go),
        ("an escaped spelling of GO is the same string", go_but("\"GO\"", r#""\u0047O""#), go),
        ("deep but readable", deep(100), go),
        ("hold", go_but("GO", "HOLD"), hold),
        ("hold without hard_stop and receipt", r#"{"verdict":"HOLD"}"#.into(), hold),
        ("stop", go_but("GO", "STOP"), stop),
        ("stop without anything else", r#"{"verdict":"STOP"}"#.into(), stop),
        ("hard_stop overrules GO", go_but("false", "true"), stop),
        ("hard_stop overrules HOLD", r#"{"verdict":"HOLD","hard_stop":true}"#.into(), stop),
        ("hard_stop with no verdict", r#"{"hard_stop":true}"#.into(), stop),
        ("lower case", go_but("GO", "go"), invalid(Word)),
        ("trailing blank", go_but("GO", "GO "), invalid(Word)),
        ("trailing NUL", go_but("GO", r"GO\u0000"), invalid(Word)),
        ("look-alike letters", go_but("GO", "G\u{41e}"), invalid(Word)),
        ("another word", go_but("GO", "CAUTION"), invalid(Word)),
        ("verdict in an array", go_but("\"GO\"", "[\"GO\"]"), invalid(Word)),
        ("verdict in an object", go_but("\"GO\"", r#"{"verdict":"GO"}"#), invalid(Word)),
        ("verdict null", go_but("\"GO\"", "null"), invalid(Word)),
        ("verdict true", go_but("\"GO\"", "true"), invalid(Word)),
        ("verdict under another name", go_but("verdict", "Verdict"), invalid(Word)),
        ("everything one level down", format!("{{\"data\":{GO}}}"), invalid(Word)),
        ("empty object", "{}".into(), invalid(Word)),
        ("error object", r#"{"error":"verdict engine temporarily unavailable"}"#.into(), invalid(Word)),
        ("hard_stop missing", go_but(r#""hard_stop":false,"#, ""), invalid(HardStop)),
        ("hard_stop a string", go_but("false", "\"false\""), invalid(HardStop)),
        ("hard_stop 0", go_but("false", "0"), invalid(HardStop)),
        ("hard_stop null", go_but("false", "null"), invalid(HardStop)),
        ("no receipt", r#"{"verdict":"GO","hard_stop":false}"#.into(), invalid(Receipt)),
        ("receipt too short", go_but("01234567\"", "0123456\""), invalid(Receipt)),
        ("receipt too long", go_but("01234567\"", "012345678\""), invalid(Receipt)),
        ("receipt in capitals", go_but("abcdef", "ABCDEF"), invalid(Receipt)),
        ("receipt with another prefix", go_but("bw_", "BW_"), invalid(Receipt)),
        ("receipt a number", go_but("\"bw_0123456789abcdef01234567\"", "7"), invalid(Receipt)),
        ("verdict twice, GO last", go_but("{", r#"{"verdict":"STOP","#), invalid(DuplicateMember)),
        ("verdict twice, GO first", go_but("}", r#","verdict":"STOP"}"#), invalid(DuplicateMember)),
        ("verdict twice, the same", go_but("}", r#","verdict":"GO"}"#), invalid(DuplicateMember)),
        ("twice under an escape", go_but("}", r#","\u0076erdict":"STOP"}"#), invalid(DuplicateMember)),
        ("an unknown member twice", go_but("{", r#"{"x":1,"x":1,"#), invalid(DuplicateMember)),
        ("twice deep inside", go_but("{", r#"{"signals":[{"a":{"b":1,"b":1}}],"#), invalid(DuplicateMember)),
        ("array", format!("[{GO}]"), invalid(NotObject)),
        ("string", "\"GO\"".into(), invalid(NotObject)),
        ("null", "null".into(), invalid(NotObject)),
        ("nothing", String::new(), not_json()),
        ("a bare word", "GO".into(), not_json()),
        ("a page", "<!doctype html><title>GO</title>".into(), not_json()),
        ("cut short", GO[..GO.len() - 1].into(), not_json()),
        ("two answers", format!("{GO}{GO}"), not_json()),
        ("byte order mark", format!("\u{feff}{GO}"), not_json()),
        ("single quotes", GO.replace('"', "'"), not_json()),
        ("a comment", format!("{GO} // ok"), not_json()),
        ("trailing comma", go_but("}", ",}"), not_json()),
        ("NaN", go_but("{", r#"{"score":NaN,"#), not_json()),
        ("nested beyond reading", deep(200), not_json()),
    ];
    assert!(table.len() > 50);
    for (name, body, expected) in table {
        assert_eq!(read(body.as_bytes()).map(|answer| answer.verdict), expected, "{name}");
    }
}

#[test]
fn text_that_is_not_utf8_is_not_json() {
    let body = GO.as_bytes().iter().map(|b| if *b == b'O' { 0xff } else { *b }).collect::<Vec<_>>();
    assert_eq!(read(&body).unwrap_err(), Failure::NotJson);
}

/// Attack: a member whose text looks like our own message must not be able to choose its class.
#[test]
fn content_does_not_choose_the_class_of_an_error() {
    for body in [r#"{"a member occurs twice":1,}"#, r#""a member occurs twice""#] {
        let failure = read(body.as_bytes()).unwrap_err();
        assert_ne!(failure, Failure::Unacceptable(Unacceptable::DuplicateMember), "{body}");
    }
}

#[test]
fn receipt_and_token_are_kept_where_they_are_well_formed() {
    let token = "2561e5de1dced9af9247adf2c4402f1b";
    let answer = read(go_but("}", &format!(r#","report_token":"{token}"}}"#)).as_bytes()).unwrap();
    assert_eq!(answer.receipt_id.as_ref().unwrap().as_str(), "bw_0123456789abcdef01234567");
    assert_eq!(answer.report_token.as_ref().unwrap().expose(), token);
    assert!(!format!("{answer:?}").contains(token), "the token is a secret");
    for odd in ["\"\"", "7", "null", "\"two words\"", "\"line\\nbreak\""] {
        let answer = read(go_but("}", &format!(r#","report_token":{odd}}}"#)).as_bytes()).unwrap();
        assert!(answer.report_token.is_none(), "{odd}");
    }
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&body);
    }

    /// Whatever one byte is changed to, GO stays GO only if the JSON still says the same.
    #[test]
    fn one_changed_byte_never_makes_another_answer_go(at in 0..GO.len(), byte in any::<u8>()) {
        let mut body = GO.as_bytes().to_vec();
        body[at] = byte;
        if read(&body).is_ok_and(|answer| answer.verdict == Verdict::Go) {
            let value: serde_json::Value = serde_json::from_slice(&body).unwrap();
            prop_assert_eq!(&value["verdict"], "GO");
            prop_assert_eq!(&value["hard_stop"], &serde_json::Value::Bool(false));
            prop_assert!(value["receipt_id"].as_str().is_some_and(|id| id.starts_with("bw_") && id.len() == 27));
        }
    }
}
