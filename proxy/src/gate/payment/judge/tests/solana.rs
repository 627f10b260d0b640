//! Payments on Solana: what is judged of them, and what each trick is refused for.

mod draft;
mod tricks;

use serde_json::{Value, json};

use self::draft::*;
use super::wallets::*;
use super::*;
use crate::gate::payment::challenges::ChallengeMemory;
use crate::x402::challenge::Challenge;
use crate::x402::refusal::SchemeName;
use crate::x402::solana::SolanaAddress;
use crate::x402::solana::programs::{LIGHTHOUSE, MEMO};

fn terms_with(more: &Value) -> Terms {
    let mut config = json!({ "schemes": ["exact-svm"] });
    config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    terms(config)
}

fn paying(transaction: &[u8]) -> Value {
    json!({
        "x402Version": 2,
        "payload": { "transaction": STANDARD.encode(transaction) },
        "resource": { "url": URL },
        "accepted": {
            "scheme": "exact", "network": DEVNET, "asset": MINT, "amount": "10000", "payTo": payee().to_string(),
            "maxTimeoutSeconds": 60, "extra": { "feePayer": sponsor().to_string() },
        },
    })
}

fn judged(payment: &Value, terms: &Terms) -> Result<Claim, PaymentRefusal> {
    let parts = Parts::new("GET", UrlScheme::Https, "shop.test", "/paid");
    let mut headers = HeaderMap::new();
    headers.insert("payment-signature", HeaderValue::from_str(&encode(payment)).unwrap());
    judge_header(find(&headers), &parts.request(), terms, NOW).map(Option::unwrap)
}

#[test]
fn an_honest_transfer_is_judged_by_what_was_signed() {
    let mut legacy = draft();
    legacy.version = None;
    let mut bare = draft();
    bare.calls.pop();
    let mut guarded = draft();
    guarded.calls.push(call(LIGHTHOUSE, &[token(payer().address(), MINT)], &[9, 1, 2]));
    guarded.calls.push(call(LIGHTHOUSE, &[payer().address()], &[5, 1, 2]));
    for (name, draft) in [
        ("version 0", draft()),
        ("legacy", legacy),
        ("without memo", bare),
        ("guarded by the wallet", guarded),
    ] {
        let claim = judged(&paying(&draft.signed()), &terms_with(&json!({}))).unwrap_or_else(|refusal| panic!("{name}: {refusal}"));
        assert_eq!(
            (claim.scheme.as_str(), claim.amount.to_string().as_str()),
            ("exact-svm", "10000"),
            "{name}"
        );
        assert_eq!((claim.payee, claim.payer), (payee().into(), payer().address().into()), "{name}");
        assert_eq!(
            (claim.asset.network.to_string().as_str(), claim.asset.decimals),
            (DEVNET, 6),
            "{name}"
        );
        assert_eq!(claim.valid_before, NOW + LONGEST_LIFE, "{name}");
    }
}

#[test]
#[allow(clippy::too_many_lines)]
fn the_offer_repeats_what_was_signed() {
    use Reason as R;
    let mut memo = draft();
    memo.calls[3].data = b"order 7".to_vec();
    let memo = memo.signed();
    let mut two_memos = draft();
    two_memos.calls[3].data = b"order 7".to_vec();
    two_memos.calls.push(call(MEMO, &[], b"order 8"));
    let two_memos = two_memos.signed();
    let mut payment = paying(&memo);
    payment["accepted"]["extra"]["memo"] = json!("order 7");
    payment["accepted"]["extra"]["recentBlockhash"] = json!("9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM");
    payment["accepted"]["extra"]["lastValidBlockHeight"] = json!("100");
    payment["accepted"]["extra"]["paymentFlow"] = json!("authorization");
    assert!(judged(&payment, &terms_with(&json!({}))).is_ok());
    let lower = payee().to_string().to_ascii_lowercase();
    let table: [(&str, &[u8], &str, Value, Reason); 15] = [
        ("another amount", &memo, "/accepted/amount", json!("9999"), R::PaymentMismatch),
        (
            "another payee",
            &memo,
            "/accepted/payTo",
            json!(stranger().to_string()),
            R::PaymentMismatch,
        ),
        (
            "the payee's token account",
            &memo,
            "/accepted/payTo",
            json!(token(payee(), MINT).to_string()),
            R::PaymentMismatch,
        ),
        (
            "the payee in another case",
            &memo,
            "/accepted/payTo",
            json!(lower),
            R::PaymentMismatch,
        ),
        ("an EVM payee", &memo, "/accepted/payTo", json!(PAYEE), R::PaymentMalformed),
        ("another mint", &memo, "/accepted/asset", json!(MAINNET_USDC), R::PaymentMismatch),
        (
            "another cluster",
            &memo,
            "/accepted/network",
            json!("solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"),
            R::PaymentAssetNotAllowed,
        ),
        (
            "an unknown cluster",
            &memo,
            "/accepted/network",
            json!("solana:devnet"),
            R::PaymentNetworkNotAllowed,
        ),
        (
            "an EVM chain",
            &memo,
            "/accepted/network",
            json!("eip155:84532"),
            R::PaymentNetworkNotAllowed,
        ),
        (
            "the v1 name",
            &memo,
            "/accepted/network",
            json!("solana-devnet"),
            R::PaymentMalformed,
        ),
        ("another memo", &memo, "/accepted/extra/memo", json!("order 8"), R::PaymentMismatch),
        (
            "two memos",
            &two_memos,
            "/accepted/extra/memo",
            json!("order 7"),
            R::PaymentMismatch,
        ),
        ("no fee payer", &memo, "/accepted/extra", json!({}), R::PaymentMismatch),
        (
            "an EVM domain",
            &memo,
            "/accepted/extra",
            json!({ "name": "USDC" }),
            R::PaymentSchemeNotAllowed,
        ),
        (
            "paid before",
            &memo,
            "/accepted/extra/paymentFlow",
            json!("upfront"),
            R::PaymentSchemeNotAllowed,
        ),
    ];
    for (name, transaction, pointer, value, reason) in table {
        let mut bent = payment.clone();
        bent["payload"]["transaction"] = json!(STANDARD.encode(transaction));
        *bent.pointer_mut(pointer).unwrap() = value;
        let refusal = judged(&bent, &terms_with(&json!({})))
            .err()
            .unwrap_or_else(|| panic!("{name} passes"));
        assert_eq!(refusal.reason, reason, "{name}: {refusal}");
    }
}

#[test]
fn a_payment_for_an_evm_chain_cannot_ride_in_a_memo() {
    let account = Account::new(7);
    let stowaway = permit2(&account, "exact", &authorization(&account, EXACT_PROXY, "1"));
    let text = format!("permit2Authorization {}", text(&stowaway, "/payload/signature"));
    let mut memo = draft();
    memo.calls[3].data = text.as_bytes().to_vec();
    let mut assertion = draft();
    assertion.calls.push(call(LIGHTHOUSE, &[], &[&[9], text.as_bytes()].concat()));
    for (name, draft) in [("memo", memo), ("assertion", assertion)] {
        let refusal = judged(&paying(&draft.signed()), &terms_with(&json!({})))
            .err()
            .unwrap_or_else(|| panic!("{name} passes"));
        assert_eq!(refusal.reason, Reason::PaymentConflicting, "{name}: {refusal}");
    }
}

#[test]
fn the_operators_lists_limits_and_pins_hold_on_solana() {
    let pin = |pay_to: &SolanaAddress, amount: &str| json!({ "pins": [{ "method": "GET", "url": URL, "payTo": pay_to.to_string(), "amount": amount }] });
    let payment = paying(&draft().signed());
    for (config, expected) in [
        (json!({}), None),
        (json!({ "networks": [DEVNET] }), None),
        (
            json!({ "networks": ["solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp"] }),
            Some(Reason::PaymentNetworkNotAllowed),
        ),
        (json!({ "assets": [format!("{DEVNET}/{MINT}")] }), None),
        (json!({ "payees": [payee().to_string()] }), None),
        (json!({ "payees": [stranger().to_string()] }), Some(Reason::PaymentPayeeNotAllowed)),
        (json!({ "payees": [PAYEE] }), Some(Reason::PaymentPayeeNotAllowed)),
        (json!({ "payers": [payer().address().to_string()] }), None),
        (json!({ "payers": [stranger().to_string()] }), Some(Reason::PaymentPayerNotAllowed)),
        (json!({ "max_amount": "0.01" }), None),
        (json!({ "max_amount": "0.009999" }), Some(Reason::PaymentOverLimit)),
        (json!({ "max_timeout": "110s" }), None),
        (json!({ "max_timeout": "60s" }), Some(Reason::PaymentExpired)),
        (pin(&payee(), "0.01"), None),
        (pin(&stranger(), "0.01"), Some(Reason::PaymentPayeeNotAllowed)),
        (pin(&payee(), "0.02"), Some(Reason::PaymentMismatch)),
    ] {
        let outcome = judged(&payment, &terms_with(&config.clone()));
        assert_eq!(outcome.err().map(|refusal| refusal.reason), expected, "{config}");
    }
    for terms in [default_terms(), terms(json!({ "schemes": ["exact", "exact-permit2", "upto"] }))] {
        let refusal = judged(&payment, &terms).unwrap_err();
        assert_eq!(refusal.reason, Reason::PaymentSchemeNotAllowed);
        assert_eq!(refusal.summary.scheme.map(SchemeName::as_str), Some("exact-svm"));
    }
    let mut upto = payment;
    upto["accepted"]["scheme"] = json!("upto");
    let all = terms(json!({ "schemes": ["exact", "exact-permit2", "upto", "exact-svm"] }));
    assert_eq!(
        judged(&upto, &all).unwrap_err().reason,
        Reason::PaymentSchemeNotAllowed,
        "upto on Solana"
    );
}

#[test]
fn a_transaction_is_one_payment_whatever_signature_it_has() {
    let terms = terms_with(&json!({}));
    let first = judged(&paying(&draft().signed()), &terms).unwrap();
    let again = judged(&paying(&draft().signed()), &terms).unwrap();
    assert_eq!(first.nonce_hash, again.nonce_hash);
    let mut other = draft();
    other.calls[3].data = b"another memo".to_vec();
    let other = judged(&paying(&other.signed()), &terms).unwrap();
    assert_ne!(first.nonce_hash, other.nonce_hash);
}

#[test]
fn whom_a_v1_transaction_pays_is_what_its_402_said() {
    let terms = terms_with(&json!({}));
    let parts = Parts::new("GET", UrlScheme::Https, "shop.test", "/paid");
    let request = parts.request();
    let payment = |draft: &Draft| {
        let document = json!({
            "x402Version": 1, "scheme": "exact", "network": "solana-devnet", "payload": { "transaction": STANDARD.encode(draft.signed()) },
        });
        let mut headers = HeaderMap::new();
        headers.insert("x-payment", HeaderValue::from_str(&encode(&document)).unwrap());
        headers
    };
    let challenge = |pay_to: &SolanaAddress, fee_payer: &SolanaAddress| {
        let document = json!({ "x402Version": 1, "error": "", "accepts": [{
            "scheme": "exact", "network": "solana-devnet", "maxAmountRequired": "10000", "resource": URL, "description": "", "mimeType": "",
            "payTo": pay_to.to_string(), "maxTimeoutSeconds": 60, "asset": MINT, "extra": { "feePayer": fee_payer.to_string() },
        }]});
        let challenge = Challenge::from_body(document.to_string().as_bytes()).unwrap();
        challenge.asked().cloned().collect::<Vec<_>>()
    };
    let judged = |challenges: &ChallengeMemory| {
        let headers = payment(&draft());
        judge_answer(find(&headers), &request, &terms, challenges, NOW).map(Option::unwrap)
    };
    let challenges = ChallengeMemory::default();
    assert_eq!(judged(&challenges).unwrap_err().reason, Reason::PaymentNoChallenge);
    let headers = payment(&draft());
    let unremembered = judge_header(find(&headers), &request, &terms, NOW).unwrap_err();
    assert_eq!(unremembered.reason, Reason::PaymentNoChallenge);
    challenges.remember(request.hash(), Version::V1, challenge(&stranger(), &sponsor()), NOW);
    challenges.remember(request.hash(), Version::V1, challenge(&payee(), &stranger()), NOW);
    challenges.remember(request.hash(), Version::V2, challenge(&payee(), &sponsor()), NOW);
    assert_eq!(judged(&challenges).unwrap_err().reason, Reason::PaymentMismatch);
    challenges.remember(request.hash(), Version::V1, challenge(&payee(), &sponsor()), NOW);
    let claim = judged(&challenges).unwrap();
    assert_eq!((claim.payee, claim.version), (payee().into(), Version::V1));
    assert!(challenges.answer(&claim, &request, &terms, NOW).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    // Every byte of a transaction but the fee payer's signature is signed.
    #[test]
    fn a_mutated_transaction_is_refused(at in 0usize..700, flip in 1u8..) {
        let mut bytes = draft().signed();
        let at = at % bytes.len();
        bytes[at] ^= flip;
        let outcome = judged(&paying(&bytes), &terms_with(&json!({})));
        prop_assert!(outcome.is_err());
    }
}
