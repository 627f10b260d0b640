//! 101: WebSocket upgrades are spliced, and nothing else becomes opaque.

use std::time::Duration;

use tollgate_tests::client::{Ask, Via};
use tollgate_tests::policy::HOST;
use tollgate_tests::within;

use super::{assert_echoed, scripted};

const HANDSHAKE: &str =
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
const SWITCH: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";

#[tokio::test]
async fn a_websocket_carries_bytes_both_ways() {
    let (gate, origin) = scripted(|mut peer| async move {
        let head = peer.head().await.unwrap();
        assert_eq!(head.header("upgrade"), Some("websocket"));
        // Bytes glued to the 101 must not be lost.
        peer.send(format!("{SWITCH}glued")).await;
        loop {
            let piece = peer.peer.some_bytes().await;
            if piece.is_empty() {
                return;
            }
            peer.send(piece).await;
        }
    })
    .await;
    let mut h1 = gate.tls_h1(origin.port()).await;
    h1.send(format!("GET /socket HTTP/1.1\r\nHost: {HOST}:{}\r\n{HANDSHAKE}", origin.port()))
        .await;
    let answer = h1.answer("GET").await;
    assert_eq!((answer.status, answer.header("upgrade")), (101, Some("websocket")));
    assert_eq!(h1.exactly(5).await, "glued");
    for message in ["one", "two", "three"] {
        h1.send(message).await;
        assert_eq!(h1.exactly(message.len()).await, message);
    }
}

#[tokio::test]
async fn a_spliced_connection_moves_megabytes_both_ways_at_once() {
    let size = 30 << 20;
    let (gate, origin) = scripted(move |mut peer| async move {
        peer.head().await;
        peer.send(SWITCH).await;
        // Sends all of its own before it reads anything back would lock a half-duplex splice; so do both.
        let mut echoed = 0;
        while echoed < size {
            let piece = peer.peer.some_bytes().await;
            if piece.is_empty() {
                return;
            }
            echoed += piece.len();
            peer.send(piece).await;
        }
        peer.linger().await;
    })
    .await;
    let authority = format!("{HOST}:{}", origin.port());
    let mut h1 = gate.tls_h1(origin.port()).await;
    h1.send(format!("GET /socket HTTP/1.1\r\nHost: {authority}\r\n{HANDSHAKE}")).await;
    assert_eq!(h1.answer("GET").await.status, 101);
    assert_echoed(h1.into_stream(), String::new(), size).await;
}

#[tokio::test]
async fn an_end_on_one_side_of_a_splice_ends_the_other() {
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let (gate, origin) = scripted(move |mut peer| {
        let tell = tell.clone();
        async move {
            peer.head().await;
            peer.send(SWITCH).await;
            if peer.index == 0 {
                peer.linger().await;
                let _ = tell.send(());
            }
        }
    })
    .await;
    let upgrade = format!("GET /socket HTTP/1.1\r\nHost: {HOST}:{}\r\n{HANDSHAKE}", origin.port());
    let mut h1 = gate.tls_h1(origin.port()).await;
    h1.send(&upgrade).await;
    assert_eq!(h1.answer("GET").await.status, 101);
    drop(h1);
    within("end at the origin", told.recv()).await;
    let mut h1 = gate.tls_h1(origin.port()).await;
    h1.send(&upgrade).await;
    assert_eq!(h1.answer("GET").await.status, 101);
    assert!(h1.ends_within(Duration::from_secs(3)).await);
}

/// E13.
#[tokio::test]
async fn a_101_that_nobody_asked_for_is_a_502() {
    let (gate, origin) = scripted(|mut peer| async move {
        peer.request().await;
        peer.send(format!("{SWITCH}opaque bytes")).await;
        peer.linger().await;
    })
    .await;
    for via in [Via::TlsH1, Via::TlsH2] {
        let answer = gate.fetch(via, &Ask::get(origin.port(), "/")).await;
        assert_eq!(
            (answer.status, answer.reason()),
            (502, Some("upstream_unreachable")),
            "{via:?}: {answer:?}"
        );
        assert!(!answer.text().contains("opaque"));
    }
}

#[tokio::test]
async fn a_switch_to_another_protocol_than_asked_is_a_502() {
    let (gate, origin) = scripted(|mut peer| async move {
        peer.head().await;
        peer.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\nopaque")
            .await;
        peer.linger().await;
    })
    .await;
    let mut h1 = gate.tls_h1(origin.port()).await;
    h1.send(format!("GET /socket HTTP/1.1\r\nHost: {HOST}:{}\r\n{HANDSHAKE}", origin.port()))
        .await;
    h1.answer("GET").await.assert_denied(502, "upstream_unreachable");
}

#[tokio::test]
async fn an_upgrade_that_the_origin_turns_down_is_an_ordinary_answer() {
    let (gate, origin) = scripted(|mut peer| async move { peer.answer_all("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno").await }).await;
    let mut h1 = gate.tls_h1(origin.port()).await;
    for _ in 0..2 {
        h1.send(format!("GET /socket HTTP/1.1\r\nHost: {HOST}:{}\r\n{HANDSHAKE}", origin.port()))
            .await;
        let answer = h1.answer("GET").await;
        assert_eq!((answer.status, answer.text().as_str()), (200, "no"));
    }
}

#[tokio::test]
async fn an_upgrade_with_a_body_or_to_anything_but_websocket_is_not_forwarded_as_one() {
    let (gate, origin) = scripted(|mut peer| async move {
        while let Some((head, body)) = peer.request().await {
            let seen = format!("upgrade={:?} body={}", head.header("upgrade"), body.len());
            peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{seen}", seen.len()))
                .await;
        }
    })
    .await;
    let authority = format!("{HOST}:{}", origin.port());
    for text in [
        format!("POST /x HTTP/1.1\r\nHost: {authority}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 2\r\n\r\nhi"),
        format!("GET /x HTTP/1.1\r\nHost: {authority}\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n"),
        format!("GET /x HTTP/1.1\r\nHost: {authority}\r\nUpgrade: websocket\r\n\r\n"),
    ] {
        let mut h1 = gate.tls_h1(origin.port()).await;
        let answer = h1.request(&text).await;
        let refused = matches!(answer.status, 400 | 403) && answer.reason().is_some();
        assert!(refused || answer.text().starts_with("upgrade=None"), "{text}: {answer:?}");
    }
}

#[tokio::test]
async fn a_websocket_that_the_policy_denies_is_refused_before_the_origin() {
    let rules = ["rules:", "  - allow: { method: GET, path: \"/v1/**\" }"];
    let world = tollgate_tests::world::World::start(|ports| tollgate_tests::policy::ruled(ports, &rules), |setup| setup).await;
    let mut h1 = world.gate.tls_h1(world.tls.port()).await;
    h1.send(format!("GET /socket HTTP/1.1\r\nHost: {HOST}:{}\r\n{HANDSHAKE}", world.tls.port()))
        .await;
    h1.answer("GET").await.assert_denied(403, "path_not_allowed");
    world.tls.assert_no_request();
}
