//! The transformation.
//!
//! Each segment is decoded into one buffer, looked at, and resolved there; the buffer never outgrows the input (but for the
//! leading slash of an empty path).

use super::{CanonicalPath, EncodedSlash, MAX_PATH, PathError};

pub(super) fn canonicalise(raw: &[u8], encoded_slash: EncodedSlash) -> Result<CanonicalPath, PathError> {
    if raw.len() > MAX_PATH {
        return Err(PathError::TooLong);
    }
    let rest = match raw {
        [] => raw,
        [b'/', rest @ ..] => rest,
        _ => return Err(PathError::NotAPath),
    };
    let mut builder = Builder {
        text: String::with_capacity(raw.len().max(1)),
        encoded_slash,
        escapes: Escapes::default(),
    };
    builder.text.push('/');
    let mut segments = rest.split(|b| *b == b'/').peekable();
    while let Some(segment) = segments.next() {
        builder.push_segment(segment, segments.peek().is_none())?;
    }
    let Builder { text, escapes, .. } = builder;
    let kept_slash = escapes.slash && text.contains("%2F");
    let loosened = if escapes.printable { loosen(&text) } else { None };
    let unslashed = kept_slash.then(|| loosened.as_deref().unwrap_or(&text).replace("%2F", "/").into_boxed_str());
    Ok(CanonicalPath {
        text: text.into_boxed_str(),
        kept_slash,
        loosened,
        unslashed,
    })
}

/// Which escapes were left in the text.
#[derive(Default)]
struct Escapes {
    slash: bool,
    printable: bool,
}

/// The text ends in `/` between segments.
struct Builder {
    text: String,
    encoded_slash: EncodedSlash,
    escapes: Escapes,
}

impl Builder {
    fn push_segment(&mut self, raw: &[u8], is_last: bool) -> Result<(), PathError> {
        let start = self.text.len();
        self.decode(raw)?;
        let segment = self.text.get(start..).unwrap_or_default();
        match segment {
            // `//` collapses: origins that route by segments drop empty ones.
            "" | "." => self.text.truncate(start),
            ".." => {
                self.text.truncate(start);
                self.climb()?;
            }
            _ if segment.contains("%2F") && segment.split("%2F").any(|part| part == "." || part == "..") => {
                return Err(PathError::HiddenDotSegment);
            }
            _ if !is_last => self.text.push('/'),
            _ => {}
        }
        Ok(())
    }

    fn climb(&mut self) -> Result<(), PathError> {
        let parent = self.text.strip_suffix('/').and_then(|path| path.rfind('/'));
        let slash = parent.ok_or(PathError::AboveRoot)?;
        self.text.truncate(slash + 1);
        Ok(())
    }

    /// Appends the segment up to its first `;`. Servlet containers drop path parameters before they resolve dots, so that `..;x`
    /// is `..` to them; what is dropped must be well-formed all the same.
    fn decode(&mut self, raw: &[u8]) -> Result<(), PathError> {
        let mut bytes = raw.iter().copied();
        let mut in_parameters = false;
        while let Some(byte) = bytes.next() {
            let (byte, escaped) = match byte {
                b'%' => match (bytes.next().and_then(hex_value), bytes.next().and_then(hex_value)) {
                    (Some(high), Some(low)) => (high << 4 | low, true),
                    _ => return Err(PathError::BrokenEncoding),
                },
                byte => (byte, false),
            };
            match (byte, escaped) {
                (0x00..=0x1f | 0x7f, _) => return Err(PathError::Control),
                (b'\\', _) => return Err(PathError::Backslash),
                (b' ' | 0x80.., false) => return Err(PathError::NotEncoded),
                (b'#', false) => return Err(PathError::Fragment),
                (b'?', false) => return Err(PathError::NotAPath),
                (b'/', _) if self.encoded_slash == EncodedSlash::Reject => return Err(PathError::EncodedSlash),
                (b';', _) => in_parameters = true,
                _ if in_parameters => {}
                (_, false) => self.text.push(char::from(byte)),
                (_, true) => self.push_escape(byte),
            }
        }
        Ok(())
    }

    fn push_escape(&mut self, byte: u8) {
        if means_the_same_unescaped(byte) {
            self.text.push(char::from(byte));
            return;
        }
        self.escapes.slash |= byte == b'/';
        self.escapes.printable |= is_loose(byte);
        self.text.push('%');
        self.text.push(hex_digit(byte >> 4));
        self.text.push(hex_digit(byte & 0xf));
    }
}

/// Unreserved (RFC 3986 2.3), and `@` and `:`, which nobody gives a second meaning inside a segment. Sub-delimiters keep their
/// escapes: to some origins `%2B` and `+` differ.
pub(crate) fn means_the_same_unescaped(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'@' | b':')
}

/// Escapes that most origins decode before they route.
pub(crate) fn is_loose(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'/' | b'%' | b'?' | b'#' | b';' | b'\\')
}

/// The text with every loose escape decoded; `None` if there is none.
fn loosen(text: &str) -> Option<Box<str>> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(percent) = rest.find('%') {
        let (before, escape) = rest.split_at(percent);
        out.push_str(before);
        let value = match escape.as_bytes() {
            [_, high, low, ..] => hex_value(*high).zip(hex_value(*low)).map(|(high, low)| high << 4 | low),
            _ => None,
        };
        match value {
            Some(byte) if is_loose(byte) => {
                out.push(char::from(byte));
                rest = escape.get(3..).unwrap_or_default();
            }
            _ => {
                out.push('%');
                rest = escape.get(1..).unwrap_or_default();
            }
        }
    }
    out.push_str(rest);
    (out != text).then(|| out.into_boxed_str())
}

fn hex_value(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

fn hex_digit(nibble: u8) -> char {
    char::from_digit(u32::from(nibble), 16).unwrap_or('0').to_ascii_uppercase()
}
