//! Origins and verdict services that reset, stall, babble, half-close and break off: each a typed answer with its audit line, or an answer
//! that is visibly cut; and a payment that is refused within its time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tollgate_tests::answer::Ending;
use tollgate_tests::authority::{Alpn, Authority};
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::payment::{self, Terms, Wallet, encode};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::tollgate::{Setup, Tollgate};
use tollgate_tests::verdict_peer::Says;
use tollgate_tests::within;
use tollgate_tests::world::World;

/// What a neighbour does when it has said its piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Then {
    /// RST.
    Resets,
    /// FIN, and nothing is read any more.
    Closes,
    /// FIN, but goes on reading.
    HalfCloses,
    /// Nothing, for ever.
    IsSilent,
}

/// How it speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pace {
    AtOnce,
    /// A byte, and a pause.
    Drips(Duration),
}

/// A listener that hears one request per connection and then misbehaves.
struct Neighbour {
    port: u16,
    task: JoinHandle<()>,
}

impl Neighbour {
    async fn start(tls: Option<TlsAcceptor>, says: Vec<u8>, pace: Pace, then: Then) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let says = Arc::new(says);
        let task = tokio::spawn(async move {
            let mut running = JoinSet::new();
            while let Ok((tcp, _)) = listener.accept().await {
                let (tls, says) = (tls.clone(), Arc::clone(&says));
                running.spawn(async move {
                    if then == Then::Resets {
                        tcp.set_zero_linger().unwrap();
                    }
                    match tls {
                        None => misbehave(tcp, &says, pace, then).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(tcp).await {
                                misbehave(stream, &says, pace, then).await;
                            }
                        }
                    }
                });
                while running.try_join_next().is_some() {}
            }
        });
        Self { port, task }
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn misbehave(mut stream: impl AsyncRead + AsyncWrite + Unpin, says: &[u8], pace: Pace, then: Then) {
    let mut heard = Vec::new();
    while !heard.windows(4).any(|window| window == b"\r\n\r\n") {
        match stream.read_buf(&mut heard).await {
            Ok(1..) => {}
            _ => return,
        }
    }
    match pace {
        Pace::AtOnce => drop(stream.write_all(says).await),
        Pace::Drips(pause) => {
            for byte in says {
                if stream.write_all(&[*byte]).await.is_err() || stream.flush().await.is_err() {
                    return;
                }
                tokio::time::sleep(pause).await;
            }
        }
    }
    let _ = stream.flush().await;
    // What was said is read before the end, so that an end by force does not take it along.
    tokio::time::sleep(Duration::from_millis(100)).await;
    match then {
        Then::Resets | Then::Closes => {}
        Then::HalfCloses | Then::IsSilent => {
            if then == Then::HalfCloses {
                let _ = stream.shutdown().await;
            }
            while matches!(stream.read_buf(&mut heard).await, Ok(1..)) {}
            std::future::pending::<()>().await;
        }
    }
}

/// What a client has of it.
#[derive(Debug, Clone, Copy)]
enum Gets {
    Denial(u16, &'static str),
    /// This much, and then visibly no more.
    Part(&'static str),
}

const UNREACHABLE: Gets = Gets::Denial(502, "upstream_unreachable");
const TOO_LATE: Gets = Gets::Denial(504, "upstream_timeout");

fn origins() -> Vec<(&'static str, Then, Gets)> {
    use Then::{Closes, HalfCloses, IsSilent, Resets};
    let mut rows = Vec::new();
    for said in ["", "HTTP/1.1 200 OK\r\nContent-Le"] {
        rows.extend([Resets, Closes, HalfCloses].map(|then| (said, then, UNREACHABLE)));
        rows.push((said, IsSilent, TOO_LATE));
    }
    for said in [
        "SSH-2.0-OpenSSH_9.2\r\n",
        "\0\u{1}\u{2}\u{3}\r\n\r\n",
        "<html>busy</html>",
        "HTTP/1.1 banana\r\n\r\n",
    ] {
        rows.push((said, Closes, UNREACHABLE));
    }
    for said in [
        "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\npart",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n0\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n0\r\nX-A: b\r\n",
    ] {
        rows.extend([Resets, Closes, HalfCloses, IsSilent].map(|then| (said, then, Gets::Part("part"))));
    }
    rows.push((
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\nbanana\r\n",
        IsSilent,
        Gets::Part("part"),
    ));
    rows
}

/// Asks once, and tells what is wrong with what comes.
async fn asked(gate: Arc<Tollgate>, via: Via, port: u16, gets: Gets) -> Result<(), String> {
    let target = format!("/of/{port}");
    let started = Instant::now();
    let ask = Ask::get(port, &target);
    let answer = match via {
        Via::TlsH2 => gate.tls_h2(port).await.try_ask(&ask).await.map_err(|reset| reset.to_string()),
        _ => Ok(within("an answer", gate.fetch(via, &ask)).await),
    };
    if started.elapsed() > Duration::from_secs(8) {
        return Err(format!("took {:?}", started.elapsed()));
    }
    match (gets, answer) {
        (Gets::Denial(status, reason), Ok(answer)) if (answer.status, answer.reason()) == (status, Some(reason)) => {}
        (Gets::Part(came), Ok(answer)) if answer.status == 200 && answer.text() == came && matches!(answer.ending, Ending::Cut(_)) => {}
        // A reset of a stream may overtake what was sent on it.
        (Gets::Part(_), Err(_)) => {}
        (_, answer) => return Err(format!("got {answer:?}")),
    }
    // The line is written when the client has its answer.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let lines: Vec<_> = gate
        .audit_events()
        .into_iter()
        .filter(|event| event["path"] == target.as_str())
        .collect();
    let told = lines
        .iter()
        .any(|line| line["reason_code"].as_str().is_some_and(|reason| reason.starts_with("upstream_")));
    if told {
        Ok(())
    } else {
        Err(format!("no line says why, only {lines:?}"))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_origin_that_breaks_off_is_told_apart_from_one_that_ends() {
    let authority = Authority::default();
    let mut origins_of = Vec::new();
    for (said, then, gets) in origins() {
        for via in [Via::AbsoluteForm, Via::TlsH1, Via::TlsH2] {
            let tls = via.is_tls().then(|| TlsAcceptor::from(authority.server(HOST, Alpn::H1)));
            let origin = Neighbour::start(tls, said.as_bytes().to_vec(), Pace::AtOnce, then).await;
            origins_of.push((origin, via, said, then, gets));
        }
    }
    let ports: Vec<u16> = origins_of.iter().map(|(origin, ..)| origin.port).collect();
    let limits = json!({ "limits": { "upstream_first_byte": "1500ms", "stream_idle": "1500ms" } });
    let gate = Arc::new(
        Setup::new(policy::open(&ports))
            .local_host()
            .trust(&authority)
            .config(limits)
            .start(),
    );
    let mut asking = JoinSet::new();
    for (origin, via, said, then, gets) in &origins_of {
        let (gate, via, port, gets, row) = (Arc::clone(&gate), *via, origin.port, *gets, format!("{via:?} {said:?} {then:?}"));
        asking.spawn(async move { asked(gate, via, port, gets).await.map_err(|why| format!("{row}: {why}")) });
    }
    let outcomes = asking.join_all().await;
    let odd: Vec<String> = outcomes.into_iter().filter_map(Result::err).collect();
    assert!(odd.is_empty(), "{} rows:\n{}", odd.len(), odd.join("\n"));
}

fn verdict_services() -> Vec<(&'static str, Vec<u8>, Pace, Then)> {
    let go = Says::Go.bytes();
    let half = go.as_bytes()[..go.len() / 2].to_vec();
    let endless = [
        b"HTTP/1.0 200 OK\r\nContent-Length: 900000000\r\n\r\n".as_slice(),
        &b" ".repeat(8 << 20),
    ]
    .concat();
    vec![
        ("resets at once", Vec::new(), Pace::AtOnce, Then::Resets),
        ("half-closes at once", Vec::new(), Pace::AtOnce, Then::HalfCloses),
        ("is silent", Vec::new(), Pace::AtOnce, Then::IsSilent),
        ("resets within its answer", half.clone(), Pace::AtOnce, Then::Resets),
        ("half-closes within its answer", half.clone(), Pace::AtOnce, Then::HalfCloses),
        ("stalls within its answer", half, Pace::AtOnce, Then::IsSilent),
        (
            "drips GO",
            go.clone().into_bytes(),
            Pace::Drips(Duration::from_millis(20)),
            Then::Closes,
        ),
        (
            "babbles",
            b"\x16\x03\x01\0\0GO GO GO\r\n\r\n".to_vec(),
            Pace::AtOnce,
            Then::IsSilent,
        ),
        ("talks without end", endless, Pace::AtOnce, Then::IsSilent),
        (
            "says 100 without end",
            b"HTTP/1.1 100 Continue\r\n\r\n".repeat(50_000),
            Pace::AtOnce,
            Then::IsSilent,
        ),
    ]
}

/// What the verdict service may take.
const BUDGET: Duration = Duration::from_millis(700);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_verdict_service_that_breaks_off_says_nothing_in_its_time() {
    for (name, says, pace, then) in verdict_services() {
        let service = Neighbour::start(None, says, pace, then).await;
        let verdict =
            json!({ "verdict": { "backend": "blackwall", "url": format!("http://127.0.0.1:{}", service.port), "timeout": "700ms" } });
        let world = World::start(policy::open, |setup| setup.config(payment::settings()).config(verdict)).await;
        for via in [Via::TlsH1, Via::TlsH2] {
            let payment = Wallet::default().v2(&format!("https://{HOST}:{}/paid", world.tls.port()), &Terms::default());
            let ask = Ask::get(world.tls.port(), "/paid").header("PAYMENT-SIGNATURE", encode(&payment));
            let started = Instant::now();
            let answer = world.gate.fetch(via, &ask).await;
            // Recovering the signer takes its time without optimisation.
            assert!(
                started.elapsed() < BUDGET + Duration::from_secs(2),
                "{name}: {:?}",
                started.elapsed()
            );
            assert!(
                matches!(answer.reason(), Some("verdict_unavailable" | "verdict_invalid")),
                "{name} {via:?}: {answer:?}"
            );
        }
        world.assert_untouched();
        world
            .gate
            .audited(json!({ "decision": "deny", "payment": { "amount": "10000" } }))
            .await;
        // Who pays nothing does not notice.
        world.get(Via::TlsH1, "/free").await.assert_allowed();
        assert!(world.gate.resident() < 300 << 20, "{name}: {} bytes", world.gate.resident());
    }
}

#[tokio::test]
async fn an_origin_that_comes_back_is_found_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let gate = Setup::new(policy::open(&[port])).local_host().start();
    drop(listener);
    let ask = Ask::get(port, "/");
    gate.fetch(Via::AbsoluteForm, &ask).await.assert_denied(502, "upstream_unreachable");
    let origin = tollgate_tests::origin::Origin::start_at(&format!("127.0.0.1:{port}"), None, tollgate_tests::origin::standard).await;
    gate.fetch(Via::AbsoluteForm, &ask).await.assert_allowed();
    assert_eq!(origin.requests().len(), 1);
}
