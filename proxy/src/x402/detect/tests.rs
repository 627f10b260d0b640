#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http::HeaderMap;
use proptest::prelude::*;

use super::*;
use crate::gate::payment::vectors::{load, paying_request};

fn map(pairs: &[(&str, &str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(
            HeaderName::from_bytes(name.as_bytes()).unwrap(),
            HeaderValue::from_str(value).unwrap(),
        );
    }
    headers
}

fn reason(pairs: &[(&str, &str)]) -> Option<Reason> {
    match find(&map(pairs)) {
        Found::Refused(refusal) => Some(refusal.reason),
        Found::Payment { .. } | Found::SignIn { .. } => panic!("found a payment to judge in {pairs:?}"),
        Found::Nothing => None,
    }
}

/// A real payment header's value.
fn payment() -> String {
    let (_, headers, _) = paying_request(&load("v2-exact-evm-eip3009-js-fetch"));
    headers["payment-signature"].to_str().unwrap().to_owned()
}

#[test]
fn what_sdks_send_next_to_a_payment_is_tolerated() {
    for name in ["PAYMENT-SIGNATURE", "payment-signature", "pAyMeNt-SiGnAtUrE"] {
        let headers = map(&[
            (name, "e30="),
            ("Payment-Retry", "1"),
            ("Payment-Recovery", "1"),
            ("Accept-Payment", "evm/charge"),
            ("Access-Control-Expose-Headers", "PAYMENT-RESPONSE,X-PAYMENT-RESPONSE"),
            ("Connection", "keep-alive"),
        ]);
        assert!(matches!(find(&headers), Found::Payment { version: Version::V2, .. }), "{name}");
    }
    let v1 = map(&[("X-Payment", "e30=")]);
    assert!(matches!(find(&v1), Found::Payment { version: Version::V1, value } if value == "e30="));
    assert_eq!(reason(&[("Payment-Retry", "1"), ("accept-payment", "x")]), None);
}

#[test]
fn two_payments_in_one_request_conflict() {
    for pairs in [
        [("payment-signature", "e30="), ("payment-signature", "e30=")],
        [("payment-signature", "e30="), ("payment-signature", "junk")],
        [("payment-signature", "e30="), ("x-payment", "e30=")],
        [("payment-signature", "e30=,e30="), ("accept", "*/*")],
    ] {
        assert_eq!(reason(&pairs), Some(Reason::PaymentConflicting), "{pairs:?}");
    }
}

#[test]
fn other_spellings_of_the_payment_headers_are_refused() {
    for name in [
        "payment_signature",
        "PAYMENT_SIGNATURE",
        "x_payment",
        "X-402-Payment",
        "x-x402",
        "x402",
        "x-402",
        "X_402_Signature",
        "payment",
        "payment-required",
        "payment-response",
        "x-payment-response",
        "my-payment",
        "paymentsignature",
        "payment-signature-2",
    ] {
        assert_eq!(reason(&[(name, "x")]), Some(Reason::PaymentMalformed), "{name}");
        assert_eq!(
            reason(&[("payment-signature", "e30="), (name, "x")]),
            Some(Reason::PaymentMalformed),
            "{name}"
        );
    }
    for value in ["2", "", "1 ", "eyJ4"] {
        assert_eq!(reason(&[("payment-retry", value)]), Some(Reason::PaymentMalformed), "{value}");
    }
}

#[test]
fn a_payment_header_that_may_be_stripped_or_announced_for_later_is_refused() {
    for pairs in [
        [("payment-signature", "e30="), ("connection", "PAYMENT-SIGNATURE")],
        [("payment-signature", "e30="), ("connection", "close, x-payment")],
        [("payment-signature", "e30="), ("connection", "payment_signature")],
        [("accept", "*/*"), ("trailer", "PAYMENT-SIGNATURE")],
    ] {
        assert_eq!(reason(&pairs), Some(Reason::PaymentMalformed), "{pairs:?}");
    }
}

#[test]
fn wallet_sign_ins_and_settlement_overrides_are_refused() {
    assert!(matches!(find(&map(&[("SIGN-IN-WITH-X", "x")])), Found::SignIn { value } if value == "x"));
    let twice = [("SIGN-IN-WITH-X", "x"), ("sign-in-with-x", "y")];
    assert_eq!(reason(&twice), Some(Reason::PaymentSchemeNotAllowed));
    let both = [("payment-signature", "e30="), ("sign-in-with-x", "x")];
    assert_eq!(reason(&both), Some(Reason::PaymentSchemeNotAllowed), "a sign-in beside a payment");
    for name in ["sign_in_with_x", "Sign_In-With-X", "Settlement-Overrides"] {
        assert_eq!(reason(&[(name, "x")]), Some(Reason::PaymentSchemeNotAllowed), "{name}");
        assert_eq!(
            reason(&[("payment-signature", "e30="), (name, "x")]),
            Some(Reason::PaymentSchemeNotAllowed),
            "{name}"
        );
    }
}

#[test]
fn a_payment_in_another_header_is_found_in_any_encoding_a_reader_takes() {
    let payment = payment();
    let document = STANDARD.decode(&payment).unwrap();
    let url = URL_SAFE_NO_PAD.encode(&document);
    let json = String::from_utf8(document).unwrap();
    let at_offset_two = STANDARD.encode(format!("  {json}"));
    for (name, value) in [
        ("authorization", format!("Bearer {payment}")),
        ("cookie", format!("a=b; p={payment}; c=d")),
        ("x-custom", payment.clone()),
        ("x-custom", url.clone()),
        ("x-custom", payment.trim_end_matches('=').to_owned()),
        ("x-custom", at_offset_two),
        ("x-custom", json),
        ("user-agent", format!("curl/8 ({url})")),
        ("x-custom", format!("\"{payment}\"")),
    ] {
        assert_eq!(
            reason(&[(name, &value)]),
            Some(Reason::PaymentMalformed),
            "{name}: {}…",
            &value[..20]
        );
    }
    assert!(find_in_target(&format!("/paid?payment-signature={payment}")).is_some());
    assert!(find_in_target(&format!("/paid?p={}", payment.replace('=', "%3D"))).is_some());
    assert!(find_in_target(&format!("/log/{url}")).is_some());
}

#[test]
fn ordinary_requests_have_no_payment() {
    let jwt = format!(
        "Bearer {}.{}.{}",
        URL_SAFE_NO_PAD.encode(r#"{"alg":"ES256","typ":"JWT"}"#),
        URL_SAFE_NO_PAD.encode(format!(r#"{{"sub":"{}","signature":"none"}}"#, "u".repeat(300))),
        "A".repeat(86)
    );
    let long = "session=".to_owned() + &"QUJD".repeat(400);
    for pairs in [
        vec![],
        vec![
            ("host", "a.test"),
            ("authorization", jwt.as_str()),
            ("cookie", long.as_str()),
            ("connection", "keep-alive, Upgrade"),
        ],
        vec![("x-request-id", "0x1234"), ("signature", "sig=:AA==:"), ("trailer", "Expires")],
    ] {
        assert_eq!(reason(&pairs), None, "{pairs:?}");
    }
    assert!(find_in_target(&format!("/search?q={}", "x402 ".repeat(100))).is_none());
}

proptest! {
    #[test]
    fn any_header_section_is_looked_through(pairs in prop::collection::vec(("[a-z0-9_-]{1,20}", prop::collection::vec(0x20u8..0x7f, 0..300)), 0..6)) {
        let mut headers = HeaderMap::new();
        for (name, value) in &pairs {
            headers.append(HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_bytes(value).unwrap());
        }
        let _ = find(&headers);
    }
}

/// Every character as `%XX`, or every nth.
fn percent_encoded(text: &str, nth: usize) -> String {
    let encode = |(at, byte): (usize, u8)| {
        if at % nth == 0 {
            format!("%{byte:02x}")
        } else {
            char::from(byte).to_string()
        }
    };
    text.bytes().enumerate().map(encode).collect()
}

#[test]
fn a_payment_in_accept_payment_is_not_one_of_the_sdks_extras() {
    assert_eq!(reason(&[("Accept-Payment", &payment())]), Some(Reason::PaymentMalformed));
    assert_eq!(
        reason(&[("PAYMENT-SIGNATURE", &payment()), ("Accept-Payment", &payment())]),
        Some(Reason::PaymentMalformed)
    );
}

#[test]
fn percent_encoding_hides_no_payment() {
    for nth in [1, 2, 7, 40] {
        let hidden = percent_encoded(&payment(), nth);
        assert!(find_in_target(&format!("/paid?payment={hidden}")).is_some(), "every {nth}th");
        assert_eq!(
            reason(&[("Cookie", &format!("p={hidden}"))]),
            Some(Reason::PaymentMalformed),
            "every {nth}th"
        );
    }
    let twice = percent_encoded(&percent_encoded(&payment(), 1), 1);
    assert!(find_in_target(&format!("/paid?payment={twice}")).is_some());
}

#[test]
fn a_payment_cut_into_lines_of_one_field_is_found() {
    let document = String::from_utf8(STANDARD.decode(payment()).unwrap()).unwrap();
    let cut = document.find(",\"signature\"").unwrap();
    let (first, second) = (&document[..cut], &document[cut + 1..]);
    let encoded = payment();
    let (left, right) = encoded.split_at(encoded.len() / 2);
    for (name, lines) in [
        ("Foo", vec![first, second]),
        ("Foo", document.split(',').collect()),
        ("Foo", vec![left, right]),
        ("Cookie", vec![left, right]),
    ] {
        let fields: Vec<(&str, &str)> = lines.iter().map(|line| (name, *line)).collect();
        assert_eq!(reason(&fields), Some(Reason::PaymentMalformed), "{name} {lines:.60?}");
    }
    assert_eq!(reason(&[("Cookie", "a=1"), ("Cookie", "b=2")]), None);
}
