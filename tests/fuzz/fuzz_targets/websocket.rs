//! The reader of a WebSocket client's frames. The first byte says what was agreed on, the second how the rest is cut into reads: the
//! cuts must make no difference to the texts that are judged, and nothing may come out that did not go in.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate::flow::{Bounds, Encoding, MessageReader, Passage, Takeover};

const BOUNDS: Bounds = Bounds {
    message: 64 << 10,
    fragments: 64,
};

struct Read {
    texts: Vec<String>,
    bytes: usize,
    refused: bool,
}

fn read(encoding: Encoding, bytes: &[u8], step: usize) -> Read {
    let mut reader = MessageReader::new(encoding, BOUNDS);
    let mut read = Read {
        texts: Vec::new(),
        bytes: 0,
        refused: false,
    };
    for piece in bytes.chunks(step) {
        reader.feed(piece);
        loop {
            match reader.next_passage() {
                Ok(None) => break,
                Ok(Some(Passage::Text { text, frames })) => {
                    assert!(text.len() <= BOUNDS.message);
                    read.bytes += frames.len();
                    read.texts.push(text);
                }
                Ok(Some(Passage::Binary(frames) | Passage::Beat(frames) | Passage::Close(frames))) => read.bytes += frames.len(),
                Err(_) => {
                    read.refused = true;
                    return read;
                }
            }
        }
    }
    read
}

fuzz_target!(|input: &[u8]| {
    let [agreed, step, bytes @ ..] = input else { return };
    let encoding = match agreed % 3 {
        0 => Encoding::Plain,
        1 => Encoding::Deflate(Takeover::Kept),
        _ => Encoding::Deflate(Takeover::Dropped),
    };
    let whole = read(encoding, bytes, bytes.len().max(1));
    let cut = read(encoding, bytes, usize::from(*step).max(1));
    assert!(whole.bytes <= bytes.len());
    assert_eq!(whole.texts, cut.texts);
    assert_eq!(whole.refused, cut.refused);
});
