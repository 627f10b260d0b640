//! A verdict service that fails is left alone, and asked again when it is back.

use std::time::{Duration, Instant};

use serde_json::json;
use tollgate_tests::client::Via;
use tollgate_tests::payment;
use tollgate_tests::policy;
use tollgate_tests::verdict_peer::{Mood, Says, VerdictPeer};
use tollgate_tests::world::World;

use super::paying;

const OPEN: &str = "tollgate_verdict_breaker_open";

#[tokio::test]
async fn a_dead_service_is_not_waited_for_and_a_living_one_is_found_out_by_one_probe() {
    let peer = VerdictPeer::start(Mood::HangsUp).await;
    let settings = peer.settings();
    let breaker = json!({ "verdict": { "breaker": { "failures": 3, "pause": "1s" } } });
    let world = World::start(policy::open, |setup| {
        setup.config(payment::settings()).config(settings).config(breaker)
    })
    .await;
    let pay = || async { world.gate.fetch(Via::TlsH1, &paying(&world, Via::TlsH1)).await };
    let open = || world.gate.metric(OPEN, &[("backend", "blackwall")]);
    for _ in 0..3 {
        assert!(open().await.abs() < f64::EPSILON);
        pay().await.assert_denied(403, "verdict_unavailable");
    }
    assert!((open().await - 1.0).abs() < f64::EPSILON);
    let asked = peer.questions().len();
    peer.turn(Mood::Slow(Duration::from_secs(30)));
    let started = Instant::now();
    for _ in 0..5 {
        let refused = pay().await;
        refused.assert_denied(403, "verdict_unavailable");
        assert!(
            refused.json()["detail"].as_str().unwrap().contains("failed too often"),
            "{refused:?}"
        );
    }
    assert!(started.elapsed() < Duration::from_millis(900), "{:?}", started.elapsed());
    assert_eq!(peer.questions().len(), asked, "it is left alone");
    let timed = world
        .gate
        .metric("tollgate_verdict_duration_seconds_count", &[("backend", "blackwall")])
        .await;
    assert!((timed - 3.0).abs() < f64::EPSILON, "who was not asked has no time: {timed}");
    let none = world.gate.metric("tollgate_verdicts_total", &[("verdict", "none")]).await;
    assert!((none - 8.0).abs() < f64::EPSILON, "{none}");

    // The probe finds it dead once more, then alive.
    peer.turn(Mood::HangsUp);
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    pay().await.assert_denied(403, "verdict_unavailable");
    assert_eq!(peer.questions().len(), asked + 1);
    peer.turn(Mood::Always(Says::Go));
    pay().await.assert_denied(403, "verdict_unavailable");
    assert_eq!(peer.questions().len(), asked + 1, "another pause");
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    pay().await.assert_allowed();
    pay().await.assert_allowed();
    assert!(open().await.abs() < f64::EPSILON);
    world.gate.logged("the verdict service answers again").await;
}

#[tokio::test]
async fn calls_under_way_are_counted_while_they_are() {
    let peer = VerdictPeer::start(Mood::Slow(Duration::from_millis(1_500))).await;
    let settings = peer.settings();
    let world = World::start(policy::open, |setup| setup.config(payment::settings()).config(settings)).await;
    let in_flight = || world.gate.metric("tollgate_verdict_in_flight", &[("backend", "blackwall")]);
    assert!(in_flight().await.abs() < f64::EPSILON);
    let ask = paying(&world, Via::TlsH1);
    let (answer, ()) = tokio::join!(world.gate.fetch(Via::TlsH1, &ask), async {
        tollgate_tests::eventually("the question", || peer.questions().pop()).await;
        assert!((in_flight().await - 1.0).abs() < f64::EPSILON);
    });
    answer.assert_allowed();
    // The report of the outcome is a call as well.
    let end = Instant::now() + Duration::from_secs(5);
    while in_flight().await.abs() > f64::EPSILON {
        assert!(Instant::now() < end, "still {}", in_flight().await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
