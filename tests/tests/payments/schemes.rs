//! The schemes that are off by default: payments over Permit2, with a ceiling, and on Solana.

use serde_json::{Value, json};
use tollgate_tests::authority::Alpn;
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::origin::{Reply, Seen};
use tollgate_tests::payment::permit2::Permit;
use tollgate_tests::payment::solana::{self, DEVNET, Keypair, MINT, Transfer};
use tollgate_tests::payment::{ASSET, NETWORK, Terms, Wallet, encode};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::verdict_peer::{Mood, Says, VerdictPeer};
use tollgate_tests::world::World;

use super::seller::Shop;
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

type Trick = (&'static str, fn(&str) -> Value, &'static str);

fn tricks() -> Vec<Trick> {
    vec![
        (
            "another payee in the witness",
            |url| bent(url, Permit::exact(), |p| p.to = STRANGER.into()),
            "payment_mismatch",
        ),
        (
            "more than was offered",
            |url| bent(url, Permit::exact(), |p| p.amount = "10001".into()),
            "payment_mismatch",
        ),
        (
            "another spender",
            |url| bent(url, Permit::exact(), |p| p.spender = STRANGER.into()),
            "payment_scheme_not_allowed",
        ),
        (
            "another facilitator",
            |url| bent(url, Permit::upto(), |p| p.facilitator = Some(STRANGER.into())),
            "payment_mismatch",
        ),
        (
            "another token",
            |url| bent(url, Permit::upto(), |p| p.token = STRANGER.into()),
            "payment_mismatch",
        ),
        (
            "an expired permit",
            |url| bent(url, Permit::exact(), |p| p.deadline = 1),
            "payment_expired",
        ),
        (
            "a permit for a day",
            |url| bent(url, Permit::upto(), |p| p.deadline += 86_400),
            "payment_expired",
        ),
        (
            "a ceiling over the limit",
            |url| {
                let permit = Permit {
                    amount: "1000001".into(),
                    ..Permit::upto()
                };
                Wallet::default().permit2(url, &permit)
            },
            "payment_over_limit",
        ),
        (
            "a foreign signature",
            |url| {
                let mut payment = Wallet::default().permit2(url, &Permit::exact());
                payment["payload"]["permit2Authorization"]["from"] = json!(STRANGER);
                payment
            },
            "payment_mismatch",
        ),
        (
            "another wallet's token account",
            |url| {
                let signed = Transfer {
                    to: Keypair::default().address,
                    ..Transfer::default()
                };
                offered(url, &signed, &Transfer::default())
            },
            "payment_mismatch",
        ),
        (
            "another mint",
            |url| {
                let signed = Transfer {
                    mint: "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v".into(),
                    ..Transfer::default()
                };
                offered(url, &signed, &Transfer::default())
            },
            "payment_mismatch",
        ),
        (
            "more tokens than offered",
            |url| {
                let signed = Transfer {
                    amount: 10_001,
                    ..Transfer::default()
                };
                offered(url, &signed, &Transfer::default())
            },
            "payment_mismatch",
        ),
        (
            "more tokens than the limit",
            |url| {
                Keypair::default().v2(
                    url,
                    &Transfer {
                        amount: 1_000_001,
                        ..Transfer::default()
                    },
                )
            },
            "payment_over_limit",
        ),
        (
            "two transfers",
            |url| Keypair::default().v2(url, &Transfer::twice()),
            "payment_scheme_not_allowed",
        ),
        (
            "a program of the agent's own",
            |url| {
                let mut transfer = Transfer::default();
                transfer.more.push((Keypair::default().address, vec![1], vec![1]));
                Keypair::default().v2(url, &transfer)
            },
            "payment_scheme_not_allowed",
        ),
        (
            "another payer's signature",
            |url| {
                let mut payment = Keypair::default().v2(url, &Transfer::default());
                payment["payload"]["transaction"] = json!(resigned(payment["payload"]["transaction"].as_str().unwrap()));
                payment
            },
            "payment_mismatch",
        ),
        (
            "trailing bytes",
            |url| {
                let mut payment = Keypair::default().v2(url, &Transfer::default());
                payment["payload"]["transaction"] =
                    json!(with_bytes(payment["payload"]["transaction"].as_str().unwrap(), |bytes| bytes.push(0)));
                payment
            },
            "payment_malformed",
        ),
        (
            "another fee payer",
            |url| {
                let mut payment = Keypair::default().v2(url, &Transfer::default());
                payment["accepted"]["extra"]["feePayer"] = json!(solana::PAYEE);
                payment
            },
            "payment_mismatch",
        ),
    ]
}

/// A permit that is not what is offered, signed all the same.
fn bent(url: &str, offered: Permit, bend: fn(&mut Permit)) -> Value {
    let offer = offered.offer();
    let mut signed = offered;
    bend(&mut signed);
    let mut payment = Wallet::default().permit2(url, &signed);
    payment["accepted"] = offer;
    payment
}

/// A transfer that is not what is offered, signed all the same.
fn offered(url: &str, signed: &Transfer, offer: &Transfer) -> Value {
    let mut payment = Keypair::default().v2(url, signed);
    payment["accepted"] = offer.offer();
    payment
}

fn with_bytes(base64: &str, bend: impl FnOnce(&mut Vec<u8>)) -> String {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    let mut bytes = STANDARD.decode(base64).unwrap();
    bend(&mut bytes);
    STANDARD.encode(bytes)
}

fn resigned(base64: &str) -> String {
    with_bytes(base64, |bytes| bytes[65..129].rotate_left(1))
}

#[tokio::test]
async fn tricks_are_refused_before_anybody_is_asked() {
    let (world, peer) = shop(Mood::Always(Says::Go), all()).await;
    for (name, payment, reason) in tricks() {
        let payment = payment(&url(&world, Via::TlsH1));
        let answer = world.gate.fetch(Via::TlsH1, &ask(&world, Via::TlsH1, &payment)).await;
        assert_eq!(answer.reason(), Some(reason), "{name}: {}", answer.text());
        answer.assert_denied(403, reason);
    }
    world.tls.assert_untouched();
    assert!(peer.questions().is_empty());
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

/// Sells by every scheme at once, and by v1 on Solana under `/v1`.
fn sell(seen: &Seen) -> Reply {
    use bytes::Bytes;
    use http_body_util::{BodyExt as _, Full};
    let url = format!("https://{}{}", seen.authority.as_deref().unwrap_or_default(), seen.target);
    let answer = |status: u16, challenge: Option<String>, body: String| {
        let mut response = http::Response::builder().status(status);
        if let Some(challenge) = challenge {
            response = response.header("payment-required", challenge);
        }
        response.body(Full::new(Bytes::from(body)).boxed()).unwrap()
    };
    if seen.header("payment-signature").or(seen.header("x-payment")).is_some() {
        return answer(200, None, "sold".to_owned());
    }
    if seen.target.starts_with("/v1") {
        return answer(402, None, solana::v1_body(&url).to_string());
    }
    let mut exact = Permit::exact().offer();
    exact["extra"] = json!({ "name": "USDC", "version": "2" });
    let options = [exact, Permit::exact().offer(), Permit::upto().offer(), Transfer::default().offer()];
    let challenge = json!({ "x402Version": 2, "error": "pay", "resource": { "url": url }, "accepts": options });
    answer(402, Some(encode(&challenge)), "{}".to_owned())
}

fn schemes_offered(answer: &tollgate_tests::answer::Answer) -> Vec<String> {
    use base64::Engine as _;
    let value = answer.header("payment-required").unwrap();
    let document: Value = serde_json::from_slice(&base64::engine::general_purpose::STANDARD.decode(value).unwrap()).unwrap();
    let name = |option: &Value| match (option["scheme"].as_str(), option["extra"]["assetTransferMethod"].as_str()) {
        (Some("exact"), Some("permit2")) => "exact-permit2".to_owned(),
        (Some("exact"), None) if option["network"] == DEVNET => "exact-svm".to_owned(),
        (scheme, _) => scheme.unwrap_or_default().to_owned(),
    };
    document["accepts"].as_array().unwrap().iter().map(name).collect()
}

#[tokio::test]
async fn a_client_sees_the_options_of_the_schemes_that_are_on_and_pays_one() {
    let screened = |schemes: Value| {
        let mut payments = all();
        payments["schemes"] = schemes;
        payments["require_challenge"] = json!(true);
        payments["screen_challenges"] = json!(true);
        payments
    };
    let every = ["exact", "exact-permit2", "upto", "exact-svm"];
    let shop = Shop::open(Alpn::H2, Mood::Always(Says::Go), screened(json!(every)), sell).await;
    let url = format!("https://{HOST}:{}/paid", shop.seller.port());
    let payments = [
        Wallet::default().v2(&url, &Terms::default()),
        Wallet::default().permit2(&url, &Permit::exact()),
        Wallet::default().permit2(&url, &Permit::upto()),
        Keypair::default().v2(&url, &Transfer::default()),
    ];
    for payment in payments {
        let offered = shop.gate.fetch(Via::TlsH1, &shop.ask("/paid")).await;
        assert_eq!(
            (offered.status, schemes_offered(&offered)),
            (402, every.map(str::to_owned).to_vec())
        );
        // The offer of one scheme is not answered by another: the seller and the verdict had something else in mind.
        let paid = shop
            .gate
            .fetch(Via::TlsH2, &shop.ask("/paid").header("PAYMENT-SIGNATURE", encode(&payment)))
            .await;
        assert_eq!((paid.status, paid.text().as_str()), (200, "sold"), "{payment}");
    }
    assert_eq!(shop.sold(), 4);

    let fewer = json!({ "schemes": ["exact", "upto"], "networks": [NETWORK], "assets": [format!("{NETWORK}/{ASSET}")] });
    let mut payments = screened(json!([]));
    payments.as_object_mut().unwrap().extend(fewer.as_object().unwrap().clone());
    let shop = Shop::open(Alpn::H1, Mood::Always(Says::Go), payments, sell).await;
    let offered = shop.gate.fetch(Via::TlsH1, &shop.ask("/paid")).await;
    assert_eq!(schemes_offered(&offered), ["exact", "upto"]);
    let url = format!("https://{HOST}:{}/paid", shop.seller.port());
    let taken_out = Wallet::default().permit2(&url, &Permit::exact());
    let refused = shop
        .gate
        .fetch(Via::TlsH1, &shop.ask("/paid").header("PAYMENT-SIGNATURE", encode(&taken_out)))
        .await;
    refused.assert_denied(403, "payment_scheme_not_allowed");
    assert_eq!(shop.sold(), 0);
}

#[tokio::test]
async fn a_v1_payment_on_solana_pays_whom_its_402_named() {
    let mut payments = all();
    payments["require_challenge"] = json!(true);
    payments["payees"] = json!([solana::PAYEE]);
    let shop = Shop::open(Alpn::H1, Mood::Always(Says::Go), payments, sell).await;
    let paying = |transfer: &Transfer| shop.ask("/v1").header("X-PAYMENT", encode(&Keypair::default().v1(transfer)));
    let unasked = shop.gate.fetch(Via::TlsH1, &paying(&Transfer::default())).await;
    unasked.assert_denied(403, "payment_no_challenge");
    shop.asked_to_pay(Via::TlsH1, "/v1").await;
    let elsewhere = Transfer {
        to: Keypair::default().address,
        ..Transfer::default()
    };
    let refused = shop.gate.fetch(Via::TlsH1, &paying(&elsewhere)).await;
    refused.assert_denied(403, "payment_mismatch");
    assert_eq!((shop.sold(), shop.peer.questions().len()), (0, 0));
    let paid = shop.gate.fetch(Via::TlsH1, &paying(&Transfer::default())).await;
    assert_eq!((paid.status, shop.sold()), (200, 1), "{paid:?}");
    assert_eq!(shop.peer.questions()[0].claim["counterparty"], solana::PAYEE);
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
