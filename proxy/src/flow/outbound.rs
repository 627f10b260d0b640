//! The request as it goes out: from the head that was judged to what the origin reads.
//!
//! Hop-by-hop fields and what `Connection` nominates are gone, the target is the canonical one, the authority is written by us, and
//! there is exactly one framing. Conversion between HTTP/1.1 and HTTP/2 happens here in both directions.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Version};
use pingora::http::RequestHeader;
use pingora::protocols::http::authority::validate_request_authority;
use pingora::{Error, ErrorType, OkOrErr, OrErr, Result};

use super::head::{Head, nominated};
use super::trailers::announced;

/// Fields that concern one hop only (RFC 9110 section 7.6.1), and those that speak to the proxy.
pub(super) const HOP_BY_HOP: [HeaderName; 8] = [
    header::CONNECTION,
    header::PROXY_AUTHENTICATE,
    header::PROXY_AUTHORIZATION,
    header::TE,
    header::TRAILER,
    header::UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// Whether a field would make an origin behind a gateway see another host, path or scheme than was judged. No client has to send one.
pub(super) fn rewrites_target(name: &HeaderName) -> bool {
    let name = name.as_str();
    name.starts_with("x-forwarded-") || name.starts_with("x-original-") || matches!(name, "forwarded" | "x-rewrite-url" | "x-host")
}

/// What the origin is told to expect after the head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// The whole body is in hand.
    Known(usize),
    /// It is relayed as it comes, in the client's own framing, or followed by trailers.
    Relayed,
}

/// The protocol of the connection to the origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OriginProtocol {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2.
    Http2,
}

/// A WebSocket upgrade (RFC 6455 section 4.1): the only one that is passed on.
pub(crate) fn is_websocket(request: &RequestHeader) -> bool {
    request.version == Version::HTTP_11
        && request.method == Method::GET
        && names_websocket(&request.headers)
        && asks_upgrade(&request.headers)
}

/// Whether `Upgrade` names exactly the WebSocket protocol.
pub(super) fn names_websocket(headers: &HeaderMap) -> bool {
    let mut upgrades = headers.get_all(header::UPGRADE).iter();
    upgrades.next().is_some_and(|v| v.as_bytes().eq_ignore_ascii_case(b"websocket")) && upgrades.next().is_none()
}

/// An `Upgrade` field counts only where `Connection` nominates it (RFC 9110 section 7.8).
pub(super) fn asks_upgrade(headers: &HeaderMap) -> bool {
    headers.get_all(header::CONNECTION).iter().any(|value| {
        value
            .as_bytes()
            .split(|b| *b == b',')
            .any(|token| token.trim_ascii().eq_ignore_ascii_case(b"upgrade"))
    })
}

/// Builds the head for the origin.
pub(crate) fn outbound(request: &RequestHeader, head: &Head, framing: Framing, protocol: OriginProtocol) -> Result<RequestHeader> {
    let websocket = is_websocket(request);
    let takes_trailers = takes_trailers(&request.headers);
    let mut out = request.clone();
    strip(&mut out)?;
    frame(&mut out, request, framing, protocol)?;
    if framing == Framing::Relayed
        && let Some(names) = announced(&request.headers)
    {
        out.insert_header(header::TRAILER, names)?;
    }
    match protocol {
        OriginProtocol::Http2 => {
            let uri = http::Uri::builder()
                .scheme(head.destination.security().scheme())
                .authority(head.destination.host_field().as_bytes())
                .path_and_query(head.origin_form())
                .build()
                .or_err(ErrorType::InvalidHTTPHeader, "a target that HTTP/2 cannot carry")?;
            out.remove_header(&header::HOST);
            out.set_uri(uri);
            if takes_trailers {
                out.insert_header(header::TE, "trailers")?;
            }
            out.set_version(Version::HTTP_2);
        }
        OriginProtocol::Http1 => {
            let host = head.destination.host_field();
            if out.headers.get(header::HOST) != Some(host) {
                out.insert_header(header::HOST, host.clone())?;
            }
            join_cookies(&mut out, request)?;
            let rewritten = match request.version {
                Version::HTTP_2 => Some(head.origin_form()),
                _ => head.rewritten_target(request.raw_path()),
            };
            if let Some(target) = rewritten {
                out.set_raw_path(target.as_bytes())?;
            }
            if websocket {
                out.insert_header(header::CONNECTION, "Upgrade")?;
                out.insert_header(header::UPGRADE, "websocket")?;
            } else if takes_trailers {
                out.insert_header(header::CONNECTION, "TE")?;
                out.insert_header(header::TE, "trailers")?;
            }
            out.set_version(Version::HTTP_11);
        }
    }
    validate_request_authority(&out)?;
    Ok(out)
}

/// Whether the client will take an answer's trailers (RFC 9110 section 10.1.4): gRPC servers ask for that.
fn takes_trailers(headers: &HeaderMap) -> bool {
    headers.get_all(header::TE).iter().any(|value| {
        let mut codings = value.as_bytes().split(|b| *b == b',');
        codings.any(|coding| coding.trim_ascii().eq_ignore_ascii_case(b"trailers"))
    })
}

/// Puts another path and query in. The value is not told in the error: it holds a secret.
pub(super) fn set_target(out: &mut RequestHeader, target: &str) -> Result<()> {
    if out.version != Version::HTTP_2 {
        return out.set_raw_path(target.as_bytes());
    }
    let mut parts = out.uri.clone().into_parts();
    let target = http::uri::PathAndQuery::try_from(target);
    parts.path_and_query =
        Some(target.map_err(|_| Error::explain(ErrorType::InvalidHTTPHeader, "a credential that a target cannot hold"))?);
    let uri = http::Uri::from_parts(parts).or_err(ErrorType::InvalidHTTPHeader, "a target that HTTP/2 cannot carry")?;
    out.set_uri(uri);
    Ok(())
}

fn strip(out: &mut RequestHeader) -> Result<()> {
    if out.headers.contains_key(header::CONNECTION) {
        let names = nominated(&out.headers).map_err(|denial| Error::explain(ErrorType::InvalidHTTPHeader, denial.detail))?;
        for name in &names {
            out.remove_header(name);
        }
    }
    for name in &HOP_BY_HOP {
        out.remove_header(name);
    }
    let rewriting: Vec<HeaderName> = out.headers.keys().filter(|name| rewrites_target(name)).cloned().collect();
    for name in &rewriting {
        out.remove_header(name);
    }
    // Expectations are met by the proxy itself, which asks for the body when it is ready to judge it.
    out.remove_header(&header::EXPECT);
    Ok(())
}

fn frame(out: &mut RequestHeader, request: &RequestHeader, framing: Framing, protocol: OriginProtocol) -> Result<()> {
    match framing {
        Framing::Known(length) => {
            let announced = has_body_framing(&request.headers);
            out.remove_header(&header::TRANSFER_ENCODING);
            if length > 0 || announced {
                out.insert_header(header::CONTENT_LENGTH, length)?;
            }
        }
        Framing::Relayed if protocol == OriginProtocol::Http2 => {
            out.remove_header(&header::TRANSFER_ENCODING);
            one_length(out)?;
        }
        Framing::Relayed if !out.headers.contains_key(header::CONTENT_LENGTH) => {
            out.insert_header(header::TRANSFER_ENCODING, "chunked")?;
        }
        Framing::Relayed => one_length(out)?,
    }
    Ok(())
}

/// Several fields with one number become one, without zeros before it that some reader would take for the mark of octal.
fn one_length(out: &mut RequestHeader) -> Result<()> {
    let mut lengths = out.headers.get_all(header::CONTENT_LENGTH).iter();
    let Some(first) = lengths.next() else { return Ok(()) };
    let digits = first.as_bytes();
    if lengths.next().is_none() && (digits == b"0" || !digits.starts_with(b"0")) {
        return Ok(());
    }
    let number: u64 = first
        .to_str()
        .ok()
        .and_then(|digits| digits.parse().ok())
        .or_err(ErrorType::InvalidHTTPHeader, "a length that is no number")?;
    out.insert_header(header::CONTENT_LENGTH, number)
}

fn has_body_framing(headers: &HeaderMap) -> bool {
    headers.contains_key(header::CONTENT_LENGTH) || headers.contains_key(header::TRANSFER_ENCODING)
}

/// HTTP/2 clients may split cookies into several fields (RFC 9113 section 8.2.3); HTTP/1 origins read only one.
fn join_cookies(out: &mut RequestHeader, request: &RequestHeader) -> Result<()> {
    let mut crumbs = request.headers.get_all(header::COOKIE).iter();
    if request.version != Version::HTTP_2 || crumbs.by_ref().nth(1).is_none() {
        return Ok(());
    }
    let crumbs: Vec<&[u8]> = request.headers.get_all(header::COOKIE).iter().map(HeaderValue::as_bytes).collect();
    let joined = HeaderValue::from_bytes(&crumbs.join(&b"; "[..])).or_err(ErrorType::InvalidHTTPHeader, "cookie")?;
    out.insert_header(header::COOKIE, joined)
}

#[cfg(test)]
mod tests;
