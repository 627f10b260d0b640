//! An event stream (HTML living standard, section 9.2), cut where its events end: what holds no data passes at once, an event with data
//! comes out whole.
//!
//! Bytes in as they come, however they are cut into pieces; no I/O. Lines end in LF, CR LF or CR, an event in an empty line. Some clients
//! also end a line where Python's `splitlines` does: what they would read as data on a line of another kind is data here.

use std::borrow::Cow;

use bytes::{Bytes, BytesMut};

/// See the module.
#[derive(Debug, Default)]
pub(in crate::flow) struct Splitter {
    held: BytesMut,
    /// How much of what is held has been looked at.
    scanned: usize,
    /// Where the line that is being looked at begins.
    line: usize,
    /// Whether the event that has begun has data.
    data: bool,
    /// The last line ended in CR at the end of what was there; a LF may still belong to it.
    after_cr: bool,
    /// What is held is no longer the beginning, where a byte order mark may stand.
    begun: bool,
}

/// Passes by itself: only at the very beginning it belongs to no line.
const MARK: &[u8] = b"\xEF\xBB\xBF";

/// What comes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::flow) enum Part {
    /// Comments, names of events, empty lines: nothing that a client acts on.
    Passing(Bytes),
    /// An event with data, up to and with the empty line at its end.
    Event(Bytes),
}

impl Splitter {
    /// Takes bytes in.
    pub(in crate::flow) fn feed(&mut self, bytes: &[u8]) {
        self.held.extend_from_slice(bytes);
    }

    /// How many bytes wait in memory.
    pub(in crate::flow) fn held(&self) -> usize {
        self.held.len()
    }

    /// The next part that is there as a whole.
    pub(in crate::flow) fn next_part(&mut self) -> Option<Part> {
        if !self.begun {
            if self.held.len() < MARK.len() && MARK.starts_with(&self.held) {
                return None;
            }
            self.begun = true;
            if self.held.starts_with(MARK) {
                return Some(Part::Passing(self.cut(MARK.len())));
            }
        }
        if let Some(next) = self.held.get(self.scanned)
            && std::mem::take(&mut self.after_cr)
            && *next == b'\n'
        {
            if self.scanned == 0 {
                return Some(Part::Passing(self.cut(1)));
            }
            self.scanned += 1;
            self.line = self.scanned;
        }
        while let Some(end) = self.line_end() {
            let line = self.held.get(self.line..end).unwrap_or_default();
            let empty = line.is_empty();
            self.data |= is_data(line);
            self.scanned = end + 1;
            if self.held.get(end) == Some(&b'\r') {
                match self.held.get(self.scanned) {
                    Some(b'\n') => self.scanned += 1,
                    Some(_) => {}
                    None => self.after_cr = true,
                }
            }
            self.line = self.scanned;
            if empty {
                let data = std::mem::take(&mut self.data);
                let ended = self.cut(self.scanned);
                return Some(if data { Part::Event(ended) } else { Part::Passing(ended) });
            }
        }
        // Whole lines of an event without data so far. Half a line stays: what it is depends on where a client ends it.
        (!self.data && self.line > 0).then(|| Part::Passing(self.cut(self.line)))
    }

    fn line_end(&mut self) -> Option<usize> {
        let new = self.held.get(self.scanned..).unwrap_or_default();
        let end = memchr::memchr2(b'\n', b'\r', new).map(|at| self.scanned + at);
        self.scanned = end.unwrap_or(self.held.len());
        end
    }

    /// What is left at the end of the stream. Clients drop an event that was not ended; not all of them do.
    pub(in crate::flow) fn rest(&mut self) -> Option<Part> {
        let last = self.held.get(self.line..).unwrap_or_default();
        let data = self.data || is_data(last);
        let all = self.held.len();
        (all > 0).then(|| {
            let rest = self.cut(all);
            if data { Part::Event(rest) } else { Part::Passing(rest) }
        })
    }

    /// Lets go of what is held, in the middle of an event.
    pub(in crate::flow) fn release(&mut self) -> Bytes {
        self.cut(self.held.len())
    }

    fn cut(&mut self, at: usize) -> Bytes {
        self.scanned = self.scanned.saturating_sub(at);
        self.line = self.line.saturating_sub(at);
        self.held.split_to(at).freeze()
    }
}

/// Where some clients end a line (the last byte of it in UTF-8): VT, FF, the separators of ASCII, NEL, U+2028, U+2029.
fn is_soft_end(byte: u8) -> bool {
    matches!(byte, 0x0B | 0x0C | 0x1C..=0x1E | 0x85 | 0xA8 | 0xA9)
}

/// Whether a line is one of data, or has one in it.
fn is_data(line: &[u8]) -> bool {
    data_in(line).next().is_some()
}

/// What a line adds to its event's data: its value, or the values of what a soft end makes lines of their own in one that has none.
fn data_in(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let data = data_of(line);
    let hidden = line.split(|byte| is_soft_end(*byte)).skip(1).filter(move |_| data.is_none());
    data.into_iter().chain(hidden.filter_map(data_of))
}

/// The value of a line of data, also to a client that reads names of fields leniently.
fn data_of(line: &[u8]) -> Option<&[u8]> {
    // Other white space is a soft end.
    let blanks = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let (name, value) = line.get(blanks..)?.split_at_checked(4)?;
    if !name.eq_ignore_ascii_case(b"data") {
        return None;
    }
    let value = value.trim_ascii_start();
    match value.split_first() {
        None => Some(value),
        Some((b':', value)) => Some(value.strip_prefix(b" ").unwrap_or(value)),
        Some(_) => None,
    }
}

/// The lines of an event.
fn lines(event: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(event);
    std::iter::from_fn(move || {
        let text = rest.filter(|text| !text.is_empty())?;
        let end = text.iter().position(|b| matches!(b, b'\n' | b'\r'));
        let (line, after) = end.map_or((text, &[][..]), |end| text.split_at(end));
        rest = Some(after.strip_prefix(b"\r\n").unwrap_or_else(|| after.get(1..).unwrap_or_default()));
        Some(line)
    })
}

/// An event's data: its lines of data, joined.
pub(in crate::flow) fn data(event: &[u8]) -> Cow<'_, [u8]> {
    let mut all = lines(event).flat_map(data_in);
    let first = all.next().unwrap_or_default();
    let mut joined = Cow::Borrowed(first);
    for line in all {
        let joined = joined.to_mut();
        joined.push(b'\n');
        joined.extend_from_slice(line);
    }
    joined
}

/// The same event with other data.
pub(in crate::flow) fn with_data(event: &[u8], data: &str) -> Bytes {
    let mut out = BytesMut::with_capacity(event.len());
    for line in lines(event) {
        // A mark that comes to stand at the very beginning is one, and what follows it a line of its own.
        let other = !line.is_empty() && !line.starts_with(MARK) && !line.iter().any(|byte| is_soft_end(*byte));
        if other && data_of(line).is_none() {
            out.extend_from_slice(line);
            out.extend_from_slice(b"\n");
        }
    }
    for line in data.lines() {
        out.extend_from_slice(b"data: ");
        out.extend_from_slice(line.as_bytes());
        out.extend_from_slice(b"\n");
    }
    out.extend_from_slice(b"\n");
    out.freeze()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use proptest::prelude::*;

    use super::*;

    fn parts(pieces: &[&[u8]]) -> Vec<Part> {
        let mut splitter = Splitter::default();
        let mut parts = Vec::new();
        for piece in pieces {
            splitter.feed(piece);
            while let Some(part) = splitter.next_part() {
                parts.push(part);
            }
        }
        parts.extend(splitter.rest());
        parts
    }

    fn events(text: &str) -> Vec<String> {
        parts(&[text.as_bytes()])
            .into_iter()
            .filter_map(|part| match part {
                Part::Event(event) => Some(String::from_utf8(data(&event).into_owned()).unwrap()),
                Part::Passing(_) => None,
            })
            .collect()
    }

    #[test]
    fn events_are_what_clients_take_for_events() {
        for (text, expected) in [
            ("data: one\n\ndata: two\n\n", vec!["one", "two"]),
            ("event: message\r\nid: 1\r\ndata: {\"a\":\r\ndata: 1}\r\n\r\n", vec!["{\"a\":\n1}"]),
            ("data:a\r\rdata:b\r\r", vec!["a", "b"]),
            (": ping\n\n:\n\nevent: x\n\nretry: 5\n\n", vec![]),
            ("\u{feff}data: marked\n\n", vec!["marked"]),
            ("data: a\n\n\u{feff}data: marked too late\n\ndata: b\n\n", vec!["a", "b"]),
            ("\u{feff}\u{feff}data: marked twice\n\ndata: c\n\n", vec!["c"]),
            ("data\n\n", vec![""]),
            ("data: cut off", vec!["cut off"]),
            ("dat", vec![]),
            ("database: no\n\n", vec![]),
            (" Data : lenient\n\n", vec!["lenient"]),
            ("event: x\u{2028}data: hidden\n\n", vec!["hidden"]),
            (": c\u{b}data: hidden\u{c}data: too\n\n", vec!["hidden\ntoo"]),
            ("data: {\"a\":\"\u{2028}data: b\"}\n\n", vec!["{\"a\":\"\u{2028}data: b\"}"]),
            ("event: caf\u{e9}\n\n", vec![]),
        ] {
            assert_eq!(events(text), expected, "{text:?}");
        }
    }

    #[test]
    fn what_holds_no_data_passes_at_once() {
        let mut splitter = Splitter::default();
        splitter.feed(b": ping\n\nevent: message\nid: 7\nda");
        for part in [&b": ping\n\n"[..], b"event: message\nid: 7\n"] {
            assert_eq!(splitter.next_part(), Some(Part::Passing(Bytes::from_static(part))));
        }
        assert_eq!(splitter.next_part(), None);
        splitter.feed(b"ta: x\n");
        assert_eq!((splitter.next_part(), splitter.held()), (None, 8));
        splitter.feed(b"\ndata: y");
        assert_eq!(splitter.next_part(), Some(Part::Event(Bytes::from_static(b"data: x\n\n"))));
        assert_eq!(splitter.next_part(), None);
        // What is no stream of events at all, too, line by line.
        splitter = Splitter::default();
        for (piece, passed) in [
            (&b"hello"[..], None),
            (b" data: no\r", Some(&b"hello data: no\r"[..])),
            (b"\n", Some(b"\n")),
        ] {
            splitter.feed(piece);
            let expected = passed.map(|bytes| Part::Passing(Bytes::from_static(bytes)));
            assert_eq!(splitter.next_part(), expected, "{piece:?}");
        }
    }

    #[test]
    fn an_event_keeps_all_but_its_data() {
        let event = b"event: message\r\ndata: old\r\nid: 7\r\ndata: older\r\n\r\n";
        assert_eq!(with_data(event, "new\nest"), "event: message\nid: 7\ndata: new\ndata: est\n\n");
        let hiding = b": \x0bdata: \n\xef\xbb\xbfdata: other\ndata: old\n\n";
        assert_eq!(with_data(hiding, "new"), "data: new\n\n");
    }

    #[test]
    fn the_end_of_a_line_that_has_passed_is_no_line_of_its_own() {
        let found = parts(&[b"\xef\xbb\xbfid\n\n\xef\xbb\xbf", b"data: a\ndata: b\n\n"]);
        let Some(Part::Event(event)) = found.last() else {
            panic!("{found:?}")
        };
        assert_eq!(&data(event)[..], b"b");
    }

    #[test]
    fn data_after_soft_ends_is_found_however_much_of_its_line_came_before() {
        for text in [
            ": c\u{2028}data: a\u{2028}data: b\n\n",
            ": c\u{c}data: a\u{c}data: b\n\n",
            "\u{c}data: a\u{b}data: b\r\r",
        ] {
            for step in 1..text.len() {
                let pieces: Vec<&[u8]> = text.as_bytes().chunks(step).collect();
                let found: Vec<Part> = parts(&pieces).into_iter().filter(|part| matches!(part, Part::Event(_))).collect();
                let [Part::Event(event)] = found.as_slice() else {
                    panic!("{text:?} by {step}: {found:?}")
                };
                let data = String::from_utf8_lossy(&data(event)).into_owned();
                let lines: Vec<&str> = data.split('\n').map(|line| line.trim_end_matches('\u{fffd}')).collect();
                assert_eq!(lines, ["a", "b"], "{text:?} by {step}");
            }
        }
    }

    proptest! {
        #[test]
        fn it_makes_no_difference_how_a_stream_is_cut(
            text in r"\u{feff}?(data: [ab]{0,3}|: c|id: 1|event|dat|e\x0bdata: a|\x0b|: c\u{2028}data: a|)((\n|\r|\r\n)(data: [ab]{0,3}|: c|id: 1|event| Data|datas|\x0cdata: b|\u{feff}data: a|)){0,12}",
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.sort_unstable();
            let (mut pieces, mut from) = (Vec::new(), 0);
            for to in cuts.into_iter().chain([bytes.len()]) {
                pieces.push(&bytes[from..to]);
                from = to;
            }
            let found = parts(&pieces);
            let all: Vec<u8> = found.iter().flat_map(|part| match part {
                Part::Passing(bytes) | Part::Event(bytes) => bytes.to_vec(),
            }).collect();
            prop_assert_eq!(&all[..], bytes, "nothing is lost, added or moved");
            let data_in = |parts: &[Part]| -> Vec<Vec<u8>> {
                parts.iter().filter_map(|part| match part {
                    Part::Event(event) => Some(data(event).into_owned()),
                    Part::Passing(_) => None,
                }).collect()
            };
            prop_assert_eq!(data_in(&found), data_in(&parts(&[bytes])));
        }
    }
}
