//! The assembled proxy, asked over connections in memory, with an origin on loopback behind it.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::generate::Asked;
use super::{Found, caller};
use crate::flow::Client;
use crate::gate::Ruleset;
use crate::ingress::{Ingress, Workers};
use crate::serve::{Settings, assemble};

pub(super) struct Proxy {
    ingress: Arc<Ingress>,
    /// Where the origin listens.
    pub(super) ports: [u16; 2],
}

/// What the client of one pair was told.
pub(super) struct Told {
    /// By which its audit lines are found.
    pub(super) connection: String,
    /// `None` if it had the origin's answer, or its bytes would pass unread.
    pub(super) denial: Option<Found>,
}

impl Proxy {
    pub(super) async fn start(settings: &Settings) -> Self {
        let ports = [origin().await, origin().await];
        let assembled = assemble::assemble(settings).unwrap();
        let ingress = Arc::new(Ingress {
            engine: assembled.engine,
            leaves: assembled.leaves,
            workers: Workers::start().unwrap(),
        });
        Proxy { ingress, ports }
    }

    pub(super) fn replace(&self, rules: Ruleset) {
        self.ingress.engine.gate.replace(rules);
    }

    pub(super) fn ask_all(&self, all: &[Asked]) -> Vec<JoinHandle<Told>> {
        all.iter()
            .map(|asked| tokio::spawn(ask(self.ingress.clone(), asked.clone())))
            .collect()
    }

    /// The last audit line of each connection.
    pub(super) fn stop(self, audit: &Path) -> HashMap<String, Found> {
        self.ingress.engine.audit.shut_down();
        let lines = std::fs::read_to_string(audit).unwrap();
        let found = lines.lines().map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            (line["connection"].to_string(), found(line["decision"].as_str().unwrap(), &line))
        });
        found.collect()
    }
}

fn found(decision: &str, members: &Value) -> Found {
    let text = |name: &str| members[name].as_str().map(str::to_owned);
    Found {
        decision: decision.to_owned(),
        reason: text("reason_code"),
        policy: text("policy"),
        rule: text("rule"),
    }
}

async fn ask(ingress: Arc<Ingress>, asked: Asked) -> Told {
    let nobody = SocketAddr::from(([127, 0, 0, 1], 1));
    let client = Client::new(nobody, nobody);
    let connection = client.id.to_string();
    client.caller.set(caller(&asked)).unwrap();
    let authority = asked.authority();
    let connect = asked
        .https
        .then(|| format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n"));
    let (mut ours, theirs) = tokio::io::duplex(64 << 10);
    let served = tokio::spawn(async move { ingress.serve_in_memory(client, connect.as_deref(), theirs).await });
    ours.write_all(text(&asked, &authority).as_bytes()).await.unwrap();
    let denial = answer(&mut ours, asked.method == http::Method::HEAD).await;
    drop(ours);
    served.await.unwrap();
    Told { connection, denial }
}

fn text(asked: &Asked, authority: &str) -> String {
    let target = if asked.https { asked.target.to_owned() } else { asked.url() };
    let mut text = format!("{} {target} HTTP/1.1\r\n", asked.method);
    let mut field = |name: &str, value: &str| text.extend([name, ": ", value, "\r\n"]);
    for (name, value) in asked.fields {
        field(name, value);
    }
    if !asked.fields.iter().any(|(name, _)| *name == "host") {
        field("host", authority);
    }
    if !asked.body.is_empty() && !asked.fields.iter().any(|(name, _)| *name == "transfer-encoding") {
        field("content-length", &asked.body.len().to_string());
    }
    text + "\r\n" + asked.body
}

/// The denial that came back. The end without an answer is that of a tunnel whose bytes pass unread.
async fn answer(stream: &mut DuplexStream, head: bool) -> Option<Found> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = memchr::memmem::find(&bytes, b"\r\n\r\n") {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await.unwrap() == 0 {
            assert!(bytes.is_empty(), "half an answer");
            return None;
        }
    };
    let text = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let Some(reason) = field("x-tollgate-reason") else {
        assert!(text.starts_with("http/1.1 200"), "{text}");
        return None;
    };
    if head {
        let (decision, reason) = ("deny".to_owned(), Some(reason.to_owned()));
        return Some(Found {
            decision,
            reason,
            policy: None,
            rule: None,
        });
    }
    let whole = end + field("content-length").unwrap().parse::<usize>().unwrap();
    while bytes.len() < whole {
        assert!(stream.read_buf(&mut bytes).await.unwrap() > 0, "half a denial");
    }
    let body: Value = serde_json::from_slice(&bytes[end..whole]).unwrap();
    assert_eq!(body["reason_code"], reason);
    Some(found("deny", &body))
}

/// Answers every request with 200.
async fn origin() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let router = axum::Router::new().fallback(|| async {});
    tokio::spawn(async move { axum::serve(listener, router).await });
    port
}
