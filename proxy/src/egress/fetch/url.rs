//! The URL of a service that the operator names, read once and strictly.

use std::fmt;
use std::str::FromStr;

use http::uri::PathAndQuery;
use serde::{Deserialize, Deserializer, de};
use thiserror::Error;
use tollgate_policy::{Authority, Host, HostError};

use super::super::destination::{Destination, Security};

/// Why a text is not the URL of a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ServiceUrlError {
    /// Another scheme, or none.
    #[error("the URL must begin with http:// or https://")]
    Scheme,
    /// A broken host or port, or user information.
    #[error("the URL's host is not usable: {0}")]
    Host(#[from] HostError),
    /// A query or a fragment.
    #[error("the URL must end with its path: no query and no fragment")]
    QueryOrFragment,
    /// A path that has more than one spelling.
    #[error("the URL's path may hold letters, digits and -._~ between single slashes, and no dot segments")]
    Path,
}

/// Scheme, authority and base path of a service; calls are made below the base path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceUrl {
    destination: Destination,
    /// Empty, or begins with a slash and does not end with one.
    base: Box<str>,
}

impl ServiceUrl {
    /// Whom to dial, in clear or over TLS.
    pub fn destination(&self) -> &Destination {
        &self.destination
    }

    /// The request target of `path` (which begins with a slash) below the base path.
    pub fn target(&self, path: &'static str) -> Result<PathAndQuery, http::uri::InvalidUri> {
        PathAndQuery::from_maybe_shared(format!("{}{path}", self.base).into_bytes())
    }

    /// Whether it is an origin alone, without a base path.
    pub fn is_bare(&self) -> bool {
        self.base.is_empty()
    }

    /// `https://host`, or `https://host:port` where that is not the scheme's own.
    pub fn origin(&self) -> String {
        let (security, authority) = (self.destination.security(), self.destination.authority());
        if authority.port == security.default_port() {
            format!("{}://{}", security.scheme(), authority.host)
        } else {
            format!("{}://{authority}", security.scheme())
        }
    }

    /// Whether the service is reached in clear over a network, where someone on the way could answer in its name.
    pub fn is_cleartext_beyond_loopback(&self) -> bool {
        let local = match &self.destination.authority().host {
            Host::Address(address) => address.is_loopback(),
            Host::Name(name) => &**name == "localhost" || name.ends_with(".localhost"),
        };
        self.destination.security() == Security::Plain && !local
    }
}

impl FromStr for ServiceUrl {
    type Err = ServiceUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (security, rest) = match (text.strip_prefix("http://"), text.strip_prefix("https://")) {
            (Some(rest), _) => (Security::Plain, rest),
            (_, Some(rest)) => (Security::Tls, rest),
            _ => return Err(ServiceUrlError::Scheme),
        };
        if rest.contains(['?', '#']) {
            return Err(ServiceUrlError::QueryOrFragment);
        }
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let authority = Authority::parse(authority, Some(security.default_port()))?;
        let base = path.strip_suffix('/').unwrap_or(path);
        if !base.split('/').skip(1).all(is_plain_segment) {
            return Err(ServiceUrlError::Path);
        }
        Ok(ServiceUrl {
            destination: Destination::new(authority, security),
            base: base.into(),
        })
    }
}

fn is_plain_segment(segment: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~');
    !matches!(segment, "" | "." | "..") && segment.bytes().all(plain)
}

impl fmt::Display for ServiceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (security, authority) = (self.destination.security(), self.destination.authority());
        write!(f, "{}://{authority}{}", security.scheme(), self.base)
    }
}

impl<'de> Deserialize<'de> for ServiceUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}
