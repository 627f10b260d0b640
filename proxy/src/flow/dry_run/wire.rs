//! A request in the form in which it would come over a connection, so that the one strict reader of heads reads it too.

use http::{HeaderName, HeaderValue, Method, header};
use pingora::http::RequestHeader;
use pingora::protocols::http::authority::validate_request_authority;
use thiserror::Error;
use tollgate_policy::{AbsoluteForm, Authority, Reason, Target, WEBSOCKET_TEXT};

use super::super::absolute_form::{AbsoluteTarget, Agreement};
use super::super::outbound::{asks_upgrade, is_websocket};
use super::DryRequest;
use crate::egress::Security;
use crate::gate::Denial;

/// A URL that no client could ask for.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UrlError {
    /// Neither `http://` nor `https://`, nor their WebSocket twins.
    #[error("expected a URL that begins with http://, https://, ws:// or wss://")]
    Scheme,
    /// Blanks, control characters or bytes outside ASCII, which clients encode before they send them.
    #[error("the URL cannot be sent as it is: {0}")]
    NotSendable(String),
    /// A message on a connection that stays an HTTP one.
    #[error("with these fields the request opens no WebSocket, so no message can follow it")]
    NoWebSocket,
}

/// What a dry run is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asks {
    /// The request itself.
    Request,
    /// A text message, after the handshake that the wire shows.
    Message,
}

/// What every WebSocket client sends (RFC 6455 section 4.1), where the caller has not said otherwise.
const HANDSHAKE: [(HeaderName, &str); 3] = [
    (header::UPGRADE, "websocket"),
    (header::SEC_WEBSOCKET_VERSION, "13"),
    (header::SEC_WEBSOCKET_KEY, "dGhlIHNhbXBsZSBub25jZQ=="),
];

/// See the module.
pub(super) struct Wire<'a> {
    pub(super) security: Security,
    pub(super) asks: Asks,
    authority: &'a str,
    pub(super) head: Box<RequestHeader>,
    /// The head's bytes on HTTP/1.1.
    pub(super) raw: Vec<u8>,
}

impl<'a> Wire<'a> {
    pub(super) fn new(request: &DryRequest<'a>) -> Result<Self, UrlError> {
        // A fragment stays with the client (RFC 9110 section 4.2.5).
        let url = request.url.split('#').next().unwrap_or_default();
        if !url.contains("://") {
            return Err(UrlError::Scheme);
        }
        let target = Target::parse(url).map_err(|error| UrlError::NotSendable(error.to_string()))?;
        let AbsoluteForm { scheme, authority } = target.absolute.ok_or(UrlError::Scheme)?;
        let (security, socket) = match scheme.to_ascii_lowercase().as_str() {
            "http" => (Security::Plain, false),
            "https" => (Security::Tls, false),
            "ws" => (Security::Plain, true),
            "wss" => (Security::Tls, true),
            _ => return Err(UrlError::Scheme),
        };
        let asks = if request.method.as_str().eq_ignore_ascii_case(WEBSOCKET_TEXT) {
            Asks::Message
        } else {
            Asks::Request
        };
        let origin_form = origin_form(&target);
        // Clients send `http` requests to a proxy in absolute form, and `https` ones through a tunnel (RFC 9112 section 3.2).
        let sent = match security {
            Security::Plain if socket => format!("http://{authority}{origin_form}"),
            Security::Plain => format!("{scheme}://{authority}{origin_form}"),
            Security::Tls => origin_form,
        };
        let unsendable = |error: pingora::BError| UrlError::NotSendable(error.etype().as_str().to_owned());
        let mut head = head(request, asks, authority, &sent).map_err(unsendable)?;
        if socket || asks == Asks::Message {
            shake_hands(&mut head).map_err(unsendable)?;
        }
        if asks == Asks::Message && !is_websocket(&head) {
            return Err(UrlError::NoWebSocket);
        }
        let raw = raw(&head, &sent);
        Ok(Wire {
            security,
            asks,
            authority,
            head: Box::new(head),
            raw,
        })
    }

    /// What is refused of a head before its session is served.
    pub(super) fn check(&self) -> Result<(), Denial> {
        let host = self.head.headers.get(header::HOST).map(HeaderValue::as_bytes);
        if let (Some(absolute), Some(host)) = (AbsoluteTarget::split(self.head.raw_path()), host)
            && absolute.agrees_with(host)? == Agreement::InTwoSpellings
        {
            return Ok(());
        }
        validate_request_authority(&self.head).map_err(|_| Denial::new(Reason::MalformedRequest, "the request is not well-formed HTTP/1.1"))
    }

    /// The target of the CONNECT that comes before an https request.
    pub(super) fn connect_authority(&self) -> Result<Authority, Denial> {
        Authority::parse(self.authority, Some(self.security.default_port())).map_err(|e| {
            Denial::new(
                Reason::MalformedRequest,
                format!("the CONNECT target is not a host and a port: {e}"),
            )
        })
    }
}

fn origin_form(target: &Target<'_>) -> String {
    let path = if target.path.is_empty() { "/" } else { target.path };
    match target.query {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    }
}

fn shake_hands(head: &mut RequestHeader) -> pingora::Result<()> {
    if !asks_upgrade(&head.headers) {
        head.append_header(header::CONNECTION, "Upgrade")?;
    }
    for (name, value) in HANDSHAKE {
        if !head.headers.contains_key(&name) {
            head.insert_header(name, value)?;
        }
    }
    Ok(())
}

fn head(request: &DryRequest<'_>, asks: Asks, authority: &str, target: &str) -> pingora::Result<RequestHeader> {
    let method = match asks {
        Asks::Request => request.method.clone(),
        Asks::Message => Method::GET,
    };
    let mut head = RequestHeader::build(method, target.as_bytes(), None)?;
    for (name, value) in request.headers {
        head.append_header(name.clone(), value.clone())?;
    }
    if !head.headers.contains_key(header::HOST) {
        // User information is never part of Host; if there is any, the authority is refused as it stands.
        head.insert_header(header::HOST, authority)?;
    }
    let framed = head.headers.contains_key(header::CONTENT_LENGTH) || head.headers.contains_key(header::TRANSFER_ENCODING);
    if asks == Asks::Request && !request.body.is_empty() && !framed {
        head.insert_header(header::CONTENT_LENGTH, HeaderValue::from(request.body.len()))?;
    }
    Ok(head)
}

fn raw(head: &RequestHeader, target: &str) -> Vec<u8> {
    let mut raw = format!("{} {target} HTTP/1.1\r\n", head.method).into_bytes();
    for (name, value) in &head.headers {
        raw.extend_from_slice(name.as_str().as_bytes());
        raw.extend_from_slice(b": ");
        raw.extend_from_slice(value.as_bytes());
        raw.extend_from_slice(b"\r\n");
    }
    raw.extend_from_slice(b"\r\n");
    raw
}
