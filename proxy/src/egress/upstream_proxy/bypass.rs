//! Destinations that are dialled without the other proxy.

use std::net::IpAddr;
use std::str::FromStr;

use ipnet::IpNet;
use thiserror::Error;
use tollgate_policy::Host;

/// Why an entry cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BypassError {
    /// `*`.
    #[error("`*` leaves the proxy out everywhere; leave `upstream.proxy` out instead")]
    Everything,
    /// Neither a name nor an address.
    #[error("`{0}` is neither a host name, `*.` and a host name, an address nor a CIDR range")]
    Unusable(String),
}

/// See the module. Loopback is always among them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bypass {
    hosts: Vec<Box<str>>,
    /// Each begins with a dot: names below it.
    suffixes: Vec<Box<str>>,
    networks: Vec<IpNet>,
}

impl Bypass {
    /// Reads the entries of `upstream.no_proxy`.
    pub fn parse<'t>(entries: impl IntoIterator<Item = &'t str>) -> Result<Self, BypassError> {
        let mut bypass = Bypass::default();
        for entry in entries {
            bypass.add(entry)?;
        }
        Ok(bypass)
    }

    fn add(&mut self, entry: &str) -> Result<(), BypassError> {
        let unusable = || BypassError::Unusable(entry.to_owned());
        if entry == "*" {
            return Err(BypassError::Everything);
        }
        if let Ok(network) = IpNet::from_str(entry) {
            self.networks.push(network);
            return Ok(());
        }
        let (below, name) = match entry.strip_prefix("*.") {
            Some(name) => (true, name),
            None => (false, entry),
        };
        match (Host::parse(name), below) {
            (Ok(Host::Name(name)), true) => self.suffixes.push(format!(".{name}").into()),
            (Ok(Host::Name(name)), false) => self.hosts.push(name),
            (Ok(Host::Address(address)), false) => self.networks.push(address.into()),
            (Ok(Host::Address(_)), true) | (Err(_), _) => return Err(unusable()),
        }
        Ok(())
    }

    /// Whether the other proxy is left out for a host at one of its addresses.
    pub fn covers(&self, host: &Host, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let named = match host {
            Host::Name(name) => {
                self.hosts.iter().any(|listed| listed == name) || self.suffixes.iter().any(|suffix| name.ends_with(&**suffix))
            }
            Host::Address(_) => false,
        };
        named || address.is_loopback() || self.networks.iter().any(|network| network.contains(&address))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_match_whole_and_ranges_match_what_was_judged() {
        let bypass = Bypass::parse(["db.corp.example", "*.Lan.example", "10.0.0.0/8", "fd00::/8", "192.0.2.7"]).unwrap();
        for (host, address, covered) in [
            ("db.corp.example", "198.51.100.1", true),
            ("x.db.corp.example", "198.51.100.1", false),
            ("notdb.corp.example", "198.51.100.1", false),
            ("a.lan.example", "198.51.100.1", true),
            ("a.b.lan.example", "198.51.100.1", true),
            ("lan.example", "198.51.100.1", false),
            ("badlan.example", "198.51.100.1", false),
            ("api.example", "10.1.2.3", true),
            ("api.example", "::ffff:10.1.2.3", true),
            ("api.example", "11.1.2.3", false),
            ("api.example", "fd12::1", true),
            ("192.0.2.7", "192.0.2.7", true),
            ("192.0.2.8", "192.0.2.8", false),
            ("localhost", "127.0.0.1", true),
            ("api.example", "::1", true),
        ] {
            let host_parsed = Host::parse(host).unwrap();
            assert_eq!(bypass.covers(&host_parsed, address.parse().unwrap()), covered, "{host} {address}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_an_error() {
        assert_eq!(Bypass::parse(["*"]), Err(BypassError::Everything));
        for entry in ["", "a b", "*.10.0.0.1", "10.0.0.0/33", "http://a.example", "a.example:80"] {
            assert_eq!(Bypass::parse([entry]), Err(BypassError::Unusable(entry.to_owned())), "{entry}");
        }
    }
}
