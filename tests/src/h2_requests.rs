//! HTTP/2 frames as no library would send them: fields with any bytes in any order, frames without end. In: fields and content. Out: the
//! bytes of a connection.

/// What begins every connection (RFC 9113 section 3.4), and empty settings.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// RFC 9113 section 6.1.
pub const DATA: u8 = 0;
/// RFC 9113 section 6.2.
pub const HEADERS: u8 = 1;
/// RFC 9113 section 6.4.
pub const RST_STREAM: u8 = 3;
/// RFC 9113 section 6.8.
pub const GOAWAY: u8 = 7;
/// RFC 9113 section 6.10.
pub const CONTINUATION: u8 = 9;
/// RFC 9113 section 6.1 and 6.2: a flag.
pub const END_STREAM: u8 = 1;
/// RFC 9113 section 6.2: a flag.
pub const END_HEADERS: u8 = 4;

/// A field of a header section, as it is written.
pub type Field = (Vec<u8>, Vec<u8>);

/// One request.
#[derive(Debug, Clone, Default)]
pub struct Stream {
    /// In this order.
    pub fields: Vec<Field>,
    /// One frame each.
    pub data: Vec<Vec<u8>>,
    /// Behind the data.
    pub trailers: Vec<Field>,
    /// After how many bytes the header section goes on in another frame.
    pub cut: Option<usize>,
}

/// One frame (RFC 9113 section 4.1).
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// HPACK without compression: each field literal, never indexed by name (RFC 7541 section 6.2.2).
pub fn literal(fields: &[Field]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            integer(&mut block, text.len());
            block.extend_from_slice(text);
        }
    }
    block
}

/// With a prefix of seven bits (RFC 7541 section 5.1).
fn integer(block: &mut Vec<u8>, mut value: usize) {
    if value < 127 {
        block.push(u8::try_from(value).unwrap());
        return;
    }
    block.push(127);
    value -= 127;
    while value >= 128 {
        block.push(u8::try_from(value % 128 + 128).unwrap());
        value /= 128;
    }
    block.push(u8::try_from(value).unwrap());
}

impl Stream {
    /// The whole connection.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = PREFACE.to_vec();
        let block = literal(&self.fields);
        let end = if self.data.is_empty() && self.trailers.is_empty() {
            END_STREAM
        } else {
            0
        };
        match self.cut.filter(|cut| *cut < block.len()) {
            None => bytes.extend(frame(HEADERS, END_HEADERS | end, 1, &block)),
            Some(cut) => {
                bytes.extend(frame(HEADERS, end, 1, &block[..cut]));
                bytes.extend(frame(CONTINUATION, END_HEADERS, 1, &block[cut..]));
            }
        }
        for (nth, data) in self.data.iter().enumerate() {
            let last = nth + 1 == self.data.len() && self.trailers.is_empty();
            bytes.extend(frame(DATA, if last { END_STREAM } else { 0 }, 1, data));
        }
        if !self.trailers.is_empty() {
            bytes.extend(frame(HEADERS, END_HEADERS | END_STREAM, 1, &literal(&self.trailers)));
        }
        bytes
    }
}

/// Whether the peer has said its last word about the stream: its end, a reset, or that the connection is over.
pub fn is_over(mut bytes: &[u8]) -> bool {
    while let Some((head, rest)) = bytes.split_at_checked(9) {
        let length = usize::from(head[0]) << 16 | usize::from(head[1]) << 8 | usize::from(head[2]);
        let of_stream = head[5..9] == [0, 0, 0, 1];
        let ends = matches!(head[3], DATA | HEADERS) && head[4] & END_STREAM != 0;
        if head[3] == GOAWAY || (of_stream && (head[3] == RST_STREAM || ends)) {
            return true;
        }
        bytes = rest.get(length..).unwrap_or_default();
    }
    false
}
