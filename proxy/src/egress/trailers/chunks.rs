//! Follows chunked content (RFC 9112 section 7.1) to the trailer section behind it, in whatever pieces it comes.

/// As pingora bounds both.
const LONGEST_SIZE_LINE: usize = 64 << 10;
const LONGEST_SECTION: usize = 64 << 10;

/// See the module.
#[derive(Debug)]
pub(super) struct Chunks {
    at: At,
    /// The line, or the trailer section, that is not complete yet.
    held: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// In a line with a chunk's size.
    Size,
    /// So many bytes before the end of a chunk, and of the line end behind it.
    Data(u64),
    /// In the trailer section.
    Trailers,
    /// Behind it.
    End,
    /// Lost.
    Unreadable,
}

impl Chunks {
    /// Begins with what is there.
    pub(super) fn after(early: &[u8]) -> Self {
        let mut chunks = Chunks {
            at: At::Size,
            held: Vec::new(),
        };
        chunks.take(early);
        chunks
    }

    /// The next bytes; what lies behind the end is another message's.
    pub(super) fn take(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match self.at {
                At::Data(left) => {
                    let here = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
                    bytes = bytes.get(here..).unwrap_or_default();
                    self.at = match left - here as u64 {
                        0 => At::Size,
                        left => At::Data(left),
                    };
                }
                At::Size => {
                    if self.takes_line(&mut bytes, LONGEST_SIZE_LINE) {
                        self.at = following(&self.held);
                        self.held.clear();
                    }
                }
                At::Trailers => {
                    let ends = self.takes_line(&mut bytes, LONGEST_SECTION);
                    if ends && (self.held == b"\r\n" || self.held.ends_with(b"\r\n\r\n")) {
                        self.at = At::End;
                    }
                }
                At::End | At::Unreadable => return,
            }
        }
    }

    /// The trailer section with its closing empty line, if all of it is there.
    pub(super) fn trailers(self) -> Option<Vec<u8>> {
        (self.at == At::End).then_some(self.held)
    }

    /// Takes bytes up to and including a line feed; whether there was one.
    fn takes_line(&mut self, bytes: &mut &[u8], most: usize) -> bool {
        let end = memchr::memchr(b'\n', bytes).map(|at| at + 1);
        let (line, rest) = bytes.split_at_checked(end.unwrap_or(bytes.len())).unwrap_or_default();
        *bytes = rest;
        if self.held.len() + line.len() > most {
            self.at = At::Unreadable;
            self.held = Vec::new();
            return false;
        }
        self.held.extend_from_slice(line);
        end.is_some()
    }
}

/// The same reading of a size that pingora has, and then the line end behind the chunk.
fn following(line: &[u8]) -> At {
    match httparse::parse_chunk_size(line) {
        Ok(httparse::Status::Complete((length, 0))) if length == line.len() => At::Trailers,
        Ok(httparse::Status::Complete((length, size))) if length == line.len() => size.checked_add(2).map_or(At::Unreadable, At::Data),
        _ => At::Unreadable,
    }
}
