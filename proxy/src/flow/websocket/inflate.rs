//! Decompression of a client's messages (RFC 7692), within bounds. What comes out is judged and thrown away.
//!
//! Receivers differ in what they do with a message whose DEFLATE blocks do not end with it: some carry the rest over to the next message,
//! others end the stream there. What they read then differs too. So each message has to be a row of whole blocks, and is read as a stream
//! of its own that may refer to the last 32 KiB before it.

use flate2::{Decompress, FlushDecompress, Status};

use super::extension::Takeover;
use super::fault::Fault;

/// What a sender takes off the end of each message (RFC 7692 section 7.2.1).
const TAIL: [u8; 4] = [0x00, 0x00, 0xFF, 0xFF];

/// How far a message may refer back (RFC 1951 section 2).
const WINDOW: usize = 32 << 10;

/// How much is decompressed at a time.
const PIECE: usize = 16 << 10;

/// See the module.
pub(super) struct Inflater {
    stream: Decompress,
    takeover: Takeover,
    /// What the next message may refer to.
    window: Vec<u8>,
    scratch: Vec<u8>,
}

impl Inflater {
    pub(super) fn new(takeover: Takeover) -> Self {
        Inflater {
            stream: Decompress::new(false),
            takeover,
            window: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// A whole message.
    pub(super) fn message(&mut self, compressed: &[u8], most: usize) -> Result<Vec<u8>, Fault> {
        let mut text = Vec::with_capacity(compressed.len().saturating_mul(2).min(most));
        self.begin()?;
        self.run(compressed, most, |piece, _| text.extend_from_slice(piece))?;
        let left = most - text.len();
        self.run(&TAIL, left, |piece, _| text.extend_from_slice(piece))
            .map_err(|fault| fault.of_message(most))?;
        self.check_seal()?;
        if self.takeover == Takeover::Kept {
            remember(&mut self.window, &text);
        }
        Ok(text)
    }

    /// Begins a message.
    pub(super) fn begin(&mut self) -> Result<(), Fault> {
        self.stream.reset(false);
        if self.window.is_empty() {
            return Ok(());
        }
        self.stream.set_dictionary(&self.window).map(drop).map_err(|_| Fault::Undecodable)
    }

    /// A piece of a message that nobody looks at, so that the next one can refer to it. `most` is what is left of its bound; out comes
    /// what it takes of that.
    pub(super) fn skim(&mut self, compressed: &[u8], most: usize) -> Result<usize, Fault> {
        let mut length = 0;
        self.run(compressed, most, |piece, window| {
            length += piece.len();
            remember(window, piece);
        })?;
        Ok(length)
    }

    /// The end of such a message.
    pub(super) fn end_skimming(&mut self, most: usize) -> Result<(), Fault> {
        self.run(&TAIL, most, |piece, window| remember(window, piece))?;
        self.check_seal()
    }

    /// Whether a message can be left out: the next one does not refer to it.
    pub(super) fn may_skip(&self) -> bool {
        self.takeover == Takeover::Dropped
    }

    /// A message of whole blocks can be followed by a last block that is stored, and what is in that comes out. Nobody who has begun
    /// another block can know what will be in it.
    fn check_seal(&mut self) -> Result<(), Fault> {
        let inside: [u8; 4] = rand::random();
        let seal = [&[0x01, 0x04, 0x00, 0xFB, 0xFF], &inside[..]].concat();
        self.scratch.resize(PIECE, 0);
        let (read, written) = (self.stream.total_in(), self.stream.total_out());
        let status = self.stream.decompress(&seal, &mut self.scratch, FlushDecompress::Sync);
        let read = self.stream.total_in() - read == seal.len() as u64;
        let written = self.stream.total_out() - written == inside.len() as u64;
        let whole = matches!(status, Ok(Status::StreamEnd)) && read && written && self.scratch.starts_with(&inside);
        if whole { Ok(()) } else { Err(Fault::Undecodable) }
    }

    fn run(&mut self, input: &[u8], most: usize, mut took: impl FnMut(&[u8], &mut Vec<u8>)) -> Result<(), Fault> {
        let mut rest = input;
        let mut left = most;
        loop {
            self.scratch.resize(PIECE, 0);
            let (read, written) = (self.stream.total_in(), self.stream.total_out());
            let status = self
                .stream
                .decompress(rest, &mut self.scratch, FlushDecompress::Sync)
                .map_err(|_| Fault::Undecodable)?;
            let read = usize::try_from(self.stream.total_in() - read).unwrap_or(usize::MAX);
            let written = usize::try_from(self.stream.total_out() - written).unwrap_or(usize::MAX);
            rest = rest.get(read..).unwrap_or_default();
            left = left.checked_sub(written).ok_or(Fault::TooLarge(most))?;
            took(self.scratch.get(..written).unwrap_or_default(), &mut self.window);
            match status {
                // The final bit of DEFLATE: some readers stop at it, others go on with what follows, and see another message.
                Status::StreamEnd => return Err(Fault::Undecodable),
                _ if rest.is_empty() && written < PIECE => return Ok(()),
                _ if read == 0 && written == 0 => return Err(Fault::Undecodable),
                _ => {}
            }
        }
    }
}

/// Adds to a window, and forgets what lies before it.
fn remember(window: &mut Vec<u8>, text: &[u8]) {
    let text = text.get(text.len().saturating_sub(WINDOW)..).unwrap_or_default();
    let kept = WINDOW - text.len();
    window.drain(..window.len().saturating_sub(kept));
    window.extend_from_slice(text);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use flate2::{Compress, Compression, FlushCompress};

    use super::*;

    /// Compresses as a client does.
    struct Deflater(Compress);

    impl Deflater {
        fn new() -> Self {
            Deflater(Compress::new(Compression::default(), false))
        }

        fn message(&mut self, text: &[u8]) -> Vec<u8> {
            if text.is_empty() {
                // RFC 7692 section 7.2.3.6.
                return vec![0];
            }
            let mut out = Vec::with_capacity(text.len() + 1024);
            self.0.compress_vec(text, &mut out, FlushCompress::Sync).unwrap();
            assert!(out.ends_with(&TAIL));
            out.truncate(out.len() - TAIL.len());
            out
        }
    }

    #[test]
    fn messages_come_out_as_they_went_in() {
        let mut shared = Deflater::new();
        let mut inflater = Inflater::new(Takeover::Kept);
        for text in ["hello", "hello hello", "", "hello"] {
            let compressed = shared.message(text.as_bytes());
            assert_eq!(inflater.message(&compressed, 1024).unwrap(), text.as_bytes());
        }
        let mut inflater = Inflater::new(Takeover::Dropped);
        for text in ["hello", "hello hello", ""] {
            assert_eq!(
                inflater.message(&Deflater::new().message(text.as_bytes()), 1024).unwrap(),
                text.as_bytes()
            );
        }
    }

    #[test]
    fn a_message_can_refer_to_one_that_was_only_skimmed() {
        let mut client = Deflater::new();
        let words = b"the quick brown fox jumps over the lazy dog";
        let (first, second) = (client.message(words), client.message(words));
        let mut inflater = Inflater::new(Takeover::Kept);
        let (start, end) = first.split_at(first.len() / 2);
        let mut left = 1024;
        inflater.begin().unwrap();
        for piece in [start, end] {
            left -= inflater.skim(piece, left).unwrap();
        }
        inflater.end_skimming(left).unwrap();
        assert!(second.len() < first.len(), "the second one refers to nothing");
        assert_eq!(inflater.message(&second, 1024).unwrap(), words);
    }

    #[test]
    fn a_reference_to_a_context_that_was_given_up_is_refused_and_never_read_as_zeros() {
        let mut client = Deflater::new();
        let words = b"the quick brown fox jumps over the lazy dog";
        let (first, second) = (client.message(words), client.message(words));
        let mut inflater = Inflater::new(Takeover::Dropped);
        inflater.message(&first, 1024).unwrap();
        assert_eq!(inflater.message(&second, 1024), Err(Fault::Undecodable));
    }

    #[test]
    fn a_bomb_is_cut_at_the_limit() {
        let bomb = Deflater::new().message(&vec![b'a'; 8 << 20]);
        assert!(bomb.len() < 64 << 10);
        assert_eq!(
            Inflater::new(Takeover::Kept).message(&bomb, 64 << 10),
            Err(Fault::TooLarge(64 << 10))
        );
        assert_eq!(Inflater::new(Takeover::Kept).skim(&bomb, 64 << 10), Err(Fault::TooLarge(64 << 10)));
        let exact = Deflater::new().message(&vec![b'a'; 64 << 10]);
        assert_eq!(
            Inflater::new(Takeover::Kept).message(&exact, 64 << 10).map(|text| text.len()),
            Ok(64 << 10)
        );
    }

    #[test]
    fn a_message_that_ends_within_a_block_is_refused() {
        // A stored block of 9 bytes, of which two are there: the tail and whatever comes next would be the rest.
        let stored = [0x00, 0x09, 0x00, 0xF6, 0xFF, b'{', b'}'];
        // A block of fixed codes without its end.
        let fixed = {
            let mut out = Vec::with_capacity(64);
            let mut client = Compress::new(Compression::default(), false);
            client.compress_vec(b"{}", &mut out, FlushCompress::Sync).unwrap();
            out.truncate(2);
            out
        };
        // Of nothing some readers make a message, others half the head of a stored block.
        for bytes in [&stored[..], &fixed, b"", b"\x04"] {
            assert_eq!(
                Inflater::new(Takeover::Kept).message(bytes, 1024),
                Err(Fault::Undecodable),
                "{bytes:?}"
            );
            let mut skimmer = Inflater::new(Takeover::Kept);
            skimmer.begin().unwrap();
            let outcome = skimmer.skim(bytes, 1024).and_then(|_| skimmer.end_skimming(1024));
            assert_eq!(outcome, Err(Fault::Undecodable), "{bytes:?}");
        }
    }

    #[test]
    fn references_reach_back_over_many_messages_as_far_as_the_window() {
        let mut client = Deflater::new();
        let mut inflater = Inflater::new(Takeover::Kept);
        // Noise that does not compress but by reference.
        let mut state = 1_u32;
        let mut noise = |length: usize| -> Vec<u8> {
            std::iter::repeat_with(|| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (state >> 24) as u8
            })
            .take(length)
            .collect()
        };
        let first = noise(3_000);
        for text in [first.clone(), noise(10_000), noise(15_000), first.clone(), noise(70_000), first] {
            let packed = client.message(&text);
            assert_eq!(inflater.message(&packed, 1 << 20).unwrap(), text);
        }
    }

    #[test]
    fn a_final_block_and_garbage_are_refused() {
        let mut out = Vec::with_capacity(1024);
        let mut finished = Compress::new(Compression::default(), false);
        finished.compress_vec(b"{}", &mut out, FlushCompress::Finish).unwrap();
        // RFC 7692 section 7.2.3.4 pads such a block with an empty one.
        out.push(0);
        for bytes in [&out[..], b"\xFF\xFF\xFF", b""] {
            assert_eq!(
                Inflater::new(Takeover::Kept).message(bytes, 1024),
                Err(Fault::Undecodable),
                "{bytes:?}"
            );
        }
    }
}
