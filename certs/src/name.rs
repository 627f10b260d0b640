//! What a leaf certificate is for: a DNS name or an address.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use rustls::pki_types::DnsName;

/// The text is neither a DNS name nor an IP address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a DNS name or an IP address")]
pub struct LeafNameError;

/// The subject of a leaf certificate. Two spellings of one DNS name (case, a trailing dot) are one name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum LeafName {
    /// A DNS name in lower case, without a trailing dot; never a wildcard.
    Dns(DnsName<'static>),
    /// An IP address.
    Ip(IpAddr),
}

impl From<IpAddr> for LeafName {
    fn from(address: IpAddr) -> Self {
        Self::Ip(address)
    }
}

impl FromStr for LeafName {
    type Err = LeafNameError;

    /// Reads a host as it stands in an authority; IPv6 without brackets.
    fn from_str(host: &str) -> Result<Self, LeafNameError> {
        if let Ok(address) = IpAddr::from_str(host) {
            return Ok(Self::Ip(address));
        }
        DnsName::try_from(host)
            .map(|name| Self::Dns(name.to_lowercase_owned()))
            .map_err(|_| LeafNameError)
    }
}

impl fmt::Display for LeafName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dns(name) => f.write_str(name.as_ref()),
            Self::Ip(address) => address.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn spellings_of_one_name_are_one_name() {
        let name = LeafName::from_str("api.example.com").unwrap();
        for other in ["API.Example.COM", "api.example.com."] {
            assert_eq!(LeafName::from_str(other).unwrap(), name, "{other}");
        }
        assert_eq!(name.to_string(), "api.example.com");
        assert_eq!(LeafName::from_str("API.example.com.").unwrap().to_string(), "api.example.com");
    }

    #[test]
    fn addresses_are_addresses() {
        for (text, shown) in [("192.0.2.1", "192.0.2.1"), ("2001:DB8::0:1", "2001:db8::1")] {
            let name = LeafName::from_str(text).unwrap();
            assert!(matches!(name, LeafName::Ip(_)), "{text}");
            assert_eq!(name.to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_name_gets_no_certificate() {
        for text in [
            "",
            ".",
            "*.example.com",
            "a b",
            "a..b",
            "1.2.3",
            "[::1]",
            "exam\u{e9}.com",
            "a\0b",
            "-a.com",
            "host:443",
        ] {
            assert_eq!(LeafName::from_str(text), Err(LeafNameError), "{text:?}");
        }
    }
}
