//! The head of a CONNECT request (RFC 9110 section 9.3.6), read strictly.

use std::io;

use bytes::BytesMut;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use tollgate_policy::{Authority, Reason};

use crate::flow::has_bare_line_ends;
use crate::gate::Denial;
use crate::settings::Limits;

/// What one read takes.
const BUFFER: usize = 4 << 10;

/// What a connection begins with.
#[derive(Debug)]
pub(super) enum Beginning {
    /// A CONNECT, and what the client sent after it without waiting.
    Connect(ConnectHead, BytesMut),
    /// Something else, with what was read of it: the HTTP parser takes it from here.
    Other(BytesMut),
    /// A CONNECT that cannot be served.
    Bad(Denial),
    /// Nothing.
    Closed,
}

/// See the module.
#[derive(Debug)]
pub(super) struct ConnectHead {
    pub(super) authority: Authority,
    pub(super) headers: HeaderMap,
}

/// Reads until it is known what the connection begins with. The first byte has `first_byte`, the rest of the head `header_read`.
pub(super) async fn read(tcp: &mut TcpStream, limits: &Limits) -> io::Result<Beginning> {
    let mut buffer = BytesMut::with_capacity(BUFFER);
    let first = tokio::time::timeout(limits.first_byte, tcp.read_buf(&mut buffer)).await;
    match first {
        Ok(Ok(n)) if n > 0 => {}
        Ok(Err(error)) => return Err(error),
        _ => return Ok(Beginning::Closed),
    }
    let rest = async {
        while is_connect(&buffer) && !has_whole_head(&buffer) {
            if buffer.len() > limits.header_bytes {
                return Ok(Beginning::Bad(Denial::new(
                    Reason::HeadersTooLarge,
                    "the head of the CONNECT request is too large",
                )));
            }
            if tcp.read_buf(&mut buffer).await? == 0 {
                return Ok(Beginning::Closed);
            }
        }
        Ok(if is_connect(&buffer) {
            parse(buffer)
        } else {
            Beginning::Other(buffer)
        })
    };
    match tokio::time::timeout(limits.header_read, rest).await {
        Ok(beginning) => beginning,
        Err(_) => Ok(Beginning::Bad(Denial::new(
            Reason::MalformedRequest,
            "the head of the request did not arrive in time",
        ))),
    }
}

/// Whether the bytes are, or may yet become, a CONNECT.
fn is_connect(bytes: &[u8]) -> bool {
    const START: &[u8] = b"CONNECT ";
    bytes.starts_with(START) || START.starts_with(bytes)
}

fn has_whole_head(bytes: &[u8]) -> bool {
    bytes.windows(4).any(|w| w == b"\r\n\r\n")
}

pub(super) fn parse(mut buffer: BytesMut) -> Beginning {
    match parse_head(&buffer) {
        Ok((length, head)) => {
            let after = buffer.split_off(length.min(buffer.len()));
            Beginning::Connect(head, after)
        }
        Err(denial) => Beginning::Bad(denial),
    }
}

fn malformed(why: &str) -> Denial {
    Denial::new(Reason::MalformedRequest, why)
}

fn parse_head(bytes: &[u8]) -> Result<(usize, ConnectHead), Denial> {
    let mut fields = [httparse::EMPTY_HEADER; 64];
    let mut request = httparse::Request::new(&mut fields);
    let length = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Err(malformed("the CONNECT request is incomplete")),
        Err(_) => return Err(malformed("the CONNECT request is not well-formed HTTP/1.1")),
    };
    if has_bare_line_ends(bytes.get(..length).unwrap_or_default()) {
        return Err(malformed("a line of the head ends without CR"));
    }
    let target = request.path.unwrap_or_default();
    let authority = Authority::parse(target, None).map_err(|e| malformed(&format!("the CONNECT target is not a host and a port: {e}")))?;
    let mut headers = HeaderMap::with_capacity(request.headers.len());
    for field in request.headers.iter() {
        let name = HeaderName::from_bytes(field.name.as_bytes()).map_err(|_| malformed("a field name is not a token"))?;
        let value = HeaderValue::from_bytes(field.value).map_err(|_| malformed("a field value has a control character"))?;
        headers.append(name, value);
    }
    check(&authority, &headers)?;
    Ok((length, ConnectHead { authority, headers }))
}

fn check(authority: &Authority, headers: &HeaderMap) -> Result<(), Denial> {
    let has_body = headers.contains_key(header::TRANSFER_ENCODING)
        || headers
            .get_all(header::CONTENT_LENGTH)
            .iter()
            .any(|length| length.as_bytes() != b"0");
    if has_body {
        // Read as the tunnel's first bytes by one side and as a body by the other.
        return Err(malformed("a CONNECT request has no body"));
    }
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next();
    if hosts.next().is_some() {
        return Err(malformed("more than one Host field"));
    }
    if let Some(host) = host {
        let named = host
            .to_str()
            .ok()
            .and_then(|host| Authority::parse(host, Some(authority.port)).ok());
        if named.as_ref() != Some(authority) {
            return Err(Denial::new(
                Reason::AuthorityMismatch,
                format!("the Host field is not the CONNECT target {authority}"),
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn connect_heads_are_read_or_refused_by_reason() {
        let cases: [(&str, Result<&str, Reason>); 18] = [
            (
                "CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com:443\r\n\r\n",
                Ok("api.example.com:443"),
            ),
            ("CONNECT API.Example.COM:443 HTTP/1.1\r\n\r\n", Ok("api.example.com:443")),
            ("CONNECT [::1]:443 HTTP/1.1\r\n\r\n", Ok("[::1]:443")),
            ("CONNECT host HTTP/1.1\r\n\r\n", Err(Reason::MalformedRequest)),
            ("CONNECT host:abc HTTP/1.1\r\n\r\n", Err(Reason::MalformedRequest)),
            ("CONNECT host:65536 HTTP/1.1\r\n\r\n", Err(Reason::MalformedRequest)),
            ("CONNECT host:0 HTTP/1.1\r\n\r\n", Err(Reason::MalformedRequest)),
            ("CONNECT host:80:x HTTP/1.1\r\n\r\n", Err(Reason::MalformedRequest)),
            ("CONNECT [::1 HTTP/1.1\r\n\r\n", Err(Reason::MalformedRequest)),
            ("CONNECT [::1] HTTP/1.1\r\n\r\n", Err(Reason::MalformedRequest)),
            ("CONNECT [::1]443 HTTP/1.1\r\n\r\n", Err(Reason::MalformedRequest)),
            ("CONNECT [::1]: HTTP/1.1\r\n\r\n", Err(Reason::MalformedRequest)),
            ("CONNECT user@host:443 HTTP/1.1\r\n\r\n", Err(Reason::MalformedRequest)),
            ("CONNECT 2130706433:443 HTTP/1.1\r\n\r\n", Err(Reason::MalformedRequest)),
            ("CONNECT host.:443 HTTP/1.1\r\n\r\n", Err(Reason::MalformedRequest)),
            (
                "CONNECT host:443 HTTP/1.1\r\nHost: other:443\r\n\r\n",
                Err(Reason::AuthorityMismatch),
            ),
            (
                "CONNECT host:443 HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello",
                Err(Reason::MalformedRequest),
            ),
            ("CONNECT host:443 HTTP/1.1\nHost: host:443\r\n\r\n", Err(Reason::MalformedRequest)),
        ];
        for (text, expected) in cases {
            let read = parse_head(text.as_bytes())
                .map(|(_, head)| head.authority.to_string())
                .map_err(|d| d.reason);
            assert_eq!(read, expected.map(str::to_owned), "{text:?}");
        }
    }

    #[test]
    fn bytes_after_the_head_are_the_tunnels() {
        let Beginning::Connect(_, after) = parse(BytesMut::from("CONNECT host:443 HTTP/1.1\r\n\r\n\u{16}\u{3}")) else {
            panic!()
        };
        assert_eq!(&after[..], b"\x16\x03");
    }
}
