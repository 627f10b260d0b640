//! Where a request goes: authority and transport security, with the texts that every request needs made once.

use http::HeaderValue;
use tollgate_policy::Authority;

/// Which transport security an origin speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Security {
    /// Cleartext HTTP.
    Plain,
    /// TLS, certificate verified for the authority's host.
    Tls,
}

impl Security {
    /// The URI scheme.
    pub fn scheme(self) -> &'static str {
        match self {
            Security::Plain => "http",
            Security::Tls => "https",
        }
    }

    /// The port that the scheme implies.
    pub fn default_port(self) -> u16 {
        match self {
            Security::Plain => 80,
            Security::Tls => 443,
        }
    }
}

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    authority: Authority,
    security: Security,
    host_field: HeaderValue,
}

impl Destination {
    /// A destination.
    pub fn new(authority: Authority, security: Security) -> Self {
        let text = if authority.port == security.default_port() {
            authority.host.to_string()
        } else {
            authority.to_string()
        };
        // A canonical host has only characters that a field value may have.
        let host_field = HeaderValue::from_str(&text).unwrap_or_else(|_| HeaderValue::from_static("invalid"));
        Destination {
            authority,
            security,
            host_field,
        }
    }

    /// Host and port.
    pub fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Cleartext or TLS.
    pub fn security(&self) -> Security {
        self.security
    }

    /// The Host field (RFC 9110 section 7.2): the scheme's default port is left out.
    pub fn host_field(&self) -> &HeaderValue {
        &self.host_field
    }
}
