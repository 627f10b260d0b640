//! A request head, read strictly: the one reading of it that every rule judges and that the origin will get.
//!
//! In: the head as pingora parsed it, and its raw bytes on HTTP/1. Out: a [`Head`] with one authority and one canonical target, or a
//! denial. pingora's parser is tolerant in places where an origin may read the same bytes differently (RFC 9112 section 11.2, request
//! smuggling): bare line feeds, Content-Length beside Transfer-Encoding, several codings. What two readers could read differently is
//! refused here.

use std::sync::Arc;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{Method, Version};
use pingora::http::RequestHeader;
use pingora::protocols::http::authority::{RawTargetAuthority, raw_target_authority};
use tollgate_policy::{Authority, CanonicalPath, EncodedSlash, Reason, Target, WEBSOCKET_TEXT};

use crate::egress::{Destination, Security};
use crate::gate::Denial;
use crate::settings::Limits;

/// Names that `Connection` may nominate at most; more is an attack on whoever strips them.
const MOST_NOMINATIONS: usize = 32;

/// A signature has 130 characters, a payment more; no name that a person gave has.
const LONGEST_SHOWN_SEGMENT: usize = 100;
/// Enough to recognise it by.
const SHOWN_OF_A_LONG_SEGMENT: usize = 12;

/// How the connection constrains its requests.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scope<'a> {
    /// A plain proxy connection: every request names its origin in absolute form. The last one is remembered, since most requests
    /// repeat it.
    Forward(Option<&'a Arc<Destination>>),
    /// A tunnel: every request is for this one.
    Tunnel(&'a Arc<Destination>),
}

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) destination: Arc<Destination>,
    pub(crate) method: Method,
    /// What the policy sees and the origin gets.
    pub(crate) path: CanonicalPath,
    /// Verbatim, without `?`.
    pub(crate) query: Option<Box<str>>,
}

impl Head {
    /// Reads a head. `raw` is the head as it came over an HTTP/1 connection.
    pub(crate) fn read(scope: Scope<'_>, request: &RequestHeader, raw: Option<&[u8]>, limits: &Limits) -> Result<Self, Denial> {
        if request.method == Method::CONNECT {
            return Err(Denial::new(
                Reason::NestedConnect,
                "CONNECT inside a connection that already has a destination",
            ));
        }
        check_size(&request.headers, raw, limits)?;
        check_lengths(&request.headers)?;
        match raw {
            Some(raw) => check_framing(&request.headers, raw)?,
            None => refuse_second_length(&request.headers)?,
        }
        nominated(&request.headers)?;
        refuse_h2c(&request.headers)?;
        refuse_method_override(request)?;
        refuse_message_method(&request.method)?;
        let (security, from_target, path) = split_target(scope, request)?;
        let destination = one_destination(scope, request, security, from_target)?;
        let (path, query) = canonical(path)?;
        Ok(Head {
            destination,
            method: request.method.clone(),
            path,
            query,
        })
    }

    /// The path as it may be written down and told: a segment as long as a signature or a token is cut. `None` where none is.
    pub(crate) fn shown_path(&self) -> Option<String> {
        let path = self.path.as_str();
        if path.len() <= LONGEST_SHOWN_SEGMENT || path.split('/').all(|segment| segment.len() <= LONGEST_SHOWN_SEGMENT) {
            return None;
        }
        let shown = path.split('/').map(|segment| match segment.get(..SHOWN_OF_A_LONG_SEGMENT) {
            Some(start) if segment.len() > LONGEST_SHOWN_SEGMENT => format!("{start}..."),
            _ => segment.to_owned(),
        });
        Some(shown.collect::<Vec<_>>().join("/"))
    }

    /// Path and query as they go out; `None` where that is what came in.
    pub(super) fn rewritten_target(&self, raw: &[u8]) -> Option<String> {
        let path = self.path.as_str();
        let rest = raw.strip_prefix(path.as_bytes());
        let unchanged = match (rest, &self.query) {
            (Some(b""), None) => true,
            (Some(rest), Some(query)) => rest.strip_prefix(b"?") == Some(query.as_bytes()),
            _ => false,
        };
        (!unchanged).then(|| self.origin_form())
    }

    /// Path and query (RFC 9112 section 3.2.1).
    pub(super) fn origin_form(&self) -> String {
        match &self.query {
            Some(query) => format!("{}?{query}", self.path.as_str()),
            None => self.path.as_str().to_owned(),
        }
    }
}

fn malformed(why: &str) -> Denial {
    Denial::new(Reason::MalformedRequest, why)
}

fn check_size(headers: &HeaderMap, raw: Option<&[u8]>, limits: &Limits) -> Result<(), Denial> {
    let bytes = raw.map_or_else(
        || headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum(),
        <[u8]>::len,
    );
    if bytes > limits.header_bytes || headers.len() > limits.header_count {
        let most = format!("{} bytes and {} fields", limits.header_bytes, limits.header_count);
        return Err(Denial::new(
            Reason::HeadersTooLarge,
            format!("the header section is over the limit of {most}"),
        ));
    }
    Ok(())
}

/// Each Content-Length is one number: a list of equal ones (RFC 9110 section 8.6 lets it pass) is a number to one reader, none to the next.
fn check_lengths(headers: &HeaderMap) -> Result<(), Denial> {
    let mut lengths = headers.get_all(header::CONTENT_LENGTH).iter();
    if lengths.all(|length| !length.is_empty() && length.as_bytes().iter().all(u8::is_ascii_digit)) {
        Ok(())
    } else {
        Err(malformed("Content-Length is not one number"))
    }
}

/// Framing that two readers could take differently: CL.TE, TE.CL and TE.TE smuggling, and lines that end in a bare LF or hide a CR.
fn check_framing(headers: &HeaderMap, raw: &[u8]) -> Result<(), Denial> {
    if has_bare_line_ends(raw) {
        return Err(malformed("a line of the head ends without CR, or has a CR within"));
    }
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    if let Some(coding) = codings.next() {
        if codings.next().is_some() || !coding.as_bytes().eq_ignore_ascii_case(b"chunked") {
            return Err(malformed("Transfer-Encoding is something else than exactly `chunked`"));
        }
        // pingora has dropped the Content-Length by now, so it is looked for in the bytes themselves.
        if raw_has_field(raw, b"content-length") {
            return Err(malformed("Content-Length beside Transfer-Encoding"));
        }
    }
    Ok(())
}

/// HTTP/2 frames a body by itself; an HTTP/1 origin reads the length (RFC 9113 section 8.1.1). On HTTP/1, pingora holds them against each other.
fn refuse_second_length(headers: &HeaderMap) -> Result<(), Denial> {
    match headers.get_all(header::CONTENT_LENGTH).iter().nth(1) {
        Some(_) => Err(malformed("more than one Content-Length")),
        None => Ok(()),
    }
}

/// Whether a head has a line feed without a carriage return before it, or the reverse.
pub(crate) fn has_bare_line_ends(raw: &[u8]) -> bool {
    let mut previous = 0;
    for byte in raw {
        if (*byte == b'\n') != (previous == b'\r') {
            return true;
        }
        previous = *byte;
    }
    previous == b'\r'
}

fn raw_has_field(raw: &[u8], name: &[u8]) -> bool {
    raw.split(|b| *b == b'\n').skip(1).any(|line| {
        let field = line.split(|b| *b == b':').next().unwrap_or_default();
        field.trim_ascii().eq_ignore_ascii_case(name)
    })
}

/// The names that `Connection` nominates as hop-by-hop (RFC 9110 section 7.6.1). One that decides routing or framing is an attempt to
/// make us strip it.
pub(super) fn nominated(headers: &HeaderMap) -> Result<Vec<HeaderName>, Denial> {
    let mut names = Vec::new();
    for value in headers.get_all(header::CONNECTION) {
        for token in value
            .as_bytes()
            .split(|b| *b == b',')
            .map(<[u8]>::trim_ascii)
            .filter(|t| !t.is_empty())
        {
            match HeaderName::from_bytes(token) {
                Ok(name) if !is_protected(&name) && names.len() < MOST_NOMINATIONS => names.push(name),
                _ => return Err(malformed("Connection nominates a field that it may not")),
            }
        }
    }
    Ok(names)
}

fn is_protected(name: &HeaderName) -> bool {
    [header::HOST, header::CONTENT_LENGTH, header::TRANSFER_ENCODING].contains(name)
}

fn refuse_h2c(headers: &HeaderMap) -> Result<(), Denial> {
    let asks = headers.get_all(header::UPGRADE).iter().any(|value| {
        value
            .as_bytes()
            .split(|b| *b == b',')
            .any(|token| token.trim_ascii().to_ascii_lowercase().starts_with(b"h2c"))
    });
    if asks || headers.contains_key("http2-settings") {
        return Err(Denial::new(
            Reason::H2cNotAllowed,
            "an upgrade to cleartext HTTP/2 would hide the requests that follow",
        ));
    }
    Ok(())
}

/// A field that makes some frameworks take the request for one of another method than was judged.
fn refuse_method_override(request: &RequestHeader) -> Result<(), Denial> {
    const OVERRIDES: [&str; 3] = ["x-http-method-override", "x-http-method", "x-method-override"];
    let overrides = OVERRIDES.iter().flat_map(|name| request.headers.get_all(*name));
    let method = request.method.as_str().as_bytes();
    if overrides.into_iter().any(|value| !value.as_bytes().eq_ignore_ascii_case(method)) {
        return Err(Denial::new(
            Reason::MethodNotAllowed,
            "a field asks the origin to take the request for one of another method",
        ));
    }
    Ok(())
}

/// Rules for messages on a WebSocket go by a method that no request has; one that claims it would be let out by them.
fn refuse_message_method(method: &Method) -> Result<(), Denial> {
    if method.as_str().eq_ignore_ascii_case(WEBSOCKET_TEXT) {
        let detail = format!("{WEBSOCKET_TEXT} stands for a message on a WebSocket and is no method of HTTP");
        return Err(Denial::new(Reason::MethodNotAllowed, detail));
    }
    Ok(())
}

/// The target's scheme, its authority where it names one, and its path and query.
type SplitTarget<'r> = (Security, Option<&'r [u8]>, &'r [u8]);

fn split_target<'r>(scope: Scope<'_>, request: &'r RequestHeader) -> Result<SplitTarget<'r>, Denial> {
    if request.version == Version::HTTP_2 {
        return split_h2_target(scope, request);
    }
    let raw = request.raw_path();
    match (scope, raw_target_authority(raw)) {
        (
            Scope::Forward(_),
            RawTargetAuthority::Absolute {
                scheme,
                authority,
                path_and_query,
            },
        ) => {
            if !scheme.eq_ignore_ascii_case(b"http") {
                let detail = if scheme.eq_ignore_ascii_case(b"https") {
                    "an https:// target needs a CONNECT tunnel, so that the proxy never holds the client's TLS end in cleartext"
                } else {
                    "only http:// targets are forwarded"
                };
                return Err(malformed(detail));
            }
            Ok((Security::Plain, Some(authority), path_and_query))
        }
        (Scope::Forward(_), _) => Err(malformed("a proxy request needs an absolute http:// target, or CONNECT")),
        (
            Scope::Tunnel(tunnel),
            RawTargetAuthority::Absolute {
                scheme,
                authority,
                path_and_query,
            },
        ) => {
            let security = tunnel.security();
            if !scheme.eq_ignore_ascii_case(security.scheme().as_bytes()) {
                return Err(Denial::new(Reason::AuthorityMismatch, "the target's scheme is not the tunnel's"));
            }
            Ok((security, Some(authority), path_and_query))
        }
        (Scope::Tunnel(tunnel), _) => Ok((tunnel.security(), None, origin_form(raw)?)),
    }
}

fn split_h2_target<'r>(scope: Scope<'_>, request: &'r RequestHeader) -> Result<SplitTarget<'r>, Denial> {
    let Scope::Tunnel(tunnel) = scope else {
        return Err(malformed("HTTP/2 outside a tunnel"));
    };
    let security = tunnel.security();
    if request
        .uri
        .scheme_str()
        .is_some_and(|scheme| !scheme.eq_ignore_ascii_case(security.scheme()))
    {
        return Err(Denial::new(Reason::AuthorityMismatch, "the :scheme is not the tunnel's"));
    }
    let path = request.uri.path_and_query().map_or("", |p| p.as_str());
    Ok((
        security,
        request.uri.authority().map(|a| a.as_str().as_bytes()),
        origin_form(path.as_bytes())?,
    ))
}

/// RFC 9112 section 3.2.1; `*` (section 3.2.4) asks about the server itself and has no path that a policy could list.
fn origin_form(target: &[u8]) -> Result<&[u8], Denial> {
    match target.first() {
        Some(b'/') => Ok(target),
        _ => Err(malformed("the request target is neither a path nor an absolute URI")),
    }
}

fn canonical(target: &[u8]) -> Result<(CanonicalPath, Option<Box<str>>), Denial> {
    let refused =
        |why: &dyn std::fmt::Display| Denial::new(Reason::PathNotCanonical, format!("the request target is not canonical: {why}"));
    let text = std::str::from_utf8(target).map_err(|_| refused(&"it is not ASCII"))?;
    if text.is_empty() || text.starts_with('?') {
        // An absolute URI may leave the path out (RFC 9112 section 3.2.1).
        let root = CanonicalPath::parse("/", EncodedSlash::Keep).map_err(|e| refused(&e))?;
        let query = Target::parse(&format!("/{text}")).map_err(|e| refused(&e))?.query.map(Into::into);
        return Ok((root, query));
    }
    let target = Target::parse(text).map_err(|e| refused(&e))?;
    // Whether `%2F` may stand in a segment is the endpoint's to say; the policy decides with it kept.
    let path = CanonicalPath::parse(target.path, EncodedSlash::Keep).map_err(|e| refused(&e))?;
    Ok((path, target.query.map(Into::into)))
}

/// Target, Host and tunnel name one authority, or the request is refused: domain fronting and routing confusion.
fn one_destination(
    scope: Scope<'_>,
    request: &RequestHeader,
    security: Security,
    from_target: Option<&[u8]>,
) -> Result<Arc<Destination>, Denial> {
    let mut hosts = request.headers.get_all(header::HOST).iter();
    let host = hosts.next();
    if hosts.next().is_some() {
        return Err(malformed("more than one Host field"));
    }
    if host.is_none() && request.version == Version::HTTP_11 {
        return Err(malformed("no Host field"));
    }
    if host.is_none() && from_target.is_none() && request.version == Version::HTTP_2 {
        return Err(malformed("neither :authority nor a Host field"));
    }
    let (mut known, mut settled) = match scope {
        Scope::Tunnel(tunnel) => (Some(tunnel.clone()), true),
        Scope::Forward(last) => (last.cloned(), false),
    };
    for named in [from_target, host.map(HeaderValue::as_bytes)].into_iter().flatten() {
        if known
            .as_ref()
            .is_some_and(|known| known.host_field().as_bytes() == named && known.security() == security)
        {
            settled = true;
            continue;
        }
        let named = read_authority(named, security)?;
        match &known {
            Some(first) if *first.authority() == named && first.security() == security => {}
            Some(first) if settled => {
                let detail = format!("the request names {named} where {} was asked for", first.authority());
                return Err(Denial::new(Reason::AuthorityMismatch, detail));
            }
            _ => known = Some(Arc::new(Destination::new(named, security))),
        }
        settled = true;
    }
    known.filter(|_| settled).ok_or_else(|| malformed("the request names no authority"))
}

fn read_authority(named: &[u8], security: Security) -> Result<Authority, Denial> {
    let text = std::str::from_utf8(named).map_err(|_| malformed("the authority is not ASCII"))?;
    Authority::parse(text, Some(security.default_port())).map_err(|e| malformed(&e.to_string()))
}

#[cfg(test)]
mod tests;
