//! The head of a frame (RFC 6455 section 5.2), by tungstenite's parser.

use std::io::Cursor;

use tungstenite::protocol::frame::FrameHeader;
use tungstenite::protocol::frame::coding::{Control, Data, OpCode};

use super::fault::Fault;

/// No head is longer: two bytes, eight of length, four of mask.
pub(super) const LONGEST_HEAD: usize = 14;

/// Whose frames are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sender {
    Client,
    Origin,
}

/// What a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Binary,
    Continuation,
    Close,
    /// Ping or pong.
    Beat,
}

/// A frame's head.
#[derive(Debug)]
pub(super) struct FrameHead {
    /// How many bytes it takes.
    pub(super) size: usize,
    pub(super) kind: Kind,
    /// How many bytes follow it.
    pub(super) payload: u64,
    header: FrameHeader,
}

impl FrameHead {
    /// Reads the head at the beginning of `bytes`; `None` if not all of it is there.
    pub(super) fn read(bytes: &[u8]) -> Result<Option<Self>, Fault> {
        let mut cursor = Cursor::new(bytes);
        let Some((header, payload)) = FrameHeader::parse(&mut cursor).map_err(|_| Fault::Reserved)? else {
            return Ok(None);
        };
        let size = usize::try_from(cursor.position()).unwrap_or(usize::MAX);
        let kind = match header.opcode {
            OpCode::Data(Data::Text) => Kind::Text,
            OpCode::Data(Data::Binary) => Kind::Binary,
            OpCode::Data(Data::Continue) => Kind::Continuation,
            OpCode::Control(Control::Close) => Kind::Close,
            OpCode::Control(Control::Ping | Control::Pong) => Kind::Beat,
            OpCode::Data(Data::Reserved(_)) | OpCode::Control(Control::Reserved(_)) => return Err(Fault::Reserved),
        };
        Ok(Some(FrameHead {
            size,
            kind,
            payload,
            header,
        }))
    }

    /// What every frame of this end has to be; out comes its mask, or one that changes nothing.
    pub(super) fn check(&self, sender: Sender) -> Result<[u8; 4], Fault> {
        if self.header.rsv2 || self.header.rsv3 {
            return Err(Fault::Reserved);
        }
        let mask = match (sender, self.header.mask) {
            (Sender::Client, mask) => mask.ok_or(Fault::Unmasked)?,
            (Sender::Origin, None) => [0; 4],
            (Sender::Origin, Some(_)) => return Err(Fault::Masked),
        };
        if self.size != self.header.len(self.payload) || i64::try_from(self.payload).is_err() {
            return Err(Fault::Length);
        }
        if self.is_control() {
            if !self.is_last() || self.payload > 125 {
                return Err(Fault::Control);
            }
            if self.is_compressed() {
                return Err(Fault::Reserved);
            }
        }
        Ok(mask)
    }

    pub(super) fn is_last(&self) -> bool {
        self.header.is_final
    }

    /// The first reserved bit (RFC 7692 section 6).
    pub(super) fn is_compressed(&self) -> bool {
        self.header.rsv1
    }

    pub(super) fn is_control(&self) -> bool {
        matches!(self.kind, Kind::Close | Kind::Beat)
    }
}

/// Takes the mask off (RFC 6455 section 5.3) bytes that begin `at` bytes into their frame's payload.
pub(super) fn unmask(masked: &[u8], mut mask: [u8; 4], at: usize, into: &mut Vec<u8>) {
    let into_mask = at % mask.len();
    mask.rotate_left(into_mask);
    let start = into.len();
    into.extend_from_slice(masked);
    for word in into.get_mut(start..).unwrap_or_default().chunks_mut(mask.len()) {
        word.iter_mut().zip(mask).for_each(|(byte, key)| *byte ^= key);
    }
}
