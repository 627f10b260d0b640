#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use ::base64::Engine as _;
use ::base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;

use super::*;
use crate::gate::payment::vectors::{load, text};

fn trace(text: &str) -> Option<Trace> {
    in_value(&crate::x402::json::parse(text.as_bytes(), 64).unwrap())
}

#[test]
fn encoded_words_are_found_at_each_offset() {
    for filler in ["", "a", "ab", "abc", "{\"x\":1,"] {
        let text = ::base64::engine::general_purpose::STANDARD.encode(format!("{filler}x402Version tail"));
        assert!(encoded_words().iter().any(|word| text.contains(word)), "{filler}");
    }
}

#[test]
fn each_kind_of_payment_is_told_apart() {
    let authorization = r#""from":"a","to":"b","value":"1","validAfter":"0","validBefore":"9","nonce":"0x0""#;
    for (text, expected) in [
        (format!("{{{authorization}}}"), None),
        (
            format!(r#"{{"x":[{{{authorization}}}],"y":{{"signature":"0x"}}}}"#),
            Some(Trace::SignedAuthorization),
        ),
        (
            format!(r#"{{{authorization},"v":27,"r":"","s":""}}"#),
            Some(Trace::SignedAuthorization),
        ),
        (
            r#"{"permit2Authorization":{},"signature":""}"#.into(),
            Some(Trace::SignedAuthorization),
        ),
        (
            r#"{"permitted":{},"spender":"","deadline":"","signature":""}"#.into(),
            Some(Trace::SignedAuthorization),
        ),
        (
            r#"{"channelId":"","maxClaimableAmount":"1","signature":""}"#.into(),
            Some(Trace::SignedAuthorization),
        ),
        (r#"{"a":[{"x402Version":2,"payload":{}}]}"#.into(), Some(Trace::Payment)),
        (r#"{"a":[{"X402VERSION":2,"Payload":{}}]}"#.into(), Some(Trace::Payment)),
        (r#"{"x402Version":2,"accepts":[]}"#.into(), None),
        (
            r#"{"params":{"_meta":{"x402/payment":{"x402Version":2,"payload":{}}}}}"#.into(),
            Some(Trace::McpPayment),
        ),
        (r#"{"metadata":{"x402.payment.payload":{}}}"#.into(), Some(Trace::A2aPayment)),
        (r#"{"metadata":{"x402.payment.status":"payment-rejected"}}"#.into(), None),
        (r#"{"_meta":{"org.paymentauth/credential":{}}}"#.into(), Some(Trace::MppCredential)),
        (r#"{"data":{"ap2.mandates.PaymentMandate":{}}}"#.into(), Some(Trace::Mandate)),
        (
            r#"{"paymentPayload":{"x402Version":1,"payload":{}},"paymentRequirements":{}}"#.into(),
            Some(Trace::FacilitatorCall),
        ),
        (r#"{"text":"x402Version and payload are keys"}"#.into(), None),
    ] {
        assert_eq!(trace(&text), expected, "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_searched(text in prop::collection::vec(any::<u8>(), 0..500)) {
        let _ = in_text(&text);
    }
}

#[test]
fn a_payment_wrapped_in_other_text_within_a_string_is_found() {
    let payment = format!(
        r#"{{"x402Version":2,"payload":{{"signature":"0x{}","authorization":{{}}}}}}"#,
        "1b".repeat(65)
    );
    let encoded = ::base64::engine::general_purpose::STANDARD.encode(&payment);
    for wrapped in [
        format!("X-PAYMENT: {encoded}"),
        format!("Bearer {encoded}"),
        format!("data:application/json;base64,{encoded}"),
        payment.replace("\"authorization\":{}", "\"validBefore\":\"1\""),
    ] {
        let document = serde_json::json!({ "note": wrapped }).to_string();
        assert_eq!(trace(&document), Some(Trace::Payment), "{wrapped}");
        let as_key = serde_json::json!({ wrapped.clone(): 1 }).to_string();
        assert_eq!(trace(&as_key), Some(Trace::Payment), "as a key: {wrapped}");
    }
    assert_eq!(trace(r#"{"x":{"signedTransaction":"0x02"}}"#), Some(Trace::SignedAuthorization));
}

#[test]
fn a_signed_solana_transaction_is_found_and_what_is_not_one_is_not() {
    let vector = load("v2-exact-svm-py");
    let signed = text(&vector, "/exchanges/1/decoded_request/PAYMENT-SIGNATURE/payload/transaction");
    assert!(
        transaction_words().iter().any(|word| signed.contains(word)),
        "a body with it is looked at"
    );
    let bytes = || STANDARD.decode(signed).unwrap();
    let unsigned = [&[2][..], &[0; 128], &bytes()[129..]].concat();
    let longer = [&bytes()[..], &[0]].concat();
    let found = Some(Trace::SignedAuthorization);
    for (body, expected) in [
        (format!(r#"{{"transaction":"{signed}"}}"#), found),
        (format!(r#"{{"note":["{}"]}}"#, signed.trim_end_matches('=')), found),
        (format!(r#"{{"transaction":"{}"}}"#, STANDARD.encode(unsigned)), None),
        (format!(r#"{{"transaction":"{}"}}"#, STANDARD.encode(longer)), None),
        (format!(r#"{{"image":"{}"}}"#, STANDARD.encode([7; 600])), None),
    ] {
        assert_eq!(trace(&body), expected, "{body}");
    }
}

/// A signed transaction in base64 and in base58.
fn transaction() -> (String, String) {
    let vector = load("v2-exact-svm-py");
    let signed = text(&vector, "/exchanges/1/decoded_request/PAYMENT-SIGNATURE/payload/transaction").to_owned();
    let in_base58 = bs58::encode(STANDARD.decode(&signed).unwrap()).into_string();
    (signed, in_base58)
}

#[test]
fn a_signed_transaction_is_found_in_text_in_either_encoding() {
    let (in_base64, in_base58) = transaction();
    let bytes = STANDARD.decode(&in_base64).unwrap();
    let unsigned = [&[2][..], &[0; 128], &bytes[129..]].concat();
    let found = Some(Trace::SignedAuthorization);
    for (text, expected) in [
        (in_base64.clone(), found),
        (format!("tx={in_base64}&b=1"), found),
        (format!("https://a.example/send/{in_base64}"), found),
        (in_base64.replace('+', "%2B").replace('/', "%2F"), found),
        (in_base64.replace('+', "%252B").replace('/', "%252F"), found),
        (in_base58.clone(), found),
        (format!("tx={in_base58}&b=1"), found),
        (in_base58.replace('A', "%41"), found),
        (in_base58.replace('A', "\\u0041"), found),
        (format!("{in_base58}A"), None),
        (bs58::encode(&unsigned).into_string(), None),
        (STANDARD.encode(&unsigned), None),
        ("A".repeat(100_000), None),
    ] {
        assert_eq!(in_text(text.as_bytes()), expected, "{text:.300}");
    }
    assert_eq!(trace(&format!(r#"["{in_base58}",{{}}]"#)), found);
}

#[test]
fn what_is_signed_is_told_from_a_whole_payment_in_text() {
    let signature = "1b".repeat(65);
    for (text, expected) in [
        (format!("x402Version=2&signature=0x{signature}"), Some(Trace::Payment)),
        (format!("validBefore=9&signature=0x{signature}"), Some(Trace::SignedAuthorization)),
        (format!("validbefore=9&signature=0X{signature}"), Some(Trace::SignedAuthorization)),
        (
            format!("%76alidBefore=9&signature=%30x{signature}"),
            Some(Trace::SignedAuthorization),
        ),
        (format!("validBefore=9&signature=0x{}", "1b".repeat(64)), None),
        (format!("validity=9&signature=0x{signature}"), None),
    ] {
        assert_eq!(in_text(text.as_bytes()), expected, "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn a_payment_that_passes_by_is_seen_with_its_last_byte_however_it_is_cut(
        before in 0_usize..30_000,
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        which in 0_usize..4,
    ) {
        let (in_base64, in_base58) = transaction();
        let payment = format!(r#"{{"x402Version":2,"payload":{{"authorization":{{}},"signature":"0x{}"}}}}"#, "1b".repeat(65));
        let secret = vec![STANDARD.encode(&payment), payment, in_base64, in_base58].swap_remove(which);
        let text = ["a=b&".repeat(before / 4), secret.clone(), "&c=d".repeat(5)].concat();
        let end = text.len() - 20;
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.push(text.len());
        cuts.sort_unstable();
        let (mut passing, mut from) = (Passing::default(), 0);
        for to in cuts {
            let found = passing.take(&text.as_bytes()[from..to]).is_some();
            if found || to > end {
                prop_assert!(found, "missed at {to} of {}", text.len());
                // Of one in base64, the first words are enough.
                prop_assert!(to + secret.len() > end, "found at {to}, before it was there");
                return Ok(());
            }
            from = to;
        }
    }

    #[test]
    fn noise_that_passes_by_is_no_payment(noise in prop::collection::vec(any::<u8>(), 0..20_000)) {
        prop_assert_eq!(Passing::default().take(&noise), None);
        prop_assert_eq!(Passing::default().take(STANDARD.encode(&noise).as_bytes()), None);
        prop_assert_eq!(Passing::default().take(hex::encode(&noise).as_bytes()), None);
    }
}

fn hex_of(text: &str) -> String {
    hex::encode(text)
}

fn base64_of(text: &str) -> String {
    STANDARD.encode(text)
}

fn url_safe(text: &str) -> String {
    ::base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text)
}

/// Adds one encoding.
type Layer = fn(&str) -> String;

#[test]
fn a_payment_behind_one_or_two_encodings_more_is_found_wherever_it_begins() {
    let vector = load("v2-exact-evm-eip3009-js-fetch");
    let whole = vector.pointer("/exchanges/1/decoded_request/PAYMENT-SIGNATURE").unwrap();
    let (whole, signed) = (whole.to_string(), whole["payload"].to_string());
    let layers: [(&str, &[Layer]); 7] = [
        ("hex", &[hex_of]),
        ("HEX", &[|text| hex_of(text).to_ascii_uppercase()]),
        ("hex of base64", &[base64_of, hex_of]),
        ("base64 of base64", &[base64_of, base64_of]),
        ("either alphabet", &[base64_of, url_safe]),
        ("hex of hex", &[hex_of, hex_of]),
        ("base64, three times", &[url_safe, base64_of, url_safe]),
    ];
    for (name, layers) in layers {
        for payment in [&whole, &signed] {
            let hidden = layers.iter().fold(payment.clone(), |text, layer| layer(&text));
            for before in ["", "a", "payment=", "{\"x\":\"", "0x", "/path/", &"p ".repeat(300)] {
                for after in ["", "&b=1", "\"}"] {
                    let text = format!("{before}{hidden}{after}");
                    assert!(in_text(text.as_bytes()).is_some(), "{name} behind {before}");
                    assert!(may_be_in_layers(text.as_bytes()), "{name}: a body with it is looked at");
                }
            }
            let document = serde_json::json!({ "note": hidden }).to_string();
            assert!(trace(&document).is_some(), "{name} in a string");
            let lines: Vec<&str> = (0..hidden.len())
                .step_by(76)
                .map(|at| &hidden[at..hidden.len().min(at + 76)])
                .collect();
            assert!(in_text(lines.join("\r\n").as_bytes()).is_some(), "{name} in lines");
        }
    }
}

#[test]
fn long_runs_that_hide_nothing_are_let_through() {
    for text in [
        hex_of(&"f0e1".repeat(300)),
        "0123456789abcdef".repeat(100),
        base64_of(&"the quick brown fox jumps over the lazy dog ".repeat(40)),
        base64_of(&base64_of(&"the quick brown fox jumps over the lazy dog ".repeat(40))),
        "A".repeat(5_000),
        STANDARD.encode(rand::random::<[u8; 4_096]>()),
    ] {
        assert_eq!(in_text(text.as_bytes()), None, "{text:.60}");
    }
}

#[test]
fn payments_of_other_rails_are_found_in_text() {
    let challenge =
        r#"{"expires":"2099-01-01T00:00:00Z","id":"x7","intent":"charge","method":"stripe","realm":"shop","request":"eyJhIjoxfQ"}"#;
    let credential = format!(r#"{{"challenge":{challenge},"payload":{{"spt":"spt_{}"}}}}"#, "1".repeat(300));
    let (mpp, mandate) = (Some(Trace::MppCredential), Some(Trace::Mandate));
    let named = format!(r#"{{"params":{{"_meta":{{"org.paymentauth/credential":{credential}}}}}}}"#);
    let signed = format!(
        r#"{{"ap2.mandates.PaymentMandate" : {{"user_authorization":"{}"}}}}"#,
        "e".repeat(100)
    );
    let pad = "x".repeat(SHORTEST);
    for (text, expected) in [
        (url_safe(&credential), mpp),
        (format!("credential={}&b=1", base64_of(&credential)), mpp),
        (format!("Payment {}", url_safe(&credential)), mpp),
        (hex_of(&url_safe(&credential)), mpp),
        (format!("/pa-th/{}", url_safe(&url_safe(&format!("{credential} ")))), mpp),
        (url_safe(&url_safe(&credential)), mpp),
        (base64_of(&url_safe(&format!("{credential}  "))), mpp),
        (format!("a=1&call={named}"), mpp),
        (serde_json::json!(named).to_string(), mpp),
        (named.replace('"', "%22"), mpp),
        (format!("a=1&data={signed}"), mandate),
        (serde_json::json!(signed).to_string(), mandate),
        (
            format!("{pad} the key is ap2.mandates.PaymentMandate, or org.paymentauth/credential: see there"),
            None,
        ),
        (url_safe(&format!(r#"{{"challenge":"{pad}","payload":{{}}}}"#)), None),
    ] {
        assert_eq!(in_text(text.as_bytes()), expected, "{text:.90}");
    }
}
