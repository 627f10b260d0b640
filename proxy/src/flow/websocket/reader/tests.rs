#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use flate2::{Compress, Compression, FlushCompress};
use proptest::prelude::*;
use tungstenite::protocol::frame::Frame;
use tungstenite::protocol::frame::FrameHeader;
use tungstenite::protocol::frame::coding::OpCode;

use super::super::extension::Takeover;
use super::*;

const BOUNDS: Bounds = Bounds {
    message: 1024,
    fragments: 8,
};
const MASK: [u8; 4] = [0x11, 0x22, 0x33, 0x44];

/// The first byte's upper half: FIN and the reserved bits.
#[derive(Debug, Clone, Copy)]
struct Bits(u8);
const FIN: Bits = Bits(0b1000);
const MORE: Bits = Bits(0);
const PACKED: Bits = Bits(0b1100);
const PACKED_MORE: Bits = Bits(0b0100);

const CONTINUATION: u8 = 0;
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;

fn frame(bits: Bits, opcode: u8, payload: &[u8]) -> Vec<u8> {
    let header = FrameHeader {
        is_final: bits.0 & 8 != 0,
        rsv1: bits.0 & 4 != 0,
        rsv2: bits.0 & 2 != 0,
        rsv3: bits.0 & 1 != 0,
        opcode: OpCode::from(opcode),
        mask: Some(MASK),
    };
    let mut bytes = Vec::new();
    Frame::from_payload(header, payload.to_vec().into()).format(&mut bytes).unwrap();
    bytes
}

fn compressed(deflater: &mut Compress, text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 1024);
    deflater.compress_vec(text, &mut out, FlushCompress::Sync).unwrap();
    out.truncate(out.len() - 4);
    out
}

fn deflater() -> Compress {
    Compress::new(Compression::default(), false)
}

/// Everything that comes out of `bytes`, cut at `cuts`; pieces of a binary message that follow each other are one.
fn read_in(encoding: Encoding, bytes: &[u8], cuts: &[usize]) -> (Vec<Passage>, Option<Fault>) {
    let mut reader = MessageReader::new(encoding, BOUNDS);
    let mut out: Vec<Passage> = Vec::new();
    let mut from = 0;
    for to in cuts.iter().copied().chain([bytes.len()]) {
        reader.feed(&bytes[from..to]);
        from = to;
        loop {
            match reader.next_passage() {
                Ok(None) => break,
                Ok(Some(passage)) => match (out.last_mut(), passage) {
                    (Some(Passage::Binary(so_far)), Passage::Binary(piece)) => *so_far = [&so_far[..], &piece[..]].concat().into(),
                    (_, passage) => out.push(passage),
                },
                Err(fault) => return (out, Some(fault)),
            }
        }
    }
    (out, None)
}

fn read(encoding: Encoding, bytes: &[u8]) -> (Vec<Passage>, Option<Fault>) {
    read_in(encoding, bytes, &[])
}

fn fault(encoding: Encoding, frames: &[Vec<u8>]) -> Option<Fault> {
    read(encoding, &frames.concat()).1
}

fn text(text: &str, frames: &[Vec<u8>]) -> Passage {
    Passage::Text {
        text: text.to_owned(),
        frames: frames.concat().into(),
    }
}

#[test]
fn a_text_message_comes_out_whole_with_the_bytes_of_its_frames() {
    let one = frame(FIN, TEXT, b"hello");
    assert_eq!(read(Encoding::Plain, &one), (vec![text("hello", std::slice::from_ref(&one))], None));
    let parts = [
        frame(MORE, TEXT, b"hel"),
        frame(MORE, CONTINUATION, b""),
        frame(FIN, CONTINUATION, b"lo"),
    ];
    assert_eq!(read(Encoding::Plain, &parts.concat()), (vec![text("hello", &parts)], None));
    assert_eq!(read(Encoding::Plain, &parts[..2].concat()), (vec![], None));
}

#[test]
fn control_frames_pass_between_the_fragments_of_a_message_that_is_held() {
    let (start, ping, end) = (frame(MORE, TEXT, b"a"), frame(FIN, PING, b"?"), frame(FIN, CONTINUATION, b"b"));
    let bytes = [start.clone(), ping.clone(), end.clone()].concat();
    let expected = vec![Passage::Beat(ping.into()), text("ab", &[start, end])];
    assert_eq!(read(Encoding::Plain, &bytes), (expected, None));
}

#[test]
fn a_multibyte_character_may_be_cut_by_a_fragment() {
    let word = "zażółć".as_bytes();
    let parts = [frame(MORE, TEXT, &word[..3]), frame(FIN, CONTINUATION, &word[3..])];
    assert_eq!(read(Encoding::Plain, &parts.concat()), (vec![text("zażółć", &parts)], None));
}

#[test]
fn nothing_comes_out_after_a_close() {
    let close = frame(FIN, CLOSE, &[0x03, 0xE8]);
    let bytes = [close.clone(), frame(FIN, TEXT, b"late")].concat();
    assert_eq!(read(Encoding::Plain, &bytes), (vec![Passage::Close(close.into())], None));
    let bare = frame(FIN, CLOSE, b"");
    assert_eq!(read(Encoding::Plain, &bare), (vec![Passage::Close(bare.into())], None));
}

#[test]
fn frames_that_break_the_protocol_are_refused_by_name() {
    let mut unmasked = Vec::new();
    Frame::message(&b"x"[..], OpCode::from(TEXT), true).format(&mut unmasked).unwrap();
    let mut long_form = vec![0x81, 0xFE, 0, 1];
    long_form.extend_from_slice(&MASK);
    long_form.push(0);
    let mut huge = vec![0x82, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0];
    huge.extend_from_slice(&MASK);
    let cases: [(&str, Vec<Vec<u8>>, Fault); 17] = [
        ("unmasked", vec![unmasked], Fault::Unmasked),
        ("rsv1 without deflate", vec![frame(PACKED, TEXT, b"x")], Fault::Reserved),
        ("rsv2", vec![frame(Bits(0b1010), TEXT, b"x")], Fault::Reserved),
        ("rsv3", vec![frame(Bits(0b1001), TEXT, b"x")], Fault::Reserved),
        ("rsv1 on a ping", vec![frame(PACKED, PING, b"x")], Fault::Reserved),
        ("reserved data opcode", vec![frame(FIN, 3, b"x")], Fault::Reserved),
        ("reserved control opcode", vec![frame(FIN, 11, b"x")], Fault::Reserved),
        ("a length in a longer form", vec![long_form], Fault::Length),
        ("a length of 64 bits", vec![huge], Fault::Length),
        ("a fragmented ping", vec![frame(MORE, PING, b"x")], Fault::Control),
        ("a long ping", vec![frame(FIN, PING, &[0; 126])], Fault::Control),
        ("a continuation of nothing", vec![frame(FIN, CONTINUATION, b"x")], Fault::Sequence),
        (
            "text within text",
            vec![frame(MORE, TEXT, b"x"), frame(FIN, TEXT, b"y")],
            Fault::Sequence,
        ),
        (
            "text within binary",
            vec![frame(MORE, BINARY, b"x"), frame(FIN, TEXT, b"y")],
            Fault::Sequence,
        ),
        ("half a close code", vec![frame(FIN, CLOSE, &[3])], Fault::Close),
        (
            "a close code that never goes over the wire",
            vec![frame(FIN, CLOSE, &[0x03, 0xEE])],
            Fault::Close,
        ),
        (
            "a close reason that is not text",
            vec![frame(FIN, CLOSE, &[0x03, 0xE8, 0xFF])],
            Fault::NotUtf8,
        ),
    ];
    for (name, frames, expected) in cases {
        assert_eq!(fault(Encoding::Plain, &frames), Some(expected), "{name}");
    }
}

#[test]
fn text_that_is_not_utf8_is_refused() {
    for bytes in [&b"\xFF"[..], b"\xC0\xAF", b"\xED\xA0\x80", b"ok \xE2\x82"] {
        assert_eq!(
            fault(Encoding::Plain, &[frame(FIN, TEXT, bytes)]),
            Some(Fault::NotUtf8),
            "{bytes:?}"
        );
    }
}

#[test]
fn what_is_too_large_is_refused_before_it_is_there() {
    let long = frame(FIN, TEXT, &[b'a'; 1025]);
    assert_eq!(fault(Encoding::Plain, &[long[..14].to_vec()]), Some(Fault::TooLarge(1024)));
    assert_eq!(fault(Encoding::Plain, &[frame(FIN, TEXT, &[b'a'; 1024])]), None);
    let parts = [frame(MORE, TEXT, &[b'a'; 600]), frame(FIN, CONTINUATION, &[b'a'; 600])];
    assert_eq!(fault(Encoding::Plain, &parts), Some(Fault::TooLarge(1024)));
    let crumbs: Vec<Vec<u8>> = std::iter::once(frame(MORE, TEXT, b""))
        .chain((0..8).map(|_| frame(MORE, CONTINUATION, b"")))
        .collect();
    assert_eq!(fault(Encoding::Plain, &crumbs[..8]), None);
    assert_eq!(fault(Encoding::Plain, &crumbs), Some(Fault::TooManyFragments(8)));
}

#[test]
fn compressed_messages_are_read_and_leave_as_they_came() {
    let kept = Encoding::Deflate(Takeover::Kept);
    let mut client = deflater();
    let words = "the quick brown fox jumps over the lazy dog";
    let (first, second) = (compressed(&mut client, words.as_bytes()), compressed(&mut client, words.as_bytes()));
    let one = [frame(PACKED_MORE, TEXT, &first[..5]), frame(FIN, CONTINUATION, &first[5..])];
    let two = [frame(PACKED, TEXT, &second)];
    let plain = [frame(FIN, TEXT, b"not compressed")];
    let bytes = [one.concat(), plain.concat(), two.concat()].concat();
    let expected = vec![text(words, &one), text("not compressed", &plain), text(words, &two)];
    assert_eq!(read(kept, &bytes), (expected, None));
    // Without takeover the second one refers to nothing.
    assert_eq!(
        fault(Encoding::Deflate(Takeover::Dropped), &[one.concat(), two.concat()]),
        Some(Fault::Undecodable)
    );
    assert_eq!(
        fault(
            kept,
            &[frame(PACKED_MORE, TEXT, &first[..5]), frame(PACKED, CONTINUATION, &first[5..])]
        ),
        Some(Fault::Reserved)
    );
}

#[test]
fn a_text_may_refer_to_a_binary_message_that_was_passed_unread() {
    let mut client = deflater();
    let words = "the quick brown fox jumps over the lazy dog";
    let (first, second) = (compressed(&mut client, words.as_bytes()), compressed(&mut client, words.as_bytes()));
    let binary = [frame(PACKED_MORE, BINARY, &first[..9]), frame(FIN, CONTINUATION, &first[9..])];
    let then = [frame(PACKED, TEXT, &second)];
    let expected = vec![Passage::Binary(binary.concat().into()), text(words, &then)];
    assert_eq!(
        read(Encoding::Deflate(Takeover::Kept), &[binary.concat(), then.concat()].concat()),
        (expected, None)
    );
}

#[test]
fn a_bomb_is_refused_in_text_and_in_binary() {
    let bomb = compressed(&mut deflater(), &vec![b'a'; 1 << 20]);
    let bomb = &bomb[..bomb.len().min(1000)];
    for opcode in [TEXT, BINARY] {
        let refused = fault(Encoding::Deflate(Takeover::Kept), &[frame(PACKED, opcode, bomb)]);
        assert_eq!(refused, Some(Fault::TooLarge(1024)), "{opcode}");
    }
    // Nothing refers to it, so nobody decompresses it.
    assert_eq!(fault(Encoding::Deflate(Takeover::Dropped), &[frame(PACKED, BINARY, bomb)]), None);
}

#[test]
fn binary_messages_of_any_size_pass_in_pieces() {
    let frames = [
        frame(MORE, BINARY, &vec![7; 100_000]),
        frame(FIN, PING, b""),
        frame(FIN, CONTINUATION, b""),
    ];
    let (out, fault) = read(Encoding::Plain, &frames.concat());
    let expected = vec![
        Passage::Binary(frames[0].clone().into()),
        Passage::Beat(frames[1].clone().into()),
        Passage::Binary(frames[2].clone().into()),
    ];
    assert_eq!((out, fault), (expected, None));
}

prop_compose! {
    fn any_frame()(
        bits in prop_oneof![4 => Just(FIN), 3 => Just(MORE), 1 => Just(PACKED), 1 => Just(PACKED_MORE)],
        opcode in prop_oneof![3 => Just(TEXT), 3 => Just(CONTINUATION), 2 => Just(BINARY), 2 => Just(PING), 1 => Just(CLOSE)],
        payload in prop_oneof![
            "[a-z{}\"é]{0,40}".prop_map(String::into_bytes),
            "[a-z{}\"é]{0,200}".prop_map(|text| compressed(&mut deflater(), text.as_bytes())),
            prop::collection::vec(any::<u8>(), 0..40),
            prop::collection::vec(any::<u8>(), 0..300),
        ],
    ) -> Vec<u8> {
        frame(bits, opcode, &payload)
    }
}

/// What must not depend on the cuts. Of a binary message that turns out to be broken a part may have left by then, and which of two
/// things is wrong with it may be seen first.
fn essence((out, fault): (Vec<Passage>, Option<Fault>)) -> (Vec<Passage>, Option<Fault>) {
    let Some(fault) = fault else { return (out, None) };
    let out = out.into_iter().filter(|passage| !matches!(passage, Passage::Binary(_))).collect();
    let fault = if matches!(fault, Fault::TooLarge(_)) {
        Fault::Undecodable
    } else {
        fault
    };
    (out, Some(fault))
}

proptest! {
    /// What a client may control is where its bytes are cut; it must not matter.
    #[test]
    fn how_the_bytes_are_cut_makes_no_difference(
        frames in prop::collection::vec(any_frame(), 1..8),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        encoding in prop_oneof![Just(Encoding::Plain), Just(Encoding::Deflate(Takeover::Kept)), Just(Encoding::Deflate(Takeover::Dropped))],
    ) {
        let bytes = frames.concat();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.sort_unstable();
        let every_byte: Vec<usize> = (0..bytes.len()).collect();
        let at_once = essence(read(encoding, &bytes));
        prop_assert_eq!(essence(read_in(encoding, &bytes, &cuts)), at_once.clone());
        prop_assert_eq!(essence(read_in(encoding, &bytes, &every_byte)), at_once);
    }

    /// What leaves is what came, up to the point where it stops.
    #[test]
    fn nothing_is_invented_and_nothing_is_lost(frames in prop::collection::vec(any_frame(), 1..8)) {
        let bytes = frames.concat();
        let (out, fault) = read(Encoding::Deflate(Takeover::Kept), &bytes);
        let left: usize = out.iter().map(|passage| match passage {
            Passage::Text { frames, .. } => frames.len(),
            Passage::Binary(bytes) | Passage::Beat(bytes) | Passage::Close(bytes) => bytes.len(),
        }).sum();
        prop_assert!(left <= bytes.len());
        let closed = matches!(out.last(), Some(Passage::Close(_)));
        let complete = fault.is_none() && !closed && frames.iter().all(|frame| frame[0] & 0x80 != 0);
        prop_assert!(!complete || left == bytes.len());
    }
}
