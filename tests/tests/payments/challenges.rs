//! A payment answers a 402 that passed the gate, for the same request, once and in time.

use std::io::Write as _;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use serde_json::json;
use tollgate_tests::authority::Alpn;
use tollgate_tests::client::Via;
use tollgate_tests::origin::{Reply, Seen};
use tollgate_tests::payment::{Terms, challenge};
use tollgate_tests::policy::HOST;
use tollgate_tests::verdict_peer::{Mood, Says};

use super::seller::{Shop, v1_body};

async fn open(alpn: Alpn) -> Shop {
    Shop::open(alpn, Mood::Always(Says::Go), json!({ "require_challenge": true }), sell).await
}

fn sell(seen: &Seen) -> Reply {
    let url = format!("https://{}{}", seen.authority.as_deref().unwrap_or_default(), seen.target);
    let response = http::Response::builder();
    let reply = |response: http::response::Builder, body: Vec<u8>| response.body(Full::new(Bytes::from(body)).boxed()).unwrap();
    if seen.header("payment-signature").or(seen.header("x-payment")).is_some() {
        return reply(response.status(200), b"sold".to_vec());
    }
    let response = response.status(402);
    let body = v1_body(&url).to_string().into_bytes();
    match seen.target.split('?').next().unwrap_or_default() {
        "/v1" => reply(response.header("content-type", "application/json"), body),
        "/v1/gzip" => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(&body).unwrap();
            reply(response.header("content-encoding", "gzip"), encoder.finish().unwrap())
        }
        "/v2/two" => reply(
            response
                .header("payment-required", challenge(&url))
                .header("payment-required", challenge("https://other.example.test/")),
            Vec::new(),
        ),
        "/v2/elsewhere" => reply(
            response.header("payment-required", challenge("https://other.example.test/paid")),
            Vec::new(),
        ),
        "/v2/large" => reply(response.header("payment-required", challenge(&url)), vec![b'x'; 300_000]),
        _ => reply(response.header("payment-required", challenge(&url)), b"{}".to_vec()),
    }
}

#[tokio::test]
async fn a_payment_that_answers_a_402_passes_once() {
    for alpn in [Alpn::H1, Alpn::H2] {
        let shop = open(alpn).await;
        for via in [Via::TlsH1, Via::TlsH2] {
            for target in ["/v1", "/v1/gzip", "/v2", "/v2?item=1"] {
                shop.asked_to_pay(via, target).await;
                let answer = shop.gate.fetch(via, &shop.paying(target, &Terms::default())).await;
                assert_eq!((answer.status, answer.text().as_str()), (200, "sold"), "{target} {via:?}");
                let again = shop.gate.fetch(via, &shop.paying(target, &Terms::default())).await;
                again.assert_denied(403, "payment_no_challenge");
            }
        }
        assert_eq!((shop.sold(), shop.peer.questions().len()), (8, 8));
    }
}

#[tokio::test]
async fn the_seller_s_answer_passes_byte_for_byte() {
    let shop = open(Alpn::H1).await;
    let answer = shop.gate.fetch(Via::TlsH1, &shop.ask("/v1")).await;
    let url = format!("https://{HOST}:{}/v1", shop.seller.port());
    assert_eq!(answer.text(), v1_body(&url).to_string());
    let large = shop.gate.fetch(Via::TlsH2, &shop.ask("/v2/large")).await;
    assert_eq!((large.status, large.body.len()), (402, 300_000), "a page larger than any challenge");
    let head = shop.gate.fetch(Via::TlsH1, &shop.ask("/v1").method("HEAD")).await;
    assert_eq!(head.status, 402);
}

#[tokio::test]
async fn a_payment_that_no_seller_asked_for_is_refused() {
    let shop = open(Alpn::H1).await;
    for target in ["/v1", "/v2"] {
        let unasked = shop.gate.fetch(Via::TlsH1, &shop.paying(target, &Terms::default())).await;
        unasked.assert_denied(403, "payment_no_challenge");
    }
    // Asked for one thing, paying for another: a redirect, another method, another query, another version.
    shop.asked_to_pay(Via::TlsH1, "/v2?item=1").await;
    shop.asked_to_pay(Via::TlsH1, "/v1").await;
    for other in ["/v2?item=2", "/v2", "/v2/other", "/v1/other"] {
        let answer = shop.gate.fetch(Via::TlsH1, &shop.paying(other, &Terms::default())).await;
        answer.assert_denied(403, "payment_no_challenge");
    }
    let posted = shop.paying("/v2?item=1", &Terms::default()).method("POST");
    shop.gate
        .fetch(Via::TlsH1, &posted)
        .await
        .assert_denied(403, "payment_no_challenge");
    assert_eq!((shop.sold(), shop.peer.questions().len()), (0, 0));
    // The one that was asked for still stands.
    let answer = shop.gate.fetch(Via::TlsH1, &shop.paying("/v2?item=1", &Terms::default())).await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn a_price_or_payee_that_the_seller_did_not_name_is_refused() {
    let shop = open(Alpn::H1).await;
    let value = |value: &str| Terms {
        value: value.to_owned(),
        ..Terms::default()
    };
    let bent = [
        ("a higher price", value("10001")),
        ("a lower price", value("9999")),
        ("another payee", Terms::to("0x00000000000000000000000000000000000000aa")),
    ];
    for target in ["/v1", "/v2"] {
        for (name, terms) in &bent {
            shop.asked_to_pay(Via::TlsH1, target).await;
            let answer = shop.gate.fetch(Via::TlsH1, &shop.paying(target, terms)).await;
            assert_eq!(answer.reason(), Some("payment_mismatch"), "{target}, {name}: {answer:?}");
        }
    }
    assert_eq!((shop.sold(), shop.peer.questions().len()), (0, 0));
}

#[tokio::test]
async fn challenges_that_two_readers_read_differently_are_not_believed() {
    let shop = open(Alpn::H1).await;
    for (target, reason) in [("/v2/two", "payment_no_challenge"), ("/v2/elsewhere", "payment_mismatch")] {
        shop.asked_to_pay(Via::TlsH1, target).await;
        let answer = shop.gate.fetch(Via::TlsH1, &shop.paying(target, &Terms::default())).await;
        answer.assert_denied(403, reason);
    }
    assert_eq!(shop.sold(), 0);
}

#[tokio::test]
async fn a_refused_payment_leaves_the_challenge_for_a_better_one() {
    let shop = open(Alpn::H1).await;
    shop.asked_to_pay(Via::TlsH1, "/v2").await;
    shop.peer.turn(Mood::Always(Says::Hold));
    let held = shop.paying("/v2", &Terms::default());
    shop.gate.fetch(Via::TlsH1, &held).await.assert_denied(403, "verdict_hold");
    shop.peer.turn(Mood::Always(Says::Go));
    let answer = shop.gate.fetch(Via::TlsH1, &shop.paying("/v2", &Terms::default())).await;
    assert_eq!((answer.status, shop.sold()), (200, 1));
}
