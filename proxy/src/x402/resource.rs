//! What is bought. No SDK and no seller compares `resource.url` with the request: binding a payment to the request it travels with is ours.

use std::fmt;

use sha2::{Digest, Sha256};
use tollgate_policy::Authority;

use super::carriers::Carrier;
use super::claim::{RequestHash, Resource};

/// `http` or `https`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UrlScheme {
    /// Cleartext.
    Http,
    /// TLS.
    Https,
}

impl UrlScheme {
    /// The text before `://`.
    pub const fn as_str(self) -> &'static str {
        match self {
            UrlScheme::Http => "http",
            UrlScheme::Https => "https",
        }
    }

    /// The port that a URL may leave out.
    pub const fn default_port(self) -> u16 {
        match self {
            UrlScheme::Http => 80,
            UrlScheme::Https => 443,
        }
    }
}

/// Whether a seller behind TLS offload may announce `http://` for a resource that is requested by `https`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpResource {
    /// The schemes have to be equal.
    Refused,
    /// `http://` may stand for `https://`.
    Allowed,
}

/// The request that a payment travels with.
#[derive(Clone, Copy)]
pub struct PaymentRequest<'r> {
    /// As on the wire, e.g. `GET`.
    pub method: &'r str,
    /// How the client reaches the origin.
    pub scheme: UrlScheme,
    /// Whose origin it is.
    pub authority: &'r Authority,
    /// The canonical path, without the query; what the origin will see.
    pub path: &'r str,
    /// The raw query without `?`.
    pub query: Option<&'r str>,
    /// What of the request is paid for.
    pub carrier: Carrier<'r>,
}

/// Without the query: secrets live there.
impl fmt::Debug for PaymentRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}://{}{}", self.method, self.scheme.as_str(), self.authority, self.path)
    }
}

impl<'r> PaymentRequest<'r> {
    /// The same endpoint, for what a call in a body asks of it. Calls are posted, also where their answers come over another request.
    #[must_use]
    pub fn carrying(self, carrier: Carrier<'r>) -> Self {
        let method = if carrier == Carrier::Head { self.method } else { "POST" };
        PaymentRequest { method, carrier, ..self }
    }

    /// What a verdict service may be told.
    pub fn resource(&self) -> Resource {
        let (scheme, path) = match self.carrier {
            Carrier::Tool(name) => ("mcp", format!("tool/{name}")),
            // The URI of a reading may have secrets in it, as a query has.
            Carrier::Head | Carrier::Task(_) | Carrier::Reading(_) | Carrier::Prompt(_) => (self.scheme.as_str(), self.path.to_owned()),
        };
        Resource {
            method: self.method.into(),
            scheme,
            authority: self.authority.clone(),
            path,
        }
    }

    /// Names this request, or what of the endpoint is called: an MCP server's answers may come by another path than the calls.
    pub fn hash(&self) -> RequestHash {
        let mut hash = Sha256::new();
        let mut part = |part: &str| {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        };
        part(self.method);
        part(self.scheme.as_str());
        part(&self.authority.to_string());
        if matches!(self.carrier, Carrier::Head | Carrier::Task(_)) {
            part(self.path);
            part(self.query.unwrap_or("\0"));
        }
        if self.carrier != Carrier::Head {
            part(self.carrier.kind());
            part(self.carrier.name().unwrap_or("\0"));
        }
        RequestHash(hash.finalize().into())
    }
}

/// What a payment, an offer or a pin says it is for, taken apart.
#[derive(Clone, PartialEq, Eq)]
pub enum ResourceUrl {
    /// An `http` or `https` URL.
    Web(WebUrl),
    /// `mcp://tool/<name>`.
    Tool(Box<str>),
}

/// An `http` or `https` URL, taken apart.
#[derive(Clone, PartialEq, Eq)]
pub struct WebUrl {
    scheme: UrlScheme,
    authority: Authority,
    explicit_port: bool,
    path: String,
    query: Option<String>,
}

/// Without the query: secrets live there.
impl fmt::Debug for ResourceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResourceUrl::Web(url) => write!(f, "{}://{}{}", url.scheme.as_str(), url.authority, url.path),
            ResourceUrl::Tool(name) => write!(f, "mcp://tool/{name}"),
        }
    }
}

impl ResourceUrl {
    /// Parses `http(s)://host[:port][/path][?query]` and `mcp://tool/<name>`; `None` for anything else: other schemes, user information, a
    /// fragment, a backslash, blanks or bytes outside ASCII, which URL parsers read differently.
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        if !rest.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'\\' | b'#')) {
            return None;
        }
        match scheme {
            "http" => web(UrlScheme::Http, rest).map(ResourceUrl::Web),
            "https" => web(UrlScheme::Https, rest).map(ResourceUrl::Web),
            "mcp" => {
                let name = rest.strip_prefix("tool/")?;
                (!name.is_empty() && !name.contains(['?', '%'])).then(|| ResourceUrl::Tool(name.into()))
            }
            _ => None,
        }
    }

    /// Whether this is on the requested site: scheme, host and port.
    pub(super) fn is_on_the_site_of(&self, request: &PaymentRequest<'_>) -> bool {
        match self {
            ResourceUrl::Web(url) => url.scheme == request.scheme && url.authority == *request.authority,
            ResourceUrl::Tool(_) => false,
        }
    }

    /// Whether this names what the request asks for.
    pub fn names(&self, request: &PaymentRequest<'_>, http: HttpResource) -> bool {
        match self {
            ResourceUrl::Web(url) => url.names(request, http),
            ResourceUrl::Tool(name) => request.method == "POST" && request.carrier == Carrier::Tool(name),
        }
    }
}

fn web(scheme: UrlScheme, rest: &str) -> Option<WebUrl> {
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, target) = rest.split_at(end);
    let explicit_port = authority.ends_with(|c: char| c.is_ascii_digit()) && authority.rsplit_once(':').is_some();
    let authority = Authority::parse(authority, Some(scheme.default_port())).ok()?;
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query.to_owned())),
        None => (target, None),
    };
    Some(WebUrl {
        scheme,
        explicit_port,
        authority,
        path: if path.is_empty() { "/".to_owned() } else { path.to_owned() },
        query,
    })
}

impl WebUrl {
    /// Whether this names the requested resource. A URL without a query names the path: that is what several seller frameworks announce for
    /// a request that has a query. A URL with a query has to have the request's.
    fn names(&self, request: &PaymentRequest<'_>, http: HttpResource) -> bool {
        let offloaded = http == HttpResource::Allowed && self.scheme == UrlScheme::Http && request.scheme == UrlScheme::Https;
        let port = if offloaded && !self.explicit_port {
            request.authority.port
        } else {
            self.authority.port
        };
        (self.scheme == request.scheme || offloaded)
            && port == request.authority.port
            && self.authority.host == request.authority.host
            && same_path(&self.path, request.path)
            && (self.query.is_none() || self.query.as_deref() == request.query)
    }
}

/// Equal but for percent-encoding; an encoded slash stays different from a slash.
fn same_path(left: &str, right: &str) -> bool {
    left == right || decoded(left).eq(decoded(right))
}

fn decoded(path: &str) -> impl Iterator<Item = (u8, bool)> {
    let mut rest = path.as_bytes();
    std::iter::from_fn(move || {
        let (first, after) = rest.split_first()?;
        if *first == b'%'
            && let Some((digits, after)) = after.split_at_checked(2)
            && let Some(byte) = std::str::from_utf8(digits)
                .ok()
                .filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))
                .and_then(|d| u8::from_str_radix(d, 16).ok())
        {
            rest = after;
            // A reserved character means one thing bare and another encoded.
            return Some((byte, !byte.is_ascii_alphanumeric() && !matches!(byte, b'-' | b'.' | b'_' | b'~')));
        }
        rest = after;
        Some((*first, false))
    })
}

#[cfg(test)]
mod tests;
