//! A request in the form in which it would come over a connection, so that the one strict reader of heads reads it too.

use http::{HeaderValue, header};
use pingora::http::RequestHeader;
use pingora::protocols::http::authority::validate_request_authority;
use thiserror::Error;
use tollgate_policy::{AbsoluteForm, Authority, Reason, Target};

use super::super::absolute_form::{AbsoluteTarget, Agreement};
use super::DryRequest;
use crate::egress::Security;
use crate::gate::Denial;

/// A URL that no client could ask for.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UrlError {
    /// Neither `http://` nor `https://`.
    #[error("expected a URL that begins with http:// or https://")]
    Scheme,
    /// Blanks, control characters or bytes outside ASCII, which clients encode before they send them.
    #[error("the URL cannot be sent as it is: {0}")]
    NotSendable(String),
}

/// See the module.
pub(super) struct Wire<'a> {
    pub(super) security: Security,
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
        let security = match scheme.to_ascii_lowercase().as_str() {
            "http" => Security::Plain,
            "https" => Security::Tls,
            _ => return Err(UrlError::Scheme),
        };
        let origin_form = origin_form(&target);
        // Clients send `http` requests to a proxy in absolute form, and `https` ones through a tunnel (RFC 9112 section 3.2).
        let sent = match security {
            Security::Plain => format!("{scheme}://{authority}{origin_form}"),
            Security::Tls => origin_form,
        };
        let head = head(request, authority, &sent).map_err(|error| UrlError::NotSendable(error.etype().as_str().to_owned()))?;
        let raw = raw(&head, &sent);
        Ok(Wire {
            security,
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

fn head(request: &DryRequest<'_>, authority: &str, target: &str) -> pingora::Result<RequestHeader> {
    let mut head = RequestHeader::build(request.method.clone(), target.as_bytes(), None)?;
    for (name, value) in request.headers {
        head.append_header(name.clone(), value.clone())?;
    }
    if !head.headers.contains_key(header::HOST) {
        // User information is never part of Host; if there is any, the authority is refused as it stands.
        head.insert_header(header::HOST, authority)?;
    }
    let framed = head.headers.contains_key(header::CONTENT_LENGTH) || head.headers.contains_key(header::TRANSFER_ENCODING);
    if !request.body.is_empty() && !framed {
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
