//! The schemes that are off by default: payments over Permit2, with a ceiling, and on Solana.

mod asking;
mod tricks;

use serde_json::{Value, json};
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::payment::permit2::Permit;
use tollgate_tests::payment::solana::{self, DEVNET, Keypair, MINT, Transfer};
use tollgate_tests::payment::{ASSET, NETWORK, Wallet, encode};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::verdict_peer::{Mood, Says, VerdictPeer};
use tollgate_tests::world::World;

use super::url;

const STRANGER: &str = "0x1111111111111111111111111111111111111112";

/// The payments section under test: everything that can be judged is.
fn all() -> Value {
    json!({
        "schemes": ["exact", "exact-permit2", "upto", "exact-svm"], "networks": [NETWORK, DEVNET],
        "assets": [format!("{NETWORK}/{ASSET}"), format!("{DEVNET}/{MINT}")],
    })
}

async fn shop(mood: Mood, payments: Value) -> (World, VerdictPeer) {
    let peer = VerdictPeer::start(mood).await;
    let settings = peer.settings();
    let world = World::start(policy::open, |setup| {
        let payments = json!({ "payments": payments });
        setup.config(tollgate_tests::payment::settings()).config(settings).config(payments)
    })
    .await;
    (world, peer)
}

/// A payment of a scheme, and what the verdict service should be told of it.
struct Paying {
    scheme: &'static str,
    payment: fn(&str) -> Value,
    told: Value,
}

fn each() -> [Paying; 3] {
    let payee = tollgate_tests::payment::PAYEE.to_ascii_lowercase();
    let asset = ASSET.to_ascii_lowercase();
    [
        Paying {
            scheme: "exact-permit2",
            payment: |url| Wallet::default().permit2(url, &Permit::exact()),
            told: json!({ "counterparty": payee, "amount": "0.01", "asset": asset, "chain": "base-sepolia" }),
        },
        Paying {
            scheme: "upto",
            payment: |url| Wallet::default().permit2(url, &Permit::upto()),
            told: json!({ "counterparty": payee, "amount": "0.5", "asset": asset, "chain": "base-sepolia" }),
        },
        Paying {
            scheme: "exact-svm",
            payment: |url| Keypair::default().v2(url, &Transfer::default()),
            told: json!({ "counterparty": solana::PAYEE, "amount": "0.01", "asset": MINT, "chain": DEVNET }),
        },
    ]
}

fn ask(world: &World, via: Via, payment: &Value) -> Ask<'static> {
    Ask::get(world.port(via), "/paid").header("PAYMENT-SIGNATURE", encode(payment))
}

#[tokio::test]
async fn go_delivers_a_payment_of_every_scheme_byte_for_byte() {
    let (world, peer) = shop(Mood::Always(Says::Go), all()).await;
    for Paying { scheme, payment, told } in each() {
        for via in [Via::TlsH1, Via::TlsH2] {
            let before = peer.questions().len();
            let payment = payment(&url(&world, via));
            let answer = world.gate.fetch(via, &ask(&world, via, &payment)).await;
            assert_eq!(answer.reason(), None, "{scheme}: {answer:?}");
            assert_eq!(
                world.tls.last().header("payment-signature"),
                Some(encode(&payment).as_str()),
                "{scheme}"
            );
            let questions = peer.questions().split_off(before);
            assert_eq!(questions.len(), 1, "{scheme}: asked once");
            for (member, value) in told.as_object().unwrap() {
                assert_eq!(questions[0].claim[member], *value, "{scheme} {member}");
            }
            let shown = questions[0].claim.to_string();
            let secret = payment["payload"]["signature"]
                .as_str()
                .or(payment["payload"]["transaction"].as_str())
                .unwrap();
            assert!(!shown.contains(&secret[secret.len() - 80..]), "{scheme}: the signature was told");
        }
        let event = world
            .gate
            .audited(json!({ "decision": "allow", "payment": { "scheme": scheme }, "verdict": { "verdict": "go" } }))
            .await;
        assert!(event["payment"]["nonce_hash"].is_string(), "{event}");
        let counted = world
            .gate
            .metric("tollgate_payments_total", &[("decision", "allow"), ("scheme", scheme)])
            .await;
        assert!((counted - 2.0).abs() < f64::EPSILON, "{scheme}: {counted}");
    }
}

#[tokio::test]
async fn anything_but_go_keeps_a_payment_of_every_scheme_from_the_seller() {
    for (mood, reason) in [
        (Mood::Always(Says::Hold), "verdict_hold"),
        (Mood::Always(Says::Stop), "verdict_stop"),
        (Mood::Dead, "verdict_unavailable"),
    ] {
        let (world, _peer) = shop(mood, all()).await;
        for Paying { scheme, payment, .. } in each() {
            for via in [Via::TlsH1, Via::TlsH2] {
                let payment = payment(&url(&world, via));
                let answer = world.gate.fetch(via, &ask(&world, via, &payment)).await;
                assert_eq!(answer.reason(), Some(reason), "{scheme}");
                answer.assert_denied(403, reason);
            }
        }
        world.assert_untouched();
    }
}

#[tokio::test]
async fn a_scheme_that_is_off_reaches_neither_the_seller_nor_the_service() {
    let mut some = all();
    for (number, Paying { scheme, payment, .. }) in each().into_iter().enumerate() {
        let others: Vec<&str> = each().iter().map(|one| one.scheme).filter(|other| *other != scheme).collect();
        some["schemes"] = json!(others);
        if scheme == "exact-svm" {
            some["networks"] = json!([NETWORK]);
            some["assets"] = json!([format!("{NETWORK}/{ASSET}")]);
        }
        for settings in [json!({}), some.clone()] {
            let (world, peer) = shop(Mood::Always(Says::Go), settings).await;
            for via in [Via::TlsH1, Via::TlsH2] {
                let payment = payment(&url(&world, via));
                let answer = world.gate.fetch(via, &ask(&world, via, &payment)).await;
                assert_eq!(answer.reason(), Some("payment_scheme_not_allowed"), "{number} {scheme}");
                let body = answer.assert_denied(403, "payment_scheme_not_allowed");
                assert_eq!(body["payment"]["scheme"], scheme);
            }
            world.tls.assert_untouched();
            assert!(peer.questions().is_empty(), "{scheme}");
        }
    }
}

#[tokio::test]
async fn nothing_is_paid_twice_by_any_scheme() {
    let (world, peer) = shop(Mood::Always(Says::Go), all()).await;
    for (number, Paying { scheme, payment, .. }) in each().into_iter().enumerate() {
        let ask = ask(&world, Via::TlsH1, &payment(&url(&world, Via::TlsH1)));
        world.gate.fetch(Via::TlsH1, &ask).await.assert_allowed();
        for via in [Via::TlsH1, Via::TlsH2] {
            let again = world.gate.fetch(via, &ask).await;
            assert_eq!(again.reason(), Some("payment_replayed"), "{scheme}");
        }
        assert_eq!(
            (world.tls.requests().len(), peer.questions().len()),
            (number + 1, number + 1),
            "{scheme}"
        );
    }
    // Permit2 counts for a payer's payments of both schemes.
    let wallet = Wallet::default();
    let url = url(&world, Via::TlsH1);
    let exact = wallet.permit2(
        &url,
        &Permit {
            nonce: "7".into(),
            ..Permit::exact()
        },
    );
    let upto = wallet.permit2(
        &url,
        &Permit {
            nonce: "7".into(),
            ..Permit::upto()
        },
    );
    world
        .gate
        .fetch(Via::TlsH1, &ask(&world, Via::TlsH1, &exact))
        .await
        .assert_allowed();
    let second = world.gate.fetch(Via::TlsH1, &ask(&world, Via::TlsH1, &upto)).await;
    second.assert_denied(403, "payment_replayed");
}

#[tokio::test]
async fn a_wallet_sign_in_leaves_only_where_it_is_switched_on_and_to_its_own_site() {
    let sign_in = |domain: &str, port: u16| {
        encode(&json!({
            "domain": format!("{domain}:{port}"), "address": STRANGER, "uri": format!("https://{domain}:{port}/paid"), "version": "1",
            "chainId": "eip155:84532", "type": "eip191", "nonce": "0123456789abcdef", "issuedAt": "2026-11-30T21:21:09Z",
            "signature": format!("0x{}1b", "11".repeat(64)),
        }))
    };
    for (extensions, domain, reason) in [
        (json!([]), HOST, Some("payment_scheme_not_allowed")),
        (json!(["sign-in-with-x"]), "bank.example.test", Some("payment_mismatch")),
        (json!(["sign-in-with-x"]), HOST, None),
    ] {
        let mut payments = all();
        payments["allow_extensions"] = extensions;
        let (world, peer) = shop(Mood::Dead, payments).await;
        let value = sign_in(domain, world.tls.port());
        let ask = Ask::get(world.tls.port(), "/paid").header("SIGN-IN-WITH-X", value.clone());
        let answer = world.gate.fetch(Via::TlsH1, &ask).await;
        assert_eq!(answer.reason(), reason, "{domain}");
        match reason {
            None => assert_eq!(world.tls.last().header("sign-in-with-x"), Some(value.as_str())),
            Some(_) => world.tls.assert_untouched(),
        }
        assert!(peer.questions().is_empty(), "no payment");
    }
}

#[tokio::test]
async fn a_scheme_that_nobody_knows_stops_the_start_with_a_hint() {
    for (payments, told) in [
        (json!({ "schemes": ["exact", "up-to"] }), "exact-permit2"),
        (json!({ "schemes": ["batch-settlement"] }), "cannot be judged"),
        (json!({ "networks": [DEVNET], "assets": null }), "`schemes` lists `exact-svm`"),
        (json!({ "allow_extensions": ["bazaar"] }), "sign-in-with-x"),
    ] {
        let setup = tollgate_tests::tollgate::Setup::new(policy::open(&[1]));
        let setup = setup
            .config(tollgate_tests::payment::settings())
            .config(json!({ "payments": payments }));
        let why = setup.try_start().err().unwrap_or_default();
        assert!(why.contains(told) && why.contains("tollgate.yaml:"), "{payments}: {why}");
    }
}
