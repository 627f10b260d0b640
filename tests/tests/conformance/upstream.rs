//! An origin that cannot be reached is a typed answer on every way in, never a bare close.

use std::time::{Duration, Instant};

use serde_json::json;
use tollgate_tests::authority::{Alpn, Authority};
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::origin::{Origin, standard};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::scripted::Scripted;
use tollgate_tests::tollgate::Setup;
use tollgate_tests::world::World;

/// A port that nothing listens on.
async fn closed_port() -> u16 {
    tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

#[tokio::test]
async fn a_refused_dial_is_a_502() {
    let port = closed_port().await;
    let gate = Setup::new(policy::open(&[port])).local_host().start();
    for via in Via::ALL {
        let body = gate
            .fetch(via, &Ask::get(port, "/"))
            .await
            .assert_denied(502, "upstream_unreachable");
        assert_eq!(body["error"], "upstream_unreachable", "{via:?}");
    }
    gate.audited(json!({ "reason_code": "upstream_unreachable", "host": HOST })).await;
    assert!(
        gate.metric("tollgate_upstream_errors_total", &[("reason_code", "upstream_unreachable")])
            .await
            >= 4.0
    );
}

#[tokio::test]
async fn origins_with_an_unverifiable_certificate_are_a_502() {
    let (trusted, foreign) = (Authority::default(), Authority::default());
    let unknown = Origin::tls(&foreign, Alpn::H2).await;
    let misnamed = Origin::start(Some(trusted.server("wrong.example.test", Alpn::H2)), standard).await;
    let gate = Setup::new(policy::open(&[unknown.port(), misnamed.port()]))
        .local_host()
        .trust(&trusted)
        .start();
    for via in [Via::TlsH1, Via::TlsH2] {
        for origin in [&unknown, &misnamed] {
            gate.fetch(via, &Ask::get(origin.port(), "/"))
                .await
                .assert_denied(502, "upstream_tls_invalid");
            origin.assert_no_request();
        }
    }
}

#[tokio::test]
async fn an_origin_that_speaks_no_tls_is_a_502() {
    let plain = Origin::plain().await;
    let gate = Setup::new(policy::open(&[plain.port()])).local_host().start();
    let answer = gate.fetch(Via::TlsH1, &Ask::get(plain.port(), "/")).await;
    answer.assert_denied(502, "upstream_tls_invalid");
}

#[tokio::test]
async fn an_origin_that_answers_nonsense_is_a_502() {
    for nonsense in [
        "SSH-2.0-x\r\n\r\n",
        "HTTP/1.1\r\n\r\n",
        "HTTP/1.1 2000 Hm\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    ] {
        let origin = Scripted::start(None, move |mut peer| async move { peer.answer_all(nonsense).await }).await;
        let gate = Setup::new(policy::open(&[origin.port()])).local_host().start();
        let answer = gate.fetch(Via::AbsoluteForm, &Ask::get(origin.port(), "/")).await;
        assert_eq!(answer.status, 502, "{nonsense:?}: {answer:?}");
        assert!(answer.reason().is_some_and(|reason| reason.starts_with("upstream_")), "{answer:?}");
    }
}

#[tokio::test]
async fn an_origin_that_hangs_up_without_an_answer_is_a_502() {
    let origin = Scripted::start(None, |mut peer| async move {
        peer.request().await;
    })
    .await;
    let gate = Setup::new(policy::open(&[origin.port()])).local_host().start();
    for method in ["GET", "POST"] {
        let answer = gate.fetch(Via::AbsoluteForm, &Ask::get(origin.port(), "/").method(method)).await;
        answer.assert_denied(502, "upstream_unreachable");
    }
}

#[tokio::test]
async fn an_origin_that_takes_no_connections_times_out() {
    // A listener whose backlog is full: further handshakes get no answer.
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut crowd = Vec::new();
    while let Ok(Ok(stream)) = tokio::time::timeout(Duration::from_millis(300), tokio::net::TcpStream::connect(address)).await {
        crowd.push(stream);
    }
    let settings = json!({ "upstream": { "connect_timeout": "300ms" } });
    let gate = Setup::new(policy::open(&[address.port()])).local_host().config(settings).start();
    for via in Via::ALL {
        let started = Instant::now();
        gate.fetch(via, &Ask::get(address.port(), "/"))
            .await
            .assert_denied(504, "upstream_timeout");
        assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
    }
    drop(crowd);
}

#[tokio::test]
async fn the_world_still_turns_after_all_this() {
    let world = World::open().await;
    for via in Via::ALL {
        world.get(via, "/").await.assert_allowed();
    }
}

/// An address that takes no connection and refuses none: as many wait there as may.
async fn leads_nowhere(port: u16) -> (tokio::net::TcpListener, Vec<tokio::net::TcpStream>) {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    let address = std::net::SocketAddr::from(([127, 0, 0, 2], port));
    socket.bind(address).unwrap();
    let listener = socket.listen(1).unwrap();
    let mut waiting = Vec::new();
    let full = Duration::from_millis(200);
    while let Ok(connected) = tokio::time::timeout(full, tokio::net::TcpStream::connect(address)).await {
        waiting.push(connected.unwrap());
    }
    (listener, waiting)
}

#[tokio::test]
async fn an_address_that_leads_nowhere_costs_a_moment() {
    let authority = Authority::default();
    let (plain, tls) = (Origin::plain().await, Origin::tls(&authority, Alpn::H2).await);
    let settings = json!({ "upstream": { "hosts": { HOST: ["127.0.0.2", "127.0.0.1"] }, "connect_timeout": "20s" } });
    let gate = Setup::new(policy::open(&[plain.port(), tls.port()]))
        .config(settings)
        .trust(&authority)
        .start();
    let _holes = (leads_nowhere(plain.port()).await, leads_nowhere(tls.port()).await);
    for (via, port) in Via::ALL.map(|via| (via, if via.is_tls() { tls.port() } else { plain.port() })) {
        let began = Instant::now();
        gate.fetch(via, &Ask::get(port, "/")).await.assert_allowed();
        assert!(began.elapsed() < Duration::from_secs(5), "{via:?}: {:?}", began.elapsed());
    }
}
