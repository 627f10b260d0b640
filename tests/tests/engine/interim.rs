//! Interim answers and `Expect: 100-continue`.

use std::time::{Duration, Instant};

use tollgate_tests::client::{Ask, Via};
use tollgate_tests::h2_client::H2;
use tollgate_tests::policy::HOST;
use tollgate_tests::world::World;

use super::scripted;

/// The interim answers of a stream, then its final head.
async fn heads(mut response: h2::client::ResponseFuture) -> (Vec<http::Response<()>>, http::Response<h2::RecvStream>) {
    let mut interim = Vec::new();
    let last = tollgate_tests::within(
        "final head",
        std::future::poll_fn(|context| {
            while let std::task::Poll::Ready(Some(Ok(head))) = response.poll_informational(context) {
                interim.push(head);
            }
            std::pin::Pin::new(&mut response).poll(context)
        }),
    )
    .await
    .unwrap();
    (interim, last)
}

#[tokio::test]
async fn early_hints_reach_an_http2_client_at_once() {
    let (gate, origin) = scripted(|mut peer| async move {
        while peer.request().await.is_some() {
            peer.send("HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\nConnection: X-Hop\r\nX-Hop: 1\r\n\r\n")
                .await;
            tokio::time::sleep(Duration::from_millis(400)).await;
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
        }
    })
    .await;
    let mut h2 = gate.tls_h2(origin.port()).await;
    for _ in 0..2 {
        let started = Instant::now();
        let (mut response, _) = h2.open(H2::head(&Ask::get(origin.port(), "/")), true).await;
        let hints = std::future::poll_fn(|context| response.poll_informational(context));
        let hints = tollgate_tests::within("hints", hints).await.unwrap().unwrap();
        assert!(
            started.elapsed() < Duration::from_millis(350),
            "held back for {:?}",
            started.elapsed()
        );
        assert_eq!((hints.status().as_u16(), hints.headers().len()), (103, 1), "{hints:?}");
        assert_eq!(hints.headers()["link"], "</a.css>; rel=preload");
        let answer = tollgate_tests::within("answer", tollgate_tests::h2_client::collect(response))
            .await
            .unwrap();
        assert_eq!((answer.status, answer.text().as_str()), (200, "ok"));
    }
}

/// E19.
#[tokio::test]
async fn an_http2_client_that_expects_100_gets_it() {
    let world = World::open().await;
    let mut h2 = world.gate.tls_h2(world.tls.port()).await;
    let ask = Ask::get(world.tls.port(), "/echo").method("POST").header("expect", "100-continue");
    let started = Instant::now();
    let (mut response, mut body) = h2.open(H2::head(&ask), false).await;
    let asked = std::future::poll_fn(|context| response.poll_informational(context));
    let asked = tollgate_tests::within("100", asked).await.unwrap().unwrap();
    assert_eq!(asked.status(), 100);
    assert!(started.elapsed() < Duration::from_millis(900), "{:?}", started.elapsed());
    body.send_data(bytes::Bytes::from_static(b"hello"), true).unwrap();
    let answer = tollgate_tests::within("answer", tollgate_tests::h2_client::collect(response))
        .await
        .unwrap();
    assert_eq!(answer.text(), "hello");
    assert_eq!(world.tls.last().header("expect"), None);
}

#[tokio::test]
async fn a_denied_http2_request_gets_no_100() {
    let rules = ["access: read-only"];
    let world = World::start(|ports| tollgate_tests::policy::ruled(ports, &rules), |setup| setup).await;
    let mut h2 = world.gate.tls_h2(world.tls.port()).await;
    let ask = Ask::get(world.tls.port(), "/echo").method("POST").header("expect", "100-continue");
    let (response, _body) = h2.open(H2::head(&ask), false).await;
    let (interim, last) = heads(response).await;
    assert_eq!((interim.len(), last.status().as_u16()), (0, 403));
    assert_eq!(last.headers()["x-tollgate-reason"], "method_not_allowed");
    world.tls.assert_no_request();
}

/// Interim answers that an HTTP/2 origin sends are passed over (README, honest limits); the final one comes all the same.
#[tokio::test]
async fn interim_answers_of_an_http2_origin_do_not_hold_up_the_final_one() {
    let (gate, origin) = super::scripted_h2(|_, mut respond| async move {
        let hints = http::Response::builder().status(103).header("link", "</a.css>").body(()).unwrap();
        respond.send_informational(hints).unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        let mut body = respond.send_response(http::Response::new(()), false).unwrap();
        body.send_data(bytes::Bytes::from_static(b"ok"), true).unwrap();
    })
    .await;
    for via in [Via::TlsH1, Via::TlsH2] {
        let answer = gate.fetch(via, &Ask::get(origin.port(), "/")).await;
        assert_eq!((answer.status, answer.text().as_str()), (200, "ok"), "{via:?}");
    }
}

#[tokio::test]
async fn early_hints_are_passed_on_at_once() {
    let (gate, origin) = scripted(|mut peer| async move {
        while peer.request().await.is_some() {
            peer.send("HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n").await;
            tokio::time::sleep(Duration::from_millis(400)).await;
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await;
        }
    })
    .await;
    let mut h1 = gate.tls_h1(origin.port()).await;
    let started = Instant::now();
    h1.send(Ask::get(origin.port(), "/").h1(Via::TlsH1)).await;
    let head = tollgate_tests::within("hints", h1.read_head()).await.unwrap();
    assert!(head.first_line.starts_with("HTTP/1.1 103"), "{head:?}");
    assert!(
        started.elapsed() < Duration::from_millis(350),
        "held back for {:?}",
        started.elapsed()
    );
    assert_eq!(head.header("link"), Some("</a.css>; rel=preload"));
    let answer = h1.answer("GET").await;
    assert_eq!((answer.status, answer.text().as_str()), (200, "ok"));
    assert_eq!(
        h1.request(Ask::get(origin.port(), "/").h1(Via::TlsH1)).await.status,
        200,
        "the connection is kept"
    );
}

#[tokio::test]
async fn an_unexpected_100_of_the_origin_is_not_the_answer() {
    let (gate, origin) = scripted(|mut peer| async move {
        peer.answer_all("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            .await;
    })
    .await;
    for via in [Via::TlsH1, Via::TlsH2] {
        let answer = gate.fetch(via, &Ask::get(origin.port(), "/").method("POST")).await;
        assert_eq!((answer.status, answer.text().as_str()), (200, "ok"), "{via:?}");
    }
}

/// E19.
#[tokio::test]
async fn a_client_that_expects_100_gets_it_and_its_connection_is_kept() {
    let world = World::open().await;
    let port = world.tls.port();
    let mut h1 = world.gate.tls_h1(port).await;
    for round in 0..2 {
        let started = Instant::now();
        h1.send(format!(
            "POST /echo HTTP/1.1\r\nHost: {HOST}:{port}\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"
        ))
        .await;
        let head = tollgate_tests::within("100", h1.read_head()).await.unwrap();
        assert!(head.first_line.starts_with("HTTP/1.1 100"), "round {round}: {head:?}");
        assert!(started.elapsed() < Duration::from_millis(900), "{:?}", started.elapsed());
        h1.send("hello").await;
        let answer = h1.answer("POST").await;
        assert_eq!(answer.text(), "hello", "round {round}");
    }
}

#[tokio::test]
async fn a_denied_request_gets_no_100() {
    let rules = ["access: read-only"];
    let world = World::start(|ports| tollgate_tests::policy::ruled(ports, &rules), |setup| setup).await;
    let port = world.tls.port();
    let mut h1 = world.gate.tls_h1(port).await;
    h1.send(format!(
        "POST /echo HTTP/1.1\r\nHost: {HOST}:{port}\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n"
    ))
    .await;
    let answer = h1.answer("POST").await;
    assert!(answer.interim.is_empty(), "{answer:?}");
    answer.assert_denied(403, "method_not_allowed");
    world.tls.assert_no_request();
}

#[tokio::test]
async fn a_final_answer_instead_of_100_is_passed_on() {
    let (gate, origin) = scripted(|mut peer| async move {
        while peer.head().await.is_some() {
            peer.send("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                .await;
        }
    })
    .await;
    let mut h1 = gate.tls_h1(origin.port()).await;
    h1.send(format!(
        "POST /echo HTTP/1.1\r\nHost: {HOST}:{}\r\nContent-Length: 500000\r\nExpect: 100-continue\r\n\r\n",
        origin.port()
    ))
    .await;
    // The proxy may ask for the body itself, to look at how it begins.
    h1.send("the body begins").await;
    assert_eq!(h1.answer("POST").await.status, 417);
}
