//! HTTP hygiene: what two parsers could read in two ways is refused before a byte reaches an origin.

use std::time::Duration;

use tollgate_tests::answer::{Framing, Rows};
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::world::World;

/// What follows `METHOD target HTTP/1.1\r\nHost: …\r\n`.
const MALFORMED: &[(&str, &str, &str)] = &[
    (
        "length and chunked",
        "POST",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    (
        "chunked and length",
        "POST",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    ),
    ("two lengths", "POST", "Content-Length: 0\r\nContent-Length: 50\r\n\r\n"),
    ("lengths in a list", "POST", "Content-Length: 1, 2\r\n\r\nab"),
    ("a length of letters", "POST", "Content-Length: abc\r\n\r\n"),
    ("a signed length", "POST", "Content-Length: +1\r\n\r\na"),
    ("a negative length", "POST", "Content-Length: -1\r\n\r\n"),
    (
        "a valid and an invalid length",
        "POST",
        "Content-Length: 1\r\nContent-Length: x\r\n\r\na",
    ),
    ("gzip as transfer coding", "POST", "Transfer-Encoding: gzip\r\n\r\n"),
    ("gzip, chunked", "POST", "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
    ("chunked, gzip", "POST", "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n"),
    ("chunked twice", "POST", "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n"),
    ("chunked and nothing", "POST", "Transfer-Encoding: chunked,\r\n\r\n0\r\n\r\n"),
    ("chunkedx", "POST", "Transfer-Encoding: chunkedx\r\n\r\n0\r\n\r\n"),
    (
        "two transfer codings",
        "POST",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    ("bare line feeds", "GET", "X-A: b\nX-C: d\n\n"),
    ("a bare carriage return", "GET", "X-A: b\rX-C: d\r\n\r\n"),
    ("a blank before the colon", "GET", "X-A : b\r\n\r\n"),
    ("a folded field", "GET", "X-A: b\r\n c\r\n\r\n"),
    ("a field without a name", "GET", ": b\r\n\r\n"),
    ("a NUL in a value", "GET", "X-A: b\0c\r\n\r\n"),
    ("a control byte in a value", "GET", "X-A: b\u{1}c\r\n\r\n"),
    ("a nominated host", "GET", "Connection: host\r\n\r\n"),
    (
        "a nominated length",
        "POST",
        "Connection: content-length\r\nContent-Length: 1\r\n\r\na",
    ),
    (
        "a nominated transfer coding",
        "POST",
        "Connection: transfer-encoding\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
];

/// E1, E3, E4 and E6.
#[tokio::test]
async fn request_smuggling_forms_are_refused() {
    let world = World::open().await;
    for via in [Via::AbsoluteForm, Via::TlsH1] {
        let port = world.port(via);
        for (name, method, rest) in MALFORMED {
            let text = if via == Via::AbsoluteForm {
                format!("{method} http://{HOST}:{port}/ HTTP/1.1\r\nHost: {HOST}:{port}\r\n{rest}")
            } else {
                format!("{method} / HTTP/1.1\r\nHost: {HOST}:{port}\r\n{rest}")
            };
            let mut connection = if via == Via::AbsoluteForm {
                world.gate.dial().await
            } else {
                world.gate.tls_h1(port).await
            };
            connection.send(&text).await;
            let answer = connection
                .answer_or_end(method)
                .await
                .unwrap_or_else(|end| panic!("{name} {via:?}: {end}"));
            assert_eq!(
                (answer.status, answer.reason()),
                (400, Some("malformed_request")),
                "{name} {via:?}: {}",
                answer.text()
            );
            assert!(
                connection.ends_within(Duration::from_secs(2)).await,
                "{name} {via:?}: the connection stays open"
            );
        }
    }
    world.plain.assert_no_request();
    world.tls.assert_no_request();
}

/// E4 and E18.
#[tokio::test]
async fn first_lines_that_are_not_http_1_are_refused() {
    let world = World::open().await;
    let port = world.plain.port();
    let target = format!("http://{HOST}:{port}/");
    for line in [
        format!("GET {target} HTTP/0.9"),
        format!("GET {target} HTTP/2.0"),
        format!("GET {target} HTTP/1.2"),
        format!("GET {target}"),
        format!("GET  {target} HTTP/1.1"),
        format!("GET {target}  HTTP/1.1"),
        format!("G@T {target} HTTP/1.1"),
        format!(" GET {target} HTTP/1.1"),
        "GET / HTTP/1.1".to_owned(),
        "GET * HTTP/1.1".to_owned(),
        format!("GET https://{HOST}:{port}/ HTTP/1.1"),
        format!("GET ftp://{HOST}:{port}/ HTTP/1.1"),
        format!("GET http://user:secret@{HOST}:{port}/ HTTP/1.1"),
        format!("GET http:///{HOST}/ HTTP/1.1"),
    ] {
        let mut connection = world.gate.dial().await;
        connection.send(format!("{line}\r\nHost: {HOST}:{port}\r\n\r\n")).await;
        let answer = connection.answer_or_end("GET").await.unwrap_or_else(|end| panic!("{line}: {end}"));
        assert_eq!(
            (answer.status, answer.reason()),
            (400, Some("malformed_request")),
            "{line}: {answer:?}"
        );
        assert!(!answer.text().contains("secret"), "{}", answer.text());
    }
    world.plain.assert_untouched();
}

/// E17.
#[tokio::test]
async fn connect_authorities_without_one_meaning_are_refused() {
    let world = World::open().await;
    for authority in [
        "hostonly",
        "host:abc",
        "host:65536",
        "host:0",
        "host:",
        ":443",
        "host:80:x",
        "host:+443",
        "[::1",
        "[::1]",
        "[::1]443",
        "[::1]:",
        "[fe80::1%25eth0]:443",
        "user@host:443",
        "api.example.test@x402.org:443",
        "api.example.test/:443",
        "%61pi.example.test:443",
        "http://api.example.test:443",
        "api.example.test\u{0}.evil.test:443",
        "\u{ff58}402.org:443",
        "x402\u{3002}org:443",
        "api..example.test:443",
    ] {
        let mut connection = world.gate.dial().await;
        connection
            .send(format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n"))
            .await;
        let answer = connection
            .answer_or_end("CONNECT")
            .await
            .unwrap_or_else(|end| panic!("{authority}: {end}"));
        assert_eq!(
            (answer.status, answer.reason()),
            (400, Some("malformed_request")),
            "{authority}: {}",
            answer.text()
        );
    }
    world.assert_untouched();
}

#[tokio::test]
async fn addresses_in_odd_spellings_are_not_hosts() {
    let world = World::open().await;
    let mut rows = Rows::default();
    for (host, reason) in [
        ("0x7f000001", "malformed_request"),
        ("2130706433", "malformed_request"),
        ("127.1", "malformed_request"),
        ("0177.0.0.1", "malformed_request"),
        ("127.0.0.1.", "malformed_request"),
        // An address, but not one that the policy lists.
        ("[::ffff:127.0.0.1]", "host_not_allowed"),
        ("[::ffff:7f00:1]", "host_not_allowed"),
    ] {
        let answer = world
            .gate
            .fetch(Via::PlainTunnel, &Ask::get(world.plain.port(), "/").host(host))
            .await;
        rows.check(host, &answer, reason);
    }
    rows.assert_all_refused();
    world.plain.assert_untouched();
}

#[tokio::test]
async fn a_host_with_a_trailing_dot_is_not_the_listed_host() {
    let world = World::open().await;
    for via in [Via::AbsoluteForm, Via::PlainTunnel] {
        let answer = world
            .gate
            .fetch(via, &Ask::get(world.plain.port(), "/").host("api.example.test."))
            .await;
        answer.assert_denied(400, "malformed_request");
    }
    world.plain.assert_untouched();
}

#[tokio::test]
async fn a_refused_connect_ends_the_connection() {
    let world = World::open().await;
    let mut connection = world.gate.dial().await;
    let optimistic = format!(
        "CONNECT evil.example.test:443 HTTP/1.1\r\nHost: evil.example.test:443\r\n\r\nGET http://{HOST}:{}/ HTTP/1.1\r\n",
        world.plain.port()
    );
    connection.request(optimistic).await.assert_denied(403, "host_not_allowed");
    assert!(connection.ends_within(Duration::from_secs(2)).await);
    world.assert_untouched();
}

/// E2.
#[tokio::test]
async fn identical_lengths_are_one_length() {
    let world = World::open().await;
    let mut h1 = world.gate.tls_h1(world.tls.port()).await;
    let text = format!(
        "POST / HTTP/1.1\r\nHost: {HOST}:{}\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nhi",
        world.tls.port()
    );
    h1.send(text).await;
    // RFC 9110 8.6 lets a recipient take it as one or refuse it.
    let answer = h1.answer("POST").await;
    match answer.status {
        200 => assert_eq!(world.tls.last().body, "hi"),
        400 => world.tls.assert_no_request(),
        other => panic!("{other}"),
    }
}

/// E5, E7 and E10.
#[tokio::test]
async fn fields_of_one_hop_go_no_further() {
    let world = World::open().await;
    for via in [Via::AbsoluteForm, Via::PlainTunnel, Via::TlsH1] {
        let ask = Ask::get(world.port(via), "/")
            .header("Connection", "keep-alive, x-guard")
            .header("Keep-Alive", "timeout=5")
            .header("X-Guard", "1")
            .header("X-Visible", "1")
            .header("Proxy-Authorization", "Basic c2VjcmV0OnNlY3JldA==")
            .header("Proxy-Connection", "keep-alive")
            .header("Via", "1.1 earlier")
            .header("TE", "gzip")
            .header("Upgrade-Insecure-Requests", "1");
        world.gate.fetch(via, &ask).await.assert_allowed();
        let seen = world.origin(via).last();
        for gone in ["keep-alive", "x-guard", "proxy-authorization", "proxy-connection"] {
            assert_eq!(seen.header(gone), None, "{gone} {via:?}");
        }
        assert!(
            seen.header("connection")
                .is_none_or(|value| !value.to_ascii_lowercase().contains("x-guard"))
        );
        for kept in ["x-visible", "upgrade-insecure-requests"] {
            assert_eq!(seen.header(kept), Some("1"), "{kept} {via:?}");
        }
        assert!(seen.header("via").is_some_and(|via| via.starts_with("1.1 earlier")), "{via:?}");
        assert_eq!(seen.authority.as_deref(), Some(format!("{HOST}:{}", world.port(via)).as_str()));
        assert_eq!(
            seen.headers.iter().filter(|(name, _)| name == "host").count(),
            usize::from(seen.version < http::Version::HTTP_2)
        );
    }
}

/// E9.
#[tokio::test]
async fn a_denied_request_in_a_pipeline_does_not_take_the_next_one_along() {
    let rules = ["rules:", "  - allow: { method: GET, path: \"/v1/**\" }"];
    let world = World::start(|ports| policy::ruled(ports, &rules), |setup| setup).await;
    let port = world.plain.port();
    let allowed = Ask::get(port, "/v1/a").h1(Via::AbsoluteForm);
    let denied = Ask::get(port, "/v1/a").method("POST").h1(Via::AbsoluteForm);
    let mut connection = world.gate.dial().await;
    connection.send([allowed, denied].concat()).await;
    connection.answer("GET").await.assert_allowed();
    // The second is answered with its own denial, or the connection has ended after the first; it never reaches the origin.
    if let Ok(answer) = connection.answer_or_end("POST").await {
        answer.assert_denied(403, "method_not_allowed");
    }
    assert_eq!(world.plain.requests().len(), 1);
}

/// E16.
#[tokio::test]
async fn an_upgrade_to_cleartext_http2_is_refused() {
    let world = World::open().await;
    for via in [Via::AbsoluteForm, Via::PlainTunnel, Via::TlsH1] {
        let ask = Ask::get(world.port(via), "/")
            .header("Connection", "Upgrade, HTTP2-Settings")
            .header("Upgrade", "h2c")
            .header("HTTP2-Settings", "AAMAAABkAAQAAP__");
        world.gate.fetch(via, &ask).await.assert_refused(&[400, 403], "h2c_not_allowed");
    }
    world.plain.assert_no_request();
    world.tls.assert_no_request();
}

#[tokio::test]
async fn http2_without_tls_is_refused_in_a_tunnel() {
    let world = World::open().await;
    let mut tunnel = world.gate.tunnel(&format!("{HOST}:{}", world.plain.port())).await.unwrap();
    tunnel.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").await;
    let answer = tunnel.answer_or_end("GET").await.expect("a typed refusal, not a bare close");
    answer.assert_denied(403, "h2c_not_allowed");
    world.plain.assert_no_request();
}

/// F3.
#[tokio::test]
async fn bytes_that_are_not_http_are_refused_where_they_must_be_read() {
    let world = World::open().await;
    for bytes in ["SSH-2.0-OpenSSH_9.2p1\r\n", "\0\0\0\0\0\0\0\0", "\u{7f}ELF"] {
        let mut tunnel = world.gate.tunnel(&format!("{HOST}:{}", world.plain.port())).await.unwrap();
        tunnel.send(bytes).await;
        match tunnel.answer_or_end("GET").await {
            Ok(answer) => drop(answer.assert_denied(403, "uninspectable_traffic")),
            Err(end) => panic!("{bytes:?}: {end}"),
        }
    }
    world.plain.assert_no_request();
}

#[tokio::test]
async fn heads_over_the_limit_are_refused() {
    let world = World::open().await;
    for via in [Via::AbsoluteForm, Via::TlsH1] {
        let many: Vec<String> = (0..2000).map(|n| format!("x-field-{n}")).collect();
        let mut ask = Ask::get(world.port(via), "/");
        for name in &many {
            ask = ask.header(name, "1");
        }
        for ask in [ask, Ask::get(world.port(via), "/").header("x-large", "a".repeat(2 << 20))] {
            let mut connection = if via == Via::AbsoluteForm {
                world.gate.dial().await
            } else {
                world.gate.tls_h1(world.port(via)).await
            };
            let _ = connection.try_send(ask.h1(via)).await;
            let answer = connection
                .answer_or_end("GET")
                .await
                .unwrap_or_else(|end| panic!("{via:?}: {}", &end[..end.len().min(200)]));
            answer.assert_refused(&[400, 403, 431], "headers_too_large");
        }
    }
    world.plain.assert_no_request();
    world.tls.assert_no_request();
}

#[tokio::test]
async fn heads_of_an_honest_size_pass() {
    let world = World::open().await;
    for via in Via::ALL {
        let mut ask = Ask::get(world.port(via), "/").header("cookie", "c".repeat(7000));
        let names: Vec<String> = (0..60).map(|n| format!("x-field-{n}")).collect();
        for name in &names {
            ask = ask.header(name, "v".repeat(60));
        }
        world.gate.fetch(via, &ask).await.assert_allowed();
        assert_eq!(world.origin(via).last().header("x-field-59"), Some("v".repeat(60).as_str()));
    }
}

#[tokio::test]
async fn broken_chunks_from_the_client_are_its_fault() {
    let world = World::open().await;
    for chunks in ["xyz\r\n", "5\r\nhelloX", "-1\r\n", "ffffffffffffffffff\r\n"] {
        let mut h1 = world.gate.tls_h1(world.tls.port()).await;
        h1.send(format!(
            "POST / HTTP/1.1\r\nHost: {HOST}:{}\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}",
            world.tls.port()
        ))
        .await;
        match h1.answer_or_end("POST").await {
            Ok(answer) => assert_eq!(
                (answer.status, answer.reason()),
                (400, Some("malformed_request")),
                "{chunks:?}: {answer:?}"
            ),
            Err(end) => panic!("{chunks:?}: {end}"),
        }
    }
    for seen in world.tls.requests() {
        assert_eq!(seen.body, "<broken off>", "a broken body was made whole");
    }
}

/// E21.
#[tokio::test]
async fn an_announced_length_beyond_all_bounds_reserves_nothing() {
    let world = World::open().await;
    let port = world.tls.port();
    let mut h1 = world.gate.tls_h1(port).await;
    h1.send(format!(
        "POST / HTTP/1.1\r\nHost: {HOST}:{port}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{{",
        u64::MAX
    ))
    .await;
    h1.finish_sending().await;
    if let Ok(answer) = h1.answer_or_end("POST").await {
        assert!((400..=413).contains(&answer.status), "{answer:?}");
    }
    assert!(world.gate.resident() < 200 << 20);
    world.get(Via::TlsH1, "/").await.assert_allowed();
}

/// E20. OpenShell refuses all trailers; here those that pay, or decide about the message, whether they are announced or not.
#[tokio::test]
async fn trailers_behind_a_body_that_is_held_carry_no_payment() {
    let world = World::open().await;
    let port = world.tls.port();
    for announced in ["Trailer: X-PAYMENT\r\n", ""] {
        let mut h1 = world.gate.tls_h1(port).await;
        h1.send(format!(
            "POST / HTTP/1.1\r\nHost: {HOST}:{port}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n{announced}\r\n2\r\n{{}}\r\n0\r\nX-PAYMENT: e30=\r\n\r\n"
        ))
        .await;
        h1.answer("POST").await.assert_denied(403, "payment_malformed");
        world.tls.assert_no_request();
    }
}

#[tokio::test]
async fn empty_chunked_bodies_end() {
    let world = World::open().await;
    let mut h1 = world.gate.tls_h1(world.tls.port()).await;
    for content_type in ["application/json", "text/plain"] {
        let text = format!(
            "POST /status/201 HTTP/1.1\r\nHost: {HOST}:{}\r\nContent-Type: {content_type}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            world.tls.port()
        );
        let answer = h1.request(text).await;
        assert_eq!(answer.status, 201, "{content_type}");
        assert_ne!(answer.framing, Framing::Close);
    }
}
