//! Payments in other places than their header, and requests whose order is played with.

use std::time::Duration;

use serde_json::{Value, json};
use tollgate_tests::answer::Rows;
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::payment::{self, encode};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::verdict_peer::{Says, VerdictPeer};
use tollgate_tests::world::World;

use super::{assert_refused_untouched, generous, one, url, v2};

#[tokio::test]
async fn a_payment_in_another_place_than_its_header() {
    let (world, peer) = generous().await;
    let reasons = ["payment_malformed", "payment_scheme_not_allowed", "rail_payment_scheme"];
    for name in ["Cookie", "X-Custom", "Authorization", "User-Agent", "Referer"] {
        let lines = |url: &str| {
            let value = encode(&v2(url));
            let value = match name {
                "Cookie" => format!("p={value}"),
                "Authorization" => format!("Bearer {value}"),
                _ => value,
            };
            one(name, &value)
        };
        assert_refused_untouched(&world, &peer, name, lines, &reasons).await;
    }
    for via in [Via::AbsoluteForm, Via::TlsH1, Via::TlsH2] {
        let value = encode(&v2(&url(&world, via)));
        let twice = payment::encode_text(&value);
        for target in [
            format!("/paid?payment-signature={}", value.replace('=', "%3D")),
            format!("/paid?hex={}", hex::encode(&value)),
            format!("/paid?a=1&twice={}", twice.replace('=', "%3D")),
            format!("/paid?a=1&twice={}", twice.trim_end_matches('=')),
        ] {
            let answer = world.gate.fetch(via, &Ask::get(world.port(via), &target)).await;
            assert!(
                answer.reason().is_some_and(|reason| reason.starts_with("payment_")),
                "{target:.40} {via:?}: {answer:?}"
            );
        }
    }
    assert!(peer.questions().is_empty());
}

#[tokio::test]
async fn a_payment_in_a_body() {
    let (world, peer) = generous().await;
    let payment = v2(&url(&world, Via::TlsH1));
    let call = |method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let bodies = [
        ("naked", payment.clone()),
        ("base64 in a string", json!({ "note": encode(&payment) })),
        ("only the signed part", payment["payload"].clone()),
        (
            "MCP _meta",
            call("tools/call", json!({ "name": "t", "_meta": { "x402/payment": payment } })),
        ),
        (
            "A2A metadata",
            call(
                "message/send",
                json!({ "message": { "metadata": { "x402.payment.payload": payment } } }),
            ),
        ),
        (
            "MPP credential",
            json!({ "jsonrpc": "2.0", "id": 1, "method": "x", "_meta": { "org.paymentauth/credential": {} } }),
        ),
    ];
    for (name, body) in &bodies {
        let body = body.to_string();
        for via in [Via::AbsoluteForm, Via::TlsH1, Via::TlsH2] {
            for content_type in ["application/json", "text/plain", "application/octet-stream"] {
                let mut ask = Ask::get(world.port(via), "/log")
                    .method("POST")
                    .header("content-type", content_type);
                ask.body = body.as_bytes();
                let answer = world.gate.fetch(via, &ask).await;
                let reason = answer.reason().unwrap_or("none");
                let refused = reason.starts_with("payment_") || reason.starts_with("rail_");
                assert!(refused, "{name} {content_type} {via:?}: {reason}: {}", answer.text());
            }
        }
    }
    assert!(peer.questions().is_empty());
    world.assert_untouched();
}

#[tokio::test]
async fn method_overrides_and_forwarded_hosts_change_nothing() {
    let (world, peer) = generous().await;
    let payment = v2(&format!("https://other.example.test:{}/paid", world.tls.port()));
    let mut rows = Rows::default();
    for (name, value, reason) in [
        ("X-Forwarded-Host", "other.example.test", "payment_mismatch"),
        ("X-Original-URL", "/other", "payment_mismatch"),
        ("Forwarded", "host=other.example.test", "payment_mismatch"),
        // Refused for itself: the rules would judge another method than the origin takes.
        ("X-HTTP-Method-Override", "DELETE", "method_not_allowed"),
    ] {
        let ask = Ask::get(world.tls.port(), "/paid")
            .header("PAYMENT-SIGNATURE", encode(&payment))
            .header(name, value);
        let answer = world.gate.fetch(Via::TlsH1, &ask).await;
        rows.check(name, &answer, reason);
    }
    rows.assert_all_refused();
    assert!(peer.questions().is_empty());
    world.tls.assert_untouched();
}

#[tokio::test]
async fn a_payment_for_a_path_in_another_spelling() {
    let (world, _peer) = generous().await;
    for target in ["//paid", "/%70aid", "/./paid", "/x/../paid", "/paid;x=1"] {
        let payment = v2(&url(&world, Via::TlsH1));
        let ask = Ask::get(world.tls.port(), target).header("PAYMENT-SIGNATURE", encode(&payment));
        let answer = world.gate.fetch(Via::TlsH1, &ask).await;
        // Judged and forwarded as /paid, or refused; never judged as one path and forwarded as another.
        if answer.reason().is_none() {
            assert_eq!(world.tls.last().target, "/paid", "{target}");
        }
    }
}

#[tokio::test]
async fn a_pipelined_payment_behind_a_denied_one() {
    let (world, peer) = generous().await;
    let good = Ask::get(world.tls.port(), "/paid").header("PAYMENT-SIGNATURE", encode(&v2(&url(&world, Via::TlsH1))));
    let bad = Ask::get(world.tls.port(), "/paid").header("PAYMENT-SIGNATURE", "junk");
    let mut h1 = world.gate.tls_h1(world.tls.port()).await;
    h1.send([bad.h1(Via::TlsH1), good.h1(Via::TlsH1)].concat()).await;
    h1.answer("GET").await.assert_denied(403, "payment_malformed");
    // The second is judged by itself or dropped with the connection.
    let second = h1.answer_or_end("GET").await;
    assert_eq!(world.tls.requests().len(), peer.questions().len(), "{second:?}");
}

#[tokio::test]
async fn a_payment_before_its_body_that_never_comes() {
    let (world, peer) = generous().await;
    let value = encode(&v2(&url(&world, Via::TlsH1)));
    let mut h1 = world.gate.tls_h1(world.tls.port()).await;
    h1.send(format!(
        "POST /paid HTTP/1.1\r\nHost: {HOST}:{}\r\nPAYMENT-SIGNATURE: {value}\r\nContent-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n",
        world.tls.port()
    ))
    .await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    drop(h1);
    tokio::time::sleep(Duration::from_millis(300)).await;
    world.tls.assert_no_request();
    drop(peer);
}

#[tokio::test]
async fn a_websocket_upgrade_that_carries_a_payment() {
    let peer = VerdictPeer::says(Says::Stop).await;
    let settings = peer.settings();
    let world = World::start(policy::open, |setup| setup.config(payment::settings()).config(settings)).await;
    let mut h1 = world.gate.tls_h1(world.tls.port()).await;
    let value = encode(&v2(&url(&world, Via::TlsH1)));
    h1.send(format!(
        "GET /paid HTTP/1.1\r\nHost: {HOST}:{}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nPAYMENT-SIGNATURE: {value}\r\n\r\n",
        world.tls.port()
    ))
    .await;
    let answer = h1.answer("GET").await;
    assert!(
        answer
            .reason()
            .is_some_and(|reason| reason.starts_with("payment_") || reason == "verdict_stop"),
        "{answer:?}"
    );
    world.tls.assert_untouched();
}
