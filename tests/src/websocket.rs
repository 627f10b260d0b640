//! WebSockets in the raw: an origin that records every byte after its 101, a client that writes any frame, and a proxy between.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use flate2::{Compress, Compression, FlushCompress};
use tokio::sync::Mutex as AsyncMutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::answer::Answer;
use crate::authority::{Alpn, Authority};
use crate::eventually;
use crate::policy::{self, Entry, HOST};
use crate::scripted::{Conversation, Scripted};
use crate::tollgate::{Setup, Tollgate};
use crate::wire::H1;

/// The fields of a handshake (RFC 6455 section 1.2), without the empty line.
pub const HANDSHAKE: &str =
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
const SWITCH: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n";

/// permessage-deflate with all its defaults.
pub const DEFLATE: &str = "Sec-WebSocket-Extensions: permessage-deflate\r\n";
/// The same, each message on its own.
pub const DEFLATE_ALONE: &str = "Sec-WebSocket-Extensions: permessage-deflate; client_no_context_takeover\r\n";

/// Opcodes.
pub mod op {
    /// A further fragment.
    pub const CONTINUATION: u8 = 0;
    /// Text.
    pub const TEXT: u8 = 1;
    /// Binary.
    pub const BINARY: u8 = 2;
    /// Goodbye.
    pub const CLOSE: u8 = 8;
    /// A sign of life that wants an answer.
    pub const PING: u8 = 9;
}

/// The upper half of a frame's first byte.
pub mod bits {
    /// The last fragment.
    pub const FIN: u8 = 0x80;
    /// Compressed.
    pub const PACKED: u8 = 0x40;
    /// More fragments follow.
    pub const MORE: u8 = 0;
}

/// A client's frame: masked.
pub fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    const MASK: [u8; 4] = [0xA1, 0x5C, 0x03, 0xFE];
    let mut bytes = head(first, payload.len(), 0x80);
    bytes.extend_from_slice(&MASK);
    bytes.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, key)| byte ^ key));
    bytes
}

/// A server's frame: not masked.
pub fn server_frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = head(first, payload.len(), 0);
    bytes.extend_from_slice(payload);
    bytes
}

fn head(first: u8, length: usize, masked: u8) -> Vec<u8> {
    let mut bytes = vec![first];
    match length {
        0..126 => bytes.push(masked + u8::try_from(length).unwrap()),
        126..65536 => {
            bytes.push(masked + 126);
            bytes.extend_from_slice(&u16::try_from(length).unwrap().to_be_bytes());
        }
        _ => {
            bytes.push(masked + 127);
            bytes.extend_from_slice(&u64::try_from(length).unwrap().to_be_bytes());
        }
    }
    bytes
}

/// A text message in one frame.
pub fn text(text: &str) -> Vec<u8> {
    frame(bits::FIN | op::TEXT, text.as_bytes())
}

/// A text message in so many frames.
pub fn fragments(text: &str, pieces: usize) -> Vec<u8> {
    fragmented(op::TEXT, text.as_bytes(), pieces)
}

/// A payload in so many frames, the first of which begins with `first`.
pub fn fragmented(first: u8, payload: &[u8], pieces: usize) -> Vec<u8> {
    let chunks: Vec<&[u8]> = payload.chunks(payload.len().div_ceil(pieces).max(1)).collect();
    let last = chunks.len() - 1;
    let frame_of = |(number, chunk): (usize, &&[u8])| {
        let fin = if number == last { bits::FIN } else { bits::MORE };
        frame(fin | if number == 0 { first } else { op::CONTINUATION }, chunk)
    };
    chunks.iter().enumerate().flat_map(frame_of).collect()
}

/// Compresses messages the way clients do.
pub struct Deflater(Compress);

impl Default for Deflater {
    fn default() -> Self {
        Self(Compress::new(Compression::default(), false))
    }
}

impl Deflater {
    /// A message, without the tail that RFC 7692 takes off.
    pub fn pack(&mut self, message: &[u8]) -> Vec<u8> {
        if message.is_empty() {
            return vec![0];
        }
        let mut out = Vec::with_capacity(message.len() + 1024);
        self.0.compress_vec(message, &mut out, FlushCompress::Sync).unwrap();
        out.truncate(out.len() - 4);
        out
    }

    /// A compressed text message in one frame.
    pub fn text(&mut self, text: &str) -> Vec<u8> {
        frame(bits::FIN | bits::PACKED | op::TEXT, &self.pack(text.as_bytes()))
    }
}

/// What the origin does after its 101.
#[derive(Default)]
struct Log {
    heads: Vec<String>,
    received: Vec<u8>,
    ended: bool,
}

/// A proxy, and a recording WebSocket origin behind it.
pub struct Sockets {
    /// The proxy.
    pub gate: Tollgate,
    /// The origin.
    pub origin: Scripted,
    log: Arc<Mutex<Log>>,
    say: UnboundedSender<Vec<u8>>,
}

impl Sockets {
    /// With these lines on the endpoint, an origin whose 101 has these fields too, and more to the policy and the set-up.
    pub async fn start(lines: &[&str], agreed: &str, more_policy: &str, setup: impl FnOnce(Setup) -> Setup) -> Self {
        let authority = Authority::default();
        let log = Arc::new(Mutex::new(Log::default()));
        let (say, said) = unbounded_channel();
        let said = Arc::new(AsyncMutex::new(said));
        let switch = format!("{SWITCH}{agreed}\r\n");
        let kept = Arc::clone(&log);
        let script = move |peer: Conversation| converse(peer, switch.clone(), Arc::clone(&kept), Arc::clone(&said));
        let origin = Scripted::start(Some(authority.server(HOST, Alpn::H1)), script).await;
        let policy = document(lines, origin.port()) + more_policy;
        let gate = setup(Setup::new(policy).local_host().trust(&authority)).start();
        Self { gate, origin, log, say }
    }

    /// An enforced websocket endpoint with this access preset, and no extensions.
    pub async fn access(access: &str) -> Self {
        Self::start(&[WEBSOCKET, ENFORCE, &format!("access: {access}")], "", "", |setup| setup).await
    }

    /// The policy that it was started with, with other lines on the endpoint.
    pub fn policy(&self, lines: &[&str]) -> String {
        document(lines, self.origin.port())
    }

    /// An open WebSocket at this path.
    pub async fn open(&self, path: &str) -> H1 {
        let (answer, client) = self.handshake(path, HANDSHAKE).await;
        assert_eq!(answer.status, 101, "{answer:?}");
        client
    }

    /// What comes of a GET with these fields.
    pub async fn handshake(&self, path: &str, fields: &str) -> (Answer, H1) {
        let mut client = self.gate.tls_h1(self.origin.port()).await;
        let head = format!("GET {path} HTTP/1.1\r\nHost: {HOST}:{}\r\n{fields}\r\n", self.origin.port());
        client.send(head).await;
        let answer = client.answer("GET").await;
        (answer, client)
    }

    /// Lets the origin send these bytes on the connection that listens.
    pub fn say(&self, bytes: Vec<u8>) {
        self.say.send(bytes).unwrap();
    }

    /// Every byte that came to the origin after its 101.
    pub fn received(&self) -> Vec<u8> {
        self.log.lock().unwrap().received.clone()
    }

    /// The handshakes that came to the origin.
    pub fn handshakes(&self) -> usize {
        self.log.lock().unwrap().heads.len()
    }

    /// Waits until the origin has exactly these bytes.
    pub async fn arrived(&self, bytes: &[u8]) {
        let there = eventually("bytes at the origin", || {
            Some(self.received()).filter(|there| there.len() >= bytes.len())
        })
        .await;
        assert!(there == bytes, "{} bytes where {} were expected", there.len(), bytes.len());
    }

    /// Waits until the origin's connection has ended.
    pub async fn origin_ended(&self) {
        eventually("the end at the origin", || self.log.lock().unwrap().ended.then_some(())).await;
    }
}

/// The endpoint is a WebSocket.
pub const WEBSOCKET: &str = "protocol: websocket";
/// The endpoint is enforced.
pub const ENFORCE: &str = "enforcement: enforce";

fn document(lines: &[&str], port: u16) -> String {
    policy::document(&[Entry {
        name: "socket",
        host: HOST,
        ports: &[port],
        lines,
    }])
}

async fn converse(mut peer: Conversation, switch: String, log: Arc<Mutex<Log>>, said: Arc<AsyncMutex<UnboundedReceiver<Vec<u8>>>>) {
    let Some(head) = peer.head().await else { return };
    log.lock().unwrap().heads.push(head.first_line);
    peer.send(&switch).await;
    let mut said = said.lock().await;
    loop {
        tokio::select! {
            piece = peer.peer.next_bytes() => {
                if piece.is_empty() {
                    log.lock().unwrap().ended = true;
                    return;
                }
                log.lock().unwrap().received.extend_from_slice(&piece);
            }
            Some(bytes) = said.recv() => peer.send(bytes).await,
        }
    }
}

/// What a client sees of a server's frame.
#[derive(Debug, PartialEq, Eq)]
pub struct Seen {
    /// FIN, reserved bits and opcode.
    pub first: u8,
    /// Its payload.
    pub payload: Bytes,
}

impl Seen {
    /// The next frame.
    pub async fn next(client: &mut H1) -> Self {
        let head = client.exactly(2).await;
        assert_eq!(head.len(), 2, "no frame, but the end");
        let length = match head[1] {
            126 => usize::from(u16::from_be_bytes(client.exactly(2).await[..].try_into().unwrap())),
            127 => usize::try_from(u64::from_be_bytes(client.exactly(8).await[..].try_into().unwrap())).unwrap(),
            length => usize::from(length),
        };
        Self {
            first: head[0],
            payload: client.exactly(length).await,
        }
    }

    /// The code and the reason of a close frame.
    #[track_caller]
    pub fn close(&self) -> (u16, String) {
        assert_eq!(self.first, bits::FIN | op::CLOSE, "not a close frame: {self:?}");
        let code = u16::from_be_bytes([self.payload[0], self.payload[1]]);
        (code, String::from_utf8(self.payload[2..].to_vec()).unwrap())
    }
}
