//! Endpoints that overlap have to agree on how their traffic is treated.
//!
//! Who may send what is the union of all matching endpoints. How it is treated is one thing only: TLS is terminated or not, a denial
//! is enforced or not. Where two endpoints of the same rank disagree, either answer would surprise one of the authors.

use std::collections::{HashMap, HashSet};

use crate::address::AddressScope;
use crate::diagnostic::{Code, Diagnostics};
use crate::host::Host;
use crate::policy::{Endpoint, Protocol, Tls};

/// No more than this many pairs are reported: they mostly have one cause.
const MAX_REPORTS: usize = 50;

pub(super) fn check(endpoints: &[Endpoint], found: &mut Diagnostics) {
    let groups = Groups::of(endpoints);
    let mut seen: HashSet<(usize, usize)> = HashSet::new();
    for (index, endpoint) in endpoints.iter().enumerate() {
        for other_index in groups.overlapping(endpoint) {
            let Some(other) = endpoints.get(other_index) else { continue };
            if other_index == index || !shares_port(endpoint, other) || !hosts_overlap(endpoint, other) {
                continue;
            }
            let Some(what) = disagreement(other, endpoint) else { continue };
            if !seen.insert((index.min(other_index), index.max(other_index))) {
                continue;
            }
            if seen.len() > MAX_REPORTS {
                return;
            }
            report(other, endpoint, what, found);
        }
    }
}

fn report(a: &Endpoint, b: &Endpoint, what: &str, found: &mut Diagnostics) {
    let (first, second) = if a.at <= b.at { (a, b) } else { (b, a) };
    let message = format!(
        "this endpoint ({}) overlaps the one of rule `{}` on line {} ({}), and they disagree on {what}",
        second.host_text(),
        first.rule_key,
        first.at.line,
        first.host_text(),
    );
    found.error(
        Code::AmbiguousEndpoints,
        second.at,
        message,
        "give both the same, or keep them apart by host, port or a more specific `path`",
    );
}

fn disagreement(a: &Endpoint, b: &Endpoint) -> Option<&'static str> {
    if a.tls != b.tls {
        return Some("`tls`");
    }
    if matches!((&a.addresses, &b.addresses), (AddressScope::AllowedRanges(x), AddressScope::AllowedRanges(y)) if x != y && a.host.is_some() && b.host.is_some())
    {
        return Some("`allowed_ips`");
    }
    let same_rank = a.path.specificity() == b.path.specificity() && a.path.overlaps(&b.path);
    if !same_rank || is_plain(a) || is_plain(b) {
        return None;
    }
    if a.protocol() != b.protocol() {
        Some("`protocol`")
    } else if a.enforcement != b.enforcement {
        Some("`enforcement`")
    } else if a.encoded_slash != b.encoded_slash {
        Some("`allow_encoded_slash`")
    } else {
        None
    }
}

/// Passes whatever is sent, so that it has no treatment of its own to disagree about.
fn is_plain(endpoint: &Endpoint) -> bool {
    endpoint.protocol() == Protocol::L4 && endpoint.tls == Tls::Auto
}

fn shares_port(a: &Endpoint, b: &Endpoint) -> bool {
    a.ports.iter().any(|port| b.ports.binary_search(port).is_ok())
}

fn hosts_overlap(a: &Endpoint, b: &Endpoint) -> bool {
    match (&a.host, &b.host) {
        (Some(a), Some(b)) => a.overlaps(b),
        _ => true,
    }
}

/// Endpoints by what their hosts can have in common, so that a policy of many hosts is not compared pair by pair.
#[derive(Default)]
struct Groups<'a> {
    exact: HashMap<&'a Host, Vec<usize>>,
    /// By tail, and by each suffix of a tail.
    wildcards: HashMap<&'a str, Vec<usize>>,
    any_host: Vec<usize>,
    all: usize,
}

impl<'a> Groups<'a> {
    fn of(endpoints: &'a [Endpoint]) -> Self {
        let mut groups = Groups {
            all: endpoints.len(),
            ..Groups::default()
        };
        for (index, endpoint) in endpoints.iter().enumerate() {
            match &endpoint.host {
                None => groups.any_host.push(index),
                Some(pattern) => match pattern.as_exact() {
                    Some(host) => groups.exact.entry(host).or_default().push(index),
                    None => groups.wildcards.entry(pattern.tail().unwrap_or_default()).or_default().push(index),
                },
            }
        }
        groups
    }

    /// Those that may overlap; a pair is found from at least one of its sides, so both orders are looked at.
    fn overlapping(&self, endpoint: &'a Endpoint) -> Vec<usize> {
        let Some(pattern) = &endpoint.host else {
            return (0..self.all).collect();
        };
        let mut others = self.any_host.clone();
        let suffixes_of = match pattern.as_exact() {
            Some(host) => {
                others.extend(self.exact.get(host).into_iter().flatten());
                host.name().unwrap_or_default()
            }
            None => pattern.tail().unwrap_or_default(),
        };
        let mut rest = Some(suffixes_of);
        while let Some(suffix) = rest {
            others.extend(self.wildcards.get(suffix).into_iter().flatten());
            rest = suffix.split_once('.').map(|(_, tail)| tail);
        }
        others
    }
}
