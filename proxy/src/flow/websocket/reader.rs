//! One end's frames, put together into messages: bytes in as they come, out what may be judged and what then may leave.
//!
//! No I/O and no rules: how the bytes were cut into reads makes no difference. A text message comes out whole, with its frames byte for
//! byte as the client sent them, and so does a binary message that begins like JSON, which many servers take for a text. Any other binary
//! message comes out piece by piece, unread; control frames come out at once, also between the fragments of a message that is still held.

use bytes::{Bytes, BytesMut};

use super::super::body::{Look, look};
use super::extension::Encoding;
use super::fault::Fault;
use super::frame::{FrameHead, Kind, Sender, unmask};
use super::inflate::Inflater;

/// How much of a binary message is looked at to see what it is.
const PEEK: usize = 4 << 10;

/// How much of a message is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes of a text message: of its frames, and of its text. A compressed binary message may be as long once decompressed.
    pub message: usize,
    /// Fragments of a text message.
    pub fragments: usize,
}

/// What comes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Passage {
    /// A whole text message.
    Text {
        /// What it says.
        text: String,
        /// Its frames as they came.
        frames: Bytes,
    },
    /// A whole binary message that begins like JSON.
    Document {
        /// What is in it.
        bytes: Vec<u8>,
        /// Its frames as they came.
        frames: Bytes,
    },
    /// A piece of any other binary message.
    Binary(Bytes),
    /// A ping or pong.
    Beat(Bytes),
    /// The client's goodbye; nothing comes after it.
    Close(Bytes),
}

/// See the module.
pub struct MessageReader {
    sender: Sender,
    bounds: Bounds,
    inflater: Option<Inflater>,
    /// What has come and not gone out.
    buffer: BytesMut,
    message: Message,
    closed: bool,
}

/// The message that has begun.
enum Message {
    None,
    Text(Held),
    Binary(Passing),
}

/// A text message, or a binary one that begins like JSON, up to its last whole frame.
struct Held {
    kind: Kind,
    frames: BytesMut,
    payload: Vec<u8>,
    fragments: usize,
    compressed: bool,
}

/// What is in a message that is held.
enum Said {
    Text(String),
    Bytes(Vec<u8>),
}

/// A binary message.
struct Passing {
    /// What may still come out of its decompression; `None` where it is not decompressed.
    skimming: Option<usize>,
    frame: Option<OpenFrame>,
}

/// A frame whose head has gone out.
struct OpenFrame {
    left: u64,
    /// How far into the payload.
    at: usize,
    mask: [u8; 4],
    last: bool,
}

impl MessageReader {
    /// A reader of the client's frames, for what both ends agreed on.
    pub fn new(encoding: Encoding, bounds: Bounds) -> Self {
        MessageReader::of(Sender::Client, encoding, bounds)
    }

    /// A reader of the origin's frames.
    pub(super) fn of_origin(encoding: Encoding, bounds: Bounds) -> Self {
        MessageReader::of(Sender::Origin, encoding, bounds)
    }

    fn of(sender: Sender, encoding: Encoding, bounds: Bounds) -> Self {
        let inflater = match encoding {
            Encoding::Plain => None,
            Encoding::Deflate(takeover) => Some(Inflater::new(takeover)),
        };
        MessageReader {
            sender,
            bounds,
            inflater,
            buffer: BytesMut::new(),
            message: Message::None,
            closed: false,
        }
    }

    /// Takes bytes in.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Where bytes can be read into.
    pub(super) fn room(&mut self, bytes: usize) -> &mut BytesMut {
        self.buffer.reserve(bytes);
        &mut self.buffer
    }

    /// Gives up reading: what has come and not gone out, as it came.
    pub(super) fn release(&mut self) -> BytesMut {
        let mut held = match std::mem::replace(&mut self.message, Message::None) {
            Message::Text(held) => held.frames,
            Message::None | Message::Binary(_) => BytesMut::new(),
        };
        held.unsplit(self.buffer.split());
        held
    }

    /// Whether a text message, or a frame, has begun and not ended.
    pub(super) fn is_holding(&self) -> bool {
        !self.buffer.is_empty() || matches!(self.message, Message::Text(_))
    }

    /// Whether what has come out so far ends with the end of a frame.
    pub(super) fn is_between_frames(&self) -> bool {
        !matches!(&self.message, Message::Binary(Passing { frame: Some(_), .. }))
    }

    /// How many bytes wait in memory.
    pub(super) fn held(&self) -> usize {
        let message = match &self.message {
            Message::Text(held) => held.frames.len() + held.payload.len(),
            Message::None | Message::Binary(_) => 0,
        };
        self.buffer.len() + message
    }

    /// The next thing that is there as far as it has to be; `None` until more bytes come.
    pub fn next_passage(&mut self) -> Result<Option<Passage>, Fault> {
        if self.closed {
            // RFC 6455 section 5.5.1: nothing follows a close frame. What does is dropped.
            self.buffer.clear();
            return Ok(None);
        }
        loop {
            if let Message::Binary(Passing { frame: Some(_), .. }) = &self.message {
                return self.more_binary();
            }
            let Some(head) = FrameHead::read(&self.buffer)? else {
                return Ok(None);
            };
            let mask = head.check(self.sender)?;
            self.check_sequence(&head)?;
            if head.is_control() {
                return self.control(&head, mask);
            }
            let unread = match head.kind {
                Kind::Binary => match self.look_at(&head, mask) {
                    Some(look) => look == Look::OtherThanJson,
                    None => return Ok(None),
                },
                _ => matches!(self.message, Message::Binary(_)),
            };
            if unread {
                return self.binary(&head, mask).map(Some);
            }
            let Some(()) = self.hold(&head, mask)? else { return Ok(None) };
            if head.is_last() {
                return self.whole().map(Some);
            }
        }
    }

    fn check_sequence(&self, head: &FrameHead) -> Result<(), Fault> {
        let begun = !matches!(self.message, Message::None);
        match head.kind {
            Kind::Text | Kind::Binary if begun => Err(Fault::Sequence),
            Kind::Continuation if !begun => Err(Fault::Sequence),
            // Only the first frame says whether the message is compressed (RFC 7692 section 6).
            Kind::Continuation if head.is_compressed() => Err(Fault::Reserved),
            Kind::Text | Kind::Binary if head.is_compressed() && self.inflater.is_none() => Err(Fault::Reserved),
            _ => Ok(()),
        }
    }

    fn control(&mut self, head: &FrameHead, mask: [u8; 4]) -> Result<Option<Passage>, Fault> {
        let Some(frame) = self.whole_frame(head)? else { return Ok(None) };
        if head.kind != Kind::Close {
            return Ok(Some(Passage::Beat(frame.freeze())));
        }
        let mut payload = Vec::with_capacity(125);
        unmask(frame.get(head.size..).unwrap_or_default(), mask, 0, &mut payload);
        check_close(&payload)?;
        self.closed = true;
        Ok(Some(Passage::Close(frame.freeze())))
    }

    /// The frame at the front of the buffer, once all of it is there.
    fn whole_frame(&mut self, head: &FrameHead) -> Result<Option<BytesMut>, Fault> {
        let payload = usize::try_from(head.payload).map_err(|_| Fault::TooLarge(self.bounds.message))?;
        let size = head.size.saturating_add(payload);
        Ok((self.buffer.len() >= size).then(|| self.buffer.split_to(size)))
    }

    /// How a binary message begins; `None` until enough of its first frame is there.
    fn look_at(&mut self, head: &FrameHead, mask: [u8; 4]) -> Option<Look> {
        let enough = usize::try_from(head.payload).unwrap_or(usize::MAX).min(PEEK);
        let there = self.buffer.get(head.size..).unwrap_or_default();
        let there = there.get(..enough.min(there.len())).unwrap_or_default();
        let mut begun = Vec::with_capacity(there.len());
        unmask(there, mask, 0, &mut begun);
        let complete = there.len() == enough;
        if let Some(inflater) = self.inflater.as_mut().filter(|_| head.is_compressed()) {
            begun = inflater.peek(&begun);
        }
        match look(&begun) {
            Look::Undecided if !complete => None,
            look => Some(look),
        }
    }

    /// Takes in a frame of a message that is held.
    fn hold(&mut self, head: &FrameHead, mask: [u8; 4]) -> Result<Option<()>, Fault> {
        let Bounds { message: most, fragments } = self.bounds;
        let (so_far, count) = match &self.message {
            Message::Text(text) => (text.frames.len(), text.fragments),
            Message::None | Message::Binary(_) => (0, 0),
        };
        // Before the payload is there: what is too large is not waited for.
        let size = usize::try_from(head.payload).ok().and_then(|payload| payload.checked_add(so_far));
        if size.is_none_or(|size| size > most) {
            return Err(Fault::TooLarge(most));
        }
        if count >= fragments {
            return Err(Fault::TooManyFragments(fragments));
        }
        let Some(frame) = self.whole_frame(head)? else { return Ok(None) };
        let text = match &mut self.message {
            Message::Text(text) => text,
            message => {
                *message = Message::Text(Held {
                    kind: head.kind,
                    frames: BytesMut::new(),
                    payload: Vec::new(),
                    fragments: 0,
                    compressed: head.is_compressed(),
                });
                let Message::Text(text) = message else { return Ok(None) };
                text
            }
        };
        unmask(frame.get(head.size..).unwrap_or_default(), mask, 0, &mut text.payload);
        text.fragments += 1;
        text.frames.unsplit(frame);
        Ok(Some(()))
    }

    fn whole(&mut self) -> Result<Passage, Fault> {
        let Message::Text(mut held) = std::mem::replace(&mut self.message, Message::None) else {
            return Err(Fault::Sequence);
        };
        match self.said(&mut held) {
            Ok(said) => {
                let frames = held.frames.freeze();
                Ok(match said {
                    Said::Text(text) => Passage::Text { text, frames },
                    Said::Bytes(bytes) if look(&bytes) == Look::Json => Passage::Document { bytes, frames },
                    Said::Bytes(_) => Passage::Binary(frames),
                })
            }
            Err(fault) => {
                // What cannot be read may still have to be let go.
                self.message = Message::Text(held);
                Err(fault)
            }
        }
    }

    fn said(&mut self, held: &mut Held) -> Result<Said, Fault> {
        let bytes = match &mut self.inflater {
            Some(inflater) if held.compressed => inflater.message(&held.payload, self.bounds.message)?,
            _ => std::mem::take(&mut held.payload),
        };
        if held.kind == Kind::Binary {
            return Ok(Said::Bytes(bytes));
        }
        String::from_utf8(bytes).map(Said::Text).map_err(|_| Fault::NotUtf8)
    }

    /// Begins a frame of a binary message: its head, and what is there of its payload.
    fn binary(&mut self, head: &FrameHead, mask: [u8; 4]) -> Result<Passage, Fault> {
        if let Message::None = self.message {
            let mut skimming = None;
            if let Some(inflater) = self
                .inflater
                .as_mut()
                .filter(|inflater| head.is_compressed() && !inflater.may_skip())
            {
                inflater.begin()?;
                skimming = Some(self.bounds.message);
            }
            self.message = Message::Binary(Passing { skimming, frame: None });
        }
        let begun = OpenFrame {
            left: head.payload,
            at: 0,
            mask,
            last: head.is_last(),
        };
        if let Message::Binary(passing) = &mut self.message {
            passing.frame = Some(begun);
        }
        let mut piece = self.buffer.split_to(head.size);
        match self.more_binary() {
            Ok(Some(Passage::Binary(rest))) => piece.extend_from_slice(&rest),
            Ok(_) => {}
            Err(fault) => {
                piece.unsplit(self.buffer.split());
                self.buffer = piece;
                return Err(fault);
            }
        }
        Ok(Passage::Binary(piece.freeze()))
    }

    /// What is there of the payload of a binary message's frame.
    fn more_binary(&mut self) -> Result<Option<Passage>, Fault> {
        let Message::Binary(passing) = &mut self.message else {
            return Ok(None);
        };
        let Some(frame) = &mut passing.frame else { return Ok(None) };
        let there = usize::try_from(frame.left).unwrap_or(usize::MAX).min(self.buffer.len());
        let ends = frame.left == there as u64;
        let most = self.bounds.message;
        if let (Some(left), Some(inflater)) = (&mut passing.skimming, &mut self.inflater) {
            let piece = self.buffer.get(..there).unwrap_or_default();
            let mut payload = Vec::with_capacity(piece.len());
            unmask(piece, frame.mask, frame.at, &mut payload);
            *left -= inflater.skim(&payload, *left).map_err(|fault| fault.of_message(most))?;
            if ends && frame.last {
                inflater.end_skimming(*left).map_err(|fault| fault.of_message(most))?;
            }
        }
        let piece = self.buffer.split_to(there);
        frame.left -= there as u64;
        frame.at += there;
        if ends {
            let last = frame.last;
            passing.frame = None;
            if last {
                self.message = Message::None;
            }
        }
        Ok((there > 0).then(|| Passage::Binary(piece.freeze())))
    }
}

/// What a message that is there as a whole says: the same as a reader finds of one that comes in frames.
pub(in crate::flow) fn text_of(message: &[u8], most: usize) -> Result<&str, Fault> {
    if message.len() > most {
        return Err(Fault::TooLarge(most));
    }
    std::str::from_utf8(message).map_err(|_| Fault::NotUtf8)
}

/// RFC 6455 section 5.5.1: nothing, or a code and a reason in UTF-8.
fn check_close(payload: &[u8]) -> Result<(), Fault> {
    match payload.split_first_chunk::<2>() {
        None if payload.is_empty() => Ok(()),
        None => Err(Fault::Close),
        Some((code, reason)) => {
            let code = tungstenite::protocol::frame::coding::CloseCode::from(u16::from_be_bytes(*code));
            if !code.is_allowed() {
                return Err(Fault::Close);
            }
            std::str::from_utf8(reason).map(drop).map_err(|_| Fault::NotUtf8)
        }
    }
}

#[cfg(test)]
mod tests;
