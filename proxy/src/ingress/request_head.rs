//! The head of a request on an HTTP/1 client connection, collected and looked at before pingora parses it.
//!
//! pingora repairs some heads that it should refuse (it escapes blanks in the target and cuts fragments off), and refuses others
//! without a word on why (a Host that is not byte for byte the target's). Here the first line has to be exactly what RFC 9112 says,
//! the size is bounded while it is read, and what the client is told is what was wrong.

use bytes::BytesMut;
use memchr::memmem;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt};
use tollgate_policy::Reason;

use crate::flow::{AbsoluteTarget, Agreement};
use crate::gate::Denial;
use crate::settings::Limits;

/// What one read takes; most heads fit.
const BUFFER: usize = 4 << 10;

/// Why there is no head.
#[derive(Debug, Error)]
pub(super) enum HeadError {
    /// The client left, or said nothing.
    #[error("the client has gone")]
    Gone,
    /// It will not be one.
    #[error("{0}")]
    Refused(Denial),
}

fn malformed(why: &str) -> HeadError {
    HeadError::Refused(Denial::new(Reason::MalformedRequest, why))
}

/// What follows the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follows {
    /// A chunked body, of which so many bytes are in the buffer already, perhaps with requests behind it.
    Chunks(usize),
    /// Anything else.
    Other,
}

/// Reads until `buffer` holds a whole head that can be parsed as it stands. What lies behind it is the body's.
pub(super) async fn read(stream: &mut (impl AsyncRead + Unpin), buffer: &mut BytesMut, limits: &Limits) -> Result<Follows, HeadError> {
    let mut looked_at = 0_usize;
    loop {
        skip_empty_lines(buffer);
        // The end, and a line feed's carriage return, may lie in an earlier read.
        let from = looked_at.saturating_sub(3);
        let fresh = buffer.get(from..).unwrap_or_default();
        let end = memmem::find(fresh, b"\r\n\r\n").map(|end| end + 4);
        // What lies behind the head is a body, whose line feeds are its own.
        if has_bare_line_feed(fresh.get(..end.unwrap_or(fresh.len())).unwrap_or_default()) {
            return Err(malformed("a line of the head ends without CR"));
        }
        if let Some(end) = end {
            return check(buffer, from + end, limits);
        }
        if buffer.len() > limits.header_bytes {
            return Err(too_large(limits));
        }
        looked_at = buffer.len();
        buffer.reserve(BUFFER);
        match stream.read_buf(buffer).await {
            Ok(n) if n > 0 => {}
            _ => return Err(HeadError::Gone),
        }
    }
}

fn too_large(limits: &Limits) -> HeadError {
    let most = format!("{} bytes and {} fields", limits.header_bytes, limits.header_count);
    HeadError::Refused(Denial::new(
        Reason::HeadersTooLarge,
        format!("the header section is over the limit of {most}"),
    ))
}

/// RFC 9112 section 2.2: a few empty lines before the request line are ignored.
fn skip_empty_lines(buffer: &mut BytesMut) {
    while buffer.starts_with(b"\r\n") {
        let _ = buffer.split_to(2);
    }
}

/// A head with bare line feeds would never show the end that is looked for.
fn has_bare_line_feed(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b'\n', bytes).any(|at| at > 0 && bytes.get(at - 1) != Some(&b'\r'))
}

fn check(buffer: &mut BytesMut, end: usize, limits: &Limits) -> Result<Follows, HeadError> {
    let head = buffer.get(..end).unwrap_or_default();
    let (mut lines, mut follows) = (0_usize, Follows::Other);
    for line_end in memchr::memchr_iter(b'\n', head) {
        lines += 1;
        if is_transfer_encoding(head.get(line_end + 1..).unwrap_or_default()) {
            follows = Follows::Chunks(buffer.len().saturating_sub(end));
        }
    }
    let fields = lines.saturating_sub(2);
    if end > limits.header_bytes || fields > limits.header_count {
        return Err(too_large(limits));
    }
    let line_end = memmem::find(head, b"\r\n").unwrap_or(end);
    let line = head.get(..line_end).unwrap_or_default();
    let target = request_target(line)?;
    if let Some(rewritten) = agreeing_authority(line, target, head.get(line_end..).unwrap_or_default())? {
        let rest = buffer.split_off(line_end);
        *buffer = BytesMut::from(rewritten.as_slice());
        buffer.unsplit(rest);
    }
    Ok(follows)
}

/// Whether a field begins here that says that the body is chunked; it is refused later if it says anything else.
fn is_transfer_encoding(bytes: &[u8]) -> bool {
    const NAME: &[u8] = b"transfer-encoding";
    matches!(bytes.first(), Some(b't' | b'T')) && bytes.get(..NAME.len()).is_some_and(|name| name.eq_ignore_ascii_case(NAME))
}

/// The target of a request line that is exactly `METHOD SP target SP HTTP/1.x` (RFC 9112 section 3).
fn request_target(line: &[u8]) -> Result<&[u8], HeadError> {
    if line == b"PRI * HTTP/2.0" {
        // RFC 9113 section 3.4: HTTP/2 with prior knowledge.
        let detail = "HTTP/2 in cleartext is not read: the proxy is spoken to in HTTP/1.1, origins in HTTP/2 inside TLS";
        return Err(HeadError::Refused(Denial::new(Reason::H2cNotAllowed, detail)));
    }
    let mut parts = line.split(|b| *b == b' ');
    let (Some(method), Some(target), Some(version), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
        return Err(malformed("the request line is not a method, a target and a version"));
    };
    let is_token = |b: &u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(b);
    if method.is_empty() || !method.iter().all(is_token) {
        return Err(malformed("the method is not a token"));
    }
    if !matches!(version, b"HTTP/1.1" | b"HTTP/1.0") {
        return Err(malformed("the version is neither HTTP/1.1 nor HTTP/1.0"));
    }
    if target.is_empty() || !target.iter().all(|b| (0x21..=0x7e).contains(b)) {
        return Err(malformed("the request target has characters that must be percent-encoded"));
    }
    if target.contains(&b'#') {
        let detail = "the request target has a fragment, which is never sent";
        return Err(HeadError::Refused(Denial::new(Reason::PathNotCanonical, detail)));
    }
    Ok(target)
}

/// Holds an absolute-form target against the Host field. Where both name one authority in two spellings, gives the request line with
/// the field's spelling, since pingora wants them byte for byte the same.
fn agreeing_authority(line: &[u8], target: &[u8], fields: &[u8]) -> Result<Option<Vec<u8>>, HeadError> {
    let (Some(absolute), Some(host)) = (AbsoluteTarget::split(target), the_host(fields)) else {
        return Ok(None);
    };
    match absolute.agrees_with(host).map_err(HeadError::Refused)? {
        Agreement::Verbatim => Ok(None),
        Agreement::InTwoSpellings => {
            let method = line.split(|b| *b == b' ').next().unwrap_or_default();
            let version = line.rsplit(|b| *b == b' ').next().unwrap_or_default();
            Ok(Some([method, b" ", absolute.scheme, host, absolute.rest, b" ", version].concat()))
        }
    }
}

/// The value of the Host field, if there is exactly one; more are refused later.
fn the_host(fields: &[u8]) -> Option<&[u8]> {
    let mut hosts = fields.split(|b| *b == b'\n').filter_map(|line| {
        let colon = line.iter().position(|b| *b == b':')?;
        let (name, value) = line.split_at(colon);
        name.eq_ignore_ascii_case(b"host")
            .then(|| value.get(1..).unwrap_or_default().trim_ascii())
    });
    hosts.next().filter(|_| hosts.next().is_none())
}

#[cfg(test)]
mod tests;
