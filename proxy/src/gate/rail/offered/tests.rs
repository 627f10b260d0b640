#![allow(clippy::unwrap_used)]
use proptest::prelude::*;

use super::super::RailsConfig;
use super::*;

const MPP: &str = r#"Payment id="x7", realm="shop", method="evm", intent="charge", request="eyJhIjoxfQ""#;

fn rails() -> Rails {
    Rails::new(&RailsConfig::default()).unwrap()
}

fn head(fields: &[(&str, &str)]) -> HeaderMap {
    let field = |(name, value): &(&str, &str)| (name.parse::<HeaderName>().unwrap(), value.parse::<HeaderValue>().unwrap());
    let mut headers = HeaderMap::new();
    for (name, value) in fields.iter().map(field) {
        headers.append(name, value);
    }
    headers
}

/// What is left of the fields that offer something; `None` where none does.
fn left(fields: &[(&str, &str)]) -> Option<Vec<String>> {
    let (rails, headers) = (rails(), head(fields));
    let without = rails.without_offers(&headers);
    assert_eq!(rails.offered(&headers).is_some(), !without.is_empty(), "{fields:?}");
    let values = without.iter().flat_map(|(_, values)| values);
    let values = values.map(|value| value.to_str().unwrap().to_owned()).collect();
    (!without.is_empty()).then_some(values)
}

#[test]
fn an_offer_to_be_paid_by_a_rail_is_found_and_nothing_else_is_taken_out() {
    let field = |value: &str| left(&[("www-authenticate", value)]);
    let kept = |value: &str| Some(vec![value.to_owned()]);
    let nothing = Some(Vec::new());
    for (value, expected) in [
        (MPP, nothing.clone()),
        (&MPP.to_uppercase(), nothing.clone()),
        (&format!("{MPP}, {MPP}"), nothing.clone()),
        (r#"L402 macaroon="AGI=", invoice="lnbc1""#, nothing.clone()),
        (r#"lsat macaroon="AGI=", invoice="lnbc1""#, nothing.clone()),
        ("X402", nothing.clone()),
        ("Payment", nothing.clone()),
        ("Bearer,\tPayment\tid=x", kept("Bearer")),
        (&format!(r#"Basic realm="a, b", {MPP}"#), kept(r#"Basic realm="a, b""#)),
        (
            &format!(r#"{MPP}, Digest realm="q\", Payment x", nonce="n", Negotiate abc=="#),
            kept(r#"Digest realm="q\", Payment x", nonce="n", Negotiate abc=="#),
        ),
        // Readers that look for the word, whatever stands before it.
        (r#"Bearer realm="shop" Payment id="x""#, nothing.clone()),
        (r#"Bearer realm="L402 macaroon=AGI=, invoice=lnbc1""#, nothing.clone()),
        (r#"Bearer realm="shop, Payment id="x""#, nothing),
        (r#"Basic realm="Payment required""#, None),
        ("Basic realm=payment", None),
        ("PaymentToken x", None),
        ("Bearer scope=\"payment, l402\"", None),
    ] {
        assert_eq!(field(value), expected, "{value}");
    }
    for (fields, expected) in [
        (&[("proxy-authenticate", MPP)][..], Some(0)),
        (&[("www-authenticate", "Basic realm=a"), ("www-authenticate", MPP)], Some(1)),
        (&[("x-cashu", "creqAp")], Some(0)),
        (&[("crawler-price", "USD 0.01")], Some(0)),
        (&[("x-bsv-payment-satoshis-required", "9")], Some(0)),
        (
            &[
                ("payment-required", "e30="),
                ("payment-receipt", "x"),
                ("content-type", "text/html"),
            ],
            None,
        ),
    ] {
        assert_eq!(left(fields).map(|left| left.len()), expected, "{fields:?}");
    }
}

#[test]
fn an_offer_of_mpp_in_an_answer_to_a_call_is_found() {
    let challenge = r#"{"id":"x","realm":"r","method":"evm","intent":"charge","request":{}}"#;
    for (answer, expected) in [
        (
            format!(r#"{{"id":1,"error":{{"code":-32042,"data":{{"challenges":[{challenge}]}}}}}}"#),
            true,
        ),
        (
            format!(r#"[{{"id":1,"error":{{"code":-32043,"data":{{"challenges":[{challenge}]}}}}}}]"#),
            true,
        ),
        (
            format!(r#"{{"result":{{"_meta":{{"org.paymentauth/payment-required":{{"challenges":[{challenge}]}}}}}}}}"#),
            true,
        ),
        (
            r#"{"result":{"_meta":{"org.paymentauth\u002fpayment-required":{}}}}"#.to_owned(),
            true,
        ),
        (
            format!(r#"{{"id":1,"id":1,"error":{{"data":{{"challenges":[{challenge}]}}}}}}"#),
            true,
        ),
        (
            r#"{"error":{"code":-32042,"data":{"elicitations":[{"url":"https://a.example"}]}}}"#.to_owned(),
            false,
        ),
        (r#"{"result":{"challenges":[{"name":"eight queens"}]}}"#.to_owned(), false),
        (r#"{"result":{"_meta":{"org.paymentauth/receipt":{}}}}"#.to_owned(), false),
        ("challenges\" without a document".to_owned(), false),
    ] {
        assert_eq!(rails().offered_in(answer.as_bytes()).is_some(), expected, "{answer}");
    }
}

proptest! {
    #[test]
    fn what_is_left_of_a_field_offers_nothing(value in r#"(Basic|Payment|L402|Digest|[a-z]{1,3}|[ ,="\\]){0,12}"#) {
        let Ok(value) = value.parse::<HeaderValue>() else { return Ok(()) };
        let (rails, mut headers) = (rails(), HeaderMap::new());
        headers.append("www-authenticate", value);
        for (_, values) in rails.without_offers(&headers) {
            for value in values {
                prop_assert_eq!(rails.scheme_in(value.as_bytes()).map(|entry| entry.scheme.clone()), None);
            }
        }
    }
}
