//! What a client speaks, by its first bytes.

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speech {
    /// Too few bytes to tell.
    Undecided,
    /// A TLS handshake record (RFC 8446 section 5.1).
    Tls,
    /// An HTTP/1 request line.
    Http1,
    /// HTTP/2 with prior knowledge, in cleartext (RFC 9113 section 3.3).
    H2c,
    /// Anything else.
    Other,
}

const H2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The longest method that is looked for.
const LONGEST_METHOD: usize = 32;

/// Tells what the bytes begin. A ClientHello whose first byte comes in a segment of its own is still TLS: hudsucker and others take
/// such a connection for an unknown protocol and tunnel it unread.
pub(crate) fn sniff(bytes: &[u8]) -> Speech {
    match bytes {
        [] => Speech::Undecided,
        [0x16, ..] => Speech::Tls,
        _ if bytes.starts_with(H2_PREFACE) => Speech::H2c,
        _ if H2_PREFACE.starts_with(bytes) => Speech::Undecided,
        _ => match http1(bytes) {
            // A lenient server skips odd bytes before a request; such a request is still HTTP, and refused as malformed.
            Speech::Other if first_line_is_http(bytes) => Speech::Http1,
            speech => speech,
        },
    }
}

fn first_line_is_http(bytes: &[u8]) -> bool {
    let line = bytes.split(|b| *b == b'\n').next().unwrap_or_default();
    memchr::memmem::find(line, b" HTTP/1.").is_some()
}

/// A token (RFC 9110 section 5.6.2) and a blank; leading empty lines are skipped as origins do (RFC 9112 section 2.2).
fn http1(bytes: &[u8]) -> Speech {
    let start = bytes.iter().position(|b| !matches!(b, b'\r' | b'\n'));
    let Some(line) = start.and_then(|start| bytes.get(start..)) else {
        return Speech::Undecided;
    };
    let is_token = |b: &u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(b);
    match line.iter().position(|b| !is_token(b)) {
        Some(end) if end > 0 && matches!(line.get(end), Some(b' ' | b'\t')) => Speech::Http1,
        None if line.len() < LONGEST_METHOD => Speech::Undecided,
        _ => Speech::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_tell_what_is_spoken() {
        let cases: [(&[u8], Speech); 14] = [
            (b"", Speech::Undecided),
            (b"\x16", Speech::Tls),
            (b"\x16\x03\x01\x02", Speech::Tls),
            (b"G", Speech::Undecided),
            (b"GET /", Speech::Http1),
            (b"BREW /pot", Speech::Http1),
            (b"\r\nGET / HTTP/1.1", Speech::Http1),
            (b"PRI", Speech::Undecided),
            (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Speech::H2c),
            (b"SSH-2.0-OpenSSH_9.2\r\n", Speech::Other),
            (b"\x00\x00\x00", Speech::Other),
            (b"\x00GET /", Speech::Other),
            (b"\x00GET / HTTP/1.1\r\n", Speech::Http1),
            (b" GET /paid HTTP/1.1\r\n", Speech::Http1),
        ];
        for (bytes, expected) in cases {
            assert_eq!(sniff(bytes), expected, "{bytes:?}");
        }
    }
}
