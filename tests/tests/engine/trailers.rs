//! Trailers of requests and of answers, HTTP/1.1 and HTTP/2 on either side; those that nobody may send.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Version};
use tollgate_tests::answer::{Answer, Ending, Framing};
use tollgate_tests::authority::{Alpn, Authority};
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::h2_client::{H2, collect};
use tollgate_tests::origin::Origin;
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::tollgate::{Setup, Tollgate};
use tollgate_tests::within;

use super::{scripted, scripted_h2};

/// What both origins end their answers with: two fields for the client, and four that are not.
const ENDING: [(&str, &str); 6] = [
    ("x-checksum", "abc"),
    ("grpc-status", "0"),
    ("set-cookie", "a=1"),
    ("content-length", "9"),
    ("payment-required", "e30="),
    ("x-tollgate-reason", "host_not_allowed"),
];

fn fields<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> HeaderMap {
    let pairs = pairs.into_iter();
    pairs
        .map(|(name, value)| (HeaderName::try_from(name).unwrap(), HeaderValue::try_from(value).unwrap()))
        .collect()
}

fn assert_trailers(answer: &Answer, label: &str) {
    assert_eq!(
        (answer.status, answer.text().as_str(), &answer.ending),
        (200, "body", &Ending::Complete),
        "{label}"
    );
    let expected = [("x-checksum", "abc"), ("grpc-status", "0")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(answer.trailers, expected, "{label}");
}

#[tokio::test]
async fn trailers_of_an_answer_reach_the_client_in_every_pairing() {
    let lines: String = ENDING.map(|(name, value)| format!("{name}: {value}\r\n")).concat();
    let text =
        format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Checksum, Set-Cookie\r\n\r\n4\r\nbody\r\n0\r\n{lines}\r\n");
    let (gate, origin) = scripted(move |mut peer| {
        let text = text.clone();
        async move { peer.answer_all(&text).await }
    })
    .await;
    assert_answers(&gate, origin.port(), "HTTP/1.1 origin").await;
    assert_eq!(origin.connections(), 2, "one for each tunnel: it is used again after trailers");

    let (gate, origin) = scripted_h2(|_, mut respond| async move {
        let head = http::Response::builder()
            .header("trailer", "x-checksum, set-cookie")
            .body(())
            .unwrap();
        let mut body = respond.send_response(head, false).unwrap();
        body.send_data(Bytes::from_static(b"body"), false).unwrap();
        body.send_trailers(fields(ENDING)).unwrap();
    })
    .await;
    assert_answers(&gate, origin.port(), "HTTP/2 origin").await;
}

async fn assert_answers(gate: &Tollgate, port: u16, origin: &str) {
    let mut h1 = gate.tls_h1(port).await;
    for round in 0..3 {
        let answer = h1.request(Ask::get(port, "/").h1(Via::TlsH1)).await;
        assert_trailers(&answer, &format!("{origin}, HTTP/1.1 client, request {round} of its connection"));
        assert_eq!(
            (answer.framing, answer.header("trailer")),
            (Framing::Chunked, Some("x-checksum")),
            "{origin}"
        );
    }
    let mut h2 = gate.tls_h2(port).await;
    for _ in 0..2 {
        let answer = h2.ask(&Ask::get(port, "/")).await;
        assert_trailers(&answer, &format!("{origin}, HTTP/2 client"));
        assert_eq!(answer.header("trailer"), Some("x-checksum"), "{origin}");
    }
}

#[tokio::test]
async fn trailers_that_come_in_pieces_and_behind_interim_answers_are_whole() {
    let (gate, origin) = scripted(|mut peer| async move {
        while peer.request().await.is_some() {
            let text = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\nX-Checksum: abc\r\nGrpc-Status: 0\r\n\r\n";
            for piece in text.as_bytes().chunks(7) {
                peer.send(piece).await;
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        }
    })
    .await;
    let mut h1 = gate.tls_h1(origin.port()).await;
    for _ in 0..2 {
        assert_trailers(&h1.request(Ask::get(origin.port(), "/").h1(Via::TlsH1)).await, "HTTP/1.1");
    }
    assert_trailers(&gate.fetch(Via::TlsH2, &Ask::get(origin.port(), "/")).await, "HTTP/2");
}

#[tokio::test]
async fn what_looks_like_trailers_in_an_answers_body_is_body() {
    let (gate, origin) = scripted(|mut peer| async move {
        peer.answer_all("HTTP/1.1 200 OK\r\nContent-Length: 17\r\n\r\n0\r\nX-Sum: no\r\n\r\n.")
            .await;
    })
    .await;
    let mut h1 = gate.tls_h1(origin.port()).await;
    for _ in 0..2 {
        let answer = h1.request(Ask::get(origin.port(), "/").h1(Via::TlsH1)).await;
        assert_eq!((answer.body.len(), answer.trailers.len(), answer.ending), (17, 0, Ending::Complete));
    }
}

#[tokio::test]
async fn an_http10_client_gets_the_body_without_trailers() {
    let (gate, origin) = scripted_h2(|_, mut respond| async move {
        let mut body = respond.send_response(http::Response::new(()), false).unwrap();
        body.send_data(Bytes::from_static(b"body"), false).unwrap();
        body.send_trailers(fields([("x-checksum", "abc")])).unwrap();
    })
    .await;
    let mut h1 = gate.tls_h1(origin.port()).await;
    let answer = h1
        .request(format!("GET / HTTP/1.0\r\nHost: {HOST}:{}\r\n\r\n", origin.port()))
        .await;
    assert_eq!((answer.text().as_str(), answer.framing), ("body", Framing::Close));
}

async fn recording(alpn: Alpn) -> (Tollgate, Origin) {
    let authority = Authority::default();
    let origin = Origin::tls(&authority, alpn).await;
    let gate = Setup::new(policy::open(&[origin.port()])).local_host().trust(&authority).start();
    (gate, origin)
}

/// A request with these content and trailers, in the protocol of `via`. With `wait`, the trailers come after all else has left.
async fn send(gate: &Tollgate, port: u16, via: Via, content: (&str, &str), trailers: &[(&str, &str)], wait: Duration) -> Answer {
    let (content_type, text) = content;
    if via == Via::TlsH2 {
        let ask = Ask::get(port, "/echo").method("POST").header("content-type", content_type);
        let mut h2 = gate.tls_h2(port).await;
        let (response, mut body) = h2.open(H2::head(&ask), false).await;
        if !text.is_empty() {
            body.send_data(Bytes::copy_from_slice(text.as_bytes()), false).unwrap();
        }
        tokio::time::sleep(wait).await;
        let _ = body.send_trailers(fields(trailers.iter().copied()));
        return within("answer", collect(response)).await.unwrap();
    }
    let mut h1 = gate.tls_h1(port).await;
    let chunk = if text.is_empty() {
        String::new()
    } else {
        format!("{:x}\r\n{text}\r\n", text.len())
    };
    h1.send(format!(
        "POST /echo HTTP/1.1\r\nHost: {HOST}:{port}\r\nContent-Type: {content_type}\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n{chunk}"
    ))
    .await;
    tokio::time::sleep(wait).await;
    let lines: Vec<String> = trailers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let lines = lines.concat();
    h1.send(format!("0\r\n{lines}\r\n")).await;
    let answer = h1.answer("POST").await;
    if answer.status == 200 {
        let again = h1.request(Ask::get(port, "/again").h1(Via::TlsH1)).await;
        assert_eq!(again.text(), "GET /again", "the connection is kept");
    }
    answer
}

#[tokio::test]
async fn trailers_of_a_request_reach_the_origin_in_every_pairing() {
    for (via, alpn, version) in [
        (Via::TlsH1, Alpn::H1, Version::HTTP_11),
        (Via::TlsH1, Alpn::H2Only, Version::HTTP_2),
        (Via::TlsH2, Alpn::H1, Version::HTTP_11),
        (Via::TlsH2, Alpn::H2, Version::HTTP_2),
    ] {
        let (gate, origin) = recording(alpn).await;
        for content in [
            ("application/json", r#"{"held":1}"#),
            ("text/plain", "streamed"),
            ("application/grpc", "\0\0\0\0\u{2}ok"),
            ("text/plain", ""),
        ] {
            for wait in [Duration::ZERO, Duration::from_millis(150)] {
                let label = format!("{via:?} {alpn:?} {content:?} after {wait:?}");
                let answer = send(&gate, origin.port(), via, content, &[("x-sum", "1"), ("x-other", "2")], wait).await;
                assert_eq!(answer.status, 200, "{label}: {answer:?}");
                let seen = origin.requests().into_iter().rev().find(|seen| seen.method == "POST").unwrap();
                assert_eq!((seen.version, &seen.body[..]), (version, content.1.as_bytes()), "{label}");
                assert_eq!(seen.trailers, Some(fields([("x-sum", "1"), ("x-other", "2")])), "{label}");
            }
        }
    }
}

/// A framework that merges trailers into the header section would take each of these for a field that every rule has been asked about.
#[tokio::test]
async fn request_trailers_that_decide_about_the_request_are_refused() {
    let (gate, origin) = recording(Alpn::H2).await;
    for (name, value, status, reason) in [
        ("host", "evil.example", 400, "malformed_request"),
        ("content-length", "5", 400, "malformed_request"),
        ("authorization", "Bearer abc", 400, "malformed_request"),
        ("cookie", "session=1", 400, "malformed_request"),
        ("content-encoding", "gzip", 400, "malformed_request"),
        ("x-forwarded-host", "evil.example", 400, "malformed_request"),
        ("x-http-method-override", "DELETE", 400, "malformed_request"),
        ("authorization", "Payment e30", 403, "rail_payment_scheme"),
        ("x-payment", "e30=", 403, "payment_malformed"),
        ("payment-signature", "e30=", 403, "payment_malformed"),
        ("x-402-payment", "e30=", 403, "payment_malformed"),
    ] {
        for via in [Via::TlsH1, Via::TlsH2] {
            for content in [("application/json", r#"{"held":1}"#), ("text/plain", "streamed")] {
                let answer = send(&gate, origin.port(), via, content, &[("x-sum", "1"), (name, value)], Duration::ZERO).await;
                answer.assert_denied(status, reason);
                origin.assert_no_request();
            }
        }
    }
}

#[tokio::test]
async fn trailers_count_against_the_limits_of_a_header_section() {
    let authority = Authority::default();
    let origin = Origin::tls(&authority, Alpn::H1).await;
    let limits = serde_json::json!({ "limits": { "header_bytes": "8KiB", "header_count": 20 } });
    let gate = Setup::new(policy::open(&[origin.port()]))
        .local_host()
        .trust(&authority)
        .config(limits)
        .start();
    let long = "a".repeat(9_000);
    let many = ["x-sum"; 21].map(|name| (name, "1"));
    for trailers in [&[("x-sum", long.as_str())][..], &many] {
        let answer = send(
            &gate,
            origin.port(),
            Via::TlsH1,
            ("text/plain", "streamed"),
            trailers,
            Duration::ZERO,
        )
        .await;
        answer.assert_denied(431, "headers_too_large");
        origin.assert_no_request();
    }
}

#[tokio::test]
async fn a_payment_in_the_trailers_of_a_body_under_way_leaves_no_whole_request() {
    for (via, alpn) in [(Via::TlsH1, Alpn::H1), (Via::TlsH2, Alpn::H2)] {
        let (gate, origin) = recording(alpn).await;
        let late = Duration::from_millis(300);
        let answer = send(
            &gate,
            origin.port(),
            via,
            ("text/plain", "streamed"),
            &[("x-payment", "e30=")],
            late,
        )
        .await;
        answer.assert_denied(403, "payment_malformed");
        tokio::time::sleep(Duration::from_millis(100)).await;
        for seen in origin.requests() {
            assert_eq!((&seen.body[..], seen.trailers), (&b"<broken off>"[..], None), "{via:?}");
        }
    }
}

/// Chunks that this proxy and the origin could end at different places.
#[tokio::test]
async fn trailers_that_are_no_fields_are_refused() {
    let (gate, origin) = recording(Alpn::H1).await;
    let port = origin.port();
    for section in [
        "no field\r\n\r\n",
        "X: 1\r\n folded\r\n\r\n",
        "X : 1\r\n\r\n",
        "X: 1\n\r\n",
        ": 1\r\n\r\n",
    ] {
        let mut h1 = gate.tls_h1(port).await;
        h1.send(format!(
            "POST /echo HTTP/1.1\r\nHost: {HOST}:{port}\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n{section}"
        ))
        .await;
        h1.answer("POST").await.assert_denied(400, "malformed_request");
        origin.assert_no_request();
    }
}
