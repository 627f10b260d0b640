//! HTTP/2 as no library would speak it: each fault ends the stream or the connection with an error, nothing of it reaches the origin, and the
//! proxy serves on. The codes are RFC 9113's; where a frame cannot be read at all, h2 says `PROTOCOL_ERROR` for the connection, which the RFC
//! allows in place of an error of the stream (section 5.4.1), if not always in place of a finer code.

use std::time::Duration;

use serde_json::json;
use tollgate_tests::authority::Alpn;
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::h2_frames::{END_HEADERS, END_STREAM, Frames, PADDED, PREFACE, announced, block, frame, headers, kind, number};
use tollgate_tests::policy::HOST;
use tollgate_tests::world::World;

const PROTOCOL_ERROR: u32 = 1;
const FLOW_CONTROL_ERROR: u32 = 3;
const STREAM_CLOSED: u32 = 5;
const FRAME_SIZE_ERROR: u32 = 6;
const ENHANCE_YOUR_CALM: u32 = 11;

/// How the proxy ended it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum End {
    /// GOAWAY with a code.
    GoAway(u32),
    /// `RST_STREAM` with a code.
    Reset(u32),
    /// An answer.
    Answer,
    /// The end of the connection without a word.
    Closed,
    /// Nothing for a while.
    Nothing,
}

async fn raw(world: &World) -> Frames {
    let stream = world.gate.tls_stream(&format!("{HOST}:{}", world.tls.port()), Alpn::H2).await;
    Frames::new(stream.unwrap_or_else(|refusal| panic!("CONNECT refused: {refusal:?}")))
}

/// The first end, of the connection or of a stream, that the bytes lead to.
async fn end_of(world: &World, bytes: &[u8]) -> End {
    let mut connection = raw(world).await;
    connection.send(&[PREFACE, &frame(kind::SETTINGS, 0, 0, b""), bytes].concat()).await;
    let first = async {
        loop {
            let Some(frame) = connection.next().await else { return End::Closed };
            let code = |at: usize| u32::from_be_bytes(frame.payload[at..at + 4].try_into().unwrap());
            match frame.kind {
                kind::GOAWAY => return End::GoAway(code(4)),
                kind::RST_STREAM => return End::Reset(code(0)),
                kind::HEADERS => return End::Answer,
                _ => {}
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(5), first).await.unwrap_or(End::Nothing)
}

struct Requests {
    authority: String,
}

impl Requests {
    fn of(world: &World) -> Self {
        Requests {
            authority: format!("{HOST}:{}", world.tls.port()),
        }
    }

    /// A GET with these fields behind the pseudo-header fields.
    fn get(&self, stream: u32, flags: u8, more: &[(&str, &str)]) -> Vec<u8> {
        let mut fields = vec![
            (":method", "GET"),
            (":scheme", "https"),
            (":path", "/"),
            (":authority", &self.authority),
        ];
        fields.extend_from_slice(more);
        headers(stream, flags, &fields)
    }

    fn post(&self, stream: u32, more: &[(&str, &str)]) -> Vec<u8> {
        let mut fields = vec![
            (":method", "POST"),
            (":scheme", "https"),
            (":path", "/"),
            (":authority", &self.authority),
        ];
        fields.extend_from_slice(more);
        headers(stream, 0, &fields)
    }
}

#[tokio::test]
#[allow(clippy::too_many_lines, reason = "one table")]
async fn broken_connections_end_with_an_error() {
    let world = World::open().await;
    let requests = Requests::of(&world);
    let data = |flags, stream, payload: &[u8]| frame(kind::DATA, flags, stream, payload);
    let setting = |name: u16, value: u32| frame(kind::SETTINGS, 0, 0, &[&name.to_be_bytes()[..], &value.to_be_bytes()].concat());
    let unended = frame(kind::HEADERS, END_STREAM, 1, &block(&[(":method", "GET")]));
    let ping = frame(kind::PING, 0, 0, &[0; 8]);
    let rows: Vec<(&str, Vec<u8>, End)> = vec![
        (
            "a frame over the largest size",
            announced(kind::DATA, 0, 1, 20_000, &[0; 20_000]),
            End::GoAway(FRAME_SIZE_ERROR),
        ),
        ("DATA on an idle stream", data(0, 1, b"x"), End::GoAway(PROTOCOL_ERROR)),
        ("DATA on the connection", data(0, 0, b"x"), End::GoAway(PROTOCOL_ERROR)),
        (
            "HEADERS on the connection",
            requests.get(0, END_STREAM, &[]),
            End::GoAway(PROTOCOL_ERROR),
        ),
        ("an even stream", requests.get(2, END_STREAM, &[]), End::GoAway(PROTOCOL_ERROR)),
        (
            "CONTINUATION of nothing",
            frame(kind::CONTINUATION, END_HEADERS, 1, b""),
            End::GoAway(PROTOCOL_ERROR),
        ),
        (
            "another frame within a header block",
            [unended.clone(), ping.clone()].concat(),
            End::GoAway(PROTOCOL_ERROR),
        ),
        (
            "CONTINUATION of another stream",
            [unended, frame(kind::CONTINUATION, END_HEADERS, 3, b"")].concat(),
            End::GoAway(PROTOCOL_ERROR),
        ),
        (
            "a broken header block",
            frame(kind::HEADERS, END_HEADERS | END_STREAM, 1, &[0xff, 0xff, 0xff, 0xff, 0xff]),
            End::GoAway(PROTOCOL_ERROR),
        ),
        (
            "an index that is in no table",
            frame(kind::HEADERS, END_HEADERS | END_STREAM, 1, &[0xfe]),
            End::GoAway(PROTOCOL_ERROR),
        ),
        (
            "a window over its largest size",
            frame(kind::WINDOW_UPDATE, 0, 0, &number(0x7fff_ffff)),
            End::GoAway(FLOW_CONTROL_ERROR),
        ),
        (
            "a window that grows by nothing",
            frame(kind::WINDOW_UPDATE, 0, 0, &number(0)),
            End::GoAway(PROTOCOL_ERROR),
        ),
        (
            "a window of three bytes",
            frame(kind::WINDOW_UPDATE, 0, 0, &[0; 3]),
            End::GoAway(PROTOCOL_ERROR),
        ),
        (
            "SETTINGS of five bytes",
            frame(kind::SETTINGS, 0, 0, &[0; 5]),
            End::GoAway(PROTOCOL_ERROR),
        ),
        (
            "SETTINGS on a stream",
            frame(kind::SETTINGS, 0, 1, &[0; 6]),
            End::GoAway(PROTOCOL_ERROR),
        ),
        (
            "an initial window over its largest size",
            setting(4, 0x8000_0000),
            End::GoAway(PROTOCOL_ERROR),
        ),
        ("a largest frame below the least", setting(5, 1_000), End::GoAway(PROTOCOL_ERROR)),
        (
            "PUSH_PROMISE by a client",
            frame(kind::PUSH_PROMISE, END_HEADERS, 1, &number(2)),
            End::GoAway(PROTOCOL_ERROR),
        ),
        ("PING on a stream", frame(kind::PING, 0, 1, &[0; 8]), End::GoAway(PROTOCOL_ERROR)),
        ("PING of seven bytes", frame(kind::PING, 0, 0, &[0; 7]), End::GoAway(PROTOCOL_ERROR)),
        (
            "more padding than frame",
            [requests.post(1, &[]), data(PADDED, 1, &[200, 0, 0])].concat(),
            End::GoAway(PROTOCOL_ERROR),
        ),
        (
            "RST_STREAM of an idle stream",
            frame(kind::RST_STREAM, 0, 1, &number(8)),
            End::GoAway(PROTOCOL_ERROR),
        ),
    ];
    let mut wrong = Vec::new();
    for (name, bytes, expected) in rows {
        let found = end_of(&world, &bytes).await;
        if found != expected {
            wrong.push((name, found, expected));
        }
    }
    assert!(wrong.is_empty(), "found, expected: {wrong:#?}");
    world.tls.assert_no_request();
    world.get(Via::TlsH2, "/").await.assert_allowed();
}

#[tokio::test]
async fn a_connection_that_begins_otherwise_is_closed() {
    let world = World::open().await;
    for bytes in [
        &b"PRI * HTTP/1.1\r\n\r\nSM\r\n\r\n"[..],
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        &[0; 64],
    ] {
        let mut connection = raw(&world).await;
        connection.send(bytes).await;
        let end = async {
            while let Some(frame) = connection.next().await {
                assert_ne!(frame.kind, kind::HEADERS, "an answer to {bytes:?}");
            }
        };
        tollgate_tests::within("the end of the connection", end).await;
    }
    world.tls.assert_no_request();
    world.get(Via::TlsH2, "/").await.assert_allowed();
}

#[tokio::test]
#[allow(clippy::too_many_lines, reason = "one table")]
async fn malformed_requests_end_their_stream_or_their_connection_with_an_error() {
    let world = World::open().await;
    let requests = Requests::of(&world);
    let authority = requests.authority.as_str();
    let only = |fields: &[(&str, &str)]| headers(1, END_STREAM, fields);
    let body = |length: &str, bytes: &[u8]| {
        let head = requests.post(1, &[("content-length", length), ("content-type", "application/json")]);
        [head, frame(kind::DATA, END_STREAM, 1, bytes)].concat()
    };
    let get = (":method", "GET");
    let https = (":scheme", "https");
    let root = (":path", "/");
    let named = (":authority", authority);
    let rows: Vec<(&str, Vec<u8>, End)> = vec![
        (
            "an upper-case name",
            requests.get(1, END_STREAM, &[("X-Upper", "1")]),
            End::GoAway(PROTOCOL_ERROR),
        ),
        (
            "connection",
            requests.get(1, END_STREAM, &[("connection", "x-hop")]),
            End::Reset(PROTOCOL_ERROR),
        ),
        (
            "transfer-encoding",
            requests.get(1, END_STREAM, &[("transfer-encoding", "chunked")]),
            End::Reset(PROTOCOL_ERROR),
        ),
        (
            "keep-alive",
            requests.get(1, END_STREAM, &[("keep-alive", "1")]),
            End::Reset(PROTOCOL_ERROR),
        ),
        (
            "upgrade",
            requests.get(1, END_STREAM, &[("upgrade", "websocket")]),
            End::Reset(PROTOCOL_ERROR),
        ),
        (
            "te other than trailers",
            requests.get(1, END_STREAM, &[("te", "gzip")]),
            End::Reset(PROTOCOL_ERROR),
        ),
        ("no method", only(&[https, root, named]), End::Reset(PROTOCOL_ERROR)),
        ("no scheme", only(&[get, root, named]), End::Reset(PROTOCOL_ERROR)),
        ("no path", only(&[get, https, named]), End::Reset(PROTOCOL_ERROR)),
        (
            "an empty path",
            only(&[get, https, (":path", ""), named]),
            End::Reset(PROTOCOL_ERROR),
        ),
        ("two paths", only(&[get, https, root, root, named]), End::Reset(PROTOCOL_ERROR)),
        (
            "a pseudo-header field of answers",
            only(&[get, https, root, named, (":status", "200")]),
            End::Reset(PROTOCOL_ERROR),
        ),
        (
            "an unknown pseudo-header field",
            only(&[get, https, root, named, (":other", "1")]),
            End::GoAway(PROTOCOL_ERROR),
        ),
        (
            "a pseudo-header field behind others",
            only(&[get, https, root, ("x-a", "1"), named]),
            End::Reset(PROTOCOL_ERROR),
        ),
        (
            "a line end in a value",
            requests.get(1, END_STREAM, &[("x-a", "1\r\nx-b: 2")]),
            End::GoAway(PROTOCOL_ERROR),
        ),
        ("a length that is none", body("+2", b"{}"), End::Reset(PROTOCOL_ERROR)),
        ("less than the length", body("3", b"{}"), End::Reset(PROTOCOL_ERROR)),
        ("more than the length", body("1", b"{}"), End::Reset(PROTOCOL_ERROR)),
        (
            "a window over its largest size",
            [requests.post(1, &[]), frame(kind::WINDOW_UPDATE, 0, 1, &number(0x7fff_ffff))].concat(),
            End::Reset(FLOW_CONTROL_ERROR),
        ),
        // RFC 8441 section 4: only where it was offered, and it is not.
        (
            "extended CONNECT",
            headers(1, 0, &[(":method", "CONNECT"), (":protocol", "websocket"), https, root, named]),
            End::Reset(PROTOCOL_ERROR),
        ),
        (
            "trailers without an end",
            [requests.post(1, &[]), headers(1, 0, &[("x-sum", "1")])].concat(),
            End::Reset(PROTOCOL_ERROR),
        ),
        (
            "DATA behind the end",
            [requests.get(1, END_STREAM, &[]), frame(kind::DATA, 0, 1, b"x")].concat(),
            End::GoAway(PROTOCOL_ERROR),
        ),
    ];
    let mut wrong = Vec::new();
    for (name, bytes, expected) in rows {
        let found = end_of(&world, &bytes).await;
        if found != expected {
            wrong.push((name, found, expected));
        }
    }
    assert!(wrong.is_empty(), "found, expected: {wrong:#?}");
    world.tls.assert_no_request();
    world.get(Via::TlsH2, "/").await.assert_allowed();
}

/// Malformed (RFC 9113 section 8.1), and passed over by h2. Nothing of it may come through.
#[tokio::test]
async fn pseudo_header_fields_in_trailers_change_nothing() {
    let world = World::open().await;
    let requests = Requests::of(&world);
    let trailers = headers(1, END_STREAM, &[(":path", "/admin"), (":method", "DELETE")]);
    let end = end_of(&world, &[requests.post(1, &[]), trailers].concat()).await;
    assert!(matches!(end, End::Answer | End::Reset(PROTOCOL_ERROR)), "{end:?}");
    for seen in world.tls.requests() {
        assert_eq!((seen.method.as_str(), seen.target.as_str(), seen.trailers), ("POST", "/", None));
    }
}

#[tokio::test]
async fn requests_that_can_be_read_and_contradict_themselves_get_a_typed_answer() {
    let world = World::open().await;
    let authority = format!("{HOST}:{}", world.tls.port());
    for (name, fields, reason) in [
        ("another Host", vec![("host", "evil.example")], "authority_mismatch"),
        (
            "two Hosts",
            vec![("host", authority.as_str()), ("host", authority.as_str())],
            "malformed_request",
        ),
        (
            "two lengths",
            vec![("content-length", "0"), ("content-length", "0")],
            "malformed_request",
        ),
    ] {
        let mut ask = Ask::get(world.tls.port(), "/");
        ask.headers = fields.into_iter().map(|(name, value)| (name, value.to_owned())).collect();
        let answer = world.gate.fetch(Via::TlsH2, &ask).await;
        assert_eq!(answer.reason(), Some(reason), "{name}: {answer:?}");
        world.gate.audited(json!({ "decision": "deny", "reason_code": reason })).await;
    }
    let mut connection = raw(&world).await;
    let nobody = headers(1, END_STREAM, &[(":method", "GET"), (":scheme", "https"), (":path", "/")]);
    connection
        .send(&[PREFACE, &frame(kind::SETTINGS, 0, 0, b""), &nobody].concat())
        .await;
    while let Some(frame) = tollgate_tests::within("an answer", connection.next()).await {
        if frame.kind == kind::HEADERS {
            break;
        }
        assert!(!matches!(frame.kind, kind::GOAWAY | kind::RST_STREAM), "{frame:?}");
    }
    world
        .gate
        .audited(json!({ "decision": "deny", "reason_code": "malformed_request" }))
        .await;
    world.tls.assert_no_request();
}

#[tokio::test]
async fn a_stream_number_is_used_once() {
    let world = World::open().await;
    let requests = Requests::of(&world);
    for (again, expected) in [
        (
            1,
            vec![End::GoAway(STREAM_CLOSED), End::GoAway(PROTOCOL_ERROR), End::Reset(STREAM_CLOSED)],
        ),
        (3, vec![End::Answer]),
    ] {
        let mut connection = raw(&world).await;
        connection
            .send(&[PREFACE, &frame(kind::SETTINGS, 0, 0, b""), &requests.get(1, END_STREAM, &[])].concat())
            .await;
        // The first answer ends with this frame.
        while let Some(frame) = tollgate_tests::within("an answer", connection.next()).await {
            if frame.stream == 1 && frame.flags & END_STREAM != 0 {
                break;
            }
        }
        let before = world.tls.requests().len();
        connection.send(&requests.get(again, END_STREAM, &[])).await;
        let end = loop {
            let Some(frame) = tollgate_tests::within("an end", connection.next()).await else {
                break End::Closed;
            };
            let code = |at: usize| u32::from_be_bytes(frame.payload[at..at + 4].try_into().unwrap());
            match frame.kind {
                kind::GOAWAY => break End::GoAway(code(4)),
                kind::RST_STREAM => break End::Reset(code(0)),
                kind::HEADERS => break End::Answer,
                _ => {}
            }
        };
        assert!(expected.contains(&end), "stream {again}: {end:?}");
        assert_eq!(world.tls.requests().len() - before, usize::from(end == End::Answer));
    }
}

/// Rapid reset (CVE-2023-44487), endless header blocks (CVE-2024-27316), and floods of what has to be acknowledged.
#[tokio::test]
async fn floods_end_the_connection_or_leave_memory_alone() {
    let world = World::open().await;
    let requests = Requests::of(&world);
    let resets: Vec<u8> = (0..20_000)
        .flat_map(|number_of| {
            let stream = number_of * 2 + 1;
            [
                requests.get(stream, END_STREAM, &[]),
                frame(kind::RST_STREAM, 0, stream, &number(8)),
            ]
            .concat()
        })
        .collect();
    let endless = [
        frame(kind::HEADERS, END_STREAM, 1, &block(&[(":method", "GET")])),
        frame(kind::CONTINUATION, 0, 1, &block(&[("x-a", &"a".repeat(10_000))])).repeat(2_000),
    ]
    .concat();
    let before = world.gate.resident();
    for (name, bytes, expected) in [
        ("streams that are reset at once", resets, Some(ENHANCE_YOUR_CALM)),
        ("a header block without an end", endless, None),
        ("SETTINGS", frame(kind::SETTINGS, 0, 0, b"").repeat(200_000), None),
        ("PING", frame(kind::PING, 0, 0, &[0; 8]).repeat(200_000), None),
        (
            "empty DATA",
            [requests.post(1, &[]), frame(kind::DATA, 0, 1, b"").repeat(200_000)].concat(),
            None,
        ),
        ("priorities", frame(2, 0, 3, &[0, 0, 0, 0, 1]).repeat(200_000), None),
    ] {
        let mut connection = raw(&world).await;
        let all = [PREFACE, &frame(kind::SETTINGS, 0, 0, b""), &bytes].concat();
        // Written and not read: whoever must acknowledge has to wait, or to give up.
        let writing = tokio::time::timeout(Duration::from_secs(3), connection.send(&all)).await;
        let ended = async {
            while let Some(frame) = connection.next().await {
                if frame.kind == kind::GOAWAY {
                    return Some(u32::from_be_bytes(frame.payload[4..8].try_into().unwrap()));
                }
            }
            None
        };
        let code = tokio::time::timeout(Duration::from_secs(3), ended).await.ok().flatten();
        if expected.is_some() {
            assert_eq!(code, expected, "{name}, written: {writing:?}");
        }
        let grown = world.gate.resident().saturating_sub(before);
        assert!(grown < 48 << 20, "{name}: grew by {} MiB", grown >> 20);
        world.get(Via::TlsH2, "/").await.assert_allowed();
    }
}

#[tokio::test]
async fn a_header_list_over_the_limit_is_refused_and_its_neighbours_are_served() {
    let world = World::open().await;
    let mut h2 = world.gate.tls_h2(world.tls.port()).await;
    let long = "a".repeat(10_000);
    let mut ask = Ask::get(world.tls.port(), "/large");
    ask.headers = ["x-a", "x-b", "x-c", "x-d", "x-e", "x-f", "x-g"]
        .map(|name| (name, long.clone()))
        .to_vec();
    match h2.try_ask(&ask).await {
        Ok(answer) => assert_eq!(answer.status, 431, "{answer:?}"),
        Err(error) => panic!("no answer but {error}"),
    }
    h2.ask(&Ask::get(world.tls.port(), "/")).await.assert_allowed();
    assert_eq!(world.tls.requests().len(), 1);
}

/// A client that takes the proxy itself for an HTTP/2 server, or for one behind TLS, is told at once.
#[tokio::test]
async fn http2_and_tls_to_the_proxy_port_are_refused_at_once() {
    let world = World::open().await;
    let started = std::time::Instant::now();
    let mut connection = world.gate.dial().await;
    connection.send([PREFACE, &frame(kind::SETTINGS, 0, 0, b"")].concat()).await;
    connection.answer("GET").await.assert_denied(403, "h2c_not_allowed");
    world
        .gate
        .audited(json!({ "decision": "deny", "adapter": "forward", "reason_code": "h2c_not_allowed" }))
        .await;

    // CONNECT by HTTP/2, as to a proxy that speaks it: its first bytes are the same.
    let stream = tokio::net::TcpStream::connect(world.gate.proxy).await.unwrap();
    let (mut sender, connection) = h2::client::handshake(stream).await.unwrap();
    let running = tokio::spawn(connection);
    let request = http::Request::connect(format!("{HOST}:{}", world.tls.port())).body(()).unwrap();
    if let Ok((response, _body)) = sender.send_request(request, false) {
        assert!(
            tollgate_tests::within("an end", response).await.is_err(),
            "a tunnel over cleartext HTTP/2"
        );
    }
    assert!(tollgate_tests::within("the end of the connection", running).await.unwrap().is_err());

    let dialled = world.gate.dial().await.into_stream();
    let refused = world.gate.handshake(dialled, HOST, Alpn::H2).await;
    assert!(refused.is_err(), "TLS with the proxy port");
    world
        .gate
        .audited(json!({ "decision": "deny", "adapter": "forward", "reason_code": "malformed_request" }))
        .await;
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    world.assert_untouched();
}

#[tokio::test]
async fn extended_connect_is_not_offered_and_a_plain_one_is_nested() {
    let world = World::open().await;
    let mut h2 = world.gate.tls_h2(world.tls.port()).await;
    // The SETTINGS of the proxy have come by then.
    h2.ask(&Ask::get(world.tls.port(), "/")).await.assert_allowed();
    assert!(!h2.sender.is_extended_connect_protocol_enabled());
    let request = http::Request::connect(format!("{HOST}:{}", world.tls.port())).body(()).unwrap();
    let (response, _body) = h2.open(request, false).await;
    let answer = tollgate_tests::within("answer", tollgate_tests::h2_client::collect(response))
        .await
        .unwrap();
    answer.assert_refused(&[400, 403, 405], "nested_connect");
    world
        .gate
        .audited(json!({ "decision": "deny", "reason_code": "nested_connect" }))
        .await;
    assert_eq!(world.tls.requests().len(), 1);
}
