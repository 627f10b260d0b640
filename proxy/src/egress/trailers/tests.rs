#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::type_complexity)]
use super::*;

fn heard(pieces: &[&[u8]]) -> Result<Vec<String>, TrailerError> {
    let sections = TrailerSections::default();
    sections.expect_body(b"");
    for piece in pieces {
        sections.hear(piece);
    }
    let found = sections.take()?.unwrap_or_default();
    Ok(found
        .iter()
        .map(|(name, value)| format!("{name}={}", value.to_str().unwrap()))
        .collect())
}

#[test]
fn trailers_are_found_behind_the_last_chunk_in_whatever_pieces_they_come() {
    let cases: [(&[u8], Result<&[&str], TrailerError>); 12] = [
        (b"0\r\n\r\n", Ok(&[])),
        (b"2\r\nok\r\n0\r\n\r\n", Ok(&[])),
        (b"2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n", Ok(&["x-sum=1"])),
        (b"2;a=b\r\nok\r\n00\r\nX: 1\r\nX: 2\r\n\r\n", Ok(&["x=1", "x=2"])),
        // What looks like the end within a chunk is content.
        (b"d\r\n0\r\nX: no\r\n\r\nA\r\n0\r\nX: yes\r\n\r\n", Ok(&["x=yes"])),
        // What comes behind the end is the next message's.
        (b"0\r\nX: 1\r\n\r\nPOST / HTTP/1.1\r\nX: 2\r\n\r\n", Ok(&["x=1"])),
        (b"2\r\nok\r\n0\r\nX: 1\r\n", Err(TrailerError::Unfinished)),
        (b"2\r\nok\r\n", Err(TrailerError::Unfinished)),
        (b"xyz\r\nok\r\n0\r\n\r\n", Err(TrailerError::Unfinished)),
        (b"ffffffffffffffff\r\n", Err(TrailerError::Unfinished)),
        (b"0\r\nno field\r\n\r\n", Err(TrailerError::Malformed)),
        (b"0\r\nX: 1\r\n folded\r\n\r\n", Err(TrailerError::Malformed)),
    ];
    for (bytes, expected) in cases {
        let expected = expected.map(|fields| fields.iter().map(|field| (*field).to_owned()).collect::<Vec<_>>());
        assert_eq!(heard(&[bytes]), expected, "{}", bytes.escape_ascii());
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(heard(&single), expected, "byte by byte: {}", bytes.escape_ascii());
    }
}

#[test]
fn sections_without_an_end_take_no_memory() {
    let sections = TrailerSections::default();
    sections.expect_body(b"0\r\n");
    for _ in 0..200 {
        sections.hear(&[b'a'; 1 << 10]);
    }
    assert_eq!(sections.take(), Err(TrailerError::Unfinished));
}

#[test]
fn an_answers_interim_heads_are_passed_over() {
    let sections = TrailerSections::default();
    sections.expect_answer();
    let interim = b"HTTP/1.1 103 Early Hints\r\nX: 0\r\n\r\n";
    let last = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    sections.hear(&[&interim[..], last, b"2\r\nok"].concat());
    sections.head_read(interim.len(), Following::Head);
    sections.head_read(last.len(), Following::Chunks);
    sections.hear(b"\r\n0\r\nX: 1\r\n\r\n");
    assert_eq!(sections.take().unwrap().unwrap()["x"], "1");
    assert_eq!(sections.take(), Ok(None), "once");
}

#[test]
fn the_last_chunk_and_nothing_else_gets_the_trailers() {
    let sections = TrailerSections::default();
    assert_eq!(sections.in_place_of(LAST_CHUNK), None);
    let trailers = HeaderMap::from_iter([(HeaderName::from_static("x-sum"), HeaderValue::from_static("1"))]);
    sections.end_with(&trailers);
    assert_eq!(sections.in_place_of(b"2\r\nok\r\n"), None);
    assert_eq!(sections.in_place_of(LAST_CHUNK).unwrap(), "0\r\nx-sum: 1\r\n\r\n");
    assert_eq!(sections.in_place_of(LAST_CHUNK), None, "once");
    sections.end_with(&trailers);
    sections.has_ended();
    assert_eq!(sections.in_place_of(LAST_CHUNK), None, "the next answer has none");
}
