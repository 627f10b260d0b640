//! Tricks with payments over Permit2 (`exact` and `upto`) and the reason for which each is refused.

use serde_json::{Value, json};

use super::wallets::*;
use super::*;

fn terms_with(more: &Value) -> Terms {
    let mut config = json!({ "schemes": ["exact", "exact-permit2", "upto"] });
    config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    terms(config)
}

fn judged(payment: &Value, terms: &Terms) -> Result<Claim, PaymentRefusal> {
    judged_text(&payment.to_string(), terms)
}

fn judged_text(payment: &str, terms: &Terms) -> Result<Claim, PaymentRefusal> {
    let parts = Parts::new("GET", UrlScheme::Https, "shop.test", "/paid");
    let mut headers = HeaderMap::new();
    let value = HeaderValue::from_str(&STANDARD.encode(payment)).unwrap();
    headers.insert("payment-signature", value);
    judge_header(find(&headers), &parts.request(), terms, NOW).map(Option::unwrap)
}

fn exact() -> Value {
    let account = Account::new(7);
    permit2(&account, "exact", &authorization(&account, EXACT_PROXY, "10000"))
}

fn upto() -> Value {
    let account = Account::new(7);
    let mut authorization = authorization(&account, UPTO_PROXY, "500000");
    authorization["witness"]["facilitator"] = json!(FACILITATOR);
    permit2(&account, "upto", &authorization)
}

/// The payment with its authorisation bent and then signed: the payer agrees to the trick.
fn signed_with(payment: Value, bend: impl FnOnce(&mut Value)) -> Value {
    let mut payment = payment;
    let authorization = &mut payment["payload"]["permit2Authorization"];
    bend(authorization);
    payment["payload"]["signature"] = json!(permit_signature(&Account::new(7), authorization, 84_532));
    payment
}

#[test]
fn an_honest_payment_is_judged_by_what_was_signed() {
    let terms = terms_with(&json!({}));
    for (payment, scheme, amount) in [(exact(), "exact-permit2", "10000"), (upto(), "upto", "500000")] {
        let claim = judged(&payment, &terms).unwrap();
        assert_eq!((claim.scheme.as_str(), claim.amount.to_string().as_str()), (scheme, amount));
        assert_eq!(claim.payee.to_string(), PAYEE.to_ascii_lowercase());
        assert_eq!(claim.payer, Account::new(7).address().into());
        assert_eq!((claim.valid_after, claim.valid_before), (0, NOW + 60));
        assert_eq!(claim.asset.address.to_string(), USDC.to_ascii_lowercase());
    }
}

type Bend = fn(&mut Value);

/// Signed as they stand, so that nothing but the trick is wrong.
#[test]
fn what_the_payer_agrees_to_has_to_be_what_the_seller_asks() {
    let terms = terms_with(&json!({}));
    let table: [(&str, Bend, Reason); 10] = [
        (
            "another payee in the witness",
            |a| a["witness"]["to"] = json!(STRANGER),
            Reason::PaymentMismatch,
        ),
        (
            "another spender",
            |a| a["spender"] = json!(STRANGER),
            Reason::PaymentSchemeNotAllowed,
        ),
        (
            "the payee as spender",
            |a| a["spender"] = json!(PAYEE),
            Reason::PaymentSchemeNotAllowed,
        ),
        (
            "Permit2 itself as spender",
            |a| a["spender"] = json!("0x000000000022D473030F116dDEE9F6B43aC78BA3"),
            Reason::PaymentSchemeNotAllowed,
        ),
        (
            "more than the offer",
            |a| a["permitted"]["amount"] = json!("10001"),
            Reason::PaymentMismatch,
        ),
        (
            "less than the offer",
            |a| a["permitted"]["amount"] = json!("1"),
            Reason::PaymentMismatch,
        ),
        (
            "another token",
            |a| a["permitted"]["token"] = json!("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
            Reason::PaymentMismatch,
        ),
        ("expired", |a| a["deadline"] = json!(NOW.to_string()), Reason::PaymentExpired),
        ("valid for ever", |a| a["deadline"] = json!(U256_MAX), Reason::PaymentExpired),
        (
            "not valid yet",
            |a| a["witness"]["validAfter"] = json!((NOW + 11).to_string()),
            Reason::PaymentExpired,
        ),
    ];
    for (name, bend, reason) in table {
        for payment in [exact(), upto()] {
            let refusal = judged(&signed_with(payment, bend), &terms).unwrap_err();
            assert_eq!(refusal.reason, reason, "{name}: {refusal}");
        }
    }
    // Each scheme has its own proxy contract: that of `upto` would let the facilitator choose the amount.
    for (payment, spender) in [(exact(), UPTO_PROXY), (upto(), EXACT_PROXY)] {
        let crossed = signed_with(payment, |a| a["spender"] = json!(spender));
        assert_eq!(
            judged(&crossed, &terms).unwrap_err().reason,
            Reason::PaymentSchemeNotAllowed,
            "{spender}"
        );
    }
    let elsewhere = signed_with(upto(), |a| a["witness"]["facilitator"] = json!(STRANGER));
    assert_eq!(
        judged(&elsewhere, &terms).unwrap_err().reason,
        Reason::PaymentMismatch,
        "another facilitator"
    );
}

const U256_MAX: &str = "115792089237316195423570985008687907853269984665640564039457584007913129639935";

#[test]
fn nothing_of_a_permit_can_be_changed_after_signing() {
    let terms = terms_with(&json!({}));
    let both: [(&str, Value); 5] = [
        ("/payload/permit2Authorization/from", json!(STRANGER)),
        ("/payload/permit2Authorization/nonce", json!("1")),
        ("/payload/permit2Authorization/deadline", json!((NOW + 59).to_string())),
        ("/payload/permit2Authorization/witness/validAfter", json!("1")),
        ("/payload/signature", json!(Account::new(8).sign(&[1; 32]))),
    ];
    for (pointer, value) in both {
        for mut payment in [exact(), upto()] {
            *payment.pointer_mut(pointer).unwrap() = value.clone();
            assert_eq!(judged(&payment, &terms).unwrap_err().reason, Reason::PaymentMismatch, "{pointer}");
        }
    }
    // Where the unsigned copy is changed along with the signed member, only the signature tells.
    let together: [(&str, &str, Value); 3] = [
        ("/payload/permit2Authorization/permitted/amount", "/accepted/amount", json!("20000")),
        ("/payload/permit2Authorization/witness/to", "/accepted/payTo", json!(STRANGER)),
        (
            "/payload/permit2Authorization/witness/facilitator",
            "/accepted/extra/facilitatorAddress",
            json!(STRANGER),
        ),
    ];
    for (signed, copy, value) in together {
        let mut payment = upto();
        *payment.pointer_mut(signed).unwrap() = value.clone();
        *payment.pointer_mut(copy).unwrap() = value;
        assert_eq!(judged(&payment, &terms).unwrap_err().reason, Reason::PaymentMismatch, "{signed}");
    }
    let mut payment = exact();
    let authorization = payment["payload"]["permit2Authorization"].clone();
    payment["payload"]["signature"] = json!(permit_signature(&Account::new(7), &authorization, 8453));
    assert_eq!(
        judged(&payment, &terms).unwrap_err().reason,
        Reason::PaymentMismatch,
        "signed for another chain"
    );
}

#[test]
fn a_witness_of_one_scheme_is_not_read_as_that_of_the_other() {
    let terms = terms_with(&json!({}));
    let mut without = upto();
    without["payload"]["permit2Authorization"]["witness"]
        .as_object_mut()
        .unwrap()
        .remove("facilitator");
    let mut with = exact();
    with["payload"]["permit2Authorization"]["witness"]["facilitator"] = json!(FACILITATOR);
    let mut renamed = upto();
    renamed["accepted"]["scheme"] = json!("exact");
    renamed["accepted"]["extra"] = json!({ "assetTransferMethod": "permit2" });
    for (name, payment) in [("no facilitator", without), ("a facilitator", with), ("upto as exact", renamed)] {
        assert_eq!(judged(&payment, &terms).unwrap_err().reason, Reason::PaymentMalformed, "{name}");
    }
}

#[test]
fn spellings_that_two_readers_could_read_differently_are_malformed() {
    let terms = terms_with(&json!({}));
    let amount = "\"amount\":\"10000\",\"token\"";
    let table = [
        ("a number", amount, "\"amount\":10000,\"token\""),
        ("an exponent", amount, "\"amount\":\"1e4\",\"token\""),
        ("hex", amount, "\"amount\":\"0x2710\",\"token\""),
        ("a leading zero", amount, "\"amount\":\"010000\",\"token\""),
        ("a sign", amount, "\"amount\":\"+10000\",\"token\""),
        ("a separator", amount, "\"amount\":\"10_000\",\"token\""),
        ("full-width digits", amount, "\"amount\":\"１００００\",\"token\""),
        (
            "2^256",
            amount,
            "\"amount\":\"115792089237316195423570985008687907853269984665640564039457584007913129639936\",\"token\"",
        ),
        (
            "eighty digits",
            amount,
            "\"amount\":\"99999999999999999999999999999999999999999999999999999999999999999999999999999999\",\"token\"",
        ),
        (
            "a duplicate payee",
            "\"to\":",
            "\"to\":\"0x857b06519E91e3A54538791bDbb0E22373e36b66\",\"to\":",
        ),
        (
            "an escaped duplicate",
            "\"to\":",
            "\"\\u0074o\":\"0x857b06519E91e3A54538791bDbb0E22373e36b66\",\"to\":",
        ),
        (
            "a payee in another case",
            "\"validAfter\"",
            "\"To\":\"0x857b06519E91e3A54538791bDbb0E22373e36b66\",\"validAfter\"",
        ),
        (
            "a duplicate spender",
            "\"spender\":",
            "\"spender\":\"0x857b06519E91e3A54538791bDbb0E22373e36b66\",\"spender\":",
        ),
        ("a foreign member of the permit", "\"spender\":", "\"note\":\"x\",\"spender\":"),
        ("a foreign member beside the token", "\"token\":", "\"note\":\"x\",\"token\":"),
        ("a foreign member of the payload", "\"signature\":", "\"note\":\"x\",\"signature\":"),
        ("a nonce in hex", "\"nonce\":\"", "\"nonce\":\"0x"),
        (
            "a number for the deadline",
            "\"deadline\":\"1800000060\"",
            "\"deadline\":1800000060",
        ),
        ("the zero address", PAYEE, "0x0000000000000000000000000000000000000000"),
        ("a short signature", "\"signature\":\"0x", "\"signature\":\"0x\",\"x\":\"0x"),
    ];
    let honest = exact().to_string();
    assert!(judged_text(&honest, &terms).is_ok());
    for (name, from, to) in table {
        assert!(honest.contains(from), "{name}: nothing to bend");
        let bent = honest.replacen(from, to, 1);
        assert_eq!(judged_text(&bent, &terms).unwrap_err().reason, Reason::PaymentMalformed, "{name}");
    }
    let trailing = format!("{honest}{honest}");
    assert_eq!(
        judged_text(&trailing, &terms).unwrap_err().reason,
        Reason::PaymentMalformed,
        "two documents"
    );
}

#[test]
fn a_scheme_that_is_off_is_refused_whatever_else_is_wrong() {
    let default = default_terms();
    let only_exact = terms(json!({ "schemes": ["exact"] }));
    let only_upto = terms(json!({ "schemes": ["upto"] }));
    let only_permit2 = terms(json!({ "schemes": ["exact-permit2"] }));
    let mut broken = exact();
    broken["payload"]["permit2Authorization"] = json!({ "from": 1 });
    for (name, payment, terms) in [
        ("permit2 by default", exact(), &default),
        ("upto by default", upto(), &default),
        ("permit2, only exact", exact(), &only_exact),
        ("permit2, only upto", exact(), &only_upto),
        ("upto, only permit2", upto(), &only_permit2),
        ("broken", broken, &default),
    ] {
        let refusal = judged(&payment, terms).unwrap_err();
        assert_eq!(refusal.reason, Reason::PaymentSchemeNotAllowed, "{name}");
        assert!(refusal.summary.scheme.is_some(), "{name}");
    }
    assert!(judged(&exact(), &only_permit2).is_ok());
    assert!(judged(&upto(), &only_upto).is_ok());
    let vector = load("v2-exact-evm-eip3009-js-fetch");
    let refusal = judge(&vector, &only_permit2, captured_at(&vector)).unwrap_err();
    assert_eq!(refusal.reason, Reason::PaymentSchemeNotAllowed, "exact itself can be switched off");
}

#[test]
fn the_transfer_method_of_the_offer_and_of_the_payload_are_one() {
    let terms = terms_with(&json!({}));
    for extra in [
        json!({ "name": "USDC", "version": "2" }),
        json!(null),
        json!({ "assetTransferMethod": "eip3009" }),
    ] {
        let mut payment = exact();
        payment["accepted"]["extra"] = extra.clone();
        assert_eq!(
            judged(&payment, &terms).unwrap_err().reason,
            Reason::PaymentSchemeNotAllowed,
            "{extra}"
        );
    }
    let mut two = exact();
    two["payload"]["authorization"] = json!({ "to": STRANGER });
    assert_eq!(
        judged(&two, &terms).unwrap_err().reason,
        Reason::PaymentSchemeNotAllowed,
        "two flavours"
    );
    let mut flow = upto();
    flow["accepted"]["extra"]["paymentFlow"] = json!("upfront");
    assert_eq!(judged(&flow, &terms).unwrap_err().reason, Reason::PaymentSchemeNotAllowed);
}

#[test]
fn upto_is_limited_by_its_ceiling_and_not_by_what_may_be_taken() {
    for (max, reason) in [("0.5", None), ("0.499999", Some(Reason::PaymentOverLimit))] {
        let outcome = judged(&upto(), &terms_with(&json!({ "max_amount": max })));
        assert_eq!(outcome.err().map(|refusal| refusal.reason), reason, "{max}");
    }
    let pin = |amount: &str| json!({ "pins": [{ "method": "GET", "url": URL, "payTo": PAYEE, "amount": amount }] });
    assert!(judged(&upto(), &terms_with(&pin("0.5"))).is_ok());
    let refusal = judged(&upto(), &terms_with(&pin("0.1"))).unwrap_err();
    assert_eq!(refusal.reason, Reason::PaymentOverLimit);
}

#[test]
fn a_permit2_nonce_is_used_up_for_every_token_and_both_schemes() {
    let terms = terms_with(&json!({
        "networks": ["eip155:84532"],
        "asset_definitions": [{ "network": "eip155:84532", "address": STRANGER, "decimals": 6 }],
    }));
    let first = judged(&exact(), &terms).unwrap();
    let second = judged(&upto(), &terms).unwrap();
    let mut other = signed_with(exact(), |a| a["permitted"]["token"] = json!(STRANGER));
    other["accepted"]["asset"] = json!(STRANGER);
    let third = judged(&other, &terms).unwrap();
    assert_eq!(first.nonce_hash, second.nonce_hash);
    assert_eq!(first.nonce_hash, third.nonce_hash);
    let next = judged(&signed_with(exact(), |a| a["nonce"] = json!("2")), &terms).unwrap();
    assert_ne!(first.nonce_hash, next.nonce_hash);
}

#[test]
fn a_token_without_a_known_domain_can_be_paid_over_permit2_only() {
    let monad = "0x534b2f3A21130d7a60830c2Df862319e593943A3";
    let mut payment = exact();
    payment["accepted"]["network"] = json!("eip155:10143");
    payment["accepted"]["asset"] = json!(monad);
    let authorization = &mut payment["payload"]["permit2Authorization"];
    authorization["permitted"]["token"] = json!(monad);
    payment["payload"]["signature"] = json!(permit_signature(&Account::new(7), authorization, 10_143));
    let on = terms_with(&json!({ "networks": ["eip155:10143"] }));
    assert_eq!(judged(&payment, &on).unwrap().asset.decimals, 6);
    let off = terms(json!({ "networks": ["eip155:10143"] }));
    assert_eq!(judged(&payment, &off).unwrap_err().reason, Reason::PaymentSchemeNotAllowed);
    assert_eq!(off.assets().count(), 0);
}

#[test]
fn a_contract_wallet_pays_only_where_that_is_switched_on() {
    let wallets = |payment: &Value, allowed: bool| judged(payment, &terms_with(&json!({ "allow_smart_wallets": allowed })));
    for (name, signature, on) in [
        ("ERC-1271", format!("0x{}", "11".repeat(100)), None),
        ("ERC-6492", format!("0x{}{}", "11".repeat(200), "6492".repeat(16)), None),
        // A contract may take 65 bytes of a key of its own, but so does every forger.
        (
            "65 bytes of nobody",
            format!("0x{}1b", "11".repeat(64)),
            Some(Reason::PaymentMismatch),
        ),
        ("64 bytes", format!("0x{}", "11".repeat(64)), Some(Reason::PaymentMalformed)),
    ] {
        for mut payment in [exact(), upto()] {
            payment["payload"]["signature"] = json!(signature);
            let off = wallets(&payment, false).err().map(|refusal| refusal.reason);
            assert_eq!(off, on.or(Some(Reason::PaymentSchemeNotAllowed)), "{name}, off");
            assert_eq!(wallets(&payment, true).err().map(|refusal| refusal.reason), on, "{name}, on");
        }
    }
    // What the bytes say is still held against the offer, the lists and the limits.
    let mut payment = exact();
    payment["payload"]["signature"] = json!(format!("0x{}", "11".repeat(100)));
    payment["payload"]["permit2Authorization"]["witness"]["to"] = json!(STRANGER);
    assert_eq!(wallets(&payment, true).unwrap_err().reason, Reason::PaymentMismatch);
    // v1 names no asset, so there is nothing to which an unchecked signature could be bound.
    let vector = load("v1-exact-evm-eip3009-py-requests");
    let (parts, headers, _) = paying_request(&vector);
    let mut document: Value = serde_json::from_slice(&STANDARD.decode(&headers["x-payment"]).unwrap()).unwrap();
    document["payload"]["signature"] = json!(format!("0x{}", "11".repeat(100)));
    let mut headers = HeaderMap::new();
    headers.insert("x-payment", HeaderValue::from_str(&encode(&document)).unwrap());
    let allowed = terms(json!({ "allow_smart_wallets": true }));
    let refusal = judge_header(find(&headers), &parts.request(), &allowed, captured_at(&vector)).unwrap_err();
    assert_eq!(refusal.reason, Reason::PaymentAssetNotAllowed);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    // As for the scheme that is on by default: free text may change, money may not.
    #[test]
    fn a_mutated_payment_over_permit2_is_refused_or_moves_the_same_money(at in 0usize..1200, byte in any::<u8>(), ceiling: bool) {
        let terms = terms_with(&json!({}));
        let payment = if ceiling { upto() } else { exact() };
        let honest = judged(&payment, &terms).unwrap();
        let mut bytes = payment.to_string().into_bytes();
        let at = at % bytes.len();
        bytes[at] = byte;
        let parts = Parts::new("GET", UrlScheme::Https, "shop.test", "/paid");
        let mut headers = HeaderMap::new();
        headers.insert("payment-signature", HeaderValue::from_str(&STANDARD.encode(&bytes)).unwrap());
        if let Ok(Some(claim)) = judge_header(find(&headers), &parts.request(), &terms, NOW) {
            let same = Claim { payment_hash: honest.payment_hash, ..claim };
            prop_assert_eq!(same, honest);
        }
    }
}
