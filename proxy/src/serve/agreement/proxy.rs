//! The assembled proxy, asked over connections in memory, with an origin on loopback behind it.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use memchr::memmem::Finder;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::task::JoinHandle;
use tungstenite::protocol::frame::Frame;
use tungstenite::protocol::frame::coding::{Data, OpCode};

use super::audited::Audited;
use super::generate::{Asked, Shape};
use super::{Found, caller, origin};
use crate::flow::Client;
use crate::gate::Ruleset;
use crate::identity::Network;
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
    pub(super) answer: Answer,
}

/// How a connection ended.
#[derive(Debug)]
pub(super) enum Answer {
    /// With the origin's answer, or its bytes would pass unread, or its message passed.
    Passed,
    /// With a denial.
    Denied(Found),
    /// With a close frame that has this reason.
    Closed(String),
}

impl Proxy {
    pub(super) async fn start(settings: &Settings) -> Self {
        let ports = [origin::start().await, origin::start().await];
        let assembled = assemble::assemble(settings, Network::Ours, None).unwrap();
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

    pub(super) fn stop(self, audit: &Path) -> Audited {
        self.ingress.engine.audit.shut_down();
        Audited::read(audit)
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
    ours.write_all(&bytes(&asked, &authority)).await.unwrap();
    let answer = match answer(&mut ours, asked.method == http::Method::HEAD).await {
        Head::Denial(found) => Answer::Denied(found),
        Head::Switch if asked.shape == Shape::Message => send(&mut ours, &asked.body).await,
        Head::Switch | Head::Answer => Answer::Passed,
    };
    drop(ours);
    served.await.unwrap();
    Told { connection, answer }
}

fn bytes(asked: &Asked, authority: &str) -> Vec<u8> {
    let target = if asked.https { asked.target.to_owned() } else { asked.url() };
    let mut head = format!("{} {target} HTTP/1.1\r\n", asked.method);
    let mut field = |name: &str, value: &str| head.extend([name, ": ", value, "\r\n"]);
    for (name, value) in &asked.fields {
        field(name, value);
    }
    if !asked.has_field("host") {
        field("host", authority);
    }
    if asked.shape == Shape::Message {
        if !asked.fields.contains(&("connection", "upgrade")) {
            field("connection", "Upgrade");
        }
        for (name, value) in HANDSHAKE.iter().filter(|(name, _)| !asked.has_field(name)) {
            field(name, value);
        }
        return (head + "\r\n").into_bytes();
    }
    let chunked = asked.fields.contains(&("transfer-encoding", "chunked"));
    if !asked.body.is_empty() && !asked.has_field("transfer-encoding") {
        field("content-length", &asked.body.len().to_string());
    }
    let mut bytes = (head + "\r\n").into_bytes();
    if chunked {
        for chunk in asked.body.chunks(50) {
            bytes.extend(format!("{:x}\r\n", chunk.len()).bytes());
            bytes.extend(chunk);
            bytes.extend(b"\r\n");
        }
        bytes.extend(b"0\r\n\r\n");
    } else {
        bytes.extend(&asked.body);
    }
    bytes
}

/// What clients send to open a WebSocket, where a pair does not say otherwise.
const HANDSHAKE: [(&str, &str); 3] = [
    ("upgrade", "websocket"),
    ("sec-websocket-version", "13"),
    ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
];

/// What came back.
enum Head {
    /// The origin's answer. The end without one is that of a tunnel whose bytes pass unread.
    Answer,
    Switch,
    Denial(Found),
}

static END: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"\r\n\r\n"));

async fn answer(stream: &mut DuplexStream, head: bool) -> Head {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = END.find(&bytes) {
            break at + 4;
        }
        if stream.read_buf(&mut bytes).await.unwrap() == 0 {
            assert!(bytes.is_empty(), "half an answer");
            return Head::Answer;
        }
    };
    let text = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let Some(reason) = field("x-tollgate-reason") else {
        return match text.split(' ').nth(1) {
            Some("101") => Head::Switch,
            Some("200") => Head::Answer,
            _ => panic!("{text}"),
        };
    };
    if head {
        return Head::Denial(Found {
            decision: "deny".to_owned(),
            reason: Some(reason.to_owned()),
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
    Head::Denial(Found::of("deny", &body))
}

/// Sends a text message and nothing after it.
async fn send(stream: &mut DuplexStream, text: &[u8]) -> Answer {
    let mut frame = Frame::message(text.to_vec(), OpCode::Data(Data::Text), true);
    frame.header_mut().mask = Some(*b"mask");
    let mut bytes = Vec::new();
    frame.format(&mut bytes).unwrap();
    stream.write_all(&bytes).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut end = Vec::new();
    stream.read_to_end(&mut end).await.unwrap();
    // A close frame from here: two bytes of head, two of code, and the reason.
    match end.get(4..) {
        None => Answer::Passed,
        Some(reason) => Answer::Closed(String::from_utf8(reason.to_vec()).unwrap()),
    }
}
