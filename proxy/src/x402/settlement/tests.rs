#![allow(clippy::unwrap_used)]
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use http::HeaderValue;
use proptest::prelude::*;

use super::*;

const HASH: &str = "0x8a31d4f1c5b9e0e7c2d3b4a5968778695a4b3c2d1e0f00112233445566778899";

fn found(version: Version, fields: &[(&'static str, &str)]) -> Option<Settlement> {
    let headers = fields
        .iter()
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap()))
        .collect();
    Settlement::find(version, &headers)
}

fn v2(text: &str) -> Option<Settlement> {
    found(Version::V2, &[("payment-response", &STANDARD.encode(text))])
}

fn settled(transaction: Option<&str>, amount: Option<&str>) -> Settlement {
    Settlement {
        outcome: SettlementOutcome::Settled,
        transaction: transaction.map(|text| TransactionHash::parse(text).unwrap()),
        amount: amount.map(|text| AtomicAmount::parse(text).unwrap()),
    }
}

#[test]
fn what_sellers_say_is_understood_and_nothing_more() {
    let failed = Settlement {
        outcome: SettlementOutcome::Failed,
        ..settled(None, None)
    };
    let upper = HASH.to_uppercase().replace("0X", "0x");
    for (text, expected) in [
        (
            format!(r#"{{"success":true,"payer":"0x1","transaction":"{HASH}","network":"eip155:8453"}}"#),
            Some(settled(Some(HASH), None)),
        ),
        (
            format!(r#"{{"success":true,"transaction":"{upper}","amount":"10000"}}"#),
            Some(settled(Some(HASH), Some("10000"))),
        ),
        (
            r#"{"success":false,"errorReason":"insufficient_funds","transaction":""}"#.to_owned(),
            Some(failed),
        ),
        (r#"{"success":true}"#.to_owned(), Some(settled(None, None))),
        ("[true]".to_owned(), None),
        (
            r#"{"success":true,"transaction":7,"amount":7}"#.to_owned(),
            Some(settled(None, None)),
        ),
        (
            r#"{"success":true,"transaction":"0x12","amount":"-1"}"#.to_owned(),
            Some(settled(None, None)),
        ),
        (
            r#"{"success":true,"transaction":"x\ny","amount":"1e9"}"#.to_owned(),
            Some(settled(None, None)),
        ),
        (r#"{"success":"true"}"#.to_owned(), None),
        (r#"{"success":1}"#.to_owned(), None),
        ("{}".to_owned(), None),
        ("true".to_owned(), None),
        (String::new(), None),
    ] {
        assert_eq!(v2(&text), expected, "{text}");
    }
}

#[test]
fn either_alphabet_and_either_field_will_do_but_no_size() {
    let text = r#"{"success":true,"note":"??>>~~"}"#;
    let yes = Some(settled(None, None));
    for value in [
        STANDARD.encode(text),
        STANDARD_NO_PAD.encode(text),
        URL_SAFE_NO_PAD.encode(text),
        format!(" {} ", STANDARD.encode(text)),
    ] {
        for field in ["payment-response", "x-payment-response"] {
            for version in [Version::V1, Version::V2] {
                assert_eq!(found(version, &[(field, &value)]), yes, "{value}");
            }
        }
    }
    let no = STANDARD.encode(r#"{"success":false}"#);
    let both = [("payment-response", no.as_str()), ("x-payment-response", &STANDARD.encode(text))];
    assert_eq!(found(Version::V1, &both), yes, "the field of the payment's version counts");
    assert_ne!(found(Version::V2, &both), yes);
    assert_eq!(found(Version::V2, &[("payment-response", "no base64!")]), None);
    assert_eq!(found(Version::V2, &[]), None);
    let large = format!(r#"{{"success":true,"note":"{}"}}"#, "x".repeat(MAX_BYTES));
    assert_eq!(v2(&large), None);
    assert_eq!(v2(&"[".repeat(4_000)), None);
}

proptest! {
    #[test]
    fn no_field_makes_the_reader_panic(value in prop::collection::vec(any::<u8>(), 0..600)) {
        let _ = Settlement::parse(&value);
        let _ = Settlement::parse(STANDARD.encode(&value).as_bytes());
    }
}
