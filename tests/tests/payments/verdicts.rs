//! What each answer of the verdict service leads to.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate_tests::answer::Rows;
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::eventually;
use tollgate_tests::payment::{ASSET, PAYEE, Terms, Wallet, encode};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::verdict_peer::{Mood, Says, ok};

use super::{paying, shop, url};

#[tokio::test]
async fn go_forwards_the_payment_byte_for_byte() {
    let (world, peer) = shop(Mood::Always(Says::Go)).await;
    for via in Via::ALL {
        for version in [1, 2] {
            let wallet = Wallet::default();
            let (name, payment) = if version == 1 {
                ("X-PAYMENT", wallet.v1(&Terms::default()))
            } else {
                ("PAYMENT-SIGNATURE", wallet.v2(&url(&world, via), &Terms::default()))
            };
            let value = encode(&payment);
            let before = peer.questions().len();
            let ask = Ask::get(world.port(via), "/paid?hush=1")
                .header(name, value.clone())
                .header("Access-Control-Expose-Headers", "PAYMENT-RESPONSE,X-PAYMENT-RESPONSE")
                .header("Payment-Retry", "1");
            world.gate.fetch(via, &ask).await.assert_allowed();
            assert_eq!(world.origin(via).last().header(name), Some(value.as_str()), "{via:?} v{version}");
            assert_eq!(peer.questions().len(), before + 1, "asked once per payment");

            let claim = &peer.questions()[before].claim;
            assert_eq!(claim["counterparty"], PAYEE.to_ascii_lowercase());
            assert_eq!(claim["amount"], "0.01");
            assert!(
                claim["asset"].as_str().is_some_and(|asset| asset.eq_ignore_ascii_case(ASSET)),
                "{claim}"
            );
            assert!(matches!(claim["chain"].as_str(), Some("base-sepolia" | "eip155:84532")), "{claim}");
            assert_eq!(claim["resource"], url(&world, via));
            let event = world
                .gate
                .audited(json!({ "decision": "allow", "payment": { "payer": wallet.address.to_ascii_lowercase() } }))
                .await;
            assert_eq!(
                (&event["payment"]["amount"], &event["verdict"]["verdict"]),
                (&json!("10000"), &json!("go")),
                "{event}"
            );
            assert!(
                event["verdict"]["receipt_id"].as_str().is_some_and(|id| id.starts_with("bw_")),
                "{event}"
            );
        }
    }
    let allowed = world.gate.metric("tollgate_payments_total", &[("decision", "allow")]).await;
    assert!((allowed - 8.0).abs() < f64::EPSILON, "{allowed}");
}

#[tokio::test]
async fn the_service_is_told_the_claim_and_nothing_else() {
    let (world, peer) = shop(Mood::Always(Says::Go)).await;
    let wallet = Wallet::default();
    let terms = Terms::default();
    let payment = wallet.v2(&url(&world, Via::TlsH1), &terms);
    let ask = Ask::get(world.tls.port(), "/paid?api_key=hushhush#x")
        .header("PAYMENT-SIGNATURE", encode(&payment))
        .header("Authorization", "Bearer hushhush")
        .header("Cookie", "session=hushhush")
        .header("X-Forwarded-For", "10.9.8.7");
    let ask = Ask {
        target: "/paid?api_key=hushhush",
        ..ask
    };
    world.gate.fetch(Via::TlsH1, &ask).await.assert_allowed();
    let question = peer.questions().remove(0);
    let told = format!("{}\n{}", question.head, question.claim);
    let signature = wallet.sign(&terms);
    for secret in [
        "hushhush",
        "api_key",
        "10.9.8.7",
        &signature[2..],
        &terms.nonce_hex(),
        &encode(&payment),
    ] {
        assert!(!told.contains(secret), "{secret} was told:\n{told}");
    }
    assert!(question.head.starts_with("POST /v1/forecast-payment HTTP/1."), "{}", question.head);
    assert!(
        question.head.to_ascii_lowercase().contains("content-length:"),
        "the service reads by length only: {}",
        question.head
    );
    for member in question.claim.as_object().unwrap().keys() {
        let known = [
            "counterparty",
            "amount",
            "asset",
            "chain",
            "resource",
            "payer",
            "agent_id",
            "context",
            "resource_class",
        ];
        assert!(known.contains(&member.as_str()), "{member} was told");
    }
}

fn bent(change: impl FnOnce(&mut Value)) -> Mood {
    let mut document = Says::Go.document();
    change(&mut document);
    Mood::Bytes(ok(&document))
}

fn not_go() -> Vec<(&'static str, Mood, &'static str)> {
    let go = Says::Go.document().to_string();
    let raw = |text: &str| Mood::Bytes(text.to_owned());
    let with_status = |status: &str| Mood::Bytes(format!("HTTP/1.0 {status}\r\nContent-Length: {}\r\n\r\n{go}", go.len()));
    vec![
        ("hold", Mood::Always(Says::Hold), "verdict_hold"),
        ("stop", Mood::Always(Says::Stop), "verdict_stop"),
        ("soft stop", Mood::Always(Says::SoftStop), "verdict_stop"),
        ("nobody listens", Mood::Dead, "verdict_unavailable"),
        ("hangs up", Mood::HangsUp, "verdict_unavailable"),
        ("slower than its timeout", Mood::Slow(Duration::from_secs(3)), "verdict_unavailable"),
        ("wants to be paid itself", Mood::Always(Says::WantsMoney), "verdict_unavailable"),
        ("503", Mood::Always(Says::Unavailable), "verdict_unavailable"),
        ("400", Mood::Always(Says::BadRequest), "verdict_unavailable"),
        (
            "429",
            raw("HTTP/1.0 429 Too Many Requests\r\nRetry-After: 30\r\nContent-Length: 2\r\n\r\n{}"),
            "verdict_unavailable",
        ),
        ("500 with GO", with_status("500 Internal Server Error"), "verdict_unavailable"),
        ("201 with GO", with_status("201 Created"), "verdict_unavailable"),
        ("402 with GO", with_status("402 Payment Required"), "verdict_unavailable"),
        (
            "redirect",
            raw("HTTP/1.0 302 Found\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n"),
            "verdict_unavailable",
        ),
        (
            "HTML",
            raw("HTTP/1.0 200 OK\r\nContent-Length: 15\r\n\r\n<html>GO</html>"),
            "verdict_unavailable",
        ),
        ("empty", raw("HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"), "verdict_unavailable"),
        ("an array", Mood::Bytes(ok(&json!([Says::Go.document()]))), "verdict_invalid"),
        ("a string", Mood::Bytes(ok(&json!("GO"))), "verdict_invalid"),
        ("lower case", bent(|v| v["verdict"] = json!("go")), "verdict_invalid"),
        ("with a blank", bent(|v| v["verdict"] = json!("GO ")), "verdict_invalid"),
        ("a new word", bent(|v| v["verdict"] = json!("PROCEED")), "verdict_invalid"),
        ("true", bent(|v| v["verdict"] = json!(true)), "verdict_invalid"),
        (
            "no verdict",
            bent(|v| drop(v.as_object_mut().unwrap().remove("verdict"))),
            "verdict_invalid",
        ),
        ("GO with hard_stop", bent(|v| v["hard_stop"] = json!(true)), "verdict_stop"),
        (
            "GO with hard_stop as text",
            bent(|v| v["hard_stop"] = json!("false")),
            "verdict_invalid",
        ),
        (
            "GO without hard_stop",
            bent(|v| drop(v.as_object_mut().unwrap().remove("hard_stop"))),
            "verdict_invalid",
        ),
        (
            "GO without receipt",
            bent(|v| drop(v.as_object_mut().unwrap().remove("receipt_id"))),
            "verdict_invalid",
        ),
        (
            "GO with a made-up receipt",
            bent(|v| v["receipt_id"] = json!("bw_x")),
            "verdict_invalid",
        ),
        (
            "cut short",
            Mood::Bytes(format!("HTTP/1.0 200 OK\r\nContent-Length: 5000\r\n\r\n{go}")),
            "verdict_unavailable",
        ),
        (
            "duplicate verdict",
            Mood::Bytes(format!(
                "HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n{{\"verdict\":\"STOP\",{}",
                go.len() + 17,
                &go[1..]
            )),
            "verdict_invalid",
        ),
        (
            "endless",
            Mood::Bytes(format!("HTTP/1.0 200 OK\r\n\r\n{}{}", " ".repeat(600_000), go)),
            "verdict_invalid",
        ),
        ("not HTTP", raw("GO\n"), "verdict_unavailable"),
    ]
}

/// F5 and F12.
#[tokio::test]
async fn anything_but_an_exact_go_stops_the_payment_before_a_connection() {
    // One world per mood would take long; moods change, and a breaker may not turn a HOLD into something else by itself.
    let mut rows = Rows::default();
    for (name, mood, reason) in not_go() {
        let (world, peer) = shop(mood).await;
        for via in [Via::AbsoluteForm, Via::TlsH1, Via::TlsH2] {
            let started = Instant::now();
            let answer = world.gate.fetch(via, &paying(&world, via)).await;
            assert!(started.elapsed() < Duration::from_secs(2), "{name} took {:?}", started.elapsed());
            rows.check((name, via), &answer, reason);
            let body = answer.json();
            let error = body["error"].as_str().unwrap();
            assert!(matches!(error, "middleware_denied" | "middleware_failed"), "{name}: {body}");
            assert!(
                body["next_steps"].as_array().is_none_or(Vec::is_empty),
                "{name}: advice on a refused payment: {body}"
            );
            assert!(!answer.text().contains("report_token"));
            assert_ne!(answer.status, 402);
        }
        world.assert_untouched();
        world
            .gate
            .audited(json!({ "decision": "deny", "host": HOST, "payment": { "amount": "10000" } }))
            .await;
        drop(peer);
    }
    rows.assert_all_refused();
}

#[tokio::test]
async fn each_payee_gets_its_own_verdict() {
    let payee = |n: u8| format!("0x{}", format!("{n:02x}").repeat(20));
    let says = HashMap::from([(payee(1), Says::Go), (payee(2), Says::Hold), (payee(3), Says::Stop)]);
    let (world, _peer) = shop(Mood::Honest(says)).await;
    for (number, reason) in [
        (1, None),
        (2, Some("verdict_hold")),
        (3, Some("verdict_stop")),
        (4, Some("verdict_hold")),
        (1, None),
    ] {
        let payment = Wallet::default().v2(&url(&world, Via::TlsH2), &Terms::to(&payee(number)));
        let ask = Ask::get(world.tls.port(), "/paid").header("PAYMENT-SIGNATURE", encode(&payment));
        let answer = world.gate.fetch(Via::TlsH2, &ask).await;
        assert_eq!(answer.reason(), reason, "payee {number}");
    }
    assert_eq!(world.tls.requests().len(), 2);
    let holds = world
        .gate
        .metric("tollgate_verdicts_total", &[("backend", "blackwall"), ("verdict", "hold")])
        .await;
    assert!((holds - 2.0).abs() < f64::EPSILON, "{holds}");
}

#[tokio::test]
async fn requests_without_a_payment_ask_nobody() {
    let (world, peer) = shop(Mood::Always(Says::Stop)).await;
    for via in Via::ALL {
        world.get(via, "/paid").await.assert_allowed();
    }
    assert!(peer.questions().is_empty());
}

#[tokio::test]
async fn a_payment_with_a_body_is_forwarded_whole_after_go_only() {
    let (world, peer) = shop(Mood::Always(Says::Hold)).await;
    let body = "x".repeat(200_000);
    for via in [Via::TlsH1, Via::TlsH2] {
        let mut ask = paying(&world, via).method("POST").header("content-type", "text/plain");
        ask.body = body.as_bytes();
        world.gate.fetch(via, &ask).await.assert_denied(403, "verdict_hold");
        world.tls.assert_untouched();
    }
    peer.turn(Mood::Always(Says::Go));
    for via in [Via::TlsH1, Via::TlsH2] {
        let mut ask = paying(&world, via).method("POST").header("content-type", "text/plain");
        ask.body = body.as_bytes();
        world.gate.fetch(via, &ask).await.assert_allowed();
        assert!(world.tls.last().body == body);
    }
}

#[tokio::test]
async fn a_slow_verdict_holds_up_no_one_else() {
    let (world, _peer) = shop(Mood::Slow(Duration::from_millis(600))).await;
    let mut h2 = world.gate.tls_h2(world.tls.port()).await;
    let (paid, _) = h2
        .open(tollgate_tests::h2_client::H2::head(&paying(&world, Via::TlsH2)), true)
        .await;
    let started = Instant::now();
    h2.ask(&Ask::get(world.tls.port(), "/free")).await.assert_allowed();
    assert!(started.elapsed() < Duration::from_millis(300), "{:?}", started.elapsed());
    tollgate_tests::within("answer", tollgate_tests::h2_client::collect(paid))
        .await
        .unwrap()
        .assert_allowed();
}

#[tokio::test]
async fn with_no_verdict_service_named_every_payment_is_held() {
    let world = tollgate_tests::world::World::start(tollgate_tests::policy::open, |setup| {
        setup.config(tollgate_tests::payment::settings())
    })
    .await;
    for via in Via::ALL {
        world.gate.fetch(via, &paying(&world, via)).await.assert_denied(403, "verdict_hold");
    }
    world.assert_untouched();
}

#[tokio::test]
async fn rules_that_come_while_the_verdict_is_waited_for_hold_the_payment() {
    let (world, peer) = shop(Mood::Slow(Duration::from_millis(900))).await;
    let ports = [world.plain.port(), world.tls.port()];
    let narrower = policy::ruled(&ports, &["rules: [ { allow: { method: GET, path: /free } } ]"]);
    let ask = paying(&world, Via::TlsH1);
    let (answer, ()) = tokio::join!(world.gate.fetch(Via::TlsH1, &ask), async {
        eventually("the question", || peer.questions().pop()).await;
        world.gate.reload(&narrower).await;
    });
    answer.assert_denied(403, "path_not_allowed");
    assert_eq!(peer.questions().len(), 1);
    world.assert_untouched();
}
