//! From the client to the origin: read, put together, judged, and only then passed on as it came.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::Instant;
use tollgate_policy::Reason;
use tungstenite::protocol::frame::coding::CloseCode;

use super::super::body::Reservation;
use super::super::splice::Activity;
use super::asked::Calls;
use super::close;
use super::judge::Judge;
use super::reader::{MessageReader, Passage};
use crate::gate::Denial;

const READ: usize = 16 << 10;

/// Why nothing more goes this way.
#[derive(Debug)]
pub(super) enum Stop {
    /// The client has ended its side.
    Ended,
    /// One of the two connections broke.
    Broken,
    /// Refused: both ends are told.
    Refused(CloseCode, Reason),
}

impl Stop {
    fn refused(denial: &Denial) -> Self {
        Stop::Refused(close::code_of(denial.reason), denial.reason)
    }
}

/// What has just gone out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Passed {
    /// Some of a message.
    Messages,
    /// Nothing, or control frames.
    NoMessage,
}

/// See the module.
pub(super) struct Upward<'a, R, W> {
    pub(super) reader: MessageReader,
    pub(super) judge: Judge<'a>,
    /// Told what has passed.
    pub(super) calls: &'a Calls,
    pub(super) client: R,
    pub(super) origin: W,
    /// Bytes that went to the origin.
    pub(super) sent: &'a mut u64,
    pub(super) activity: &'a Activity,
    /// What is held counts against all that is held.
    pub(super) reservation: Reservation,
    /// From the first byte of a message to its last.
    pub(super) patience: Duration,
    /// Whether bytes of a frame are on their way.
    pub(super) sending: bool,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Upward<'_, R, W> {
    /// Passes on until something stops it.
    pub(super) async fn run(&mut self) -> Stop {
        // The deadline is for the whole message: a byte at a time does not renew it.
        let mut held_since = None;
        loop {
            match self.pass_what_is_there().await {
                Ok(Passed::Messages) => held_since = None,
                Ok(Passed::NoMessage) => {}
                Err(stop) => return stop,
            }
            let read = if self.reader.is_holding() {
                let deadline = *held_since.get_or_insert_with(Instant::now) + self.patience;
                tokio::time::timeout_at(deadline, self.read()).await
            } else {
                held_since = None;
                Ok(self.read().await)
            };
            match read {
                Ok(Ok(())) => {}
                Ok(Err(stop)) => return stop,
                Err(_) => {
                    let denial = Denial::new(Reason::MalformedRequest, "a message that has to be judged did not arrive in time");
                    self.judge.stopped(&denial).await;
                    return Stop::refused(&denial);
                }
            }
        }
    }

    async fn read(&mut self) -> Result<(), Stop> {
        match self.client.read_buf(self.reader.room(READ)).await {
            Ok(0) => Err(Stop::Ended),
            Ok(_) => {
                self.activity.happened();
                Ok(())
            }
            Err(_) => Err(Stop::Broken),
        }
    }

    async fn pass_what_is_there(&mut self) -> Result<Passed, Stop> {
        let mut passed = Passed::NoMessage;
        loop {
            let frames = match self.reader.next_passage() {
                Ok(None) => break,
                Ok(Some(Passage::Text { text, frames })) => {
                    self.judge.text(&text).await.map_err(|denial| Stop::refused(&denial))?;
                    self.calls.add(text.as_bytes());
                    passed = Passed::Messages;
                    frames
                }
                Ok(Some(Passage::Document { bytes, frames })) => {
                    self.judge.document(&bytes).await.map_err(|denial| Stop::refused(&denial))?;
                    self.calls.add(&bytes);
                    passed = Passed::Messages;
                    frames
                }
                Ok(Some(Passage::Binary(piece))) => {
                    self.judge.binary().await.map_err(|denial| Stop::refused(&denial))?;
                    passed = Passed::Messages;
                    piece
                }
                Ok(Some(Passage::Beat(frame) | Passage::Close(frame))) => frame,
                Err(fault) => {
                    let denial = self.judge.fault(fault).await;
                    return Err(Stop::Refused(fault.close_code(), denial.reason));
                }
            };
            self.sending = true;
            self.origin.write_all(&frames).await.map_err(|_| Stop::Broken)?;
            self.origin.flush().await.map_err(|_| Stop::Broken)?;
            self.sending = false;
            *self.sent += frames.len() as u64;
            self.activity.happened();
        }
        if let Err(denial) = self.reservation.hold(self.reader.held()) {
            self.judge.stopped(&denial).await;
            return Err(Stop::refused(&denial));
        }
        Ok(passed)
    }

    /// Whether the origin could read a frame of ours now.
    pub(super) fn is_between_frames(&self) -> bool {
        !self.sending && self.reader.is_between_frames()
    }
}
