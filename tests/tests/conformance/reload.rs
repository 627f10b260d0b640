//! Hot reload: what a changed policy.yaml does to requests, to open connections, and to what operators see.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::eventually;
use tollgate_tests::policy;
use tollgate_tests::world::World;

/// How soon a connection has to end that the new policy forbids.
const SOON: Duration = Duration::from_secs(1);

#[tokio::test]
async fn a_changed_file_is_taken_without_a_restart() {
    let world = World::open().await;
    let ports = [world.plain.port(), world.tls.port()];
    let generation = world.gate.metric("tollgate_policy_generation", &[]).await;
    world.get(Via::AbsoluteForm, "/").await.assert_allowed();
    world.gate.reload(&policy::document(&[])).await;
    let answer = world.get(Via::AbsoluteForm, "/").await;
    answer.assert_denied(403, "no_policy");
    world.gate.reload(&policy::open(&ports)).await;
    for via in Via::ALL {
        world.get(via, "/").await.assert_allowed();
    }
    assert!(world.gate.metric("tollgate_policy_generation", &[]).await >= generation + 2.0);
}

#[tokio::test]
async fn a_file_written_in_place_is_taken() {
    let world = World::open().await;
    std::fs::write(
        world.gate.dir().join("policy.yaml"),
        policy::ruled(&[world.plain.port()], &["access: read-only"]),
    )
    .unwrap();
    let end = Instant::now() + Duration::from_secs(5);
    loop {
        let answer = world
            .gate
            .fetch(Via::AbsoluteForm, &Ask::get(world.plain.port(), "/").method("POST"))
            .await;
        if answer.status == 403 {
            return;
        }
        assert!(Instant::now() < end, "the new policy was not taken: {answer:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_bad_file_keeps_the_last_good_policy_and_says_why() {
    let world = World::open().await;
    let generation = world.gate.metric("tollgate_policy_generation", &[]).await;
    let healthy = world.gate.readyz().await;
    assert_eq!(healthy.0, 200, "{}", healthy.1);
    world
        .gate
        .reload("version: 1\nnetwork_policies:\n  api:\n    endpoinds: []\n")
        .await;
    for via in Via::ALL {
        world.get(via, "/").await.assert_allowed();
    }
    assert!((world.gate.metric("tollgate_policy_generation", &[]).await - generation).abs() < f64::EPSILON);
    let log = eventually("a word about the bad file", || {
        Some(world.gate.stderr()).filter(|log| log.contains("endpoinds"))
    })
    .await;
    assert!(log.contains("policy.yaml"), "{log}");
    let (_, document) = world.gate.readyz().await;
    assert_ne!(document, healthy.1, "readiness does not show the bad file");

    let ports = [world.plain.port(), world.tls.port()];
    world.gate.reload(&policy::open(&ports)).await;
    assert_eq!(world.gate.readyz().await.0, 200);
}

#[tokio::test]
async fn a_hangup_signal_reloads() {
    let world = World::open().await;
    let before = world.gate.metric("tollgate_policy_reloads_total", &[]).await;
    world.gate.signal(Signal::HUP);
    let end = Instant::now() + Duration::from_secs(5);
    while world.gate.metric("tollgate_policy_reloads_total", &[]).await <= before {
        assert!(Instant::now() < end, "SIGHUP did not reload");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    world.get(Via::TlsH2, "/").await.assert_allowed();
}

/// D26.
#[tokio::test]
async fn idle_connections_that_the_new_policy_forbids_end_within_a_second() {
    let world = World::open().await;
    let mut h1 = world.gate.tls_h1(world.tls.port()).await;
    h1.request(Ask::get(world.tls.port(), "/").h1(Via::TlsH1)).await.assert_allowed();
    let mut h2 = world.gate.tls_h2(world.tls.port()).await;
    h2.ask(&Ask::get(world.tls.port(), "/")).await.assert_allowed();
    let mut tunnel = world
        .gate
        .tunnel(&format!("{}:{}", policy::HOST, world.plain.port()))
        .await
        .unwrap();
    tunnel
        .request(Ask::get(world.plain.port(), "/").h1(Via::PlainTunnel))
        .await
        .assert_allowed();

    world.gate.reload(&policy::document(&[])).await;
    assert!(h1.ends_within(SOON).await, "the h1 tunnel lives on");
    assert!(tunnel.ends_within(SOON).await, "the cleartext tunnel lives on");
    assert!(
        tokio::time::timeout(SOON, &mut h2.connection).await.is_ok(),
        "the h2 tunnel lives on"
    );
}

#[tokio::test]
async fn a_running_download_that_the_new_policy_forbids_ends_within_a_second() {
    let world = World::open().await;
    let mut h1 = world.gate.tls_h1(world.tls.port()).await;
    h1.send(Ask::get(world.tls.port(), "/slow/20000").h1(Via::TlsH1)).await;
    eventually("the request at the origin", || world.tls.requests().pop()).await;
    let started = Instant::now();
    world.gate.reload(&policy::document(&[])).await;
    let end = tokio::time::timeout(SOON, h1.answer_or_end("GET")).await;
    let end = end.unwrap_or_else(|_| panic!("still open after {:?}", started.elapsed()));
    if let Ok(answer) = end {
        answer.assert_denied(403, "policy_stale");
    }
}

#[tokio::test]
async fn connections_that_stay_allowed_stay_open() {
    let world = World::open().await;
    let ports = [world.plain.port(), world.tls.port()];
    let mut h1 = world.gate.tls_h1(world.tls.port()).await;
    h1.request(Ask::get(world.tls.port(), "/").h1(Via::TlsH1)).await.assert_allowed();
    world.gate.reload(&policy::ruled(&ports, &["access: read-only"])).await;
    h1.request(Ask::get(world.tls.port(), "/").h1(Via::TlsH1)).await.assert_allowed();
    h1.request(Ask::get(world.tls.port(), "/").method("DELETE").h1(Via::TlsH1))
        .await
        .assert_denied(403, "method_not_allowed");
    world
        .gate
        .audited(json!({ "decision": "deny", "reason_code": "method_not_allowed" }))
        .await;
}

#[tokio::test]
async fn rules_that_come_while_a_body_is_held_judge_the_request_again() {
    let world = World::open().await;
    let ports = [world.plain.port(), world.tls.port()];
    let mut h1 = world.gate.tls_h1(world.tls.port()).await;
    // Half of a JSON document: it has to be read to its end before anything may leave.
    let head = Ask::get(world.tls.port(), "/")
        .method("POST")
        .header("Content-Length", "20")
        .h1(Via::TlsH1);
    h1.send(head).await;
    h1.send(r#"{"part":"#).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    world.gate.reload(&policy::ruled(&ports, &["access: read-only"])).await;
    h1.send(r#" "one or 2"}"#).await;
    h1.answer("POST").await.assert_denied(403, "method_not_allowed");
    world.assert_untouched();
}

#[tokio::test]
async fn a_pipe_in_place_of_the_policy_neither_hangs_nor_opens() {
    let mut world = World::open().await;
    let file = world.gate.dir().join("policy.yaml");
    std::fs::remove_file(&file).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, &file, rustix::fs::Mode::from_raw_mode(0o600)).unwrap();
    let log = world.gate.logged("policy.yaml:").await;
    assert!(log.contains("it is not a regular file"), "{log}");
    // The last good policy stays, and the process can still be asked and ended.
    world.get(Via::TlsH1, "/").await.assert_allowed();
    assert!(world.gate.readyz().await.1.contains("it is not a regular file"));
    world.gate.signal(Signal::TERM);
    assert!(world.gate.ended().await.success());
}
