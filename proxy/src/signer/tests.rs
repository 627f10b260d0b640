#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::audit::SignatureOutcome::{Invalid, Refused, Unavailable};
use crate::egress::Resolver;
use crate::egress::fetch::scripted::{ScriptedServer, Step};
use crate::settings::PrivateFileError;
use crate::verdict::sample;
use crate::x402::claim::IdentifierHash;
use crate::x402::eip712::{SigningDomains, TransferWithAuthorization};

/// A key that everybody knows: 31 zeros and a one.
const KEY: &str = "0x0000000000000000000000000000000000000000000000000000000000000001";
const WALLET: &str = "0x7e5f4552091a69125d5dfcb7b8c2659029395bdf";
const OTHERS_KEY: &str = "0000000000000000000000000000000000000000000000000000000000000002";
const NOW: u64 = 1_900_000_000;

fn wallet() -> EvmAddress {
    EvmAddress::parse(WALLET).unwrap()
}

pub(crate) fn order() -> Order {
    let mut claim = sample::claim();
    let transfer = TransferWithAuthorization {
        from: wallet(),
        to: claim.payee.evm().unwrap(),
        value: claim.amount.0,
        valid_after: ruint::aliases::U256::ZERO,
        valid_before: ruint::aliases::U256::from(claim.valid_before),
        nonce: [7; 32],
    };
    let domain = SigningDomains::of(&claim.asset).token.unwrap();
    claim.unsigned = Some(Unsigned::new(&transfer, wallet(), &domain));
    Order::of(&claim).unwrap()
}

fn fetcher() -> Fetcher {
    Fetcher::new(Arc::default(), Arc::new(Resolver::new(HashMap::new(), Duration::from_secs(2))))
}

fn open(section: Value, environment: &[(&str, &str)]) -> Result<Signer, SignerError> {
    let config: SignerConfig = serde_json::from_value(section).unwrap();
    let lookup = |name: &str| {
        environment
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| (*value).into())
    };
    Signer::open(&config, &fetcher(), lookup)
}

fn with_key(environment: &[(&str, &str)]) -> Result<Signer, SignerError> {
    open(json!({ "wallet": WALLET, "key_env": "PAYER_KEY" }), environment)
}

fn with_file(path: &Path) -> Result<Signer, SignerError> {
    open(json!({ "wallet": WALLET, "key_file": path }), &[])
}

#[tokio::test]
async fn a_local_key_signs_what_is_ordered_and_the_same_again() {
    let signer = with_key(&[("PAYER_KEY", KEY)]).unwrap();
    let first = signer.sign(&order(), NOW).await.unwrap();
    assert_eq!(first.recover(&order().unsigned.digest), Some(wallet()));
    let again = signer.sign_again(&order(), NOW).unwrap();
    assert_eq!(first.spelled(), again.spelled(), "a resend has to be the same bytes");
    assert_eq!(signer.count(SignatureOutcome::Signed), 1, "and is no second signature");
    // Also after a restart.
    let restarted = with_key(&[("PAYER_KEY", KEY)]).unwrap();
    assert_eq!(restarted.sign_again(&order(), NOW).unwrap().spelled(), first.spelled());
    let late = restarted.sign_again(&order(), order().valid_before);
    assert_eq!(late.unwrap_err(), SigningError::Expired);
    assert_eq!(restarted.count(SignatureOutcome::Signed), 0);
}

#[tokio::test]
async fn a_service_is_asked_once_for_a_payment_that_is_sent_twice() {
    let named = Order {
        identifier: Some(IdentifierHash([1; 32])),
        ..order()
    };
    let body = json!({ "signature": good().await }).to_string();
    for (order, repeated) in [(named, true), (order(), false)] {
        let server = ScriptedServer::plain(answer("200 OK", &body)).await;
        let signer = remote(&server);
        assert_eq!(
            signer.sign_again(&order, NOW).unwrap_err(),
            SigningError::NotKept,
            "nothing was signed yet"
        );
        let first = signer.sign(&order, NOW).await.unwrap();
        let again = signer.sign_again(&order, NOW);
        match again {
            Ok(again) => assert_eq!(again.spelled(), first.spelled()),
            Err(error) => assert_eq!(error, SigningError::NotKept),
        }
        assert_eq!(again.is_ok(), repeated, "kept only where it may have to go out again");
        assert_eq!((server.requests().len(), signer.count(SignatureOutcome::Signed)), (1, 1));
        let failed = if repeated { 1 } else { 2 };
        assert_eq!(signer.count(Unavailable), failed);
    }
}

#[tokio::test]
async fn a_service_that_has_all_it_may_have_is_asked_no_more() {
    let server = ScriptedServer::plain(vec![Step::Linger]).await;
    let url = format!("http://{}/", server.address);
    let section = json!({ "wallet": WALLET, "remote": { "url": url, "timeout": "2s", "max_in_flight": 1, "queue": 1 } });
    let signer = open(section, &[]).unwrap();
    let order = order();
    let timed = async || {
        let started = std::time::Instant::now();
        let error = signer.sign(&order, NOW).await.unwrap_err();
        (error, started.elapsed())
    };
    let (first, second, third) = tokio::join!(timed(), timed(), timed());
    assert_eq!(third.0, SigningError::Busy);
    assert!(third.1 < Duration::from_millis(1_500), "at once, and not after {:?}", third.1);
    for (error, took) in [first, second] {
        assert_eq!(error, SigningError::Unreachable(FetchError::Timeout));
        assert!(took < Duration::from_millis(3_800), "{took:?}: waiting counts");
    }
    assert_eq!(signer.count(Unavailable), 3);
    // Whoever waits may get the turn in the very moment of its own deadline; whoever was turned away never asks.
    assert!(server.requests().len() <= 2, "{} were asked", server.requests().len());
}

#[tokio::test]
async fn nothing_is_signed_that_has_expired() {
    let signer = with_key(&[("PAYER_KEY", KEY)]).unwrap();
    let order = order();
    let late = signer.sign(&order, order.valid_before).await;
    assert_eq!(late.unwrap_err(), SigningError::Expired);
    assert_eq!(
        (signer.count(SignatureOutcome::Signed), signer.count(SignatureOutcome::Refused)),
        (0, 1)
    );
}

#[test]
fn a_key_is_taken_from_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("payer.key");
    fs::write(&path, format!("{KEY}\n")).unwrap();
    for (mode, fine) in [
        (0o600, true),
        (0o400, true),
        (0o644, false),
        (0o640, false),
        (0o604, false),
        (0o602, false),
    ] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let opened = with_file(&path);
        assert_eq!(opened.is_ok(), fine, "{mode:o}");
        if let Err(error) = opened {
            assert!(
                matches!(error, SignerError::Key(KeyError::File(PrivateFileError::Exposed { .. }))),
                "{mode:o}: {error}"
            );
            assert!(error.to_string().contains("chmod 600"), "{error}");
        }
    }
    assert!(matches!(
        with_file(folder.path()),
        Err(SignerError::Key(KeyError::File(PrivateFileError::NoFile(_))))
    ));
    let missing = with_file(&folder.path().join("nothing"));
    assert!(matches!(
        missing,
        Err(SignerError::Key(KeyError::File(PrivateFileError::Unreadable { .. })))
    ));
}

#[test]
fn what_is_no_key_of_the_wallet_is_refused_and_never_repeated() {
    let short = &KEY[..40];
    let beyond = "f".repeat(64);
    for (value, expected) in [
        ("", "not 64 hex digits"),
        (short, "not 64 hex digits"),
        ("secret words of a wallet", "not 64 hex digits"),
        (beyond.as_str(), "not 64 hex digits"),
        (OTHERS_KEY, "0x2b5ad5c4795c026514f8317c7a215e218dccd6cf"),
    ] {
        let error = with_key(&[("PAYER_KEY", value)]).unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(shown.contains(expected), "{shown}");
        assert!(value.is_empty() || !shown.contains(value), "{shown}");
    }
    assert!(matches!(with_key(&[]), Err(SignerError::Key(KeyError::NotSet(_)))));
}

#[test]
fn a_signer_shows_no_key() {
    let signer = with_key(&[("PAYER_KEY", OTHERS_KEY)]).map_err(|error| error.to_string());
    assert!(signer.is_err());
    let shown = format!("{:?}", with_key(&[("PAYER_KEY", KEY)]).unwrap());
    assert!(shown.contains("LocalKey(hidden)"), "{shown}");
    assert!(!shown.contains(&KEY[2..]), "{shown}");
}

fn answer(status: &str, body: &str) -> Vec<Step> {
    vec![Step::send(format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    ))]
}

fn remote(server: &ScriptedServer) -> Signer {
    let url = format!("http://{}/wallets/", server.address);
    let section = json!({ "wallet": WALLET, "remote": { "url": url, "token_env": "TOKEN", "timeout": "500ms" } });
    open(section, &[("TOKEN", "tok-1f2e")]).unwrap()
}

async fn good() -> String {
    let local = with_key(&[("PAYER_KEY", KEY)]).unwrap();
    local.sign(&order(), NOW).await.unwrap().spelled().to_string()
}

#[tokio::test]
async fn a_service_is_told_all_that_is_signed() {
    let body = json!({ "signature": good().await, "id": 7 }).to_string();
    let server = ScriptedServer::plain(answer("200 OK", &body)).await;
    let signer = remote(&server);
    let signature = signer.sign(&order(), NOW).await.unwrap();
    assert_eq!(signature.recover(&order().unsigned.digest), Some(wallet()));
    let request = server.requests().pop().unwrap();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /wallets/v1/sign-transfer HTTP/1.1\r\n"), "{head}");
    assert!(head.to_ascii_lowercase().contains("authorization: bearer tok-1f2e"), "{head}");
    let asked: Value = serde_json::from_str(body).unwrap();
    assert_eq!(
        asked,
        json!({
            "primaryType": "TransferWithAuthorization",
            "domain": { "name": "USD Coin", "version": "2", "chainId": 8453, "verifyingContract": "0x833589fcd6edb6e08f4c7c32d4f71b54bda02913" },
            "message": {
                "from": WALLET, "to": format!("0x{}", sample::WARM), "value": "14000", "validAfter": "0", "validBefore": "2000000000",
                "nonce": format!("0x{}", "07".repeat(32)),
            },
            "digest": format!("0x{}", hex::encode(order().unsigned.digest)),
            "resource": "https://api.example.com/v1/data",
        })
    );
    assert!(!format!("{signer:?}").contains("tok-1f2e"));
}

#[tokio::test]
async fn everything_else_than_the_wallets_signature_refuses_the_payment() {
    let good = good().await;
    let others = {
        let section = json!({ "wallet": "0x2b5ad5c4795c026514f8317c7a215e218dccd6cf", "key_env": "K" });
        let mut order = order();
        order.unsigned.transfer.from = EvmAddress::parse("0x2b5ad5c4795c026514f8317c7a215e218dccd6cf").unwrap();
        let signer = open(section, &[("K", OTHERS_KEY)]).unwrap();
        signer.sign(&order, NOW).await.unwrap().spelled().to_string()
    };
    let ok = |body: &str| answer("200 OK", body);
    let signed = |text: &str| ok(&json!({ "signature": text }).to_string());
    let table = [
        ("another wallet's", signed(&others), Invalid),
        ("no signature", ok("{}"), Invalid),
        ("not JSON", ok("<html>"), Invalid),
        (
            "a member twice",
            ok(&format!("{{\"signature\":\"{good}\",\"signature\":\"{good}\"}}")),
            Invalid,
        ),
        ("cut short", signed(&good[..100]), Invalid),
        ("too large", ok(&"x".repeat(20 << 10)), Invalid),
        ("refused", answer("403 Forbidden", "{}"), Refused),
        ("wants money", answer("402 Payment Required", "{}"), Refused),
        ("slow down", answer("429 Too Many Requests", "{}"), Unavailable),
        (
            "broken",
            answer("500 Internal Server Error", &json!({ "signature": good }).to_string()),
            Unavailable,
        ),
        ("elsewhere", answer("307 Temporary Redirect", ""), Unavailable),
        ("silent", vec![Step::Linger], Unavailable),
        ("gone", vec![Step::Cut], Unavailable),
        (
            "late",
            vec![Step::Pause(Duration::from_secs(2)), signed(&good)[0].clone()],
            Unavailable,
        ),
    ];
    for (name, script, outcome) in table {
        let server = ScriptedServer::plain(script).await;
        let wallets = remote(&server);
        let error = wallets.sign(&order(), NOW).await.unwrap_err();
        assert_eq!(error.outcome(), outcome, "{name}: {error}");
        assert_eq!((wallets.count(outcome), wallets.count(SignatureOutcome::Signed)), (1, 0), "{name}");
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains(&good[2..40]) && !shown.contains("tok-"), "{name}: {shown}");
    }
}

#[test]
fn a_token_that_is_missing_or_no_header_value_keeps_it_from_starting() {
    let section = json!({ "wallet": WALLET, "remote": { "url": "https://signer.example.com", "token_env": "TOKEN" } });
    for environment in [&[][..], &[("TOKEN", "")][..], &[("TOKEN", "a\nb")][..]] {
        assert!(
            matches!(open(section.clone(), environment), Err(SignerError::Token(_))),
            "{environment:?}"
        );
    }
    assert!(open(section, &[("TOKEN", "t")]).is_ok());
}
