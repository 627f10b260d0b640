//! Keep-alive, pipelining, reuse of origin connections, and which request may be sent twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tollgate_tests::answer::Framing;
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::policy::HOST;
use tollgate_tests::world::World;

use super::scripted;

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

#[tokio::test]
async fn requests_of_one_tunnel_share_one_origin_connection() {
    let world = World::open().await;
    let port = world.tls.port();
    let mut h1 = world.gate.tls_h1(port).await;
    for _ in 0..10 {
        h1.request(Ask::get(port, "/").h1(Via::TlsH1)).await.assert_allowed();
    }
    let mut ask = Ask::get(port, "/").method("POST");
    ask.body = b"body";
    h1.request(ask.h1(Via::TlsH1)).await.assert_allowed();
    assert_eq!((world.tls.connections(), world.tls.requests().len()), (1, 11));
}

#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    let world = World::open().await;
    let port = world.tls.port();
    let mut h1 = world.gate.tls_h1(port).await;
    let all: Vec<u8> = (0..5)
        .flat_map(|n| {
            Ask::get(port, if n == 0 { "/slow/200" } else { "/fast" })
                .header("x-n", n.to_string())
                .h1(Via::TlsH1)
        })
        .collect();
    h1.send(all).await;
    for n in 0..5 {
        let answer = h1.answer("GET").await;
        assert_eq!(answer.text(), if n == 0 { "GET /slow/200" } else { "GET /fast" });
    }
    let order: Vec<String> = world
        .tls
        .requests()
        .iter()
        .map(|seen| seen.header("x-n").unwrap().to_owned())
        .collect();
    assert_eq!(order, ["0", "1", "2", "3", "4"]);
}

#[tokio::test]
async fn a_pipelined_request_that_comes_while_the_first_runs_is_answered() {
    let world = World::open().await;
    let port = world.tls.port();
    let mut h1 = world.gate.tls_h1(port).await;
    h1.send(Ask::get(port, "/slow/300").h1(Via::TlsH1)).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    // One byte first: the watcher for a gone client must not eat it.
    let next = Ask::get(port, "/fast").h1(Via::TlsH1);
    h1.send(&next[..1]).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    h1.send(&next[1..]).await;
    assert_eq!(h1.answer("GET").await.text(), "GET /slow/300");
    assert_eq!(h1.answer("GET").await.text(), "GET /fast");
}

#[tokio::test]
async fn pipelined_bodies_stay_apart() {
    let world = World::open().await;
    let port = world.tls.port();
    let mut h1 = world.gate.tls_h1(port).await;
    let mut all = Vec::new();
    for body in ["first", "second one", "3"] {
        let mut ask = Ask::get(port, "/echo").method("POST");
        ask.body = body.as_bytes();
        all.extend(ask.h1(Via::TlsH1));
    }
    h1.send(all).await;
    for body in ["first", "second one", "3"] {
        assert_eq!(h1.answer("POST").await.text(), body);
    }
}

#[tokio::test]
async fn a_client_that_asks_to_close_is_closed() {
    let world = World::open().await;
    let port = world.tls.port();
    let mut h1 = world.gate.tls_h1(port).await;
    h1.request(Ask::get(port, "/").header("Connection", "close").h1(Via::TlsH1))
        .await
        .assert_allowed();
    assert!(h1.ends_within(Duration::from_secs(2)).await);
}

#[tokio::test]
async fn an_http10_client_gets_a_plain_body_and_a_close() {
    let world = World::open().await;
    for target in ["/chunked", "/bytes/5"] {
        let mut connection = world.gate.dial().await;
        let port = world.plain.port();
        let answer = connection
            .request(format!("GET http://{HOST}:{port}{target} HTTP/1.0\r\nHost: {HOST}:{port}\r\n\r\n"))
            .await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert!(matches!(answer.framing, Framing::Close | Framing::Length), "{answer:?}");
        assert_eq!(answer.text(), if target == "/chunked" { "one two three" } else { "xxxxx" });
        assert!(connection.ends_within(Duration::from_secs(2)).await);
    }
}

#[tokio::test]
async fn a_get_on_a_connection_that_the_origin_closed_is_sent_again() {
    let (gate, origin) = scripted(|mut peer| async move {
        // The second request meets a connection that ends without a word, and over TLS without close_notify.
        if peer.request().await.is_some() {
            peer.send(OK).await;
        }
        if peer.index > 0 {
            peer.answer_all(OK).await;
        }
    })
    .await;
    let mut h1 = gate.tls_h1(origin.port()).await;
    for _ in 0..3 {
        h1.request(Ask::get(origin.port(), "/").h1(Via::TlsH1)).await.assert_allowed();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn a_get_that_meets_the_close_in_flight_is_sent_again() {
    let (gate, origin) = scripted(|mut peer| async move {
        if peer.request().await.is_some() {
            peer.send(OK).await;
        }
        if peer.index == 0 {
            // Takes the next head, answers nothing.
            peer.head().await;
        } else {
            peer.answer_all(OK).await;
        }
    })
    .await;
    let mut h1 = gate.tls_h1(origin.port()).await;
    for _ in 0..2 {
        h1.request(Ask::get(origin.port(), "/").h1(Via::TlsH1)).await.assert_allowed();
    }
    assert_eq!((origin.connections(), origin.heads().len()), (2, 3));
}

#[tokio::test]
async fn a_post_that_meets_the_close_in_flight_is_never_sent_twice() {
    let posts = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&posts);
    let (gate, origin) = scripted(move |mut peer| {
        let count = Arc::clone(&count);
        async move {
            while let Some((head, _)) = peer.request().await {
                if head.first_line.starts_with("POST") {
                    count.fetch_add(1, Ordering::SeqCst);
                    return;
                }
                peer.send(OK).await;
            }
        }
    })
    .await;
    let mut h1 = gate.tls_h1(origin.port()).await;
    h1.request(Ask::get(origin.port(), "/").h1(Via::TlsH1)).await.assert_allowed();
    let mut ask = Ask::get(origin.port(), "/").method("POST");
    ask.body = b"once";
    h1.request(ask.h1(Via::TlsH1)).await.assert_denied(502, "upstream_unreachable");
    assert_eq!(posts.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn bytes_after_an_answer_never_become_the_next_answer() {
    let (gate, origin) = scripted(|mut peer| async move {
        let mut first = true;
        while let Some((head, _)) = peer.request().await {
            let stray = if first && peer.index == 0 {
                "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison"
            } else {
                ""
            };
            first = false;
            peer.send(format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}{stray}",
                head.first_line.len(),
                head.first_line
            ))
            .await;
        }
    })
    .await;
    let mut h1 = gate.tls_h1(origin.port()).await;
    for target in ["/one", "/two", "/three"] {
        let answer = h1.request(Ask::get(origin.port(), target).h1(Via::TlsH1)).await;
        assert!(
            answer.status == 502 || answer.text() == format!("GET {target} HTTP/1.1"),
            "{answer:?}"
        );
    }
    let mut other = gate.tls_h1(origin.port()).await;
    let answer = other.request(Ask::get(origin.port(), "/other").h1(Via::TlsH1)).await;
    assert!(!answer.text().contains("poison"), "{answer:?}");
}

#[tokio::test]
async fn an_answer_of_a_connection_that_says_close_is_the_last_of_it() {
    let (gate, origin) = scripted(|mut peer| async move {
        if peer.request().await.is_some() {
            peer.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
                .await;
            // Stays open although it said otherwise, and would answer wrongly.
            peer.answer_all("HTTP/1.1 500 Reused\r\nContent-Length: 0\r\n\r\n").await;
        }
    })
    .await;
    let mut h1 = gate.tls_h1(origin.port()).await;
    for _ in 0..3 {
        h1.request(Ask::get(origin.port(), "/").h1(Via::TlsH1)).await.assert_allowed();
    }
}

#[tokio::test]
async fn an_answer_with_an_early_end_leaves_no_connection_behind_that_is_half_written() {
    // The origin answers before it has read the body, and keeps the connection open: what it reads next must not be the rest of it.
    let (gate, origin) = scripted(|mut peer| async move {
        while let Some(head) = peer.head().await {
            if head.first_line.starts_with("POST") {
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nearly").await;
            } else {
                peer.send(OK).await;
            }
        }
    })
    .await;
    let mut h1 = gate.tls_h1(origin.port()).await;
    h1.send(format!(
        "POST / HTTP/1.1\r\nHost: {HOST}:{}\r\nContent-Length: 100\r\n\r\nstart",
        origin.port()
    ))
    .await;
    assert_eq!(h1.answer("POST").await.text(), "early");
    let mut other = gate.tls_h1(origin.port()).await;
    other.request(Ask::get(origin.port(), "/").h1(Via::TlsH1)).await.assert_allowed();
    for head in origin.heads() {
        assert!(head.starts_with("POST /") || head.starts_with("GET /"), "{head:?}");
    }
}
