//! HTTP/2 in the raw (RFC 9113): frames out, frames in, so that a test can say what no library would.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::wire::Stream;

/// What a client begins with (section 3.4).
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Types of frames (section 6).
#[allow(missing_docs, reason = "the names of the RFC")]
pub mod kind {
    pub const DATA: u8 = 0;
    pub const HEADERS: u8 = 1;
    pub const RST_STREAM: u8 = 3;
    pub const SETTINGS: u8 = 4;
    pub const PUSH_PROMISE: u8 = 5;
    pub const PING: u8 = 6;
    pub const GOAWAY: u8 = 7;
    pub const WINDOW_UPDATE: u8 = 8;
    pub const CONTINUATION: u8 = 9;
}

/// `END_STREAM`, and `ACK` of SETTINGS and PING.
pub const END_STREAM: u8 = 1;
/// `END_HEADERS`.
pub const END_HEADERS: u8 = 4;
/// `PADDED`.
pub const PADDED: u8 = 8;

/// A frame that came.
#[derive(Debug, Clone)]
pub struct Frame {
    /// See [`kind`].
    pub kind: u8,
    /// Its flags.
    pub flags: u8,
    /// Its stream; 0 is the connection.
    pub stream: u32,
    /// What it carries.
    pub payload: Bytes,
}

/// A frame as bytes.
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    announced(kind, flags, stream, payload.len(), payload)
}

/// A frame that announces another length than it has.
pub fn announced(kind: u8, flags: u8, stream: u32, length: usize, payload: &[u8]) -> Vec<u8> {
    let mut bytes = u32::try_from(length).unwrap().to_be_bytes()[1..].to_vec();
    bytes.extend_from_slice(&[kind, flags]);
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// A header block: literals without indexing, without Huffman codes (RFC 7541 section 6.2.2).
pub fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            if text.len() < 127 {
                block.push(u8::try_from(text.len()).unwrap());
            } else {
                block.push(127);
                let mut rest = text.len() - 127;
                while rest >= 128 {
                    block.push(u8::try_from(rest % 128 + 128).unwrap());
                    rest /= 128;
                }
                block.push(u8::try_from(rest).unwrap());
            }
            block.extend_from_slice(text.as_bytes());
        }
    }
    block
}

/// HEADERS that hold a whole block.
pub fn headers(stream: u32, flags: u8, fields: &[(&str, &str)]) -> Vec<u8> {
    frame(kind::HEADERS, flags | END_HEADERS, stream, &block(fields))
}

/// One end of a connection, its preface and SETTINGS not yet sent.
pub struct Frames {
    stream: Stream,
    buffer: BytesMut,
}

impl Frames {
    /// Speaks over `stream`.
    pub fn new(stream: Stream) -> Self {
        Self {
            stream,
            buffer: BytesMut::new(),
        }
    }

    /// Sends bytes to a peer that may have gone.
    pub async fn send(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes).await;
        let _ = self.stream.flush().await;
    }

    /// The next frame; `None` at the end of the connection.
    pub async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some(length) = self
                .buffer
                .get(..3)
                .map(|head| (usize::from(head[0]) << 16) | (usize::from(head[1]) << 8) | usize::from(head[2]))
                && self.buffer.len() >= 9 + length
            {
                let mut head = self.buffer.split_to(9);
                head.advance(3);
                let (kind, flags, stream) = (head.get_u8(), head.get_u8(), head.get_u32());
                let payload = self.buffer.split_to(length).freeze();
                return Some(Frame {
                    kind,
                    flags,
                    stream,
                    payload,
                });
            }
            match self.stream.read_buf(&mut self.buffer).await {
                Ok(count) if count > 0 => {}
                _ => return None,
            }
        }
    }
}

/// A number as four bytes.
pub fn number(value: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.put_u32(value);
    bytes
}
