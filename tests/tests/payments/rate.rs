//! An agent in a loop is stopped.

use serde_json::json;
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::payment::{self, Terms, Wallet, encode};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::tollgate::Setup;
use tollgate_tests::verdict_peer::{Mood, Says, VerdictPeer};
use tollgate_tests::world::World;

fn paying<'a>(world: &World, target: &'a str, payee: &str) -> Ask<'a> {
    let port = world.tls.port();
    let resource = target.split('?').next().unwrap_or_default();
    let payment = Wallet::default().v2(&format!("https://{HOST}:{port}{resource}"), &Terms::to(payee));
    Ask::get(port, target).header("PAYMENT-SIGNATURE", encode(&payment))
}

#[tokio::test]
async fn the_same_purchase_again_and_again_is_refused_for_a_while() {
    let peer = VerdictPeer::says(Says::Go).await;
    let settings = peer.settings();
    let rate = json!({ "payments": { "rate": { "per_payee": 3, "window": "2s" } } });
    let world = World::start(policy::open, |setup| {
        setup.config(payment::settings()).config(settings).config(rate)
    })
    .await;
    let fetch = |ask: Ask<'static>| {
        let gate = &world.gate;
        async move { gate.fetch(Via::TlsH1, &ask).await }
    };
    peer.turn(Mood::Always(Says::Hold));
    for _ in 0..5 {
        let held = fetch(paying(&world, "/paid", payment::PAYEE)).await;
        held.assert_denied(403, "verdict_hold");
    }
    peer.turn(Mood::Always(Says::Go));
    let started = std::time::Instant::now();
    for number in 0..3 {
        // Another query is the same resource.
        let target = ["/paid", "/paid?a=1", "/paid?a=2"][number];
        fetch(paying(&world, target, payment::PAYEE)).await.assert_allowed();
    }
    let asked = peer.questions().len();
    let refused = fetch(paying(&world, "/paid", payment::PAYEE)).await;
    refused.assert_denied(403, "payment_rate_limited");
    assert_eq!(refused.json()["error"], "middleware_denied");
    assert_eq!(peer.questions().len(), asked, "nobody is asked about it");
    let other = "0x00000000000000000000000000000000000000aa";
    fetch(paying(&world, "/paid", other)).await.assert_allowed();
    fetch(paying(&world, "/other", payment::PAYEE)).await.assert_allowed();
    tokio::time::sleep_until((started + std::time::Duration::from_millis(2_600)).into()).await;
    fetch(paying(&world, "/paid", payment::PAYEE)).await.assert_allowed();
    world
        .gate
        .audited(json!({ "decision": "deny", "reason_code": "payment_rate_limited" }))
        .await;
}

#[tokio::test]
async fn it_is_on_by_default() {
    let peer = VerdictPeer::says(Says::Go).await;
    let settings = peer.settings();
    let world = World::start(policy::open, |setup| setup.config(payment::settings()).config(settings)).await;
    let mut passed = 0;
    let refused = loop {
        let answer = world.gate.fetch(Via::TlsH1, &paying(&world, "/paid", payment::PAYEE)).await;
        if answer.reason().is_some() {
            break answer;
        }
        passed += 1;
        assert!(passed <= 30, "no end");
    };
    refused.assert_denied(403, "payment_rate_limited");
    assert_eq!((passed, world.tls.requests().len()), (30, 30));
}

#[tokio::test]
async fn a_rate_that_cannot_be_meant_is_a_mistake_with_its_place() {
    for (rate, expected) in [
        (json!({ "per_payee": 0 }), "zero is not a limit"),
        (json!({ "per_payee": 100_000 }), "at most 65536"),
        (json!({ "window": "25h" }), "at most `24h`"),
        (json!({ "per_hour": 1 }), "per_payee"),
    ] {
        let started = Setup::new(policy::open(&[443]))
            .config(json!({ "payments": { "rate": rate } }))
            .try_start();
        let why = started.err().unwrap();
        assert!(why.contains(expected) && why.contains("tollgate.yaml:"), "{why}");
    }
}
