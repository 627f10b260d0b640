//! The clients, one kind of traffic each, and the origins that they talk to. A round is one connection's worth; its error is anything
//! that no policy asked for.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tollgate_tests::answer::{Answer, Ending};
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::h2_client::{H2, collect};
use tollgate_tests::origin::{Reply, Seen, standard};
use tollgate_tests::payment::{Terms, Wallet, encode};
use tollgate_tests::policy::HOST;
use tollgate_tests::scripted::Conversation;
use tollgate_tests::tollgate::Tollgate;
use tollgate_tests::websocket::{self, HANDSHAKE, op, server_frame, text};

/// The host of the WebSockets.
pub(crate) const SOCKETS: &str = "sockets.example.test";
const LARGE: usize = 6 << 20;

/// Where everybody is.
pub(crate) struct Stage {
    pub(crate) gate: Arc<Tollgate>,
    pub(crate) plain: u16,
    pub(crate) tls: u16,
    pub(crate) sockets: u16,
    pub(crate) payments: AtomicUsize,
}

/// A kind of traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Http1,
    Http2,
    Forward,
    Denied,
    Large,
    WebSocket,
    Payments,
    BreaksOff,
}

impl Kind {
    /// How many of each.
    pub(crate) const CROWD: [(Kind, usize); 8] = [
        (Kind::Http1, 4),
        (Kind::Http2, 4),
        (Kind::Forward, 4),
        (Kind::Denied, 3),
        (Kind::Large, 2),
        (Kind::WebSocket, 4),
        (Kind::Payments, 2),
        (Kind::BreaksOff, 3),
    ];

    pub(crate) async fn round(self, stage: &Stage) -> Result<(), String> {
        match self {
            Kind::Http1 => http1(stage).await,
            Kind::Http2 => http2(stage).await,
            Kind::Forward => forward(stage).await,
            Kind::Denied => denied(stage).await,
            Kind::Large => large(stage).await,
            Kind::WebSocket => web_socket(stage).await,
            Kind::Payments => payments(stage).await,
            Kind::BreaksOff => breaks_off(stage).await,
        }
    }
}

/// Origins forget what they have seen of large bodies; this one only counts.
pub(crate) fn reply(seen: &Seen) -> Reply {
    if seen.target == "/count" {
        return tollgate_tests::origin::reply(http::StatusCode::OK, seen.body.len().to_string());
    }
    standard(seen)
}

/// A WebSocket origin that says `pong` to whatever comes.
pub(crate) async fn echo(mut peer: Conversation) {
    if peer.head().await.is_none() {
        return;
    }
    peer.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n")
        .await;
    while !peer.peer.next_bytes().await.is_empty() {
        peer.send(server_frame(websocket::bits::FIN | op::TEXT, b"pong")).await;
    }
}

fn expect(answer: &Answer, body: &str) -> Result<(), String> {
    if (answer.status, answer.text().as_str(), &answer.ending) == (200, body, &Ending::Complete) {
        Ok(())
    } else {
        Err(told(answer))
    }
}

fn told(answer: &Answer) -> String {
    let text = answer.text();
    format!(
        "{} {:?} {:?} {}",
        answer.status,
        answer.reason(),
        answer.ending,
        text.chars().take(300).collect::<String>()
    )
}

async fn http1(stage: &Stage) -> Result<(), String> {
    let mut h1 = stage.gate.tls_h1(stage.tls).await;
    for nth in 0..20 {
        let target = format!("/h1/{nth}");
        h1.send(Ask::get(stage.tls, &target).h1(Via::TlsH1)).await;
        expect(&h1.answer_or_end("GET").await?, &format!("GET {target}"))?;
    }
    Ok(())
}

async fn http2(stage: &Stage) -> Result<(), String> {
    let mut h2 = stage.gate.tls_h2(stage.tls).await;
    for round in 0..5 {
        let mut open = Vec::new();
        for nth in 0..10 {
            let target = format!("/h2/{round}/{nth}");
            let (response, _) = h2.open(H2::head(&Ask::get(stage.tls, &target)), true).await;
            open.push((target, response));
        }
        for (target, response) in open {
            expect(
                &collect(response).await.map_err(|error| error.to_string())?,
                &format!("GET {target}"),
            )?;
        }
        let json = format!("{{\"round\":{round}}}");
        let echoed = h2.try_ask(&Ask::get(stage.tls, "/echo").json(&json)).await;
        expect(&echoed.map_err(|error| error.to_string())?, &json)?;
    }
    Ok(())
}

async fn forward(stage: &Stage) -> Result<(), String> {
    for via in [Via::AbsoluteForm, Via::PlainTunnel] {
        for target in ["/chunked", "/bytes/100000", "/status/204"] {
            let answer = stage.gate.fetch(via, &Ask::get(stage.plain, target)).await;
            let whole = answer.ending == Ending::Complete && answer.reason().is_none();
            if !whole || answer.status >= 300 {
                return Err(told(&answer));
            }
        }
    }
    Ok(())
}

async fn denied(stage: &Stage) -> Result<(), String> {
    for via in Via::ALL {
        let port = if via.is_tls() { stage.tls } else { stage.plain };
        for (ask, reason) in [
            (Ask::get(port, "/denied/x"), "denied_by_rule"),
            (Ask::get(port, "/").host("elsewhere.example.test"), "host_not_allowed"),
            (Ask::get(1, "/"), "port_not_allowed"),
        ] {
            let answer = stage.gate.fetch(via, &ask).await;
            if answer.reason() != Some(reason) {
                return Err(format!("{reason} expected: {}", told(&answer)));
            }
        }
    }
    Ok(())
}

async fn large(stage: &Stage) -> Result<(), String> {
    let body = vec![b'l'; LARGE];
    for via in [Via::TlsH1, Via::TlsH2, Via::AbsoluteForm] {
        let port = if via.is_tls() { stage.tls } else { stage.plain };
        let mut up = Ask::get(port, "/count")
            .method("POST")
            .header("content-type", "application/octet-stream");
        up.body = &body;
        expect(&stage.gate.fetch(via, &up).await, &LARGE.to_string())?;
        let target = format!("/bytes/{LARGE}");
        let down = stage.gate.fetch(via, &Ask::get(port, &target)).await;
        if (down.status, down.body.len(), &down.ending) != (200, LARGE, &Ending::Complete) {
            return Err(format!("{} bytes, {:?}", down.body.len(), down.ending));
        }
    }
    Ok(())
}

async fn web_socket(stage: &Stage) -> Result<(), String> {
    let authority = format!("{SOCKETS}:{}", stage.sockets);
    let mut client = stage.gate.tunnel(&authority).await.map_err(|refusal| told(&refusal))?;
    client
        .send(format!("GET /socket HTTP/1.1\r\nHost: {authority}\r\n{HANDSHAKE}\r\n"))
        .await;
    let answer = client.answer_or_end("GET").await?;
    if answer.status != 101 {
        return Err(told(&answer));
    }
    for nth in 0..30 {
        client.send(text(&format!("message {nth}"))).await;
        let seen = websocket::Seen::next(&mut client).await;
        if seen.payload != "pong" {
            return Err(format!("{seen:?}"));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

async fn payments(stage: &Stage) -> Result<(), String> {
    let stranger = format!("0x{}", "77".repeat(20));
    for (terms, reason) in [(Terms::default(), None), (Terms::to(&stranger), Some("verdict_hold"))] {
        // Of one resource only so many are sold in a minute.
        let target = format!("/paid/{}", stage.payments.fetch_add(1, Ordering::Relaxed));
        let payment = Wallet::default().v2(&format!("https://{HOST}:{}{target}", stage.tls), &terms);
        let ask = Ask::get(stage.tls, &target).header("PAYMENT-SIGNATURE", encode(&payment));
        let answer = stage.gate.fetch(Via::TlsH2, &ask).await;
        if answer.reason() != reason {
            return Err(format!("{reason:?} expected: {}", told(&answer)));
        }
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
    Ok(())
}

async fn breaks_off(stage: &Stage) -> Result<(), String> {
    let head = format!(
        "POST /echo HTTP/1.1\r\nHost: {HOST}:{}\r\nContent-Length: 100000\r\n\r\nstart",
        stage.tls
    );
    let mut upload = stage.gate.tls_h1(stage.tls).await;
    upload.send(head).await;
    let mut waits = stage.gate.tls_h1(stage.tls).await;
    waits.send(Ask::get(stage.tls, "/slow/300").h1(Via::TlsH1)).await;
    let mut h2 = stage.gate.tls_h2(stage.tls).await;
    let (response, mut stream) = h2.open(H2::head(&Ask::get(stage.tls, "/slow/300")), true).await;
    tokio::time::sleep(Duration::from_millis(30)).await;
    stream.send_reset(h2::Reason::CANCEL);
    drop(response);
    let mut half = stage.gate.dial().await;
    half.send("GET http").await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    Ok(())
}
