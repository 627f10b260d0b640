#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::super::challenges::ChallengeMemory;
use super::super::judge::{judge_answer, judge_header, judge_offer};
use super::super::terms::Terms;
use super::super::vectors::{Parts, load, paying_request, text};
use super::super::{UrlScheme, validate_stanza};
use crate::x402::base64;
use crate::x402::challenge::Asked;
use crate::x402::claim::{AtomicAmount, Claim, EvmAddress, Version};
use crate::x402::detect::find;
use crate::x402::network::Caip2;
use crate::x402::offer::Extra;
use crate::x402::refusal::PaymentRefusal;
use crate::x402::resource::ResourceUrl;

use super::*;

const WALLET: &str = "0xe36fafa443a2c47660fd4ea5bc635be9f27c8d81";
const OTHER: &str = "0x1111111111111111111111111111111111111111";
const PAYEE: &str = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C";
const USDC: &str = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
const NOW: u64 = 1_796_075_000;

fn terms(agent: &str, more: &Value) -> Terms {
    let mut config = json!({ "signer": { "wallet": WALLET, "agent": agent, "key_env": "KEY" } });
    config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Terms::operator(&serde_json::from_value(config).unwrap()).unwrap()
}

/// The captured payment of an agent without a key.
fn unsigned_payment() -> Value {
    let vector = load("v2-exact-evm-placeholder-host-signed");
    serde_json::from_slice(&base64::decode_canonical(text(&vector["cases"][0], "/in").as_bytes()).unwrap()).unwrap()
}

fn v1(payment: &Value) -> Value {
    json!({ "x402Version": 1, "scheme": "exact", "network": "base-sepolia", "payload": payment["payload"] })
}

fn parts() -> Parts {
    Parts::new("GET", UrlScheme::Http, "127.0.0.1:4241", "/paid")
}

fn header(payment: &Value) -> HeaderMap {
    let name = if payment["x402Version"] == 1 {
        "x-payment"
    } else {
        "payment-signature"
    };
    let value = HeaderValue::from_str(&base64::encode(payment.to_string().as_bytes())).unwrap();
    HeaderMap::from_iter([(HeaderName::from_static(name), value)])
}

fn judge(payment: &Value, terms: &Terms) -> Result<Claim, PaymentRefusal> {
    judge_header(find(&header(payment)), &parts().request(), terms, NOW).map(Option::unwrap)
}

fn reason(payment: &Value, terms: &Terms) -> Option<Reason> {
    judge(payment, terms).err().map(|refusal| refusal.reason)
}

fn bent(pointer: &str, value: impl Into<Value>) -> Value {
    let mut payment = unsigned_payment();
    *payment.pointer_mut(pointer).unwrap() = value.into();
    payment
}

#[test]
fn an_unsigned_payment_is_the_wallets_and_names_what_is_to_be_signed() {
    let payment = unsigned_payment();
    let claim = judge(&payment, &terms("placeholder", &json!({}))).unwrap();
    assert_eq!(claim.payer.to_string(), WALLET);
    let transfer = claim.unsigned.unwrap().transfer;
    assert_eq!(transfer.from.to_string(), WALLET);
    assert_eq!(transfer.value.to_string(), "10000");
    assert_eq!(Address::from(transfer.to), claim.payee);
    // Without a signer the same bytes are nothing.
    let without = Terms::operator(&PaymentsConfig::default()).unwrap();
    assert_eq!(reason(&payment, &without), Some(Reason::PaymentMalformed));
}

#[test]
fn what_an_agent_without_a_key_may_not_send() {
    let captured = load("v2-exact-evm-placeholder-host-signed");
    let real = text(&captured["cases"][0], "/out_signature");
    let wide = (NOW + 9_999).to_string();
    let table = [
        (
            "a real signature of the wallet",
            bent("/payload/signature", real),
            Reason::PaymentSignedInSandbox,
        ),
        (
            "somebody's signature for the wallet",
            bent("/payload/signature", format!("0x{}{}1b", "11".repeat(32), "22".repeat(32))),
            Reason::PaymentSignedInSandbox,
        ),
        (
            "another placeholder",
            bent("/payload/signature", format!("0x{}1b", "ff".repeat(64))),
            Reason::PaymentMalformed,
        ),
        (
            "a contract wallet's",
            bent("/payload/signature", format!("0x{}", "6492".repeat(50))),
            Reason::PaymentSchemeNotAllowed,
        ),
        (
            "another payer",
            bent("/payload/authorization/from", OTHER),
            Reason::PaymentPayerNotAllowed,
        ),
        (
            "a window that is too wide",
            bent("/payload/authorization/validBefore", wide),
            Reason::PaymentExpired,
        ),
        (
            "one that is over",
            bent("/payload/authorization/validBefore", "1796074000"),
            Reason::PaymentExpired,
        ),
        (
            "another payee than offered",
            bent("/payload/authorization/to", OTHER),
            Reason::PaymentMismatch,
        ),
        (
            "another value than offered",
            bent("/payload/authorization/value", "10001"),
            Reason::PaymentMismatch,
        ),
        (
            "a foreign domain",
            bent("/accepted/extra/name", "Fools Gold"),
            Reason::PaymentMismatch,
        ),
        ("an unknown asset", bent("/accepted/asset", OTHER), Reason::PaymentAssetNotAllowed),
    ];
    let terms = terms("placeholder", &json!({}));
    for (name, payment, expected) in table {
        assert_eq!(reason(&payment, &terms), Some(expected), "{name}");
    }
}

#[test]
fn other_schemes_are_refused_even_where_a_stanza_lists_them() {
    let operator: PaymentsConfig = serde_json::from_value(json!({ "signer": { "wallet": WALLET, "key_env": "KEY" } })).unwrap();
    let stanza = validate_stanza(&json!({ "schemes": ["exact", "exact-permit2", "upto", "exact-svm"] })).unwrap();
    let terms = Terms::narrowed(&operator, &stanza).unwrap();
    for name in ["v2-exact-evm-permit2-js", "v2-upto-evm-permit2-py", "v2-exact-svm-py"] {
        let (parts, headers, _) = paying_request(&load(name));
        let outcome = judge_header(find(&headers), &parts.request(), &terms, NOW);
        assert_eq!(outcome.unwrap_err().reason, Reason::PaymentSchemeNotAllowed, "{name}");
    }
}

#[test]
fn a_throwaway_key_signs_for_itself_and_the_wallet_pays() {
    let terms = terms("throwaway-key", &json!({}));
    for name in ["v2-exact-evm-eip3009-js-fetch", "v1-exact-evm-eip3009-py-requests"] {
        let vector = load(name);
        let now = text(&vector, "/expected_claim/valid_before").parse::<u64>().unwrap() - 60;
        let (parts, headers, _) = paying_request(&vector);
        let claim = judge_header(find(&headers), &parts.request(), &terms, now).unwrap().unwrap();
        assert_eq!(claim.payer.to_string(), WALLET, "{name}");
        assert_eq!(claim.unsigned.unwrap().transfer.from.to_string(), WALLET, "{name}");
        // Its own payer, as it is without a signer, is remembered under another key: the nonce is the wallet's now.
        let alone = judge_header(
            find(&headers),
            &parts.request(),
            &Terms::operator(&PaymentsConfig::default()).unwrap(),
            now,
        );
        assert_ne!(alone.unwrap().unwrap().nonce_hash, claim.nonce_hash, "{name}");
    }
    let unproved = format!("0x{}{}1b", "11".repeat(32), "22".repeat(32));
    let mut table = vec![
        (
            "the placeholder of the other mode",
            bent("/payload/authorization/from", OTHER),
            Reason::PaymentMalformed,
        ),
        (
            "the wallet as payer",
            bent("/payload/signature", unproved.clone()),
            Reason::PaymentSignedInSandbox,
        ),
    ];
    let mut other = bent("/payload/authorization/from", OTHER);
    other["payload"]["signature"] = unproved.into();
    table.push(("a signature that is not the payer's", other, Reason::PaymentMismatch));
    for (name, payment, expected) in table {
        assert_eq!(reason(&payment, &terms), Some(expected), "{name}");
    }
}

#[test]
fn two_throwaway_keys_cannot_use_one_nonce_twice() {
    // The key under which it is remembered is the wallet's, whoever has signed.
    let payment = unsigned_payment();
    let claim = judge(&payment, &terms("placeholder", &json!({}))).unwrap();
    let by_wallet = crate::x402::single_use::SingleUse::PerToken(claim.unsigned.unwrap().transfer.nonce);
    assert_eq!(claim.nonce_hash, by_wallet.key(&claim.asset, claim.payer));
}

#[test]
fn an_unsigned_v1_payment_moves_what_the_402_asks_for_or_the_only_asset() {
    let payment = v1(&unsigned_payment());
    let one = terms(
        "placeholder",
        &json!({ "assets": [format!("eip155:84532/{USDC}")], "networks": ["eip155:84532"] }),
    );
    assert_eq!(judge(&payment, &one).unwrap().asset.address.to_string(), USDC.to_ascii_lowercase());
    let second = json!({
        "networks": ["eip155:84532"],
        "assets": [format!("eip155:84532/{USDC}"), format!("eip155:84532/{OTHER}")],
        "asset_definitions": [{ "network": "eip155:84532", "address": OTHER, "decimals": 6, "name": "Other", "version": "1" }],
    });
    let two = terms("placeholder", &second);
    assert_eq!(reason(&payment, &two), Some(Reason::PaymentNoChallenge));
    for (asked_for, expected) in [
        (USDC, Ok(USDC.to_ascii_lowercase())),
        (OTHER, Ok(OTHER.to_owned())),
        (PAYEE, Err(Reason::PaymentAssetNotAllowed)),
    ] {
        let memory = ChallengeMemory::default();
        let offer = Asked {
            scheme: Scheme::Exact,
            network: Caip2::Eip155 { chain_id: 84532 },
            asset: EvmAddress::parse(asked_for).unwrap().into(),
            amount: AtomicAmount::parse("10000").unwrap(),
            pay_to: EvmAddress::parse(PAYEE).unwrap().into(),
            max_timeout: 300,
            resource: ResourceUrl::parse("http://127.0.0.1:4241/paid").unwrap(),
            extra: Extra::default(),
            identifier: None,
        };
        memory.remember(parts().request().hash(), Version::V1, vec![offer], NOW);
        let judged = judge_answer(find(&header(&payment)), &parts().request(), &two, &memory, NOW);
        let found = judged
            .map(|claim| claim.unwrap().asset.address.to_string())
            .map_err(|refusal| refusal.reason);
        assert_eq!(found, expected, "{asked_for}");
    }
}

#[test]
fn an_offer_that_could_not_be_signed_here_is_not_passed_on() {
    let terms = terms("placeholder", &json!({}));
    let offer = |scheme| Asked {
        scheme,
        network: Caip2::Eip155 { chain_id: 84532 },
        asset: EvmAddress::parse(USDC).unwrap().into(),
        amount: AtomicAmount::parse("10000").unwrap(),
        pay_to: EvmAddress::parse(PAYEE).unwrap().into(),
        max_timeout: 60,
        resource: ResourceUrl::parse("http://127.0.0.1:4241/paid").unwrap(),
        extra: Extra::default(),
        identifier: None,
    };
    let judged = |scheme| {
        judge_offer(&offer(scheme), &parts().request(), &terms)
            .map(|_| ())
            .map_err(|refusal| refusal.reason)
    };
    assert_eq!(judged(Scheme::Exact), Ok(()));
    for scheme in [Scheme::ExactPermit2, Scheme::Upto, Scheme::ExactSvm] {
        assert_eq!(judged(scheme), Err(Reason::PaymentSchemeNotAllowed), "{scheme}");
    }
}

#[test]
fn a_policy_cannot_name_a_signer() {
    let errors = validate_stanza(&json!({ "signer": { "wallet": WALLET, "key_env": "KEY" } })).unwrap_err();
    assert_eq!(
        errors,
        [("/signer".to_owned(), "only the operator's tollgate.yaml can say this".to_owned())]
    );
}

#[test]
fn what_cannot_be_meant_is_an_error_with_its_place() {
    let remote = |url: &str| json!({ "wallet": WALLET, "remote": { "url": url } });
    let table = [
        (json!({ "signer": { "wallet": "0x12", "key_env": "K" } }), "/signer/wallet"),
        (json!({ "signer": { "wallet": WALLET } }), "/signer"),
        (
            json!({ "signer": { "wallet": WALLET, "key_env": "K", "key_file": "k" } }),
            "/signer",
        ),
        (
            json!({ "signer": { "wallet": WALLET, "key_env": "K", "placeholder": "0x00" } }),
            "/signer/placeholder",
        ),
        (
            json!({ "signer": { "wallet": WALLET, "key_env": "K", "agent": "throwaway-key", "placeholder": "0x00" } }),
            "/signer/placeholder",
        ),
        (json!({ "signer": remote("http://signer.example.com") }), "/signer/remote/url"),
        (
            json!({ "signer": { "wallet": WALLET, "remote": { "url": "https://signer.example.com", "timeout": "2m" } } }),
            "/signer/remote/timeout",
        ),
        (
            json!({ "signer": { "wallet": WALLET, "key_env": "K" }, "schemes": ["exact", "upto"] }),
            "/schemes",
        ),
        (
            json!({ "signer": { "wallet": WALLET, "key_env": "K" }, "allow_smart_wallets": true }),
            "/allow_smart_wallets",
        ),
        (
            json!({ "signer": { "wallet": WALLET, "key_env": "K" }, "payers": [OTHER] }),
            "/signer/wallet",
        ),
    ];
    for (config, pointer) in table {
        let errors = Terms::operator(&serde_json::from_value(config.clone()).unwrap()).unwrap_err();
        let places: Vec<&str> = errors.iter().map(|error| error.pointer.as_str()).collect();
        assert_eq!(places, [pointer], "{config}");
    }
    for fine in [
        remote("https://signer.example.com"),
        remote("http://127.0.0.1:9000"),
        json!({ "wallet": WALLET, "key_file": "k" }),
    ] {
        let config = json!({ "signer": fine, "payers": [WALLET], "schemes": ["exact"] });
        assert!(
            Terms::operator(&serde_json::from_value(config.clone()).unwrap()).is_ok(),
            "{config}"
        );
    }
}
