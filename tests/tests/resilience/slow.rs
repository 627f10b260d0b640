//! Slow heads, slow bodies, silent connections.

use std::time::{Duration, Instant};

use serde_json::json;
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::policy::HOST;
use tollgate_tests::world::World;

#[tokio::test]
async fn slow_heads_do_not_stop_others() {
    let world = World::open().await;
    let mut slow = Vec::new();
    for _ in 0..200 {
        let mut connection = world.gate.dial().await;
        connection.send(format!("GET http://{HOST}:{}/ HT", world.plain.port())).await;
        slow.push(connection);
    }
    for _ in 0..20 {
        let mut connection = world.gate.tls_h1(world.tls.port()).await;
        connection.send("GET / HT").await;
        slow.push(connection);
    }
    let started = Instant::now();
    for via in Via::ALL {
        world.get(via, "/").await.assert_allowed();
    }
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    drop(slow);
}

#[tokio::test]
async fn a_head_that_drips_is_cut_off_by_its_total_deadline() {
    let world = World::start(tollgate_tests::policy::open, |setup| {
        setup.config(json!({ "limits": { "header_read": "1s", "first_byte": "1s" } }))
    })
    .await;
    for inside in [false, true] {
        let mut connection = if inside {
            world.gate.tls_h1(world.tls.port()).await
        } else {
            world.gate.dial().await
        };
        let started = Instant::now();
        let head = format!(
            "GET http://{HOST}:{}/ HTTP/1.1\r\n{}",
            world.plain.port(),
            "X-Drip: drop\r\n".repeat(100)
        );
        for byte in head.bytes() {
            if connection.try_send([byte]).await.is_err() || started.elapsed() > Duration::from_secs(6) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert!(
            started.elapsed() < Duration::from_secs(6),
            "a byte every 50 ms kept it open (inside a tunnel: {inside})"
        );
    }
    world.get(Via::TlsH1, "/").await.assert_allowed();
}

#[tokio::test]
async fn a_client_that_says_nothing_is_cut_off() {
    let world = World::start(tollgate_tests::policy::open, |setup| {
        setup.config(json!({ "limits": { "header_read": "1s", "first_byte": "1s" } }))
    })
    .await;
    let mut silent = world.gate.dial().await;
    assert!(silent.ends_within(Duration::from_secs(5)).await || !silent.some_bytes().await.is_empty());
    let mut tunnel = world.gate.tunnel(&format!("{HOST}:{}", world.tls.port())).await.unwrap();
    assert!(tunnel.ends_within(Duration::from_secs(5)).await || !tunnel.some_bytes().await.is_empty());
    world.assert_untouched();
}

#[tokio::test]
async fn bodies_that_drip_do_not_stop_others_nor_fill_the_memory_for_held_bodies() {
    let world = World::open().await;
    let mut slow = Vec::new();
    for _ in 0..50 {
        let mut connection = world.gate.tls_h1(world.tls.port()).await;
        let head = format!(
            "POST /rpc HTTP/1.1\r\nHost: {HOST}:{}\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{{",
            world.tls.port()
        );
        connection.send(head).await;
        slow.push(connection);
    }
    let started = Instant::now();
    for via in Via::ALL {
        world
            .gate
            .fetch(via, &Ask::get(world.port(via), "/v1").json("{\"fine\":true}"))
            .await
            .assert_allowed();
    }
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    world.tls.requests().iter().for_each(|seen| assert_ne!(seen.target, "/rpc"));
}

#[tokio::test]
async fn an_origin_that_never_answers_is_given_up() {
    let authority = tollgate_tests::authority::Authority::default();
    let origin = tollgate_tests::scripted::Scripted::start(None, |mut peer| async move {
        peer.request().await;
        tokio::time::sleep(Duration::from_secs(60)).await;
    })
    .await;
    let gate = tollgate_tests::tollgate::Setup::new(tollgate_tests::policy::open(&[origin.port()]))
        .local_host()
        .trust(&authority)
        .config(json!({ "limits": { "upstream_first_byte": "1s" } }))
        .start();
    let started = Instant::now();
    gate.fetch(Via::AbsoluteForm, &Ask::get(origin.port(), "/"))
        .await
        .assert_denied(504, "upstream_timeout");
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}
