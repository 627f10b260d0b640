//! All egress closed at once, by each of its three handles: new requests, open connections and running downloads.

use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::world::World;
use tollgate_tests::{eventually, policy};

/// How soon everything has to end.
const SOON: Duration = Duration::from_secs(1);

async fn world() -> World {
    World::start(policy::open, |setup| setup.config(json!({ "kill_switch": { "file": "closed" } }))).await
}

async fn closed_by(world: &World, by: &[&str]) -> bool {
    let (status, document) = world.gate.readyz().await;
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let reported =
        document["closed_by"] == json!(by) && document["reasons"] == if by.is_empty() { json!([]) } else { json!(["egress_closed"]) };
    #[allow(clippy::cast_precision_loss, reason = "at most three")]
    let counted = (world.gate.metric("tollgate_egress_closers", &[]).await - by.len() as f64).abs() < f64::EPSILON;
    reported && counted && status == if by.is_empty() { 200 } else { 503 }
}

async fn until_closed_by(world: &World, by: &[&str]) {
    for _ in 0..50 {
        if closed_by(world, by).await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("not closed by {by:?}: {:?}", world.gate.readyz().await);
}

#[tokio::test]
async fn while_the_file_is_there_nothing_leaves_and_afterwards_it_does() {
    let world = world().await;
    let file = world.gate.dir().join("closed");
    std::fs::write(&file, "").unwrap();
    until_closed_by(&world, &["file"]).await;
    for via in Via::ALL {
        world.get(via, "/").await.assert_denied(403, "egress_closed");
    }
    world.assert_untouched();
    world
        .gate
        .audited(json!({ "decision": "deny", "reason_code": "egress_closed" }))
        .await;
    // A new policy does not open it.
    world.gate.reload(&policy::open(&[world.plain.port(), world.tls.port()])).await;
    world.get(Via::TlsH2, "/").await.assert_denied(403, "egress_closed");
    std::fs::remove_file(&file).unwrap();
    until_closed_by(&world, &[]).await;
    for via in Via::ALL {
        world.get(via, "/").await.assert_allowed();
    }
}

#[tokio::test]
async fn a_file_that_is_there_at_the_start_is_obeyed_from_the_first_connection() {
    let elsewhere = tempfile::NamedTempFile::new().unwrap();
    let config = json!({ "kill_switch": { "file": elsewhere.path() } });
    let world = World::start(policy::open, |setup| setup.config(config)).await;
    world.get(Via::TlsH1, "/").await.assert_denied(403, "egress_closed");
    world.assert_untouched();
}

#[tokio::test]
async fn the_signal_ends_what_is_open_and_nothing_from_inside_opens_it() {
    let world = world().await;
    let mut idle = world.gate.tls_h1(world.tls.port()).await;
    idle.request(Ask::get(world.tls.port(), "/").h1(Via::TlsH1)).await.assert_allowed();
    let mut h2 = world.gate.tls_h2(world.tls.port()).await;
    h2.ask(&Ask::get(world.tls.port(), "/")).await.assert_allowed();
    let mut running = world.gate.tls_h1(world.tls.port()).await;
    running.send(Ask::get(world.tls.port(), "/slow/20000").h1(Via::TlsH1)).await;
    eventually("the download at the origin", || {
        world.tls.requests().into_iter().find(|request| request.target == "/slow/20000")
    })
    .await;

    world.gate.signal(Signal::USR1);
    let end = tokio::time::timeout(SOON, running.answer_or_end("GET"))
        .await
        .expect("the download runs on");
    if let Ok(answer) = end {
        answer.assert_denied(403, "egress_closed");
    }
    assert!(idle.ends_within(SOON).await, "the idle connection lives on");
    assert!(
        tokio::time::timeout(SOON, &mut h2.connection).await.is_ok(),
        "the h2 connection lives on"
    );
    assert!(closed_by(&world, &["signal"]).await);

    for signal in [Signal::USR1, Signal::HUP] {
        world.gate.signal(signal);
    }
    let file = world.gate.dir().join("closed");
    std::fs::write(&file, "").unwrap();
    until_closed_by(&world, &["signal", "file"]).await;
    std::fs::remove_file(&file).unwrap();
    until_closed_by(&world, &["signal"]).await;
    world.get(Via::TlsH1, "/").await.assert_denied(403, "egress_closed");
}

#[tokio::test]
async fn the_admin_listener_closes_by_post_alone() {
    let world = world().await;
    assert_eq!(world.gate.admin("/kill").await.status, 405);
    assert!(closed_by(&world, &[]).await);
    let answer = world.gate.admin_post("/kill").await;
    assert_eq!((answer.status, answer.text().as_str()), (200, r#"{"egress":"closed"}"#));
    world.get(Via::AbsoluteForm, "/").await.assert_denied(403, "egress_closed");
    assert!(closed_by(&world, &["admin"]).await);
}
