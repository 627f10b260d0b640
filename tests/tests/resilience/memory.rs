//! What clients can make the proxy remember: names without number, connections that say nothing, answers that nobody reads.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinSet;
use tollgate_tests::authority::{Alpn, Authority};
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::origin::Origin;
use tollgate_tests::policy::{self, Entry, HOST};
use tollgate_tests::scripted::Scripted;
use tollgate_tests::tollgate::{Setup, Tollgate};
use tollgate_tests::wire::H1;
use tollgate_tests::world::World;

const MIB: usize = 1 << 20;

/// How many names a client thinks of.
const NAMES: usize = 20_000;
/// Of those that a wildcard allows, how many it also speaks TLS with: each costs a certificate.
const SPOKEN: usize = 2_000;
/// At once.
const CROWD: usize = 8;

/// Requests for names that no rule allows.
async fn refused(gate: Arc<Tollgate>, names: std::ops::Range<usize>) {
    for nth in names {
        let host = format!("n{nth}.random.test");
        let mut connection = gate.dial().await;
        let answer = connection
            .request(format!("GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n"))
            .await;
        answer.assert_denied(403, "host_not_allowed");
    }
}

/// By a connection each, names that a wildcard allows; with some of them TLS.
async fn allowed(gate: Arc<Tollgate>, port: u16, names: std::ops::Range<usize>) {
    for nth in names {
        let authority = format!("n{nth}.wild.test:{port}");
        if nth < SPOKEN {
            drop(gate.tls_stream(&authority, Alpn::H1).await.unwrap());
        } else {
            let refusal = gate.tunnel(&authority).await.err().unwrap();
            assert!(
                matches!(refusal.reason(), Some("upstream_unreachable" | "name_not_resolved")),
                "{refusal:?}"
            );
        }
    }
}

fn wild(port: u16) -> String {
    policy::document(&[Entry {
        name: "wild",
        host: "*.wild.test",
        ports: &[port],
        lines: &["protocol: rest", "enforcement: enforce", "access: full"],
    }])
}

fn in_shares(count: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    (0..CROWD).map(move |nth| count * nth / CROWD..count * (nth + 1) / CROWD)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_without_number_are_not_remembered_for_ever() {
    let origin = Origin::plain().await;
    let port = origin.port();
    let hosts: serde_json::Map<String, serde_json::Value> =
        (0..SPOKEN).map(|nth| (format!("n{nth}.wild.test"), json!(["127.0.0.1"]))).collect();
    let gate = Arc::new(Setup::new(wild(port)).config(json!({ "upstream": { "hosts": hosts } })).start());
    refused(Arc::clone(&gate), 0..50).await;
    allowed(Arc::clone(&gate), port, 0..50).await;
    let before = gate.resident();
    let mut clients = JoinSet::new();
    for names in in_shares(NAMES) {
        clients.spawn(refused(Arc::clone(&gate), names));
    }
    for names in in_shares(SPOKEN) {
        clients.spawn(allowed(Arc::clone(&gate), port, names));
    }
    while let Some(client) = clients.join_next().await {
        client.unwrap();
    }
    let grown = gate.resident().saturating_sub(before);
    assert!(grown < 64 * MIB, "{NAMES} names have grown it by {grown} bytes");
    let cached = gate.metric("tollgate_certificate_cache_entries", &[]).await;
    assert!(cached <= 1024.0, "{cached} certificates are kept");
    let metrics = gate.metrics().await;
    assert!(!metrics.contains("random.test") && !metrics.contains("wild.test"));
    assert!(metrics.lines().count() < 2_000, "{} series", metrics.lines().count());
}

/// E4.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_idle_connections_are_in_no_ones_way() {
    // As many as this process may have.
    let may = rustix::process::getrlimit(rustix::process::Resource::Nofile)
        .current
        .unwrap_or(20_000);
    let count = usize::try_from(may).unwrap_or(20_000).saturating_sub(1_000).min(10_000);
    let world = World::start(policy::open, |setup| {
        setup.config(json!({ "limits": { "connections": 12_000, "connections_per_client": 12_000 } }))
    })
    .await;
    let before = world.gate.resident();
    let mut idle = Vec::new();
    for nth in 0..count {
        let mut connection = world.gate.dial().await;
        if nth % 10 == 0 {
            connection.send("GET http").await;
        }
        idle.push(connection);
    }
    let each = world.gate.resident().saturating_sub(before) / count;
    assert!(each < 40 << 10, "{each} bytes per idle connection");
    for via in Via::ALL {
        let started = Instant::now();
        world.get(via, "/").await.assert_allowed();
        assert!(started.elapsed() < Duration::from_secs(2), "{via:?}: {:?}", started.elapsed());
    }
    assert_eq!(world.gate.readyz().await.0, 200);
    drop(idle);
    let end = Instant::now() + Duration::from_secs(20);
    while descriptors(&world.gate) > 200 {
        assert!(Instant::now() < end, "{} descriptors are kept", descriptors(&world.gate));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    world.get(Via::TlsH2, "/").await.assert_allowed();
}

fn descriptors(gate: &Tollgate) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", gate.pid())).unwrap().count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_nobody_reads_and_uploads_that_nobody_takes_stay_with_their_senders() {
    let authority = Authority::default();
    let origin = Scripted::start(Some(authority.server(HOST, Alpn::H1)), |mut peer| async move {
        let Some(head) = peer.head().await else { return };
        if head.first_line.starts_with("POST") {
            // Takes nothing of the body.
            return std::future::pending().await;
        }
        peer.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", 64 * MIB)).await;
        let piece = vec![b'd'; MIB];
        for _ in 0..64 {
            if peer.peer.try_send(&piece).await.is_err() {
                return;
            }
        }
    })
    .await;
    let port = origin.port();
    let gate = Arc::new(Setup::new(policy::open(&[port])).local_host().trust(&authority).start());
    drop(gate.tls_h1(port).await);
    let before = gate.resident();
    let mut held: Vec<H1> = Vec::new();
    for _ in 0..40 {
        let mut reader = gate.tls_h1(port).await;
        reader.send(Ask::get(port, "/").h1(Via::TlsH1)).await;
        held.push(reader);
    }
    let mut h2 = gate.tls_h2(port).await;
    let mut answers = Vec::new();
    for _ in 0..40 {
        answers.push(h2.open(tollgate_tests::h2_client::H2::head(&Ask::get(port, "/")), true).await);
    }
    let mut senders = JoinSet::new();
    for _ in 0..40 {
        let mut sender = gate.tls_h1(port).await;
        senders.spawn(async move {
            let request = format!(
                "POST / HTTP/1.1\r\nHost: {HOST}:{port}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n",
                64 * MIB
            );
            sender.send(request).await;
            let piece = vec![b'u'; MIB];
            while let Ok(Ok(())) = tokio::time::timeout(Duration::from_secs(3), sender.try_send(&piece)).await {}
            sender
        });
    }
    let kept = senders.join_all().await;
    let grown = gate.resident().saturating_sub(before);
    assert!(grown < 160 * MIB, "120 slow peers have grown it by {} MiB", grown / MIB);
    assert_eq!(gate.readyz().await.0, 200);
    drop((kept, held, answers));
}
