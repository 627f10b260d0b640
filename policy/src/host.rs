//! Hosts and authorities in their one canonical form.
//!
//! In: text from a CONNECT line, a Host field, a TLS server name, a policy. Out: a [`Host`] or [`Authority`] that compares
//! byte for byte, or an error. Names are lower-case ASCII without a trailing dot; IPv4 exists in dotted form only, so that
//! `0x7f.1`, `2130706433` and `127.1` can never be a second spelling of an address that the address guard refuses.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use thiserror::Error;

#[cfg(test)]
mod tests;

/// Why a text is not a host or an authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum HostError {
    /// Nothing there.
    #[error("the host is empty")]
    Empty,
    /// Longer than DNS allows (RFC 1035 2.3.4).
    #[error("the host is longer than 253 characters, or one of its labels than 63")]
    TooLong,
    /// An empty label, or a trailing dot.
    #[error("the host has an empty label or a trailing dot")]
    EmptyLabel,
    /// Not a letter, digit, hyphen or underscore; or a hyphen where a label begins or ends, which no certificate can carry.
    #[error("the host has a character that no host name has")]
    BadCharacter,
    /// A last label of digits or hex: a number that some resolvers read as an IPv4 address.
    #[error("the host is an IP address in a spelling other than the canonical one")]
    NumericSpelling,
    /// A broken `[…]`.
    #[error("the IPv6 address is not well-formed")]
    BadIpv6,
    /// User information before the host.
    #[error("an authority may not carry user information")]
    UserInfo,
    /// No port, or not one from 1 to 65535.
    #[error("the port is missing or not a number from 1 to 65535")]
    BadPort,
}

/// A DNS name or an IP address.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Host {
    /// A lower-case DNS name without trailing dot.
    Name(Box<str>),
    /// An IP address.
    Address(IpAddr),
}

impl Host {
    /// Parses a name, an IPv4 literal, or an IPv6 literal with or without brackets.
    pub fn parse(text: &str) -> Result<Self, HostError> {
        if text.is_empty() {
            return Err(HostError::Empty);
        }
        if let Some(inner) = text.strip_prefix('[') {
            let inner = inner.strip_suffix(']').ok_or(HostError::BadIpv6)?;
            return inner
                .parse::<Ipv6Addr>()
                .map(|a| Host::Address(a.into()))
                .map_err(|_| HostError::BadIpv6);
        }
        if text.contains(':') {
            return text
                .parse::<Ipv6Addr>()
                .map(|a| Host::Address(a.into()))
                .map_err(|_| HostError::BadIpv6);
        }
        if let Ok(address) = text.parse::<Ipv4Addr>() {
            return Ok(Host::Address(address.into()));
        }
        Self::parse_name(text)
    }

    fn parse_name(text: &str) -> Result<Self, HostError> {
        if text.len() > 253 {
            return Err(HostError::TooLong);
        }
        for label in text.split('.') {
            if label.is_empty() {
                return Err(HostError::EmptyLabel);
            }
            if label.len() > 63 {
                return Err(HostError::TooLong);
            }
            if !label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_') || label.starts_with('-') || label.ends_with('-')
            {
                return Err(HostError::BadCharacter);
            }
        }
        // WHATWG URL "ends in a number": libc and browsers would read such a host as IPv4.
        let last = text.rsplit('.').next().unwrap_or_default();
        let hex = last.strip_prefix("0x").or_else(|| last.strip_prefix("0X"));
        if last.bytes().all(|b| b.is_ascii_digit()) || hex.is_some_and(|h| h.bytes().all(|b| b.is_ascii_hexdigit())) {
            return Err(HostError::NumericSpelling);
        }
        Ok(Host::Name(text.to_ascii_lowercase().into_boxed_str()))
    }

    /// The DNS name, unless it is an address.
    pub fn name(&self) -> Option<&str> {
        match self {
            Host::Name(name) => Some(name),
            Host::Address(_) => None,
        }
    }

    /// The address, if the host is a literal.
    pub fn address(&self) -> Option<IpAddr> {
        match self {
            Host::Name(_) => None,
            Host::Address(address) => Some(*address),
        }
    }
}

/// As in a URL: IPv6 in brackets.
impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Name(name) => f.write_str(name),
            Host::Address(IpAddr::V4(address)) => address.fmt(f),
            Host::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

/// A host and a port.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Authority {
    /// The host.
    pub host: Host,
    /// The port, never 0.
    pub port: u16,
}

impl Authority {
    /// Parses `host:port`; `default_port` stands in where the text has none (`None`: a port is required, as in CONNECT).
    pub fn parse(text: &str, default_port: Option<u16>) -> Result<Self, HostError> {
        if text.contains('@') {
            return Err(HostError::UserInfo);
        }
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (inner, after) = rest.split_once(']').ok_or(HostError::BadIpv6)?;
                let address: Ipv6Addr = inner.parse().map_err(|_| HostError::BadIpv6)?;
                let port = match after {
                    "" => None,
                    after => Some(after.strip_prefix(':').ok_or(HostError::BadPort)?),
                };
                (Host::Address(address.into()), port)
            }
            None => match text.split_once(':') {
                Some((host, port)) => (Self::unbracketed(host)?, Some(port)),
                None => (Self::unbracketed(text)?, None),
            },
        };
        let port = match port {
            Some(digits) => parse_port(digits)?,
            None => default_port.ok_or(HostError::BadPort)?,
        };
        Ok(Authority { host, port })
    }

    fn unbracketed(text: &str) -> Result<Host, HostError> {
        match Host::parse(text)? {
            Host::Address(IpAddr::V6(_)) => Err(HostError::BadIpv6),
            host => Ok(host),
        }
    }
}

fn parse_port(digits: &str) -> Result<u16, HostError> {
    if digits.is_empty() || digits.len() > 5 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(HostError::BadPort);
    }
    match digits.parse::<u16>() {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(HostError::BadPort),
    }
}

impl fmt::Display for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}
