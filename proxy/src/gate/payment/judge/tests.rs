#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderValue};
use proptest::prelude::*;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::super::config::PaymentsConfig;
use super::super::vectors::{Parts, load, paying_request, text};
use super::*;
use crate::x402::detect::find;
use crate::x402::enabled::Enabled;
use crate::x402::resource::UrlScheme;

mod allowances;
mod permit2;
mod solana;
mod wallets;

const EXACT_EIP3009: [&str; 6] = [
    "v1-exact-evm-eip3009-js-legacy-fetch",
    "v1-exact-evm-eip3009-py-requests",
    "v2-exact-evm-eip3009-js-fetch",
    "v2-exact-evm-eip3009-py-requests-get",
    "v2-exact-evm-eip3009-rust",
    "v2-payment-identifier-py",
];

fn terms(config: Value) -> Terms {
    Terms::operator(&serde_json::from_value(config).unwrap()).unwrap()
}

fn default_terms() -> Terms {
    Terms::operator(&PaymentsConfig::default()).unwrap()
}

fn captured_at(vector: &Value) -> u64 {
    text(vector, "/expected_claim/valid_before").parse::<u64>().unwrap() - 60
}

fn judge(vector: &Value, terms: &Terms, now: u64) -> Result<Option<Claim>, PaymentRefusal> {
    let (parts, headers, _) = paying_request(vector);
    judge_header(find(&headers), &parts.request(), terms, now)
}

#[test]
fn payments_of_every_sdk_give_the_expected_claim() {
    for name in EXACT_EIP3009.into_iter().chain(["v2-multi-accepts-js"]) {
        let vector = load(name);
        let expected = &vector["expected_claim"];
        let claim = judge(&vector, &default_terms(), captured_at(&vector))
            .unwrap_or_else(|refusal| panic!("{name}: {refusal}"))
            .unwrap();
        assert_eq!(claim.version.number(), expected["x402_version"].as_u64().unwrap(), "{name}");
        assert_eq!(claim.scheme.as_str(), text(expected, "/scheme"), "{name}");
        assert_eq!(claim.asset.network.to_string(), text(expected, "/chain"), "{name}");
        for (found, pointer) in [
            (claim.asset.address, "/asset"),
            (claim.payee, "/counterparty"),
            (claim.payer, "/payer"),
        ] {
            assert_eq!(Ok(found), Address::parse(text(expected, pointer)), "{name} {pointer}");
        }
        assert_eq!(claim.amount.to_string(), text(expected, "/amount"), "{name}");
        assert_eq!(claim.valid_before.to_string(), text(expected, "/valid_before"), "{name}");
        assert_eq!(claim.resource.to_string(), text(expected, "/resource"), "{name}");
        let identifier = expected.get("payment_identifier").and_then(Value::as_str);
        assert_eq!(
            claim.identifier_hash.map(|hash| hash.0),
            identifier.map(|id| Sha256::digest(id.as_bytes()).into()),
            "{name}"
        );
        let shown = format!("{claim:?}");
        assert!(!shown.contains(text(expected, "/nonce").trim_start_matches("0x")), "{name}");
    }
}

#[test]
fn payments_of_the_other_schemes_give_the_expected_claim_where_they_are_switched_on() {
    let terms = terms(json!({ "schemes": ["exact-permit2", "upto", "exact-svm"] }));
    for (name, scheme, now) in [
        ("v2-exact-evm-permit2-js", "exact-permit2", Some("/expected_claim/deadline")),
        ("v2-upto-evm-permit2-py", "upto", Some("/expected_claim/deadline")),
        ("v2-exact-svm-py", "exact-svm", None),
    ] {
        let vector = load(name);
        let expected = &vector["expected_claim"];
        let before = now.map(|pointer| text(&vector, pointer).parse::<u64>().unwrap());
        let now = before.map_or(1_796_073_600, |before| before - 60);
        let claim = judge(&vector, &terms, now)
            .unwrap_or_else(|refusal| panic!("{name}: {refusal}"))
            .unwrap();
        assert_eq!(claim.scheme.as_str(), scheme, "{name}");
        assert_eq!(claim.asset.network.to_string(), text(expected, "/chain"), "{name}");
        for (found, pointer) in [
            (claim.asset.address, "/asset"),
            (claim.payee, "/counterparty"),
            (claim.payer, "/payer"),
        ] {
            assert_eq!(Ok(found), Address::parse(text(expected, pointer)), "{name} {pointer}");
        }
        assert_eq!(claim.amount.to_string(), text(expected, "/amount"), "{name}");
        assert_eq!(claim.valid_before, before.unwrap_or(now + LONGEST_LIFE), "{name}");
        assert_eq!(claim.resource.to_string(), text(expected, "/resource"), "{name}");
    }
}

#[test]
fn flavours_that_cannot_be_judged_are_recognised() {
    for (name, reason) in [
        ("v2-exact-evm-permit2-js", Reason::PaymentSchemeNotAllowed),
        ("v2-upto-evm-permit2-py", Reason::PaymentSchemeNotAllowed),
        ("v2-batch-settlement-evm-py", Reason::PaymentSchemeNotAllowed),
        ("v2-exact-svm-py", Reason::PaymentSchemeNotAllowed),
        ("v2-resource-url-mismatch-js", Reason::PaymentMismatch),
    ] {
        let vector = load(name);
        let refusal = judge(&vector, &default_terms(), 1_796_073_600).unwrap_err();
        assert_eq!(refusal.reason, reason, "{name}: {refusal}");
        assert_eq!(refusal.summary.version, Some(Version::V2), "{name}");
        assert!(refusal.summary.scheme.is_some(), "{name}");
    }
}

#[test]
fn a_placeholder_signature_is_refused_and_the_host_signed_one_is_proved() {
    let vector = load("v2-exact-evm-placeholder-host-signed");
    for case in vector["cases"].as_array().unwrap() {
        let v1 = text(case, "/header").eq_ignore_ascii_case("x-payment");
        let inner = &case["in_decoded"];
        let url = inner
            .pointer("/resource/url")
            .and_then(Value::as_str)
            .unwrap_or("http://127.0.0.1:4241/paid");
        let authority = url.trim_start_matches("http://").split('/').next().unwrap();
        let parts = Parts::new("GET", UrlScheme::Http, authority, "/paid");
        let now = text(inner, "/payload/authorization/validBefore").parse::<u64>().unwrap() - 60;
        let judged = |which: &str| {
            let mut headers = HeaderMap::new();
            let name = if v1 { "x-payment" } else { "payment-signature" };
            headers.insert(name, HeaderValue::from_str(text(case, which)).unwrap());
            judge_header(find(&headers), &parts.request(), &default_terms(), now)
        };
        assert!(judged("/in").is_err(), "a placeholder passed");
        assert!(judged("/out").unwrap().is_some());
    }
}

/// A valid v2 payment, its document and the request it is for.
fn baseline() -> (Value, Parts, u64) {
    let vector = load("v2-exact-evm-eip3009-py-requests-get");
    let (parts, headers, _) = paying_request(&vector);
    let document = serde_json::from_slice(&STANDARD.decode(&headers["payment-signature"]).unwrap()).unwrap();
    (document, parts, captured_at(&vector))
}

fn header(document: &Value) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let value = STANDARD.encode(serde_json::to_vec(document).unwrap());
    headers.insert("payment-signature", HeaderValue::from_str(&value).unwrap());
    headers
}

/// Judges the baseline with one member replaced.
fn edited(pointer: &str, value: Value) -> Result<Option<Claim>, PaymentRefusal> {
    let (mut document, parts, now) = baseline();
    *document.pointer_mut(pointer).unwrap() = value;
    judge_header(find(&header(&document)), &parts.request(), &default_terms(), now)
}

#[test]
fn what_was_signed_cannot_be_changed_afterwards() {
    assert!(edited("/x402Version", json!(2)).is_ok(), "the baseline itself");
    for (pointer, value, reason) in [
        (
            "/payload/authorization/from",
            json!("0x857b06519E91e3A54538791bDbb0E22373e36b66"),
            Reason::PaymentMismatch,
        ),
        (
            "/payload/authorization/to",
            json!("0x857b06519E91e3A54538791bDbb0E22373e36b66"),
            Reason::PaymentMismatch,
        ),
        ("/payload/authorization/value", json!("10001"), Reason::PaymentMismatch),
        ("/payload/authorization/validAfter", json!("1"), Reason::PaymentMismatch),
        ("/payload/authorization/validBefore", json!("1796073476"), Reason::PaymentMismatch),
        (
            "/payload/authorization/nonce",
            json!(format!("0x{}", "11".repeat(32))),
            Reason::PaymentMismatch,
        ),
        (
            "/accepted/payTo",
            json!("0x857b06519E91e3A54538791bDbb0E22373e36b66"),
            Reason::PaymentMismatch,
        ),
        ("/accepted/amount", json!("9999"), Reason::PaymentMismatch),
        (
            "/accepted/asset",
            json!("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
            Reason::PaymentAssetNotAllowed,
        ),
        ("/accepted/network", json!("eip155:8453"), Reason::PaymentAssetNotAllowed),
        ("/accepted/network", json!("eip155:1"), Reason::PaymentNetworkNotAllowed),
        (
            "/accepted/network",
            json!("solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1"),
            Reason::PaymentNetworkNotAllowed,
        ),
        ("/accepted/network", json!("base-sepolia"), Reason::PaymentMalformed),
        ("/accepted/extra/name", json!("USD Coin"), Reason::PaymentMismatch),
        ("/accepted/extra/version", json!("1"), Reason::PaymentMismatch),
        (
            "/accepted/extra",
            json!({"assetTransferMethod": "permit2"}),
            Reason::PaymentSchemeNotAllowed,
        ),
        (
            "/accepted/extra",
            json!({"paymentFlow": "upfront"}),
            Reason::PaymentSchemeNotAllowed,
        ),
        (
            "/accepted/extra",
            json!({"verifyingContract": "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"}),
            Reason::PaymentSchemeNotAllowed,
        ),
        ("/accepted/maxTimeoutSeconds", json!(0), Reason::PaymentMalformed),
        ("/accepted/maxTimeoutSeconds", json!("300"), Reason::PaymentMalformed),
        ("/accepted/maxTimeoutSeconds", json!(49), Reason::PaymentExpired),
        ("/resource/url", json!("http://127.0.0.1:4201/other"), Reason::PaymentMismatch),
        ("/resource/url", json!("http://127.0.0.1:4202/paid"), Reason::PaymentMismatch),
        ("/resource/url", json!("mcp://tool/x"), Reason::PaymentMismatch),
        ("/resource", json!(null), Reason::PaymentMismatch),
        (
            "/payload/signature",
            json!(format!("0x{}", "11".repeat(100))),
            Reason::PaymentSchemeNotAllowed,
        ),
        (
            "/payload/signature",
            json!(format!("0x{}", "11".repeat(64))),
            Reason::PaymentMalformed,
        ),
        ("/payload/authorization/nonce", json!("0x11"), Reason::PaymentMalformed),
        ("/payload/authorization/value", json!(10000), Reason::PaymentMalformed),
    ] {
        let shown = format!("{pointer} = {value}");
        assert_eq!(edited(pointer, value).unwrap_err().reason, reason, "{shown}");
    }
    for (pointer, value) in [
        ("/accepted/extra", json!(null)),
        (
            "/accepted/extra",
            json!({"assetTransferMethod": "eip3009", "paymentFlow": "authorization"}),
        ),
        ("/accepted/payTo", json!("0x209693bc6afc0c5328ba36faf03c514ef312287c")),
        ("/resource/description", json!("anything")),
    ] {
        assert!(edited(pointer, value).is_ok(), "{pointer}");
    }
}

#[test]
fn members_that_are_not_known_are_refused_wherever_they_could_change_the_meaning() {
    for (pointer, reason) in [
        ("", Reason::PaymentMalformed),
        ("/payload", Reason::PaymentMalformed),
        ("/payload/authorization", Reason::PaymentMalformed),
        ("/accepted", Reason::PaymentMalformed),
        ("/accepted/extra", Reason::PaymentSchemeNotAllowed),
        ("/resource", Reason::PaymentMalformed),
    ] {
        let (mut document, parts, now) = baseline();
        document.pointer_mut(pointer).unwrap()["surprise"] = json!("x");
        let refusal = judge_header(find(&header(&document)), &parts.request(), &default_terms(), now).unwrap_err();
        assert_eq!(refusal.reason, reason, "{pointer}");
    }
}

#[test]
fn the_operators_lists_limits_and_pins_hold() {
    let payee = "0x209693bc6afc0c5328ba36faf03c514ef312287c";
    let other = "0x857b06519e91e3a54538791bdbb0e22373e36b66";
    let pin = |method: &str, url: &str, pay_to: &str, amount: &str| json!({"pins": [{"method": method, "url": url, "payTo": pay_to, "amount": amount}]});
    let pinned_only = |mut config: Value| {
        config["pinned_only"] = json!(true);
        config
    };
    let url = "http://127.0.0.1:4201/paid";
    let vector = load("v2-exact-evm-eip3009-py-requests-get");
    let wallet = text(&vector, "/expected_claim/payer");
    for (config, expected) in [
        (json!({}), None),
        (json!({"networks": ["eip155:8453"]}), Some(Reason::PaymentNetworkNotAllowed)),
        (
            json!({"assets": ["eip155:8453/0x833589fcd6edb6e08f4c7c32d4f71b54bda02913"]}),
            Some(Reason::PaymentNetworkNotAllowed),
        ),
        (json!({"payees": [payee]}), None),
        (json!({"payees": [other]}), Some(Reason::PaymentPayeeNotAllowed)),
        (json!({"payers": [wallet]}), None),
        (json!({"payers": [other]}), Some(Reason::PaymentPayerNotAllowed)),
        (json!({"max_amount": "0.01"}), None),
        (json!({"max_amount": "0.009999"}), Some(Reason::PaymentOverLimit)),
        (json!({"max_amount": "0"}), Some(Reason::PaymentOverLimit)),
        // The seller asks for 300 seconds.
        (json!({"max_timeout": "290s"}), None),
        (json!({"max_timeout": "289s"}), Some(Reason::PaymentExpired)),
        (pin("GET", url, payee, "0.01"), None),
        (pin("GET", "http://127.0.0.1:4201/elsewhere", other, "0.5"), None),
        (pin("POST", url, payee, "0.01"), Some(Reason::PaymentMismatch)),
        (pin("GET", url, other, "0.01"), Some(Reason::PaymentPayeeNotAllowed)),
        (pin("GET", url, payee, "0.009"), Some(Reason::PaymentOverLimit)),
        (pin("GET", url, payee, "0.02"), Some(Reason::PaymentMismatch)),
        (pinned_only(pin("GET", url, payee, "0.01")), None),
        (
            pinned_only(pin("GET", "http://127.0.0.1:4201/elsewhere", payee, "0.01")),
            Some(Reason::PaymentPayeeNotAllowed),
        ),
    ] {
        let result = judge(&vector, &terms(config.clone()), captured_at(&vector));
        assert_eq!(result.err().map(|refusal| refusal.reason), expected, "{config}");
    }
}

#[test]
fn a_signature_is_usable_now_and_not_for_long() {
    let vector = load("v2-exact-evm-eip3009-rust");
    let before: u64 = text(&vector, "/expected_claim/valid_before").parse().unwrap();
    // It was made with 300 seconds to live and back-dated by 600.
    for (now, passes) in [
        (before - 1, true),
        (before, false),
        (before + 1, false),
        (u64::MAX, false),
        (before - 310, true),
        (before - 311, false),
        (before - 911, false),
        (0, false),
    ] {
        let result = judge(&vector, &default_terms(), now);
        assert_eq!(result.is_ok(), passes, "{now}");
        if let Err(refusal) = result {
            assert_eq!(refusal.reason, Reason::PaymentExpired, "{now}");
        }
    }
}

#[test]
fn v1_names_no_asset_so_the_signature_has_to_prove_one_that_is_allowed() {
    let vector = load("v1-exact-evm-eip3009-py-requests");
    let now = captured_at(&vector);
    let wrong_domain = json!({
        "assets": ["eip155:84532/0x857b06519e91e3a54538791bdbb0e22373e36b66"],
        "asset_definitions": [{"network": "eip155:84532", "address": "0x857b06519e91e3a54538791bdbb0e22373e36b66", "decimals": 6, "name": "USDC", "version": "2"}],
    });
    let refusal = judge(&vector, &terms(wrong_domain), now).unwrap_err();
    assert_eq!(refusal.reason, Reason::PaymentAssetNotAllowed);
    let both = json!({
        "networks": ["eip155:84532"],
        "asset_definitions": [{"network": "eip155:84532", "address": "0x0000000000000000000000000000000000000001", "decimals": 18, "name": "USDC", "version": "2"}],
    });
    let claim = judge(&vector, &terms(both), now).unwrap().unwrap();
    assert_eq!(
        claim.asset.decimals, 6,
        "the asset whose domain was signed, not the first of the network"
    );
}

#[test]
fn refusals_and_claims_show_no_signature_and_no_header() {
    let (mut document, parts, now) = baseline();
    let signature = text(&document, "/payload/signature").trim_start_matches("0x").to_owned();
    document["accepted"]["amount"] = json!("1");
    let headers = header(&document);
    let value = headers["payment-signature"].to_str().unwrap().to_owned();
    let refusal = judge_header(find(&headers), &parts.request(), &default_terms(), now).unwrap_err();
    let payment = Payment::decode(
        Version::V2,
        header(&baseline().0)["payment-signature"].as_bytes(),
        &Enabled::default(),
    )
    .unwrap();
    for shown in [format!("{refusal:?} {refusal}"), format!("{payment:?}")] {
        assert!(!shown.contains(&signature) && !shown.contains(&value), "{shown}");
    }
    assert_eq!(refusal.summary.amount.map(|amount| amount.to_string()).as_deref(), Some("10000"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_header_value_makes_the_decoder_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = Payment::decode(Version::V2, &bytes, &Enabled::default());
        let _ = Payment::decode(Version::V1, STANDARD.encode(&bytes).as_bytes(), &Enabled::default());
    }

    // A mutated payment that still passes may differ in free text only (a description, a harmless extension): who is paid, how much, in
    // what, until when, by which nonce and for which resource is as it was signed.
    #[test]
    fn a_mutated_payment_is_refused_or_moves_the_same_money(at in 0usize..700, byte in any::<u8>(), v1: bool) {
        let vector = load(if v1 { "v1-exact-evm-eip3009-py-requests" } else { "v2-payment-identifier-py" });
        let (parts, headers, _) = paying_request(&vector);
        let name = if v1 { "x-payment" } else { "payment-signature" };
        let now = captured_at(&vector);
        let honest = judge_header(find(&headers), &parts.request(), &default_terms(), now).unwrap().unwrap();
        let mut bytes = STANDARD.decode(&headers[name]).unwrap();
        let at = at % bytes.len();
        bytes[at] = byte;
        let mut mutated = HeaderMap::new();
        mutated.insert(name, HeaderValue::from_str(&STANDARD.encode(&bytes)).unwrap());
        if let Ok(Some(claim)) = judge_header(find(&mutated), &parts.request(), &default_terms(), now) {
            let same = Claim { payment_hash: honest.payment_hash, identifier_hash: honest.identifier_hash, identifier_terms: honest.identifier_terms, ..claim };
            prop_assert_eq!(same, honest);
        }
    }

    #[test]
    fn a_mutated_header_value_is_refused_or_moves_the_same_money(at in 0usize..900, byte in 0x20u8..0x7f) {
        let vector = load("v2-exact-evm-eip3009-js-fetch");
        let (parts, headers, _) = paying_request(&vector);
        let now = captured_at(&vector);
        let honest = judge_header(find(&headers), &parts.request(), &default_terms(), now).unwrap().unwrap();
        let mut value = headers["payment-signature"].as_bytes().to_vec();
        let at = at % value.len();
        value[at] = byte;
        let mut mutated = HeaderMap::new();
        mutated.insert("payment-signature", HeaderValue::from_bytes(&value).unwrap());
        if let Ok(Some(claim)) = judge_header(find(&mutated), &parts.request(), &default_terms(), now) {
            let same = Claim { payment_hash: honest.payment_hash, ..claim };
            prop_assert_eq!(same, honest);
        }
    }
}

#[test]
fn a_second_payment_cannot_ride_in_the_unsigned_parts_of_the_first() {
    let vector = load("v2-exact-evm-eip3009-js-fetch");
    let (parts, headers, _) = paying_request(&vector);
    let honest: Value = serde_json::from_slice(&STANDARD.decode(headers["payment-signature"].as_bytes()).unwrap()).unwrap();
    let second = STANDARD.encode(honest.to_string());
    let stowaways = [
        ("description", json!(second)),
        ("description", json!(format!("a fine thing; {second}"))),
        ("tags", json!([second])),
        ("description", honest.clone()),
    ];
    for (member, stowaway) in stowaways {
        let mut payment = honest.clone();
        payment["resource"][member] = stowaway;
        let value = HeaderValue::from_str(&STANDARD.encode(payment.to_string())).unwrap();
        let headers = HeaderMap::from_iter([(http::HeaderName::from_static("payment-signature"), value)]);
        let outcome = judge_header(find(&headers), &parts.request(), &default_terms(), captured_at(&vector));
        let reason = outcome.map(|_| ()).map_err(|refusal| refusal.reason);
        assert!(
            matches!(reason, Err(Reason::PaymentConflicting | Reason::PaymentMalformed)),
            "{member}: {reason:?}"
        );
    }
}

#[test]
fn a_policy_cannot_pin_another_payee_or_price_beside_the_operators() {
    let payee = "0x209693bc6afc0c5328ba36faf03c514ef312287c";
    let other = "0x857b06519e91e3a54538791bdbb0e22373e36b66";
    let pin = |pay_to: &str, amount: &str| json!({"pins": [{"method": "GET", "url": "http://127.0.0.1:4201/paid", "payTo": pay_to, "amount": amount}]});
    let vector = load("v2-exact-evm-eip3009-py-requests-get");
    for (operator, stanza, expected) in [
        (pin(payee, "0.01"), pin(payee, "0.01"), None),
        (pin(other, "0.01"), pin(payee, "0.01"), Some(Reason::PaymentPayeeNotAllowed)),
        (pin(payee, "0.01"), pin(other, "0.01"), Some(Reason::PaymentPayeeNotAllowed)),
        (pin(payee, "0.02"), pin(payee, "0.01"), Some(Reason::PaymentMismatch)),
    ] {
        let config = |value: &Value| serde_json::from_value(value.clone()).unwrap();
        let terms = Terms::narrowed(&config(&operator), &config(&stanza)).unwrap();
        let result = judge(&vector, &terms, captured_at(&vector));
        assert_eq!(result.err().map(|refusal| refusal.reason), expected, "{operator} {stanza}");
    }
}
