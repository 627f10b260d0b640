#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use ::base64::Engine as _;
use ::base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;

use super::*;
use crate::gate::payment::vectors::{load, text};

fn trace(text: &str) -> Option<Trace> {
    in_value(&json::parse(text.as_bytes(), 64).unwrap())
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
