//! The service that said GO hears once what became of the payment, and nobody else hears of its token.

use std::fmt::Write as _;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tollgate_tests::authority::{Alpn, Authority};
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::eventually;
use tollgate_tests::origin::{Origin, Reply, Seen, standard};
use tollgate_tests::payment::{self, Terms, Wallet, encode};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::tollgate::{Setup, Tollgate};
use tollgate_tests::verdict_peer::{Mood, Says, VerdictPeer, ok};

use super::seller::Shop;

const TOKEN: &str = "5ec2e70f5ec2e70f5ec2e70f5ec2e70f";
const TRANSACTION: &str = "0x8a31d4f1c5b9e0e7c2d3b4a5968778695a4b3c2d1e0f00112233445566778899";

/// A GO whose token can be looked for.
fn go() -> Mood {
    let mut document = Says::Go.document();
    document["report_token"] = json!(TOKEN);
    Mood::Bytes(ok(&document))
}

fn sell(seen: &Seen) -> Reply {
    let response = http::Response::builder();
    let body = || Full::new(Bytes::from_static(b"sold")).boxed();
    let settled = json!({ "success": true, "transaction": TRANSACTION, "network": "eip155:84532", "payer": "0x1" });
    let unsettled = json!({ "success": false, "errorReason": "insufficient_funds", "transaction": "" });
    let large = encode(&json!({ "success": true, "note": "x".repeat(20_000) }));
    let response = match seen.target.as_str() {
        "/v2/settled" => response.header("payment-response", encode(&settled)),
        "/v1/settled" => response.header("x-payment-response", encode(&settled)),
        "/v2/refused" => response.status(402).header("payment-response", encode(&unsettled)),
        "/v2/unreadable" => response.header("payment-response", "%%%"),
        "/v2/large" => response.header("payment-response", large),
        "/v2/failed" => response.status(500),
        _ => response,
    };
    response.body(body()).unwrap()
}

async fn told(peer: &VerdictPeer, count: usize) -> Vec<Value> {
    eventually("the reports", || Some(peer.reports()).filter(|reports| reports.len() >= count)).await
}

#[tokio::test]
async fn what_the_seller_answers_is_reported_once() {
    let shop = Shop::open(Alpn::H1, go(), json!({}), sell).await;
    for (number, (target, outcome)) in [
        ("/v2/settled", "settled"),
        ("/v1/settled", "settled"),
        ("/v2/refused", "abandoned"),
        ("/v2/plain", "delivered"),
        ("/v2/unreadable", "delivered"),
        ("/v2/large", "delivered"),
        ("/v2/failed", "abandoned"),
    ]
    .into_iter()
    .enumerate()
    {
        shop.gate.fetch(Via::TlsH1, &shop.paying(target, &Terms::default())).await;
        let report = told(&shop.peer, number + 1).await.remove(number);
        let mut expected = json!({ "receipt_id": Says::Go.document()["receipt_id"], "report_token": TOKEN, "outcome": outcome });
        if outcome == "settled" {
            expected["observed_amount"] = json!("0.01");
            expected["settlement_tx"] = json!(TRANSACTION);
        }
        assert_eq!(report, expected, "{target}");
        let event = shop.gate.audited(json!({ "path": target })).await;
        assert_eq!(event["payment"]["outcome"], outcome, "{target}");
        let transaction = (outcome == "settled").then_some(TRANSACTION);
        assert_eq!(event["payment"]["transaction"].as_str(), transaction, "{target}");
    }
    for (outcome, count) in [("settled", 2.0), ("delivered", 3.0), ("abandoned", 2.0)] {
        counted(&shop.gate, &[("outcome", outcome), ("result", "sent")], count).await;
    }
    assert_eq!(shop.peer.reports().len(), 7);
}

async fn counted(gate: &Tollgate, labels: &[(&str, &str)], expected: f64) {
    let end = std::time::Instant::now() + Duration::from_secs(10);
    loop {
        let now = gate.metric("tollgate_verdict_reports_total", labels).await;
        if (now - expected).abs() < f64::EPSILON {
            return;
        }
        assert!(std::time::Instant::now() < end, "{now} instead of {expected}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn the_token_is_shown_to_nobody() {
    let shop = Shop::open(Alpn::H1, go(), json!({}), sell).await;
    let mut shown = String::new();
    for target in ["/v2/settled", "/v2/refused", "/v2/failed"] {
        let answer = shop.gate.fetch(Via::TlsH1, &shop.paying(target, &Terms::default())).await;
        write!(shown, "{answer:?}{}", answer.text()).unwrap();
    }
    told(&shop.peer, 3).await;
    let replayed = shop.paying("/v2/settled", &Terms::default());
    shop.gate.fetch(Via::TlsH1, &replayed).await;
    shown += &shop.gate.fetch(Via::TlsH1, &replayed).await.text();
    shop.peer.turn(Mood::HangsUp);
    shown += &shop
        .gate
        .fetch(Via::TlsH1, &shop.paying("/v2/plain", &Terms::default()))
        .await
        .text();
    shop.gate.audited(json!({ "path": "/v2/plain" })).await;
    shown += &shop.gate.metrics().await;
    shown += &shop.gate.readyz().await.1;
    shown += &shop.gate.stderr();
    write!(shown, "{:?}{:?}", shop.gate.audit_events(), shop.seller.requests()).unwrap();
    assert!(shown.contains("receipt_id"), "the audit line has the receipt");
    assert!(!shown.contains(TOKEN), "{shown}");
}

#[tokio::test]
async fn a_payment_that_is_retried_is_reported_when_its_retry_ends() {
    let peer = VerdictPeer::start(go()).await;
    let authority = Authority::default();
    let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let gate = Setup::new(policy::open(&[port]))
        .local_host()
        .trust(&authority)
        .config(payment::settings())
        .config(peer.settings())
        .start();
    let payment = Wallet::default().v2(&format!("https://{HOST}:{port}/paid"), &Terms::default());
    let ask = Ask::get(port, "/paid").header("PAYMENT-SIGNATURE", encode(&payment));
    gate.fetch(Via::TlsH1, &ask).await.assert_denied(502, "upstream_unreachable");
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert!(peer.reports().is_empty(), "it may still be sent");
    let origin = Origin::start_at(&format!("127.0.0.1:{port}"), Some(authority.server(HOST, Alpn::H1)), standard).await;
    gate.fetch(Via::TlsH1, &ask).await.assert_allowed();
    let reports = told(&peer, 1).await;
    assert_eq!((reports.len(), &reports[0]["outcome"]), (1, &json!("delivered")), "{reports:?}");
    assert_eq!(reports[0]["report_token"], TOKEN);

    // This one is never sent: its second failure is its end.
    let payment = Wallet::default().v2(&format!("https://{HOST}:{port}/late"), &Terms::default());
    let late = Ask::get(port, "/late").header("PAYMENT-SIGNATURE", encode(&payment));
    drop(origin);
    for _ in 0..2 {
        gate.fetch(Via::TlsH1, &late).await.assert_denied(502, "upstream_unreachable");
    }
    assert_eq!(told(&peer, 2).await[1]["outcome"], "abandoned");
}

#[tokio::test]
async fn a_service_that_takes_no_reports_holds_up_no_payment() {
    let peer = VerdictPeer::start(go()).await;
    peer.leave_reports_unanswered();
    let authority = Authority::default();
    let origin = Origin::start(Some(authority.server(HOST, Alpn::H1)), sell).await;
    let gate = Setup::new(policy::open(&[origin.port()]))
        .local_host()
        .trust(&authority)
        .config(payment::settings())
        .config(peer.settings_with("1s"))
        .start();
    let started = std::time::Instant::now();
    for _ in 0..5 {
        let url = format!("https://{HOST}:{}/v2/settled", origin.port());
        let payment = Wallet::default().v2(&url, &Terms::default());
        let ask = Ask::get(origin.port(), "/v2/settled").header("PAYMENT-SIGNATURE", encode(&payment));
        gate.fetch(Via::TlsH1, &ask).await.assert_allowed();
    }
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
    counted(&gate, &[("outcome", "settled"), ("result", "failed")], 5.0).await;
    assert_eq!(peer.reports().len(), 5, "none is repeated");
    let open = gate.metric("tollgate_verdict_breaker_open", &[]).await;
    assert!(open.abs() < f64::EPSILON, "a service that gives verdicts is asked for them");
}

#[tokio::test]
async fn reports_can_be_turned_off() {
    let peer = VerdictPeer::start(go()).await;
    let authority = Authority::default();
    let origin = Origin::tls(&authority, Alpn::H1).await;
    let gate = Setup::new(policy::open(&[origin.port()]))
        .local_host()
        .trust(&authority)
        .config(payment::settings())
        .config(peer.settings())
        .config(json!({ "verdict": { "report_outcomes": false } }))
        .start();
    let payment = Wallet::default().v2(&format!("https://{HOST}:{}/paid", origin.port()), &Terms::default());
    let ask = Ask::get(origin.port(), "/paid").header("PAYMENT-SIGNATURE", encode(&payment));
    gate.fetch(Via::TlsH1, &ask).await.assert_allowed();
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(peer.reports().is_empty());
}

#[tokio::test]
async fn the_last_outcomes_are_reported_before_the_end() {
    let shop = Shop::open(Alpn::H1, go(), json!({}), sell).await;
    let Shop { mut gate, peer, seller } = shop;
    let url = format!("https://{HOST}:{}/v2/settled", seller.port());
    let payment = Wallet::default().v2(&url, &Terms::default());
    let ask = Ask::get(seller.port(), "/v2/settled").header("PAYMENT-SIGNATURE", encode(&payment));
    gate.fetch(Via::TlsH1, &ask).await.assert_allowed();
    gate.signal(rustix::process::Signal::TERM);
    gate.ended().await;
    assert_eq!(peer.reports().len(), 1);
}
