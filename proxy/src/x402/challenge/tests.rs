#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use ::base64::Engine as _;
use ::base64::engine::general_purpose::STANDARD;
use serde_json::{Value as Json, json};

use super::*;

const PAYEE: &str = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
const USDC: &str = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";

fn v1() -> Json {
    json!({ "x402Version": 1, "error": "X-PAYMENT header is required", "accepts": [{
        "scheme": "exact", "network": "base-sepolia", "maxAmountRequired": "10000", "resource": "https://shop.example.test/paid",
        "description": "", "mimeType": "", "payTo": PAYEE, "maxTimeoutSeconds": 60, "asset": USDC, "outputSchema": null,
        "extra": { "name": "USDC", "version": "2" },
    }]})
}

fn v2() -> Json {
    json!({ "x402Version": 2, "error": "payment required", "resource": { "url": "https://shop.example.test/paid" }, "accepts": [{
        "scheme": "exact", "network": "eip155:84532", "amount": "10000", "payTo": PAYEE, "maxTimeoutSeconds": 60, "asset": USDC,
        "extra": { "name": "USDC", "version": "2" },
    }], "extensions": {} })
}

fn header(document: &Json) -> Result<Challenge, ChallengeError> {
    Challenge::from_header(STANDARD.encode(document.to_string()).as_bytes())
}

#[test]
fn both_versions_ask_for_the_same() {
    let old = Challenge::from_body(v1().to_string().as_bytes()).unwrap();
    let new = header(&v2()).unwrap();
    assert_eq!((old.version, new.version), (Version::V1, Version::V2));
    assert_eq!(old.options, new.options);
    assert_eq!(old.asked().next().unwrap().amount.to_string(), "10000");
}

#[test]
fn offers_that_cannot_be_judged_are_left_out_and_the_others_stay() {
    let bends: [fn(&mut Json); 9] = [
        |offer| offer["scheme"] = json!("batch-settlement"),
        |offer| offer["scheme"] = json!("exact "),
        |offer| offer["network"] = json!("solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"),
        |offer| offer["network"] = json!("base"),
        |offer| offer["amount"] = json!(10000),
        |offer| offer["amount"] = json!("1e4"),
        |offer| offer["payTo"] = json!("merchant"),
        |offer| offer["maxTimeoutSeconds"] = json!(0),
        |offer| offer["asset"] = json!("USD"),
    ];
    for bend in bends {
        let mut document = v2();
        let mut other = document["accepts"][0].clone();
        bend(&mut other);
        document["accepts"].as_array_mut().unwrap().insert(0, other.clone());
        let read = header(&document).unwrap();
        assert_eq!(read.options[0], None, "{other}");
        assert!(read.asked().eq(header(&v2()).unwrap().asked()), "{other}");
    }
}

#[test]
fn what_is_no_challenge_is_told_from_one() {
    let cases: [(&str, Result<Challenge, ChallengeError>, ChallengeError); 7] = [
        ("no base64", Challenge::from_header(b"{}"), ChallengeError::Base64),
        (
            "a page",
            Challenge::from_body(b"<html>pay here"),
            ChallengeError::Json(JsonError::Malformed),
        ),
        (
            "two prices",
            Challenge::from_body(br#"{"x402Version":1,"accepts":[],"accepts":[]}"#),
            ChallengeError::Json(JsonError::DuplicateKey),
        ),
        ("another document", Challenge::from_body(b"[]"), ChallengeError::Nothing),
        (
            "v1 in the field",
            header(&v1()),
            ChallengeError::Shape("PAYMENT-REQUIRED holds a challenge of another version"),
        ),
        (
            "no offers at all",
            Challenge::from_body(br#"{"x402Version":1}"#),
            ChallengeError::Shape("accepts is not an array"),
        ),
        (
            "endless",
            Challenge::from_body(&vec![b' '; MAX_CHALLENGE_BYTES + 1]),
            ChallengeError::TooLarge,
        ),
    ];
    for (name, outcome, error) in cases {
        assert_eq!(outcome, Err(error), "{name}");
    }
}

#[test]
fn a_thousand_offers_do_not_fill_the_memory() {
    let mut document = v2();
    let offer = document["accepts"][0].clone();
    document["accepts"] = json!(vec![offer; 150]);
    assert_eq!(header(&document).unwrap().asked().count(), MOST_OFFERS);
}

#[test]
fn what_is_left_of_a_challenge_is_the_seller_s_own_text() {
    let text = r#"{ "x402Version":2,"accepts" : [ {"scheme":"upto"}, {"scheme":"exact","network":"eip155:84532","amount":"1", "payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","maxTimeoutSeconds":60,"asset":"0x036CbD53842c5426634e7929541eC2318f3dCF7e" , "extra":{"version":"2" , "name":"USDC"}},{"scheme":"exact","network":"eip155:84532","amount":"2","payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","maxTimeoutSeconds":60,"asset":"0x036CbD53842c5426634e7929541eC2318f3dCF7e"} ], "resource":{"url":"https://shop.example.test/paid"}, "error":"\u00e9" }"#;
    let challenge = Challenge::from_body(text.as_bytes()).unwrap();
    let only = challenge.only(|asked| asked.amount.to_string() == "1").unwrap();
    assert_eq!(
        only,
        r#"{ "x402Version":2,"accepts" : [{"scheme":"exact","network":"eip155:84532","amount":"1", "payTo":"0x209693Bc6afc0C5328bA36FaF03C514EF312287C","maxTimeoutSeconds":60,"asset":"0x036CbD53842c5426634e7929541eC2318f3dCF7e" , "extra":{"version":"2" , "name":"USDC"}}], "resource":{"url":"https://shop.example.test/paid"}, "error":"\u00e9" }"#
    );
    assert_eq!(Challenge::from_body(only.as_bytes()).unwrap().options.len(), 1);
    let inner = r#"{"x402Version":1,"note":{"accepts":[1,2]},"accepts":[]}"#;
    let none = Challenge::from_body(inner.as_bytes()).unwrap().only(|_| true).unwrap();
    assert_eq!(none, inner, "a member of another object is not touched");
}

#[test]
fn signed_offers_are_told_from_others() {
    let mut document = v2();
    assert_eq!(header(&document).unwrap().vouched, Vouched::Unsigned);
    document["extensions"] = json!({ "offer-receipt": { "info": { "offers": [] } } });
    assert_eq!(header(&document).unwrap().vouched, Vouched::Signed);
}

#[test]
fn what_a_lenient_client_takes_for_a_challenge_is_not_taken_for_a_page() {
    let shapes = ["1.0", "1e0", "true", "\"1\"", "3", "null", "[1]"];
    for version in shapes {
        let text = v1()
            .to_string()
            .replacen("\"x402Version\":1", &format!("\"x402Version\":{version}"), 1);
        assert!(
            matches!(Challenge::from_body(text.as_bytes()), Err(ChallengeError::Shape(_))),
            "{version}"
        );
    }
    for (name, text) in [
        ("no version", r#"{"accepts":[]}"#),
        ("snake case", r#"{"x402_version":1,"accepts":[]}"#),
        ("another case", r#"{"X402VERSION":1,"Accepts":[]}"#),
        ("accepts is an object", r#"{"x402Version":1,"accepts":{}}"#),
    ] {
        assert!(
            matches!(Challenge::from_body(text.as_bytes()), Err(ChallengeError::Shape(_))),
            "{name}"
        );
    }
    for page in ["{}", r#"{"type":"about:blank"}"#, r#"{"error":"accepts"}"#] {
        assert_eq!(Challenge::from_body(page.as_bytes()), Err(ChallengeError::Nothing), "{page}");
    }
}

#[test]
fn what_a_payment_could_not_repeat_is_no_option() {
    let bends: [fn(&mut Json); 3] = [
        |offer| offer["extra"]["assetTransferMethod"] = json!("erc7710"),
        |offer| offer["extra"]["verifyingContract"] = json!(PAYEE),
        |offer| offer["unknown"] = json!(1),
    ];
    for bend in bends {
        let mut document = v2();
        bend(&mut document["accepts"][0]);
        assert_eq!(header(&document).unwrap().options, [None], "{document}");
    }
    let mut document = v2();
    document["extensions"] = json!({ "eip2612GasSponsoring": {} });
    assert!(header(&document).unwrap().unanswerable(&Enabled::default()).is_some());
}

#[test]
fn options_of_every_scheme_are_told_apart() {
    let solana = json!({
        "scheme": "exact", "network": "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1", "amount": "1000", "maxTimeoutSeconds": 60,
        "asset": "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU", "payTo": "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4",
        "extra": { "feePayer": "EwWqGE4ZFKLofuestmU4LDdK7XM1N4ALgdZccwYugwGd", "memo": "order 7" },
    });
    let bent = |bend: fn(&mut Json)| {
        let mut offer = v2()["accepts"][0].clone();
        bend(&mut offer);
        offer
    };
    let mut document = v2();
    document["accepts"] = json!([
        bent(|_| {}),
        bent(|offer| offer["extra"]["assetTransferMethod"] = json!("permit2")),
        bent(|offer| offer["scheme"] = json!("upto")),
        solana,
    ]);
    let schemes: Vec<Scheme> = header(&document).unwrap().asked().map(|asked| asked.scheme).collect();
    assert_eq!(schemes, Scheme::ALL);
    let mut old = v1();
    old["accepts"][0] = json!({
        "scheme": "exact", "network": "solana-devnet", "maxAmountRequired": "1000", "resource": "https://shop.example.test/paid",
        "description": "", "mimeType": "", "maxTimeoutSeconds": 60, "asset": "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU",
        "payTo": "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4", "extra": { "feePayer": "EwWqGE4ZFKLofuestmU4LDdK7XM1N4ALgdZccwYugwGd" },
    });
    let old = Challenge::from_body(old.to_string().as_bytes()).unwrap();
    assert_eq!(old.asked().map(|asked| asked.scheme).collect::<Vec<_>>(), [Scheme::ExactSvm]);
}

#[test]
fn extensions_that_give_a_power_can_be_repeated_where_they_are_switched_on() {
    let mut document = v2();
    document["extensions"] = json!({ "eip2612GasSponsoring": { "info": {} }, "bazaar": {} });
    let challenge = header(&document).unwrap();
    let mut enabled = Enabled::default();
    assert!(challenge.unanswerable(&enabled).is_some());
    enabled.extensions.insert(extensions::Extension::Eip2612GasSponsoring);
    assert_eq!(challenge.unanswerable(&enabled), None);
    document["extensions"]["new-thing"] = json!({});
    assert!(header(&document).unwrap().unanswerable(&enabled).is_some());
}
