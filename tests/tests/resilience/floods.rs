//! Floods over HTTP/2, and too many connections of one client.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::net::TcpSocket;
use tollgate_tests::authority::{Alpn, Authority};
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::h2_origin::H2Origin;
use tollgate_tests::h2_requests::{CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PREFACE, RST_STREAM, frame, literal};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::tollgate::Setup;
use tollgate_tests::wire::H1;
use tollgate_tests::world::World;

const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const CANCEL: [u8; 4] = [0, 0, 0, 8];

fn fields(port: u16) -> Vec<u8> {
    let authority = format!("{HOST}:{port}");
    let fields = [
        (":method", "GET"),
        (":scheme", "https"),
        (":authority", &authority),
        (":path", "/flood"),
    ];
    literal(&fields.map(|(name, value)| (name.as_bytes().to_vec(), value.as_bytes().to_vec())))
}

/// CVE-2023-44487: streams that are opened and reset at once are free for the protocol and cost a request each.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rapid_resets_start_few_requests_and_end_the_connection() {
    let (now, most, all) = (
        Arc::<AtomicUsize>::default(),
        Arc::<AtomicUsize>::default(),
        Arc::<AtomicUsize>::default(),
    );
    let (n, m, a) = (Arc::clone(&now), Arc::clone(&most), Arc::clone(&all));
    let authority = Authority::default();
    let origin = H2Origin::start(authority.server(HOST, Alpn::H2Only), move |request, mut respond| {
        let (n, m, a) = (Arc::clone(&n), Arc::clone(&m), Arc::clone(&a));
        async move {
            if request.uri().path() == "/flood" {
                a.fetch_add(1, Ordering::SeqCst);
                m.fetch_max(n.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(500)).await;
                n.fetch_sub(1, Ordering::SeqCst);
            }
            let _ = respond.send_response(http::Response::new(()), true);
        }
    })
    .await;
    let gate = Setup::new(policy::open(&[origin.port()])).local_host().trust(&authority).start();
    gate.fetch(Via::TlsH2, &Ask::get(origin.port(), "/before")).await.assert_allowed();
    let before = gate.resident();
    let mut flood = H1::new(gate.tls_stream(&format!("{HOST}:{}", origin.port()), Alpn::H2).await.unwrap());
    let block = fields(origin.port());
    flood.send(PREFACE).await;
    let started = Instant::now();
    let mut sent = 0;
    for burst in 0..1000_u32 {
        let streams = || (0..20).map(move |nth| (burst * 20 + nth) * 2 + 1);
        let opened: Vec<u8> = streams()
            .flat_map(|stream| frame(HEADERS, END_HEADERS | END_STREAM, stream, &block))
            .collect();
        let reset: Vec<u8> = streams().flat_map(|stream| frame(RST_STREAM, 0, stream, &CANCEL)).collect();
        if flood.try_send(&opened).await.is_err() {
            break;
        }
        // Time to begin with them: what is reset before that costs nothing.
        tokio::time::sleep(Duration::from_millis(10)).await;
        if flood.try_send(&reset).await.is_err() {
            break;
        }
        sent += 20;
    }
    assert!(sent < 20_000, "20,000 resets, and the connection stands");
    assert!(started.elapsed() < Duration::from_secs(20));
    let (most, all) = (most.load(Ordering::SeqCst), all.load(Ordering::SeqCst));
    assert!(
        most <= 128 && all <= 300,
        "{all} requests at the origin, {most} at once, of {sent} that were reset"
    );
    let started = Instant::now();
    gate.fetch(Via::TlsH2, &Ask::get(origin.port(), "/behind")).await.assert_allowed();
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    assert!(gate.resident().saturating_sub(before) < 64 << 20);
}

/// Who gives up a request now and then keeps the connection.
#[tokio::test]
async fn a_client_that_cancels_among_other_requests_is_not_shut_out() {
    let world = World::open().await;
    let port = world.tls.port();
    let mut h2 = world.gate.tls_h2(port).await;
    for _ in 0..60 {
        let slow = Ask::get(port, "/slow/2000");
        let (response, mut stream) = h2.open(tollgate_tests::h2_client::H2::head(&slow), true).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
        stream.send_reset(h2::Reason::CANCEL);
        drop(response);
        h2.ask(&Ask::get(port, "/fast")).await.assert_allowed();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn frames_without_end_cost_one_connection_at_most() {
    let world = World::open().await;
    let port = world.tls.port();
    let block = fields(port);
    let opened = frame(HEADERS, 0, 1, &block);
    let field = literal(&[(b"x-flood".to_vec(), b"y".repeat(200))]);
    let request = frame(HEADERS, END_HEADERS, 1, &block);
    let repeated = |first: &[u8], piece: Vec<u8>, count: usize| [PREFACE, first, &piece.repeat(count)].concat();
    // RFC 7541 section 2.3.2: one byte in a block for a field of 4 KiB in the table.
    let bomb = [
        &block[..],
        &[0x40],
        &literal(&[(b"x-bomb".to_vec(), b"z".repeat(3900))])[1..],
        &[0xbe; 16_000],
    ]
    .concat();
    let mut whole = frame(HEADERS, END_STREAM, 1, &bomb[..16_000]);
    whole.extend(frame(CONTINUATION, END_HEADERS, 1, &bomb[16_000..]));
    for (name, bytes, ends) in [
        (
            "continuations (CVE-2024-27316)",
            repeated(&opened, frame(CONTINUATION, 0, 1, &field), 50_000),
            true,
        ),
        (
            "empty continuations",
            repeated(&opened, frame(CONTINUATION, 0, 1, b""), 200_000),
            true,
        ),
        ("a header bomb (CVE-2016-6581)", [PREFACE, &whole].concat(), false),
        (
            "pings (CVE-2019-9512)",
            repeated(b"", frame(PING, 0, 0, b"12345678"), 100_000),
            false,
        ),
        (
            "settings (CVE-2019-9515)",
            repeated(b"", frame(SETTINGS, 0, 0, b""), 100_000),
            false,
        ),
        (
            "empty data (CVE-2019-9518)",
            repeated(&request, frame(DATA, 0, 1, b""), 100_000),
            false,
        ),
        ("windows", repeated(b"", frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1]), 100_000), false),
        (
            "a window too wide",
            repeated(b"", frame(WINDOW_UPDATE, 0, 0, &[0x7f, 0xff, 0xff, 0xff]), 2),
            true,
        ),
        (
            "a frame too large",
            [PREFACE, &frame(DATA, 0, 1, &b"x".repeat(1 << 20))].concat(),
            true,
        ),
        ("priorities", repeated(b"", frame(2, 0, 1, &[0, 0, 0, 0, 1]), 100_000), false),
        ("unknown frames", repeated(b"", frame(0xbe, 0, 0, &[7; 100]), 50_000), false),
    ] {
        let before = world.gate.resident();
        let mut flood = H1::new(world.gate.tls_stream(&format!("{HOST}:{port}"), Alpn::H2).await.unwrap());
        // Its answers are not read meanwhile: those that wait may not fill the memory.
        let sending = tokio::time::timeout(Duration::from_secs(10), flood.try_send(&bytes)).await;
        let grown = world.gate.resident().saturating_sub(before);
        assert!(grown < 48 << 20, "{name}: grew by {grown} bytes");
        let started = Instant::now();
        world.get(Via::TlsH2, "/meanwhile").await.assert_allowed();
        assert!(started.elapsed() < Duration::from_secs(2), "{name}: {:?}", started.elapsed());
        if ends && matches!(sending, Ok(Ok(()))) {
            let ended = async { while !flood.next_bytes().await.is_empty() {} };
            assert!(
                tokio::time::timeout(Duration::from_secs(5), ended).await.is_ok(),
                "{name}: the connection stands"
            );
        }
    }
    assert!(
        world
            .tls
            .requests()
            .iter()
            .all(|seen| seen.target != "/flood" || seen.body.is_empty() || seen.body == "<broken off>")
    );
}

#[tokio::test]
async fn one_client_that_takes_all_its_connections_leaves_the_others_theirs() {
    let origin = tollgate_tests::origin::Origin::plain().await;
    let limits = json!({ "limits": { "connections": 40, "connections_per_client": 20 } });
    let gate = Setup::new(policy::open(&[origin.port()])).local_host().config(limits).start();
    let ask = Ask::get(origin.port(), "/").h1(Via::AbsoluteForm);
    let from = async |address: &str| {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(format!("{address}:0").parse().unwrap()).unwrap();
        H1::new(Box::new(socket.connect(gate.proxy).await.unwrap()))
    };
    let mut crowd = Vec::new();
    for _ in 0..20 {
        let mut connection = from("127.0.0.2").await;
        connection.request(&ask).await.assert_allowed();
        crowd.push(connection);
    }
    let authority = format!("{HOST}:{}", origin.port());
    for late in [
        String::from_utf8(ask.clone()).unwrap(),
        format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n"),
    ] {
        let started = Instant::now();
        let refused = from("127.0.0.2").await.request(&late).await;
        refused.assert_denied(503, "over_capacity");
        assert!(refused.text().contains("of this client"), "{}", refused.text());
        assert!(started.elapsed() < Duration::from_secs(1), "{:?}", started.elapsed());
    }
    let mut others = Vec::new();
    for _ in 0..20 {
        let mut other = from("127.0.0.3").await;
        other.request(&ask).await.assert_allowed();
        others.push(other);
    }
    // Now it is full for everybody; and still tells how it stands.
    from("127.0.0.4").await.request(&ask).await.assert_denied(503, "over_capacity");
    let refusals = gate.metric("tollgate_requests_total", &[("reason_code", "over_capacity")]).await;
    assert!((refusals - 3.0).abs() < f64::EPSILON, "{refusals}");
    gate.audited(json!({ "decision": "deny", "reason_code": "over_capacity" })).await;
    assert_eq!(gate.readyz().await.0, 200);
    crowd.truncate(10);
    let end = Instant::now() + Duration::from_secs(5);
    while from("127.0.0.2").await.request(&ask).await.status != 200 {
        assert!(Instant::now() < end, "no room came back");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
