//! Trailer sections of HTTP/1 messages (RFC 9112 section 7.1.2), beside pingora, which reads past them and writes none.
//!
//! In: the bytes that a [`Wire`](super::wire::Wire) reads, in order, while a chunked message is under way. Out: the fields behind its last
//! chunk, and the last chunk of an answer with fields behind it. Where a body ends is pingora's to say; what is found here counts only if
//! this reading has come to an end at the same place.

use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use thiserror::Error;

mod chunks;

use chunks::Chunks;

/// What pingora ends a chunked message with.
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";
/// Fields of one trailer section.
const MOST_FIELDS: usize = 100;

/// There are no trailers to be had.
#[derive(Debug, Error, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TrailerError {
    /// The chunks do not end where the message does.
    #[error("the chunks of the body cannot be followed to their end")]
    Unfinished,
    /// The section is not one of fields.
    #[error("the trailer section is not well-formed")]
    Malformed,
}

/// What follows a head of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Following {
    /// Another head: this was an interim one.
    Head,
    /// Chunks.
    Chunks,
    /// Anything that has no trailers.
    NoTrailers,
}

/// See the module. One for each wire; clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct TrailerSections(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Most messages are not chunked, and then no lock is taken.
    listening: AtomicBool,
    ending: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    reading: Reading,
    last_chunk: Option<Bytes>,
}

#[derive(Debug, Default)]
enum Reading {
    #[default]
    Nothing,
    /// Everything since the request: pingora reads a head together with what follows it.
    Heads(Vec<u8>),
    Body(Chunks),
}

impl TrailerSections {
    /// An answer is about to come.
    pub(super) fn expect_answer(&self) {
        self.read(Reading::Heads(Vec::new()));
    }

    /// pingora has read a head of so many bytes.
    pub(super) fn head_read(&self, length: usize, following: Following) {
        let mut state = self.lock();
        let Reading::Heads(heard) = &mut state.reading else { return };
        let rest = heard.split_off(length.min(heard.len()));
        let reading = match following {
            Following::Head => Reading::Heads(rest),
            Following::Chunks => Reading::Body(Chunks::after(&rest)),
            Following::NoTrailers => Reading::Nothing,
        };
        drop(state);
        self.read(reading);
    }

    /// A chunked request body begins, with what came together with its head.
    pub(crate) fn expect_body(&self, early: &[u8]) {
        self.read(Reading::Body(Chunks::after(early)));
    }

    /// Shows what was read.
    pub(super) fn hear(&self, bytes: &[u8]) {
        if !self.0.listening.load(Ordering::Relaxed) {
            return;
        }
        match &mut self.lock().reading {
            Reading::Nothing => {}
            Reading::Heads(heard) => heard.extend_from_slice(bytes),
            Reading::Body(chunks) => chunks.take(bytes),
        }
    }

    /// The fields behind the last chunk of a message that pingora has read to its end.
    pub(crate) fn take(&self) -> Result<Option<HeaderMap>, TrailerError> {
        if !self.0.listening.swap(false, Ordering::Relaxed) {
            return Ok(None);
        }
        match mem::take(&mut self.lock().reading) {
            Reading::Nothing => Ok(None),
            Reading::Heads(_) => Err(TrailerError::Unfinished),
            Reading::Body(chunks) => fields(&chunks.trailers().ok_or(TrailerError::Unfinished)?),
        }
    }

    /// Has the next last chunk that is written followed by these fields.
    pub(crate) fn end_with(&self, trailers: &HeaderMap) {
        self.lock().last_chunk = Some(last_chunk(Some(trailers)));
        self.0.ending.store(true, Ordering::Relaxed);
    }

    /// The message has ended, in whatever framing.
    pub(crate) fn has_ended(&self) {
        if self.0.ending.swap(false, Ordering::Relaxed) {
            self.lock().last_chunk = None;
        }
    }

    /// What is to be written in place of `bytes`.
    pub(super) fn in_place_of(&self, bytes: &[u8]) -> Option<Bytes> {
        if bytes != LAST_CHUNK || !self.0.ending.swap(false, Ordering::Relaxed) {
            return None;
        }
        self.lock().last_chunk.take()
    }

    fn read(&self, reading: Reading) {
        let listens = !matches!(reading, Reading::Nothing);
        self.lock().reading = reading;
        self.0.listening.store(listens, Ordering::Relaxed);
    }

    /// Nothing of ours can panic while it is held.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end of a chunked message.
pub(super) fn last_chunk(trailers: Option<&HeaderMap>) -> Bytes {
    let Some(trailers) = trailers else {
        return Bytes::from_static(LAST_CHUNK);
    };
    let mut bytes = b"0\r\n".to_vec();
    for (name, value) in trailers {
        bytes.extend_from_slice(name.as_str().as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value.as_bytes());
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.into()
}

fn fields(section: &[u8]) -> Result<Option<HeaderMap>, TrailerError> {
    if section == b"\r\n" {
        return Ok(None);
    }
    let mut parsed = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let Ok(httparse::Status::Complete((_, fields))) = httparse::parse_headers(section, &mut parsed) else {
        return Err(TrailerError::Malformed);
    };
    let mut trailers = HeaderMap::with_capacity(fields.len());
    for field in fields {
        let name = HeaderName::from_bytes(field.name.as_bytes()).map_err(|_| TrailerError::Malformed)?;
        let value = HeaderValue::from_bytes(field.value).map_err(|_| TrailerError::Malformed)?;
        trailers.append(name, value);
    }
    Ok(Some(trailers))
}

#[cfg(test)]
mod tests;
