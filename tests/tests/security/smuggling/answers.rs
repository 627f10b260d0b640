//! The other direction: an origin whose answer can be read in two ways, or that says more than was asked. Whoever asks next, by the same
//! connection or another, gets the answer to the own request or none.

use std::sync::Arc;
use std::time::Duration;

use tollgate_tests::answer::Ending;
use tollgate_tests::authority::{Alpn, Authority};
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::scripted::Scripted;
use tollgate_tests::tollgate::{Setup, Tollgate};
use tollgate_tests::wire::H1;

const POISON: &str = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison";

/// What the origin says to `/bent/N`, and whether a client may take it for a whole answer with this content.
fn bent() -> Vec<(String, Option<&'static str>)> {
    let mut rows: Vec<(String, Option<&str>)> = Vec::new();
    let mut row = |head: &str, body: &str, may: Option<&'static str>| rows.push((format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}"), may));
    // Two framings.
    row(
        "Content-Length: 2\r\nTransfer-Encoding: chunked",
        &format!("2\r\nok\r\n0\r\n\r\n{POISON}"),
        Some("ok"),
    );
    row(
        "Transfer-Encoding: chunked\r\nContent-Length: 100",
        "2\r\nok\r\n0\r\n\r\n",
        Some("ok"),
    );
    row("Content-Length: 2\r\nContent-Length: 60", &format!("ok{POISON}"), None);
    row("Content-Length: 2, 60", &format!("ok{POISON}"), None);
    row("Content-Length: 2\r\nContent-Length: 2", &format!("ok{POISON}"), Some("ok"));
    for length in ["+2", "-2", "0x2", "2 2", "abc", "99999999999999999999999"] {
        row(&format!("Content-Length: {length}"), &format!("ok{POISON}"), None);
    }
    for coding in [
        "gzip, chunked",
        "chunked, chunked",
        "xchunked",
        "identity",
        "\"chunked\"",
        "chunked;x=y",
    ] {
        row(
            &format!("Transfer-Encoding: {coding}"),
            &format!("2\r\nok\r\n0\r\n\r\n{POISON}"),
            None,
        );
    }
    row(
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        &format!("2\r\nok\r\n0\r\n\r\n{POISON}"),
        None,
    );
    // Broken chunks.
    for chunks in [
        "2\r\nokX0\r\n\r\n",
        "g\r\nok\r\n",
        "ffffffffffffffffff\r\nok",
        "2\nok\n0\n\n",
        "-2\r\nok\r\n",
    ] {
        row("Transfer-Encoding: chunked", &format!("{chunks}{POISON}"), None);
    }
    // More than was asked for.
    row("Content-Length: 2", &format!("ok{POISON}"), Some("ok"));
    row("Content-Length: 2", &format!("ok\r\n\r\n{POISON}"), Some("ok"));
    row("Content-Length: 2", "ok\r\n", Some("ok"));
    row("Content-Length: 0", &format!("poison{POISON}"), Some(""));
    row("Transfer-Encoding: chunked", &format!("2\r\nok\r\n0\r\n\r\n{POISON}"), Some("ok"));
    row(
        "Transfer-Encoding: chunked",
        &format!("2\r\nok\r\n0\r\nX: y\r\n\r\n{POISON}"),
        Some("ok"),
    );
    // Heads that inject fields, or are none.
    // RFC 9112 lets a recipient read these (sections 2.2, 5.1 and 5.2); they go on as one field in one line.
    row("X-A: b\nX-Tollgate-Reason: host_not_allowed\r\nContent-Length: 2", "ok", Some("ok"));
    row("X-A: b\rX-B: c\r\nContent-Length: 2", "ok", None);
    row("X-A: b\r\n folded\r\nContent-Length: 2", "ok", Some("ok"));
    row("X-A : b\r\nContent-Length: 2", "ok", Some("ok"));
    row("X-A: \0\r\nContent-Length: 2", "ok", None);
    row(": b\r\nContent-Length: 2", "ok", None);
    rows.push((
        format!("HTTP/1.1 204 No Content\r\nContent-Length: 6\r\n\r\npoison{POISON}"),
        Some(""),
    ));
    rows.push((
        format!("HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n6\r\npoison\r\n0\r\n\r\n{POISON}"),
        Some(""),
    ));
    rows.push((
        format!("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n{POISON}"),
        None,
    ));
    rows.push((format!("HTTP/1.1 99 No\r\nContent-Length: 2\r\n\r\nok{POISON}"), None));
    rows.push((format!("HTTP/2 200 OK\r\nContent-Length: 2\r\n\r\nok{POISON}"), None));
    rows.push((format!("ICY 200 OK\r\nContent-Length: 2\r\n\r\nok{POISON}"), None));
    rows.push(("poison\r\n\r\n".to_owned(), None));
    // Interim answers without end, and one behind another.
    let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    for interim in ["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 102 Processing\r\n\r\n"] {
        rows.push((interim.repeat(20) + ok, Some("ok")));
        rows.push((interim.repeat(20_000) + ok, None));
    }
    rows.push((
        format!("HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok{POISON}"),
        Some("ok"),
    ));
    // An interim answer has no content, so this one is the answer; that it has a length must not be passed on.
    let long = POISON.replace("poison", "answer");
    rows.push((
        format!("HTTP/1.1 102 Processing\r\nContent-Length: {}\r\n\r\n{long}{ok}", long.len()),
        Some("answer"),
    ));
    rows
}

/// Answers `/own/…` with the path, `/bent/N` with the Nth line, and keeps the connection open whatever it said.
async fn start() -> (Tollgate, Scripted) {
    let authority = Authority::default();
    let lines = Arc::new(bent());
    let origin = Scripted::start(Some(authority.server(HOST, Alpn::H1)), move |mut peer| {
        let lines = Arc::clone(&lines);
        async move {
            while let Some((head, _)) = peer.request().await {
                let target = head.first_line.split(' ').nth(1).unwrap_or_default().to_owned();
                let line = target.strip_prefix("/bent/").and_then(|row| row.parse::<usize>().ok());
                match line.and_then(|row| lines.get(row)) {
                    Some((answer, _)) => peer.send(answer).await,
                    None => {
                        peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{target}", target.len()))
                            .await;
                    }
                }
            }
        }
    })
    .await;
    let gate = Setup::new(policy::open(&[origin.port()]))
        .local_host()
        .trust(&authority)
        .config(serde_json::json!({ "limits": { "upstream_first_byte": "3s", "stream_idle": "2s" } }))
        .start();
    (gate, origin)
}

/// Asks for something by this connection, or by a new one where it has ended: the answer has to be the own one, or a typed refusal.
async fn own(gate: &Tollgate, port: u16, connection: &mut H1, target: &str, row: &str) {
    let ask = Ask::get(port, target).h1(Via::TlsH1);
    let answer = match connection.try_send(&ask).await {
        Ok(()) => tokio::time::timeout(Duration::from_secs(8), connection.answer_or_end("GET"))
            .await
            .unwrap_or_else(|_| panic!("hangs after {row}")),
        Err(error) => Err(error.to_string()),
    };
    let answer = if let Ok(answer) = answer {
        answer
    } else {
        *connection = gate.tls_h1(port).await;
        connection.request(&ask).await
    };
    assert!(
        answer.text() == target || answer.reason() == Some("upstream_unreachable"),
        "another's answer after {row}: {answer:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_answer_poisons_the_next_one() {
    let (gate, origin) = start().await;
    let port = origin.port();
    let mut odd = Vec::new();
    for (number, (line, may)) in bent().into_iter().enumerate() {
        let row = super::beginning(line.as_bytes());
        for via in [Via::TlsH1, Via::TlsH2] {
            let target = format!("/bent/{number}");
            let ask = Ask::get(port, &target);
            let mut h1 = gate.tls_h1(port).await;
            own(&gate, port, &mut h1, "/own/before", &row).await;
            let answer = if via == Via::TlsH1 {
                h1.send(ask.h1(via)).await;
                let answer = tokio::time::timeout(Duration::from_secs(8), h1.answer_or_end("GET")).await;
                answer.unwrap_or_else(|_| panic!("hangs on {row}")).ok()
            } else {
                tokio::time::timeout(Duration::from_secs(8), gate.tls_h2(port).await.try_ask(&ask))
                    .await
                    .unwrap_or_else(|_| panic!("hangs on {row}"))
                    .ok()
            };
            if let Some(answer) = answer.filter(|answer| answer.ending == Ending::Complete) {
                assert!(
                    answer.header("x-tollgate-reason").is_none() || answer.status >= 500,
                    "{answer:?} to {row}"
                );
                let said = answer.interim.iter().flat_map(|interim| &interim.headers);
                assert!(
                    said.clone().all(|(name, _)| !name.eq_ignore_ascii_case("content-length")),
                    "{answer:?} to {row}"
                );
                let taken = answer.status < 500;
                if taken && may != Some(answer.text().as_str()) {
                    odd.push(format!("{via:?} {row}\n    is {answer:?}"));
                }
            }
            own(&gate, port, &mut h1, "/own/behind", &row).await;
            let mut other = gate.tls_h1(port).await;
            own(&gate, port, &mut other, "/own/elsewhere", &row).await;
        }
    }
    assert!(odd.is_empty(), "taken for whole answers:\n{}", odd.join("\n"));
}

/// HEAD is answered with a body by an origin that does not know better.
#[tokio::test]
async fn a_body_to_head_is_nobodys_answer() {
    let authority = Authority::default();
    let origin = Scripted::start(Some(authority.server(HOST, Alpn::H1)), |mut peer| async move {
        while let Some((head, _)) = peer.request().await {
            let target = head.first_line.split(' ').nth(1).unwrap_or_default().to_owned();
            let content = if head.first_line.starts_with("HEAD") { POISON } else { &target };
            peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{content}", content.len()))
                .await;
        }
    })
    .await;
    let port = origin.port();
    let gate = Setup::new(policy::open(&[port])).local_host().trust(&authority).start();
    let mut h1 = gate.tls_h1(port).await;
    for round in 0..5 {
        let answer = h1.request(Ask::get(port, "/head").method("HEAD").h1(Via::TlsH1)).await;
        assert_eq!((answer.status, answer.text().as_str()), (200, ""), "round {round}");
        own(&gate, port, &mut h1, "/own/behind", "a body to HEAD").await;
    }
}
