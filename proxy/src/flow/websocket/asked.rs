//! What an origin says on a WebSocket, as far as it asks for a payment: judged like an answer over HTTP, before the client sees it, and
//! remembered.
//!
//! In: the origin's bytes. Out: the same bytes; of a message that asks for what would be refused, what may be paid, or nothing and the end
//! of the connection. A message is held until it is whole, as the client has to do anyway; one without a word of a challenge is not parsed.
//! Where nothing has to be kept from the client, what cannot be read passes, and is not listened to any more.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::{Bytes, BytesMut};
use tollgate_policy::Reason;
use tungstenite::protocol::frame::Frame;
use tungstenite::protocol::frame::coding::{Data, OpCode};

use super::super::body::Reservation;
use super::super::challenge::{self, Screening};
use super::super::failure::Failure;
use super::super::head::Head;
use super::close;
use super::judge::Scene;
use super::reader::{MessageReader, Passage};
use super::upward::Stop;
use crate::gate::{Denial, Ruleset};
use crate::x402::carriers::answer;

/// Calls of the client that an answer is looked up in: the latest, if they are not too long.
const MOST_CALLS: usize = 16;
const LONGEST_CALL: usize = 16 << 10;

/// What the client has called, for the answers to it.
#[derive(Default)]
pub(super) struct Calls(Mutex<VecDeque<Bytes>>);

impl Calls {
    /// A message that has left.
    pub(super) fn add(&self, text: &[u8]) {
        if text.len() > LONGEST_CALL || memchr::memmem::find(text, b"\"jsonrpc\"").is_none() {
            return;
        }
        let mut calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.truncate(MOST_CALLS - 1);
        calls.push_front(Bytes::copy_from_slice(text));
    }

    /// The latest first.
    fn all(&self) -> Vec<Bytes> {
        let calls = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        calls.iter().cloned().collect()
    }
}

/// See the module.
pub(super) struct Listener<'e> {
    pub(super) scene: Scene<'e>,
    /// The handshake's head, as messages are judged by it.
    pub(super) head: Arc<Head>,
    pub(super) reader: MessageReader,
    pub(super) calls: &'e Calls,
    /// What is held counts against all that is held.
    pub(super) reservation: Reservation,
}

/// Whether anything can be heard from here on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hears {
    More,
    /// Something came that cannot be read, and need not be. All that was held has passed.
    NoMore,
}

impl Listener<'_> {
    /// Puts out what may pass of what has come.
    pub(super) async fn pass(&mut self, out: &mut BytesMut) -> Result<Hears, Stop> {
        loop {
            match self.reader.next_passage() {
                Ok(None) => break,
                Ok(Some(Passage::Text { text, frames })) => self.message(text.as_bytes(), &frames, out).await?,
                Ok(Some(Passage::Document { bytes, frames })) => self.message(&bytes, &frames, out).await?,
                Ok(Some(Passage::Binary(bytes) | Passage::Beat(bytes) | Passage::Close(bytes))) => out.extend_from_slice(&bytes),
                Err(fault) => {
                    let detail = format!("what the origin says may ask for a payment that cannot be judged: {fault}");
                    return self.give_up(Denial::new(fault.reason(), detail), out).await;
                }
            }
        }
        match self.reservation.hold(self.reader.held()) {
            Ok(()) => Ok(Hears::More),
            Err(denial) => self.give_up(denial, out).await,
        }
    }

    /// Lets everything pass, where it may.
    async fn give_up(&mut self, denial: Denial, out: &mut BytesMut) -> Result<Hears, Stop> {
        let rules = self.scene.engine.gate.rules();
        if self.screening(&rules).keeps_from_client() {
            return Err(self.refused(denial).await);
        }
        out.extend_from_slice(&self.reader.release());
        Ok(Hears::NoMore)
    }

    fn screening<'s>(&'s self, rules: &'s Ruleset) -> Screening<'s> {
        Screening {
            engine: self.scene.engine,
            rules,
            head: &self.head,
        }
    }

    async fn message(&mut self, text: &[u8], frames: &Bytes, out: &mut BytesMut) -> Result<(), Stop> {
        if !answer::may_ask(text) {
            out.extend_from_slice(frames);
            return Ok(());
        }
        let rules = self.scene.engine.gate.rules();
        let mut record = self.scene.record(&self.head, rules.generation);
        let screened = challenge::message(&self.screening(&rules), text, &self.calls.all(), &mut record).await;
        record.discard();
        match screened {
            Ok(None) => out.extend_from_slice(frames),
            Ok(Some(_)) if is_compressed(frames) => {
                let detail = "the origin asks for payments of which only some may be paid, in a message that later ones may refer to";
                return Err(self.refused(Denial::new(Reason::UninspectableTraffic, detail)).await);
            }
            Ok(Some(rewritten)) => out.extend_from_slice(&framed(rewritten)),
            Err(Failure::Denied(denial)) => return Err(self.refused(*denial).await),
            Err(Failure::Broken(_)) => return Err(Stop::Broken),
        }
        Ok(())
    }

    async fn refused(&self, denial: Denial) -> Stop {
        let mut record = self.scene.record(&self.head, self.scene.engine.gate.rules().generation);
        record.denied(&denial);
        // There is a close code, and no status.
        record.status = None;
        record.finish().await;
        Stop::Refused(close::code_of(denial.reason), denial.reason)
    }
}

/// By the first reserved bit of its first frame (RFC 7692 section 6).
fn is_compressed(frames: &[u8]) -> bool {
    frames.first().is_some_and(|byte| byte & 0x40 != 0)
}

/// A text message of the origin's.
fn framed(text: String) -> Vec<u8> {
    let frame = Frame::message(text, OpCode::Data(Data::Text), true);
    let mut bytes = Vec::with_capacity(frame.len());
    // Writing into memory cannot fail.
    let _ = frame.format(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_calls_are_known_and_nothing_else() {
        let calls = Calls::default();
        calls.add(b"{\"id\":0}");
        calls.add(&[&b"{\"jsonrpc\":"[..], &[b' '; LONGEST_CALL]].concat());
        assert!(calls.all().is_empty());
        for number in 0..MOST_CALLS + 3 {
            calls.add(format!("{{\"jsonrpc\":\"2.0\",\"id\":{number}}}").as_bytes());
        }
        let all = calls.all();
        assert_eq!(
            (all.len(), all.first().map(|call| call.ends_with(b":18}"))),
            (MOST_CALLS, Some(true))
        );
    }
}
