//! Everything at once, for as long as is asked: HTTP/1 and HTTP/2, WebSockets, payments that are judged GO and HOLD, denials, large bodies
//! and clients that break off, while the policy is replaced every second. Ends with an error if anything failed that no policy forbids,
//! if memory grew after the first fifth, or if descriptors are left over.
//!
//! ```sh
//! cargo run -p tollgate-tests --example soak -- 300      # seconds; 60 when left out
//! TOLLGATE_BIN=target/release/tollgate cargo run -p tollgate-tests --example soak -- 3600
//! ```
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a tool that ends by panicking and tells what it saw"
)]

mod clients;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::JoinSet;
use tollgate_tests::authority::{Alpn, Authority};
use tollgate_tests::origin::Origin;
use tollgate_tests::payment::{self, PAYEE};
use tollgate_tests::policy::{self, Entry, HOST};
use tollgate_tests::scripted::Scripted;
use tollgate_tests::tollgate::{Setup, Tollgate};
use tollgate_tests::verdict_peer::{Mood, Says, VerdictPeer};

use clients::{Kind, SOCKETS, Stage};

/// What memory may grow by after the warm-up, and how many descriptors may be left when all clients have gone: the pool's.
const MOST_GROWTH: usize = 48 << 20;
const MOST_LEFT: usize = 300;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() {
    let seconds = std::env::args().nth(1).map_or(60, |seconds| seconds.parse().unwrap());
    let span = Duration::from_secs(seconds);
    let authority = Authority::default();
    let plain = Origin::start(None, clients::reply).await;
    let tls = Origin::start(Some(authority.server(HOST, Alpn::H2)), clients::reply).await;
    let sockets = Scripted::start(None, clients::echo).await;
    let payees = HashMap::from([(PAYEE.to_ascii_lowercase(), Says::Go)]);
    let verdicts = VerdictPeer::start(Mood::Honest(payees)).await;
    let policy = |note: &str| document(&[plain.port(), tls.port()], sockets.port(), note);
    let gate = Setup::new(policy(""))
        .local_host()
        .host(SOCKETS, "127.0.0.1")
        .trust(&authority)
        .config(payment::settings())
        .config(verdicts.settings())
        .config(json!({ "audit": { "path": "/dev/null" } }))
        .start();
    let stage = Arc::new(Stage {
        gate: Arc::new(gate),
        plain: plain.port(),
        tls: tls.port(),
        sockets: sockets.port(),
        payments: AtomicUsize::new(0),
    });
    let idle = descriptors(&stage.gate);

    let end = Instant::now() + span;
    let mut running = JoinSet::new();
    for (kind, count) in Kind::CROWD {
        for _ in 0..count {
            running.spawn(run(Arc::clone(&stage), kind, end));
        }
    }
    let watching = tokio::spawn(watch(Arc::clone(&stage.gate), span, end));
    let reloads = replace(&stage.gate, &policy, end).await;
    let (mut done, mut failed) = (HashMap::<Kind, usize>::new(), Vec::new());
    while let Some(ended) = running.join_next().await {
        let (kind, count, failures) = ended.unwrap();
        *done.entry(kind).or_default() += count;
        failed.extend(failures);
    }
    let (warm, most) = watching.await.unwrap();

    // Idle origin connections are kept for a minute, and all else has to go at once.
    let mut left = descriptors(&stage.gate);
    for _ in 0..50 {
        if left <= idle + 10 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        left = descriptors(&stage.gate);
    }
    println!("{seconds} s: {done:?}, {reloads} policies");
    println!(
        "memory: {} MiB warm, {} MiB at most; descriptors: {idle} before, {left} behind",
        warm >> 20,
        most >> 20
    );
    assert!(
        failed.is_empty(),
        "{} failures: {:#?}",
        failed.len(),
        &failed[..failed.len().min(20)]
    );
    assert!(
        Kind::CROWD.iter().all(|(kind, _)| done.get(kind).is_some_and(|count| *count > 0)),
        "somebody got nothing done"
    );
    assert!(most.saturating_sub(warm) < MOST_GROWTH, "memory grew");
    assert!(left < idle + MOST_LEFT, "descriptors are left over");
}

fn document(ports: &[u16], sockets: u16, note: &str) -> String {
    let lines = [
        "protocol: rest",
        "enforcement: enforce",
        "access: full",
        "deny_rules: [ { method: \"*\", path: \"/denied/**\" } ]",
    ];
    let socket_lines = ["protocol: websocket", "enforcement: enforce", "access: full"];
    let sockets = [sockets];
    let entry = |name, host, ports, lines| Entry { name, host, ports, lines };
    let entries = [
        entry("api", HOST, ports, &lines[..]),
        entry("sockets", SOCKETS, &sockets[..], &socket_lines[..]),
    ];
    format!("# {note}\n{}", policy::document(&entries))
}

/// A new policy each second: by rename, written in place, or one that is none.
async fn replace(gate: &Tollgate, policy: &impl Fn(&str) -> String, end: Instant) -> usize {
    let mut count = 0;
    while Instant::now() + Duration::from_secs(1) < end {
        tokio::time::sleep(Duration::from_secs(1)).await;
        count += 1;
        match count % 5 {
            0 => gate.write_policy("version: 1\nnetwork_policies: ["),
            1 => std::fs::write(gate.dir().join("policy.yaml"), policy(&count.to_string())).unwrap(),
            _ => gate.write_policy(&policy(&count.to_string())),
        }
    }
    count
}

/// Resident bytes when a fifth of the time is over, and the most of them afterwards.
async fn watch(gate: Arc<Tollgate>, span: Duration, end: Instant) -> (usize, usize) {
    tokio::time::sleep(span / 5).await;
    let warm = gate.resident();
    let mut most = warm;
    while Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(500)).await;
        most = most.max(gate.resident());
    }
    (warm, most)
}

async fn run(stage: Arc<Stage>, kind: Kind, end: Instant) -> (Kind, usize, Vec<String>) {
    static FAILURES: AtomicUsize = AtomicUsize::new(0);
    let (mut count, mut failures) = (0, Vec::new());
    while Instant::now() < end && FAILURES.load(Ordering::Relaxed) < 100 {
        match tokio::time::timeout(Duration::from_secs(30), kind.round(&stage)).await {
            Ok(Ok(())) => count += 1,
            Ok(Err(why)) => failures.push(format!("{kind:?}: {why}")),
            Err(_) => failures.push(format!("{kind:?}: hangs")),
        }
        FAILURES.fetch_add(usize::from(!failures.is_empty()), Ordering::Relaxed);
    }
    (kind, count, failures)
}

fn descriptors(gate: &Tollgate) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", gate.pid())).unwrap().count()
}
