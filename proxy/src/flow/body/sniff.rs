//! Whether a body begins like JSON, in any encoding that some JSON reader accepts.

use crate::gate::rail::preamble::{self, Preamble};

/// What the first bytes look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::flow) enum Look {
    /// Only white space and comments so far.
    Undecided,
    /// An object, an array or a string.
    Json,
    /// Nothing that a JSON reader would take.
    OtherThanJson,
}

/// Byte order marks of UTF-8 and UTF-16; that of UTF-32 begins like one of these.
const MARKS: [&[u8]; 3] = [b"\xEF\xBB\xBF", b"\xFE\xFF", b"\xFF\xFE"];
/// In no encoding do more NULs than these stand between two characters: UTF-32. A disk image has more.
const MOST_NULS: usize = 3;

/// Looks at a body as it arrives, at each byte once.
#[derive(Debug, Default)]
pub(super) struct Sniffer {
    /// How much of the beginning is known to be blank.
    blank: usize,
    /// How many NULs it ends in.
    nuls: usize,
}

impl Sniffer {
    /// `so_far` is the body from its first byte, as much as there is.
    pub(super) fn look(&mut self, so_far: &[u8]) -> Look {
        if self.blank == 0 {
            if let Some(mark) = MARKS.iter().find(|mark| so_far.starts_with(mark)) {
                self.blank = mark.len();
            } else if MARKS.iter().any(|mark| mark.starts_with(so_far)) {
                return Look::Undecided;
            }
        }
        for byte in so_far.get(self.blank..).unwrap_or_default() {
            match byte {
                // NUL: UTF-16 and UTF-32 text, which Python's `json.loads` reads. The strict reader refuses it later.
                0 if self.nuls < MOST_NULS => self.nuls += 1,
                b' ' | b'\t' | b'\r' | b'\n' | 0x0B | 0x0C | 0x1E => self.nuls = 0,
                b'{' | b'[' | b'"' => return Look::Json,
                // A comment, or what else lenient readers skip.
                b'/' | b')' => {
                    return match preamble::skip(so_far.get(self.blank..).unwrap_or_default()) {
                        Preamble::None | Preamble::Skipped => Look::Json,
                        Preamble::Unfinished => Look::Undecided,
                        Preamble::OfAnotherKind => Look::OtherThanJson,
                    };
                }
                _ => return Look::OtherThanJson,
            }
            self.blank += 1;
        }
        Look::Undecided
    }
}

/// Looks at bytes from the beginning of a body.
pub(in crate::flow) fn look(bytes: &[u8]) -> Look {
    Sniffer::default().look(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_recognised_in_every_disguise_a_reader_takes() {
        let json: [&[u8]; 13] = [
            b"{}",
            b"[1]",
            b"\"x\"",
            b" \r\n\t {",
            b"\xEF\xBB\xBF{\"a\":1}",
            b"\xFF\xFE{\0\"\0",
            b"\xFE\xFF\0{\0\"",
            b"\0\0\0{",
            b"\0 \0 \0{",
            b"\x1E{\"seq\":1}",
            b"\xEF\xBB\xBF // note\n{",
            b" /* note */ [",
            b")]}'\n{",
        ];
        for bytes in json {
            assert_eq!(look(bytes), Look::Json, "{bytes:?}");
        }
        let other: [&[u8]; 8] = [
            b"0011command=ls-refs",
            b"PK\x03\x04",
            b"--boundary\r\n",
            b"a=1&b=2",
            b"<xml/>",
            b"\0\0\0\0",
            b"/* licence */ \"use strict\"",
            b"/path",
        ];
        for bytes in other {
            assert_eq!(look(bytes), Look::OtherThanJson, "{bytes:?}");
        }
        assert_eq!(look(b" \n"), Look::Undecided);
    }

    #[test]
    fn a_body_that_trickles_in_byte_by_byte_is_judged_like_one_in_one_piece() {
        for body in [
            &b"\xEF\xBB\xBF {\"method\":1}"[..],
            b"\xFF\xFE{\0",
            b"  [",
            b" /* a */ // b\n{",
            b"/**/x",
            b"\0\0\0\0{",
            b"\xEFx",
            b"git",
        ] {
            let mut sniffer = Sniffer::default();
            let in_pieces = (1..=body.len())
                .map(|end| sniffer.look(body.get(..end).unwrap_or_default()))
                .find(|look| *look != Look::Undecided);
            assert_eq!(in_pieces, Some(look(body)), "{body:?}");
        }
    }
}
