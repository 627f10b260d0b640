//! Chunked framing to the letter (RFC 9112 section 7.1), watched while a parser that forgives takes the chunks apart.
//!
//! In: the bytes of a body as they come. Out: nothing, or the first thing that two readers could take differently: blanks or nothing at all
//! for a size, a line feed by itself behind an extension, trailers that are no fields. What such a reader in front of us took for the next
//! request, or the other way round, is how requests are smuggled.

use thiserror::Error;

/// Bytes of one size with its extensions.
const LONGEST_SIZE_LINE: usize = 4 << 10;
/// Digits of a size: more than any body has, and no overflow.
const MOST_DIGITS: usize = 15;
/// Bytes of all trailer fields.
const MOST_TRAILERS: usize = 64 << 10;

/// A body that is not chunked as it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum ChunkError {
    /// Not 1 to 15 hexadecimal digits and extensions, ended by CRLF.
    #[error("a chunk does not begin with its size")]
    Size,
    /// The content is longer or shorter than announced, or CRLF is missing.
    #[error("a chunk does not end where its size says")]
    End,
    /// No field, or too many.
    #[error("a trailer is not a field")]
    Trailer,
}

/// Where in a chunked body the next byte lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Digits,
    Extension,
    SizeEnd,
    Content,
    ContentEnd(&'static [u8]),
    TrailerStart,
    TrailerName,
    TrailerValue,
    TrailerEnd,
    LastEnd,
    Over,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct ChunkWatch {
    at: At,
    /// Digits of the size so far.
    digits: usize,
    /// Bytes of the size line, or of the trailers, so far.
    seen: usize,
    /// Of the size; then what is left of the content.
    left: u64,
}

impl ChunkWatch {
    pub(crate) fn new() -> Self {
        ChunkWatch {
            at: At::Digits,
            digits: 0,
            seen: 0,
            left: 0,
        }
    }

    /// Looks at what comes next. What lies behind the end of the body is not looked at.
    pub(crate) fn see(&mut self, mut bytes: &[u8]) -> Result<(), ChunkError> {
        loop {
            if self.at == At::Content {
                let here = usize::try_from(self.left).map_or(bytes.len(), |left| left.min(bytes.len()));
                self.left -= here as u64;
                bytes = bytes.get(here..).unwrap_or_default();
                if self.left == 0 {
                    self.at = At::ContentEnd(b"\r\n");
                }
            }
            match bytes.split_first() {
                Some((byte, rest)) if self.at != At::Over => {
                    self.at = self.step(*byte)?;
                    bytes = rest;
                }
                _ => return Ok(()),
            }
        }
    }

    fn step(&mut self, byte: u8) -> Result<At, ChunkError> {
        self.seen += 1;
        match (self.at, byte) {
            (At::Digits, b'\r') if self.digits > 0 => Ok(At::SizeEnd),
            (At::Digits, b';') if self.digits > 0 => Ok(At::Extension),
            (At::Digits, _) => self.digit(byte),
            (At::Extension, b'\r') => Ok(At::SizeEnd),
            (At::Extension, _) if self.seen <= LONGEST_SIZE_LINE && is_field_byte(byte) => Ok(At::Extension),
            (At::SizeEnd, b'\n') => {
                (self.digits, self.seen) = (0, 0);
                Ok(if self.left == 0 { At::TrailerStart } else { At::Content })
            }
            (At::Extension | At::SizeEnd, _) => Err(ChunkError::Size),
            (At::ContentEnd([expected, rest @ ..]), _) if byte == *expected => {
                self.seen = 0;
                Ok(if rest.is_empty() { At::Digits } else { At::ContentEnd(rest) })
            }
            (At::ContentEnd(_), _) => Err(ChunkError::End),
            (At::TrailerStart, b'\r') => Ok(At::LastEnd),
            (At::LastEnd, b'\n') => Ok(At::Over),
            (At::TrailerName, b':') => Ok(At::TrailerValue),
            (At::TrailerStart | At::TrailerName, _) if self.seen <= MOST_TRAILERS && is_token(byte) => Ok(At::TrailerName),
            (At::TrailerValue, b'\r') => Ok(At::TrailerEnd),
            (At::TrailerValue, _) if self.seen <= MOST_TRAILERS && is_field_byte(byte) => Ok(At::TrailerValue),
            (At::TrailerEnd, b'\n') => Ok(At::TrailerStart),
            (At::TrailerStart | At::TrailerName | At::TrailerValue | At::TrailerEnd | At::LastEnd, _) => Err(ChunkError::Trailer),
            (At::Content | At::Over, _) => Ok(self.at),
        }
    }

    fn digit(&mut self, byte: u8) -> Result<At, ChunkError> {
        let value = char::from(byte).to_digit(16).ok_or(ChunkError::Size)?;
        if self.digits == MOST_DIGITS {
            return Err(ChunkError::Size);
        }
        self.digits += 1;
        self.left = (self.left << 4) | u64::from(value);
        Ok(At::Digits)
    }
}

/// RFC 9110 section 5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// RFC 9110 section 5.5: no control byte but the tab.
fn is_field_byte(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_exact_or_refused_however_they_are_cut() {
        let cases: [(&[u8], Result<(), ChunkError>); 38] = [
            (b"5\r\nhello\r\n0\r\n\r\n", Ok(())),
            (b"5;a=b;c=\"d e\"\r\nhello\r\n0;x\r\n\r\n", Ok(())),
            (b"000A\r\nhellohello\r\n00\r\nX-A: b\r\nX-C:\t\xff\r\n\r\n", Ok(())),
            (b"0\r\n\r\nanything \n may follow", Ok(())),
            (b"1\r\n\n\r\n2\r\n\r\n\r\n0\r\n\r\n", Ok(())),
            (b"5\r\nhel", Ok(())),
            (b"\r\n", Err(ChunkError::Size)),
            (b";5\r\nhello\r\n", Err(ChunkError::Size)),
            (b"5 \r\nhello\r\n", Err(ChunkError::Size)),
            (b" 5\r\nhello\r\n", Err(ChunkError::Size)),
            (b"5\t;a\r\nhello\r\n", Err(ChunkError::Size)),
            (b"+5\r\nhello\r\n", Err(ChunkError::Size)),
            (b"0x5\r\nhello\r\n", Err(ChunkError::Size)),
            (b"5g\r\nhello\r\n", Err(ChunkError::Size)),
            (b"5\nhello\r\n", Err(ChunkError::Size)),
            (b"5\r\rhello\r\n", Err(ChunkError::Size)),
            (b"5;\nx\r\nhello\r\n", Err(ChunkError::Size)),
            (b"5;a\0\r\nhello\r\n", Err(ChunkError::Size)),
            (b"5;a\x7f\r\nhello\r\n", Err(ChunkError::Size)),
            (b"5;a\rb\r\nhello\r\n", Err(ChunkError::Size)),
            (b"ffffffffffffffff\r\n", Err(ChunkError::Size)),
            (b"0000000000000005\r\nhello\r\n", Err(ChunkError::Size)),
            (b"5\r\nhello\r\n\r\n", Err(ChunkError::Size)),
            (b"5\r\nhelloworld\r\n", Err(ChunkError::End)),
            (b"5\r\nhello\n0\r\n\r\n", Err(ChunkError::End)),
            (b"5\r\nhello\rX", Err(ChunkError::End)),
            (b"5\r\nhello0\r\n\r\n", Err(ChunkError::End)),
            (b"0\r\n\n", Err(ChunkError::Trailer)),
            (b"0\r\n\rX", Err(ChunkError::Trailer)),
            (b"0\r\nX-A\r\n\r\n", Err(ChunkError::Trailer)),
            (b"0\r\nX-A : b\r\n\r\n", Err(ChunkError::Trailer)),
            (b"0\r\n X-A: b\r\n\r\n", Err(ChunkError::Trailer)),
            (b"0\r\n: b\r\n\r\n", Err(ChunkError::Trailer)),
            (b"0\r\nX-A: b\r\n c\r\n\r\n", Err(ChunkError::Trailer)),
            (b"0\r\nX-A: b\n\r\n", Err(ChunkError::Trailer)),
            (b"0\r\nX-A: b\rc\r\n\r\n", Err(ChunkError::Trailer)),
            (b"0\r\nX-A: \0\r\n\r\n", Err(ChunkError::Trailer)),
            (b"0\r\nGET / HTTP/1.1\r\n\r\n", Err(ChunkError::Trailer)),
        ];
        for (body, expected) in cases {
            for cut in 0..=body.len() {
                let (first, second) = body.split_at(cut);
                let mut watch = ChunkWatch::new();
                let seen = watch.see(first).and_then(|()| watch.see(second));
                assert_eq!(seen, expected, "{} cut at {cut}", body.escape_ascii());
            }
        }
    }

    #[test]
    fn lines_without_end_are_not_read_for_ever() {
        let long = b"a".repeat(MOST_TRAILERS + 1);
        assert_eq!(ChunkWatch::new().see(&[b"5;", &long[..]].concat()), Err(ChunkError::Size));
        assert_eq!(ChunkWatch::new().see(&[b"0\r\n", &long[..]].concat()), Err(ChunkError::Trailer));
        assert_eq!(ChunkWatch::new().see(&[b"0\r\na:", &long[..]].concat()), Err(ChunkError::Trailer));
        let many = b"1;a\r\nx\r\n".repeat(10_000);
        assert_eq!(ChunkWatch::new().see(&many), Ok(()), "the bound is one line's");
    }
}
