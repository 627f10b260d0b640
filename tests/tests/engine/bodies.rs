//! Framing of answers and requests: lengths, chunks, closes, hop-by-hop fields.

use tollgate_tests::answer::{Ending, Framing};
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::policy::HOST;
use tollgate_tests::world::World;

use super::{scripted, scripted_h2};

/// E15.
#[tokio::test]
async fn an_answer_that_ends_with_the_connection_becomes_chunked() {
    let (gate, origin) = scripted(|mut peer| async move {
        if peer.request().await.is_some() {
            peer.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end").await;
            peer.peer.finish_sending().await;
        }
    })
    .await;
    let mut h1 = gate.tls_h1(origin.port()).await;
    for _ in 0..2 {
        let answer = h1.request(Ask::get(origin.port(), "/").h1(Via::TlsH1)).await;
        assert_eq!(
            (answer.text().as_str(), answer.framing, &answer.ending),
            ("until the end", Framing::Chunked, &Ending::Complete)
        );
    }
    let answer = gate.fetch(Via::TlsH2, &Ask::get(origin.port(), "/")).await;
    assert_eq!((answer.text().as_str(), answer.ending), ("until the end", Ending::Complete));
}

#[tokio::test]
async fn an_http10_answer_is_passed_on_as_http11() {
    let (gate, origin) = scripted(|mut peer| async move {
        if peer.request().await.is_some() {
            peer.send("HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nold").await;
            peer.peer.finish_sending().await;
        }
    })
    .await;
    let mut h1 = gate.tls_h1(origin.port()).await;
    for _ in 0..2 {
        let answer = h1.request(Ask::get(origin.port(), "/").h1(Via::TlsH1)).await;
        assert_eq!((answer.version, answer.status, answer.text().as_str()), (1, 200, "old"));
    }
}

#[tokio::test]
async fn fields_of_one_hop_do_not_come_back_to_the_client() {
    let (gate, origin) = scripted(|mut peer| async move {
        let answer = "HTTP/1.1 200 OK\r\nConnection: keep-alive, X-Hop\r\nKeep-Alive: timeout=9\r\nX-Hop: 1\r\nProxy-Authenticate: Basic\r\n\
                      Proxy-Connection: keep-alive\r\nUpgrade: h2c\r\nX-Kept: 1\r\nContent-Length: 2\r\n\r\nok";
        peer.answer_all(answer).await;
    })
    .await;
    for via in [Via::TlsH1, Via::TlsH2] {
        let answer = gate.fetch(via, &Ask::get(origin.port(), "/")).await;
        answer.assert_allowed();
        for name in ["keep-alive", "x-hop", "proxy-connection", "upgrade"] {
            assert_eq!(answer.header(name), None, "{name} {via:?}");
        }
        assert_eq!(answer.header("x-kept"), Some("1"), "{via:?}");
        if via == Via::TlsH2 {
            assert_eq!(answer.header("connection"), None);
        }
    }
}

#[tokio::test]
async fn an_answer_of_trailers_only_reaches_the_client() {
    let (gate, origin) = scripted_h2(|_, mut respond| async move {
        let head = http::Response::builder()
            .header("content-type", "application/grpc")
            .header("grpc-status", "5")
            .body(())
            .unwrap();
        respond.send_response(head, true).unwrap();
    })
    .await;
    let answer = gate
        .fetch(
            Via::TlsH2,
            &Ask::get(origin.port(), "/svc/Method").method("POST").header("te", "trailers"),
        )
        .await;
    assert_eq!(
        (answer.status, answer.header("grpc-status"), answer.body.len()),
        (200, Some("5"), 0)
    );
}

#[tokio::test]
async fn chunked_requests_reach_the_origin_whole() {
    let world = World::open().await;
    for (via, port) in [(Via::TlsH1, world.tls.port()), (Via::AbsoluteForm, world.plain.port())] {
        let mut connection = if via == Via::TlsH1 {
            world.gate.tls_h1(port).await
        } else {
            world.gate.dial().await
        };
        let target = if via == Via::TlsH1 {
            "/echo".to_owned()
        } else {
            format!("http://{HOST}:{port}/echo")
        };
        let head = format!("POST {target} HTTP/1.1\r\nHost: {HOST}:{port}\r\nTransfer-Encoding: chunked\r\n\r\n");
        connection.send(head).await;
        for chunk in ["5\r\nhello\r\n", "2;ext=1\r\n, \r\n", "5\r\nworld\r\n"] {
            connection.send(chunk).await;
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        connection.send("0\r\n\r\n").await;
        assert_eq!(connection.answer("POST").await.text(), "hello, world", "{via:?}");
    }
}

#[tokio::test]
async fn a_length_and_chunks_from_the_origin_never_disagree_at_the_client() {
    // RFC 9112 6.3: a message with both is an attack or a bug; it must not leave as both.
    let (gate, origin) = scripted(|mut peer| async move {
        if peer.request().await.is_some() {
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n")
                .await;
            peer.linger().await;
        }
    })
    .await;
    let answer = gate.fetch(Via::TlsH1, &Ask::get(origin.port(), "/")).await;
    if answer.status == 200 {
        assert_eq!((answer.text().as_str(), answer.header("content-length")), ("ok", None));
    } else {
        assert_eq!(answer.status, 502);
    }
}
