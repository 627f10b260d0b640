//! Where a secret may be sent: a host, on one port or all, on one path, below one, or anywhere.

use std::fmt;

use serde::{Deserialize, Deserializer, de::Error as _};
use thiserror::Error;
use tollgate_policy::{Authority, CanonicalPath, EncodedSlash, Host, HostError, PathError};

/// Why a text is no binding.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BindingError {
    /// Its first part.
    #[error("it does not begin with a host, nor with host and port: {0}")]
    Host(#[from] HostError),
    /// Its path.
    #[error("its path is not canonical: {0}")]
    Path(#[from] PathError),
    /// Another path would be meant than the one written.
    #[error("its path is canonical only as `{0}`")]
    Spelling(String),
    /// A pattern in the middle.
    #[error("`*` may stand only in `/**` at the end of the path")]
    Pattern,
}

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// The host, exactly: a pattern would send the secret to whoever registers a name under it.
    pub host: Host,
    /// `None`: every port.
    pub port: Option<u16>,
    /// Where on it.
    pub path: BoundPath,
}

/// The paths of a binding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoundPath {
    /// All.
    Any,
    /// This one.
    Exactly(CanonicalPath),
    /// This one and what lies below it: written with `/**` at its end.
    Below(CanonicalPath),
}

impl Binding {
    /// Parses `name`, `name:port`, an address, or `[v6]:port`; a path may follow.
    pub fn parse(text: &str) -> Result<Self, BindingError> {
        let (place, path) = text.find('/').map_or((text, None), |at| {
            let (place, path) = text.split_at(at);
            (place, Some(path))
        });
        let path = path.map_or(Ok(BoundPath::Any), BoundPath::parse)?;
        if let Ok(host) = Host::parse(place) {
            return Ok(Binding { host, port: None, path });
        }
        let Authority { host, port } = Authority::parse(place, None)?;
        Ok(Binding {
            host,
            port: Some(port),
            path,
        })
    }

    /// Whether the credential may go there.
    pub fn covers(&self, host: &Host, port: u16, path: &CanonicalPath) -> bool {
        self.host == *host && self.port.is_none_or(|bound| bound == port) && self.path.covers(path)
    }
}

impl BoundPath {
    fn parse(text: &str) -> Result<Self, BindingError> {
        let (path, below) = text.strip_suffix("/**").map_or((text, false), |path| (path, true));
        if path.contains('*') {
            return Err(BindingError::Pattern);
        }
        if below && path.is_empty() {
            return Ok(BoundPath::Any);
        }
        let canonical = CanonicalPath::parse(path, EncodedSlash::Keep)?;
        if canonical.as_str() != path {
            return Err(BindingError::Spelling(canonical.to_string()));
        }
        Ok(if below {
            BoundPath::Below(canonical)
        } else {
            BoundPath::Exactly(canonical)
        })
    }

    fn covers(&self, path: &CanonicalPath) -> bool {
        match self {
            BoundPath::Any => true,
            BoundPath::Exactly(bound) => bound == path,
            BoundPath::Below(bound) => {
                // Origins do not agree on where a path with `%2F` lies.
                let rest = path.as_str().strip_prefix(bound.as_str());
                !path.has_encoded_slash() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            }
        }
    }
}

impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(
                f,
                "{}",
                Authority {
                    host: self.host.clone(),
                    port
                }
            )?,
            None => write!(f, "{}", self.host)?,
        }
        match &self.path {
            BoundPath::Any => Ok(()),
            BoundPath::Exactly(path) => write!(f, "{path}"),
            BoundPath::Below(path) => write!(f, "{path}/**"),
        }
    }
}

impl<'de> Deserialize<'de> for Binding {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Binding::parse(&text)
            .map_err(|error| D::Error::custom(format_args!("`{text}` is no place that a credential may be sent to: {error}")))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn covers(binding: &str, host: &str, port: u16, path: &str) -> bool {
        let path = CanonicalPath::parse(path, EncodedSlash::Keep).unwrap();
        Binding::parse(binding).unwrap().covers(&Host::parse(host).unwrap(), port, &path)
    }

    #[test]
    fn a_binding_covers_what_it_says_and_nothing_beside_it() {
        for (binding, host, port, path, expected) in [
            ("a.example", "a.example", 443, "/x", true),
            ("a.example", "A.EXAMPLE", 8443, "/", true),
            ("a.example", "b.a.example", 443, "/", false),
            ("a.example:443", "a.example", 8443, "/", false),
            ("a.example/v1", "a.example", 443, "/v1", true),
            ("a.example/v1", "a.example", 443, "/v1/", false),
            ("a.example/v1", "a.example", 443, "/v1/x", false),
            ("a.example/v1/**", "a.example", 443, "/v1", true),
            ("a.example/v1/**", "a.example", 443, "/v1/x/y", true),
            ("a.example/v1/**", "a.example", 443, "/v10", false),
            ("a.example/v1/**", "a.example", 443, "/v1/x%2fy", false),
            ("a.example/**", "a.example", 443, "/anything", true),
            ("a.example:443/v1/**", "a.example", 443, "/v1/x", true),
            ("[2001:db8::1]:443/v1", "2001:db8::1", 443, "/v1", true),
        ] {
            assert_eq!(covers(binding, host, port, path), expected, "{binding} {host}:{port}{path}");
        }
    }

    #[test]
    fn what_would_cover_more_than_it_seems_is_refused() {
        for (text, expected) in [
            ("*.example", "host"),
            ("a.example/v*/x", "`/**`"),
            ("a.example/*", "`/**`"),
            ("a.example/a/../b", "only as `/b`"),
            ("a.example/%61", "only as `/a`"),
            ("/v1", "host"),
        ] {
            let error = Binding::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
