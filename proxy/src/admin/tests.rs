#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant, UNIX_EPOCH};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::audit::{Output, Sink};
use crate::metrics::Metrics;
use crate::settings::{Insecure, Limits};

struct House {
    address: SocketAddr,
    readiness: Arc<Readiness>,
    shutdown: CancellationToken,
    _folder: tempfile::TempDir,
}

impl Drop for House {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}

/// What the tests call slow.
const HEADER_READ: Duration = Duration::from_millis(500);

async fn house(connections: usize) -> House {
    let folder = tempfile::tempdir().unwrap();
    let output = Output::File(folder.path().join("audit.jsonl"));
    let sources = Sources {
        readiness: Arc::default(),
        metrics: Arc::new(Metrics::new(["usdc"]).unwrap()),
        audit: Arc::new(Sink::start(&output, 1 << 20).unwrap()),
        kill: Arc::new(|| {}),
    };
    let mut admin = Admin::bind("127.0.0.1:0".parse().unwrap(), connections).await.unwrap();
    admin.header_read = HEADER_READ;
    let house = House {
        address: admin.local_addr().unwrap(),
        readiness: Arc::clone(&sources.readiness),
        shutdown: CancellationToken::new(),
        _folder: folder,
    };
    tokio::spawn(admin.serve(sources, house.shutdown.clone()));
    house
}

async fn ask(address: SocketAddr, method: &str, path: &str) -> (u16, String, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("{method} {path} HTTP/1.1\r\nHost: admin\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), head.to_ascii_lowercase(), body.to_owned())
}

async fn readyz(house: &House) -> (u16, Value) {
    let (status, _, body) = ask(house.address, "GET", "/readyz").await;
    (status, serde_json::from_str(&body).unwrap())
}

fn serve(house: &House) {
    house.readiness.listening(Addresses {
        proxy: "127.0.0.1:3128".parse().unwrap(),
        admin: house.address,
        ca: "/run/ca/tollgate-ca.pem".into(),
    });
    house.readiness.policy_applied(
        PolicyInForce {
            generation: 1,
            source: "/etc/policy.yaml".into(),
            files: vec!["/etc/policy.yaml".into()],
            loaded: UNIX_EPOCH + Duration::from_secs(1_700_000_000),
        },
        String::new(),
    );
}

#[tokio::test]
async fn it_is_ready_only_while_nothing_is_wrong() {
    let house = house(8).await;
    let reasons = async || {
        let (status, body) = readyz(&house).await;
        assert_eq!(body["ready"], status == 200);
        body["reasons"]
            .as_array()
            .unwrap()
            .iter()
            .map(|reason| reason.as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(reasons().await, ["not_listening", "no_policy"]);
    serve(&house);
    assert_eq!(reasons().await, [""; 0]);
    house.readiness.set_descriptors(Descriptors::Exhausted);
    assert_eq!(reasons().await, ["descriptors_exhausted"]);
    house.readiness.set_descriptors(Descriptors::Available);
    house.readiness.policy_rejected(UNIX_EPOCH, "policy.yaml:1:1: error[x]: y".into());
    assert_eq!(reasons().await, [""; 0]);
    house
        .readiness
        .watch_payments(|| PaymentMemory::unusable("another process is using it".to_owned()));
    assert_eq!(reasons().await, ["payment_store_unusable"]);
    house.readiness.start_draining();
    assert_eq!(reasons().await, ["payment_store_unusable", "draining"]);
    assert_eq!(ask(house.address, "GET", "/healthz").await.0, 200);
}

#[tokio::test]
async fn the_report_says_what_is_in_force_and_what_was_refused() {
    let house = house(8).await;
    serve(&house);
    house.readiness.policy_rejected(UNIX_EPOCH, "policy.yaml:1:1: error[x]: y".into());
    let insecure = Insecure {
        allow_loopback: true,
        ..Insecure::default()
    };
    house.readiness.weakened(&insecure.weakenings());
    let (status, body) = readyz(&house).await;
    let expected = json!({
        "ready": true, "reasons": [], "closed_by": [], "draining": false,
        "policy": { "generation": 1, "source": "/etc/policy.yaml", "files": ["/etc/policy.yaml"], "loaded": "2023-11-14T22:13:20Z" },
        "last_reload": { "result": "rejected", "time": "1970-01-01T00:00:00Z", "diagnostics": "policy.yaml:1:1: error[x]: y" },
        "addresses": { "proxy": "127.0.0.1:3128", "admin": house.address.to_string(), "ca": "/run/ca/tollgate-ca.pem" },
        "audit": { "ready": true, "unwritten": 0, "events": 0, "write_errors": 0, "failure": null },
        "payments": { "kept": "in_memory", "usable": true, "fault": null },
        "weakened": ["allow_loopback"], "version": env!("CARGO_PKG_VERSION"),
    });
    assert_eq!((status, body), (200, expected));
}

#[tokio::test]
async fn the_paths_answer_get_and_head_and_nothing_else() {
    let house = house(8).await;
    for (method, path, status, content_type, body) in [
        ("GET", "/healthz", 200, "application/json", "{\"status\":\"ok\"}"),
        ("HEAD", "/healthz", 200, "application/json", ""),
        ("GET", "/metrics", 200, "text/plain; version=0.0.4", "tollgate_audit_ready 1"),
        ("HEAD", "/metrics", 200, "text/plain; version=0.0.4", ""),
        ("GET", "/readyz", 503, "application/json", "no_policy"),
        ("POST", "/readyz", 405, "application/json", "method_not_allowed"),
        ("DELETE", "/metrics", 405, "application/json", "method_not_allowed"),
        ("GET", "/", 404, "application/json", "not_found"),
        ("GET", "/metrics/", 404, "application/json", "not_found"),
        ("POST", "/shutdown", 404, "application/json", "not_found"),
    ] {
        let (got, head, text) = ask(house.address, method, path).await;
        assert_eq!(got, status, "{method} {path}");
        assert!(head.contains(&format!("content-type: {content_type}")), "{method} {path}: {head}");
        assert!(
            text.contains(body) && (method != "HEAD" || text.is_empty()),
            "{method} {path}: {text}"
        );
        assert_eq!(head.contains("allow: get, head"), status == 405, "{head}");
    }
}

#[tokio::test]
async fn clients_that_never_finish_their_head_cannot_keep_the_probe_out() {
    let house = house(2).await;
    let mut slow = Vec::new();
    for _ in 0..4 {
        let mut stream = TcpStream::connect(house.address).await.unwrap();
        stream.write_all(b"GET /healthz HTTP/1.1\r\nX: ").await.unwrap();
        slow.push(stream);
    }
    let start = Instant::now();
    let answer = tokio::time::timeout(Duration::from_secs(30), ask(house.address, "GET", "/healthz"))
        .await
        .unwrap();
    assert_eq!(answer.0, 200);
    assert!(start.elapsed() > HEADER_READ, "the cap did not hold");
}

#[tokio::test]
async fn a_head_without_end_is_refused() {
    let house = house(2).await;
    let mut stream = TcpStream::connect(house.address).await.unwrap();
    let mut sent = 0;
    let piece = format!("X: {}\r\n", "a".repeat(1_000));
    let _ = stream.write_all(b"GET /healthz HTTP/1.1\r\n").await;
    while sent < 1 << 20 && stream.write_all(piece.as_bytes()).await.is_ok() {
        sent += piece.len();
    }
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
    assert_eq!(ask(house.address, "GET", "/healthz").await.0, 200);
}

#[tokio::test]
async fn shutdown_ends_the_listener_and_idle_connections() {
    let house = house(2).await;
    let mut idle = TcpStream::connect(house.address).await.unwrap();
    assert_eq!(ask(house.address, "GET", "/healthz").await.0, 200);
    house.shutdown.cancel();
    let mut rest = Vec::new();
    tokio::time::timeout(Duration::from_secs(10), idle.read_to_end(&mut rest))
        .await
        .unwrap()
        .ok();
    for _ in 0..100 {
        if TcpStream::connect(house.address).await.is_err() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the listener is still open");
}

#[test]
fn the_default_cap_leaves_room_for_probe_and_scraper() {
    assert!(Limits::default().admin_connections >= 8);
}
