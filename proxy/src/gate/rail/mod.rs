//! The rail rule: ways to move money that are not the payment rule's. They are shut whatever the policy says; no verdict opens one.
//!
//! Five looks, each at its own time: the destination's name (before anything is dialled), its address (after resolving), the request's head
//! (authentication schemes, paths), the body (JSON-RPC broadcasts, facilitator calls, loose signatures), and what the answer offers to be paid
//! by. In: `http` types and bytes. Out: a [`RailHit`], or nothing. Pure.
//!
//! No list of hosts is ever complete. The control is the policy's allow-list; this list guards against a careless allow rule.

pub mod address;
pub mod call;
pub mod destination;
pub mod list;
pub mod offered;
pub(crate) mod preamble;
pub mod scheme;
pub mod target;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;

use ipnet::IpNet;
use serde::Deserialize;
use thiserror::Error;
use tollgate_policy::{Authority, Host, HostError, Reason};

/// `rails:` of tollgate.yaml. Adds to the built-in list; nothing can be taken from it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RailsConfig {
    /// `name` (any port) or `name:port`; `*.name` means every name below it.
    pub hosts: Vec<String>,
    /// Networks or single addresses in CIDR notation.
    pub addresses: Vec<String>,
}

/// Why rails can't be compiled.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RailsError {
    /// An entry of `rails.hosts`.
    #[error("rails.hosts[{index}]: {error}")]
    Host {
        /// Its place.
        index: usize,
        /// What is wrong.
        error: HostError,
    },
    /// An entry of `rails.addresses`.
    #[error("rails.addresses[{index}]: expected a network such as 203.0.113.0/24 or 2001:db8::/32")]
    Address {
        /// Its place.
        index: usize,
    },
    /// The list that is compiled in; a test keeps this from happening.
    #[error("the built-in rail list is broken: {0}")]
    BuiltIn(String),
}

/// Something that is a rail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RailHit {
    /// A `rail_*` reason, or a `payment_*` one for an x402 payment in a body that is in no place where it is judged.
    pub reason: Reason,
    /// One sentence for a human; fixed text.
    pub detail: Cow<'static, str>,
    /// Which entry of the list it was.
    pub entry: Box<str>,
}

impl RailHit {
    pub(crate) fn new(reason: Reason, detail: impl Into<Cow<'static, str>>, entry: impl Into<Box<str>>) -> Self {
        RailHit {
            reason,
            detail: detail.into(),
            entry: entry.into(),
        }
    }
}

impl fmt::Display for RailHit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.detail, self.entry)
    }
}

/// The compiled rails.
#[derive(Debug)]
pub struct Rails {
    pub(crate) list: list::List,
    pub(crate) hosts: HashMap<Box<str>, Box<str>>,
    pub(crate) suffixes: HashSet<Box<str>>,
    pub(crate) own: Vec<OwnHost>,
    pub(crate) networks: Vec<IpNet>,
    pub(crate) triggers: call::Triggers,
}

/// An entry of the operator's.
#[derive(Debug)]
pub(crate) struct OwnHost {
    pub(crate) host: Host,
    pub(crate) below: bool,
    pub(crate) port: Option<u16>,
    pub(crate) text: Box<str>,
}

impl Rails {
    /// Compiles the built-in list and the operator's additions.
    pub fn new(config: &RailsConfig) -> Result<Self, RailsError> {
        let list = list::List::built_in()?;
        let mut hosts = HashMap::new();
        let mut suffixes = HashSet::new();
        for entry in &list.hosts {
            match entry.host.strip_prefix("*.") {
                Some(apex) => {
                    suffixes.insert(apex.into());
                }
                None => {
                    hosts.insert(entry.host.clone(), entry.source.clone());
                }
            }
        }
        Ok(Rails {
            triggers: call::Triggers::new(&list)?,
            list,
            hosts,
            suffixes,
            own: config
                .hosts
                .iter()
                .enumerate()
                .map(|(index, text)| own_host(text).map_err(|error| RailsError::Host { index, error }))
                .collect::<Result<_, _>>()?,
            networks: config
                .addresses
                .iter()
                .enumerate()
                .map(|(index, text)| {
                    text.parse::<IpNet>()
                        .or_else(|_| text.parse::<std::net::IpAddr>().map(IpNet::from))
                        .map_err(|_| RailsError::Address { index })
                })
                .collect::<Result<_, _>>()?,
        })
    }
}

fn own_host(text: &str) -> Result<OwnHost, HostError> {
    let (below, rest) = match text.strip_prefix("*.") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (host, port) = if let Ok(host) = Host::parse(rest) {
        (host, None)
    } else {
        let authority = Authority::parse(rest, None)?;
        (authority.host, Some(authority.port))
    };
    Ok(OwnHost {
        host,
        below,
        port,
        text: text.into(),
    })
}

#[cfg(test)]
mod tests;
