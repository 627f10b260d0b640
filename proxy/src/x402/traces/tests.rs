#![allow(clippy::unwrap_used)]
use proptest::prelude::*;

use super::*;

fn trace(text: &str) -> Option<Trace> {
    in_value(&json::parse(text.as_bytes(), 64).unwrap())
}

#[test]
fn encoded_words_are_found_at_each_offset() {
    use ::base64::Engine;
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
