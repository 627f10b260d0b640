//! The request body on its way out, in cancel-safe steps, while the answer may already be coming back.

use bytes::Bytes;
use http::HeaderMap;
use pingora::{Error, ErrorType};

use super::body::{Look, Rest, look};
use super::failure::Failure;
use super::session::ClientSession;
use crate::egress::session::{BodyWriter, Then};

/// Whole bodies are handed over in pieces of this size.
const PIECE: usize = 64 << 10;

/// How the body came into our hands.
#[derive(Debug, Clone)]
pub(crate) enum Body {
    /// Read to its end, and judged; empty when the request had none.
    Whole(Bytes),
    /// No rule has to read it: what has been read of it, and the rest as it comes. It is searched for payments on the way.
    Streamed(Bytes),
    /// It has to start before its first byte is there (gRPC); that byte is looked at when it comes.
    Unseen,
}

/// See the module.
pub(crate) struct Upload {
    writer: BodyWriter,
    /// Framed, and about to leave.
    out: Bytes,
    /// In hand, not yet framed.
    rest: Bytes,
    /// The client has more to send.
    live: bool,
    broken: bool,
    sent: u64,
    /// The first piece has still to be looked at.
    look_first: bool,
    /// Judges what the client sends from now on.
    judge: Option<Box<Rest>>,
    /// What the body ends with, until it has left.
    trailers: Option<HeaderMap>,
}

impl Upload {
    pub(crate) fn new(writer: BodyWriter, body: &Body, judge: Option<Box<Rest>>, trailers: Option<HeaderMap>) -> Self {
        let (rest, live) = match body {
            Body::Whole(bytes) => (bytes.clone(), false),
            Body::Streamed(prefix) => (prefix.clone(), true),
            Body::Unseen => (Bytes::new(), true),
        };
        let look_first = matches!(body, Body::Unseen);
        Upload {
            writer,
            out: Bytes::new(),
            rest,
            live,
            broken: false,
            sent: 0,
            look_first,
            judge,
            trailers,
        }
    }

    /// Whether something is left to send.
    pub(crate) fn pending(&self) -> bool {
        self.live || !self.rest.is_empty() || !self.out.is_empty() || self.trailers.is_some()
    }

    /// Whether all of it was sent: only then may the connection be used again.
    pub(crate) fn complete(&self) -> bool {
        !self.pending() && !self.broken
    }

    /// Bytes of the body that have been handed over.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    /// What is in hand and small enough to leave in one record with the head.
    pub(crate) fn fits_with_head(&self, most: usize) -> bool {
        !self.rest.is_empty() && self.rest.len() <= most
    }

    /// The origin has stopped listening: no reason to lose its answer.
    pub(crate) fn abandon(&mut self) {
        (self.out, self.rest, self.trailers) = (Bytes::new(), Bytes::new(), None);
        (self.live, self.broken) = (false, true);
    }

    /// One piece further. Cancel-safe: what has gone is no longer held. A denial where the piece completes a payment: it has not left.
    pub(crate) async fn step(&mut self, down: &mut ClientSession) -> Result<(), Failure> {
        if self.out.is_empty() {
            let piece = if self.rest.is_empty() && self.live {
                let chunk = down.read_request_body().await?;
                self.live = chunk.is_some() && !down.is_body_done();
                let chunk = chunk.unwrap_or_default();
                if !chunk.is_empty() && std::mem::take(&mut self.look_first) {
                    refuse_json(&chunk)?;
                }
                if let Err(denied) = self.judge(&chunk, down) {
                    // Whoever goes on after this has nothing more to send.
                    self.abandon();
                    return Err(denied);
                }
                chunk
            } else {
                self.rest.split_to(self.rest.len().min(PIECE))
            };
            self.sent += piece.len() as u64;
            self.out = self.writer.frame(piece, then(self.live, &self.rest, self.trailers.as_ref()));
        }
        let then = then(self.live, &self.rest, self.trailers.as_ref());
        self.writer.push(&mut self.out, then).await?;
        if let Then::End(_) = then {
            self.trailers = None;
        }
        Ok(())
    }

    fn judge(&mut self, chunk: &[u8], down: &mut ClientSession) -> Result<(), Failure> {
        let Some(judge) = &mut self.judge else { return Ok(()) };
        judge.scan.take(chunk)?;
        if !self.live {
            self.trailers = judge.trailers.read(down)?;
        }
        Ok(())
    }
}

fn then<'a>(live: bool, rest: &Bytes, trailers: Option<&'a HeaderMap>) -> Then<'a> {
    if live || !rest.is_empty() {
        Then::More
    } else {
        Then::End(trailers)
    }
}

/// A body that was declared a gRPC stream and begins like JSON is a JSON body that wants to pass unread.
fn refuse_json(first: &[u8]) -> pingora::Result<()> {
    match look(first) {
        Look::OtherThanJson => Ok(()),
        Look::Json | Look::Undecided => {
            Error::e_explain(ErrorType::InvalidHTTPHeader, "JSON in a gRPC stream").map_err(pingora::Error::into_down)
        }
    }
}
