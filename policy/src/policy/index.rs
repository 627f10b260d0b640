//! From a host and a port to the endpoints that list them, without looking at any other.
//!
//! Exact hosts are found by hash. A wildcard is filed under the whole labels to the right of its last `*`; a host's own suffixes
//! are looked up there, so the work grows with the labels of the host, not with the policy. Under each name the endpoints are
//! sorted by port.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use super::{Endpoint, EndpointId};
use crate::host::Host;
use crate::matcher::HostPattern;

/// Endpoints under one host or pattern, sorted by port, then id.
type Ports = Box<[(u16, EndpointId)]>;

/// Patterns of one tail while the index is built, by text.
type Patterns = HashMap<Box<str>, (HostPattern, Vec<(u16, EndpointId)>)>;

#[derive(Debug, Default)]
pub(crate) struct Index {
    names: HashMap<Box<str>, Ports>,
    addresses: HashMap<IpAddr, Ports>,
    /// By tail; see [`HostPattern::tail`].
    wildcards: HashMap<Box<str>, Box<[(HostPattern, Ports)]>>,
    any_host: Ports,
    /// The longest and shortest tail in bytes: suffixes outside are not even hashed.
    tail_lengths: (usize, usize),
}

/// How much of the policy knows a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum HostLevel {
    Unknown,
    /// Listed, with other ports.
    Host,
    /// Listed with this port.
    Port,
}

impl Index {
    pub(crate) fn build(endpoints: &[Arc<Endpoint>]) -> Self {
        let mut names: HashMap<Box<str>, Vec<(u16, EndpointId)>> = HashMap::new();
        let mut addresses: HashMap<IpAddr, Vec<(u16, EndpointId)>> = HashMap::new();
        let mut wildcards: HashMap<Box<str>, Patterns> = HashMap::new();
        let mut any_host = Vec::new();
        for endpoint in endpoints {
            let entries = match &endpoint.host {
                None => &mut any_host,
                Some(pattern) => match pattern.as_exact() {
                    Some(Host::Name(name)) => names.entry(name.clone()).or_default(),
                    Some(Host::Address(address)) => addresses.entry(*address).or_default(),
                    None => {
                        let tail = wildcards.entry(pattern.tail().unwrap_or_default().into()).or_default();
                        &mut tail
                            .entry(pattern.as_str().into())
                            .or_insert_with(|| (pattern.clone(), Vec::new()))
                            .1
                    }
                },
            };
            entries.extend(endpoint.ports.iter().map(|port| (*port, endpoint.id)));
        }
        let lengths = wildcards.keys().map(|tail| tail.len());
        let tail_lengths = (lengths.clone().min().unwrap_or(usize::MAX), lengths.max().unwrap_or(0));
        Index {
            names: names.into_iter().map(|(name, ports)| (name, sorted(ports))).collect(),
            addresses: addresses.into_iter().map(|(address, ports)| (address, sorted(ports))).collect(),
            wildcards: wildcards
                .into_iter()
                .map(|(tail, patterns)| {
                    (
                        tail,
                        patterns.into_values().map(|(pattern, ports)| (pattern, sorted(ports))).collect(),
                    )
                })
                .collect(),
            any_host: sorted(any_host),
            tail_lengths,
        }
    }

    /// Calls `found` with every endpoint that lists this host with this port.
    pub(crate) fn candidates(&self, host: &Host, port: u16, mut found: impl FnMut(EndpointId)) -> HostLevel {
        let mut level = HostLevel::Unknown;
        self.listings(host, |ports| {
            level = level.max(HostLevel::Host);
            for id in with_port(ports, port) {
                level = HostLevel::Port;
                found(id);
            }
        });
        // Says nothing of the host: a request to a port that no such endpoint has is for an unknown host, not for a known one.
        for id in with_port(&self.any_host, port) {
            level = HostLevel::Port;
            found(id);
        }
        level
    }

    /// Calls `found` with every endpoint that lists this host, whatever its ports; an endpoint of several ports comes several times.
    pub(crate) fn any_port(&self, host: &Host, mut found: impl FnMut(EndpointId)) {
        self.listings(host, |ports| ports.iter().for_each(|(_, id)| found(*id)));
    }

    /// The first endpoint that lists exactly this name.
    pub(crate) fn exact_name(&self, name: &str) -> Option<EndpointId> {
        self.names.get(name).and_then(|ports| ports.first()).map(|(_, id)| *id)
    }

    /// The first endpoint with a wildcard directly above this name, such as `*.example.com` for `example.com`.
    pub(crate) fn wildcard_above(&self, name: &str) -> Option<EndpointId> {
        let patterns = self.wildcards.get(name)?;
        // `*.` and `**.` may both stand there, in the order of a hash map: the same policy must always point at the same rule.
        let above = patterns.iter().filter(|(pattern, _)| pattern.apex() == Some(name));
        above.flat_map(|(_, ports)| ports.iter().map(|(_, id)| *id)).min()
    }

    fn listings(&self, host: &Host, mut found: impl FnMut(&Ports)) {
        let name = match host {
            Host::Address(address) => {
                if let Some(ports) = self.addresses.get(address) {
                    found(ports);
                }
                return;
            }
            Host::Name(name) => name,
        };
        if let Some(ports) = self.names.get(&**name) {
            found(ports);
        }
        let (shortest, longest) = self.tail_lengths;
        let mut rest: &str = name;
        while let Some((_, tail)) = rest.split_once('.') {
            rest = tail;
            if tail.len() < shortest {
                break;
            }
            if tail.len() > longest {
                continue;
            }
            for (pattern, ports) in self.wildcards.get(tail).into_iter().flatten() {
                if pattern.matches(host) {
                    found(ports);
                }
            }
        }
    }
}

fn sorted(mut ports: Vec<(u16, EndpointId)>) -> Ports {
    ports.sort_unstable();
    ports.dedup();
    ports.into_boxed_slice()
}

fn with_port(ports: &Ports, port: u16) -> impl Iterator<Item = EndpointId> + '_ {
    let start = ports.partition_point(|(own, _)| *own < port);
    ports.iter().skip(start).take_while(move |(own, _)| *own == port).map(|(_, id)| *id)
}
