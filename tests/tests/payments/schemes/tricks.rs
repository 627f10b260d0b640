//! One trick at a time, signed by a payer who plays along: each has its reason, and costs neither a question nor a connection.

use serde_json::{Value, json};
use tollgate_tests::client::Via;
use tollgate_tests::payment::Wallet;
use tollgate_tests::payment::permit2::Permit;
use tollgate_tests::payment::solana::{self, Keypair, Transfer};
use tollgate_tests::verdict_peer::{Mood, Says};

use super::{STRANGER, all, ask, shop};
use crate::url;

type Trick = (&'static str, fn(&str) -> Value, &'static str);

#[allow(clippy::too_many_lines, reason = "a table")]
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
