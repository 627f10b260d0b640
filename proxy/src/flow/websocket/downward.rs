//! From the origin to the client: bytes stream, but for messages that a listener holds. Where frames end is kept track of, so that a close
//! frame of ours can stand between two of them.

use std::io;

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

use super::super::splice::Activity;
use super::asked::{Hears, Listener};
use super::frame::{FrameHead, LONGEST_HEAD};
use super::upward::Stop;

const READ: usize = 16 << 10;

/// See the module.
pub(super) struct Downward<'a, R, W> {
    pub(super) origin: R,
    pub(super) client: W,
    /// Read, and not yet written. It is cancel-safe: what has gone is no longer in here.
    pub(super) waiting: BytesMut,
    /// Until something came that cannot be read, and need not be.
    pub(super) listener: Option<Listener<'a>>,
    pub(super) place: Place,
    /// Bytes that went to the client.
    pub(super) received: &'a mut u64,
    pub(super) activity: &'a Activity,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Downward<'_, R, W> {
    /// Passes on until the origin ends, one of the two connections breaks, or the origin asks for what would be refused.
    pub(super) async fn run(&mut self) -> Stop {
        loop {
            let listened = match &mut self.listener {
                Some(listener) => listener.pass(&mut self.waiting).await,
                None => Ok(Hears::More),
            };
            // What came before a message that is refused passes.
            if self.write_waiting().await.is_err() {
                return Stop::Broken;
            }
            match listened {
                Ok(Hears::More) => {}
                Ok(Hears::NoMore) => self.listener = None,
                Err(stop) => return stop,
            }
            let into = self
                .listener
                .as_mut()
                .map_or(&mut self.waiting, |listener| listener.reader.room(READ));
            into.reserve(READ);
            match self.origin.read_buf(into).await {
                Ok(read) if read > 0 => self.activity.happened(),
                _ => return Stop::Broken,
            }
        }
    }

    async fn write_waiting(&mut self) -> io::Result<()> {
        self.write(self.waiting.len()).await?;
        self.client.flush().await
    }

    /// Passes on up to the end of the frame that has begun.
    pub(super) async fn finish_frame(&mut self) -> io::Result<()> {
        while !self.place.is_between_frames()? {
            if self.waiting.is_empty() && !self.read().await? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let step = self.place.clone().take(&self.waiting);
            self.write(step).await?;
        }
        self.client.flush().await
    }

    async fn read(&mut self) -> io::Result<bool> {
        self.waiting.reserve(READ);
        let read = self.origin.read_buf(&mut self.waiting).await?;
        self.activity.happened();
        Ok(read > 0)
    }

    async fn write(&mut self, mut count: usize) -> io::Result<()> {
        while count > 0 {
            let written = self.client.write(self.waiting.get(..count).unwrap_or_default()).await?;
            if written == 0 {
                return Err(io::ErrorKind::WriteZero.into());
            }
            self.place.pass(self.waiting.get(..written).unwrap_or_default());
            self.waiting.advance(written);
            count -= written;
            *self.received += written as u64;
            self.activity.happened();
        }
        Ok(())
    }
}

/// Where in the stream of frames the client is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// These bytes of a head have passed; none: between two frames.
    Head(Vec<u8>),
    /// So many bytes of a payload are still to come.
    Payload(u64),
    /// What the origin sent is no frame.
    Lost,
}

impl Place {
    pub(super) fn start() -> Self {
        Place::Head(Vec::new())
    }

    fn is_between_frames(&self) -> io::Result<bool> {
        match self {
            Place::Head(begun) => Ok(begun.is_empty()),
            Place::Payload(_) => Ok(false),
            Place::Lost => Err(io::ErrorKind::InvalidData.into()),
        }
    }

    fn pass(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let step = self.take(bytes);
            bytes = bytes.get(step..).unwrap_or_default();
        }
    }

    /// Takes bytes, at most to the end of a head or of a payload; says how many.
    fn take(&mut self, bytes: &[u8]) -> usize {
        match self {
            Place::Lost => bytes.len(),
            Place::Payload(left) => {
                let step = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                *left -= step as u64;
                if *left == 0 {
                    *self = Place::start();
                }
                step
            }
            Place::Head(begun) => {
                let before = begun.len();
                let there = bytes.len().min(LONGEST_HEAD.saturating_sub(before));
                begun.extend_from_slice(bytes.get(..there).unwrap_or_default());
                match FrameHead::read(begun) {
                    Ok(None) if there > 0 => there,
                    Ok(Some(head)) => {
                        *self = match head.payload {
                            0 => Place::start(),
                            left => Place::Payload(left),
                        };
                        head.size.saturating_sub(before)
                    }
                    Ok(None) | Err(_) => {
                        *self = Place::Lost;
                        bytes.len()
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use proptest::prelude::*;
    use tungstenite::protocol::frame::Frame;
    use tungstenite::protocol::frame::coding::OpCode;

    use super::*;

    fn frame(payload: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        Frame::message(vec![7; payload], OpCode::from(2), true).format(&mut bytes).unwrap();
        bytes
    }

    proptest! {
        #[test]
        fn the_place_is_known_however_the_bytes_are_cut(
            payloads in prop::collection::vec(prop_oneof![0_usize..200, 65_530_usize..65_540], 1..4),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        ) {
            let frames: Vec<Vec<u8>> = payloads.iter().map(|payload| frame(*payload)).collect();
            let bytes = frames.concat();
            let mut ends = vec![0];
            for frame in &frames {
                ends.push(ends[ends.len() - 1] + frame.len());
            }
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.sort_unstable();
            let (mut place, mut from) = (Place::start(), 0);
            for to in cuts.into_iter().chain([bytes.len()]) {
                place.pass(&bytes[from..to]);
                from = to;
                prop_assert_eq!(place.is_between_frames().unwrap(), ends.contains(&to), "after {} bytes", to);
            }
        }
    }

    #[tokio::test]
    async fn a_frame_that_has_begun_is_finished_and_the_next_one_is_not_begun() {
        let (first, second) = (frame(300), frame(10));
        let both = [&first[..], &second[..]].concat();
        let activity = Activity::default();
        let (mut out, mut received) = (Vec::new(), 0);
        let mut downward = Downward {
            origin: &both[150..],
            client: &mut out,
            waiting: BytesMut::from(&both[100..150]),
            listener: None,
            place: Place::start(),
            received: &mut received,
            activity: &activity,
        };
        downward.place.pass(&both[..100]);
        downward.finish_frame().await.unwrap();
        assert_eq!(out, &first[100..]);
    }

    #[test]
    fn bytes_that_are_no_frames_leave_no_place_for_one_of_ours() {
        let mut place = Place::start();
        place.pass(&[0x83, 0x00]);
        assert_eq!(place, Place::Lost);
        assert!(place.is_between_frames().is_err());
    }
}
