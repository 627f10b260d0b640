//! Endpoints that overlap have to agree on how their traffic is treated.
//!
//! Who may send what is the union of all matching endpoints. How it is treated is one thing only: TLS is terminated or not, a denial
//! is enforced or not. Where two endpoints of the same rank disagree, either answer would surprise one of the authors.

use std::collections::{HashMap, HashSet};

use ipnet::IpNet;

use crate::address::AddressScope;
use crate::diagnostic::{Code, Diagnostics};
use crate::host::Host;
use crate::operation::BodyReading;
use crate::path::EncodedSlash;
use crate::policy::{Endpoint, Enforcement, OtherMethods, Protocol, Tls};

/// No more than this many pairs are reported: they mostly have one cause.
const MAX_REPORTS: usize = 50;

pub(super) fn check(endpoints: &[Endpoint], found: &mut Diagnostics) {
    let groups = Groups::of(endpoints);
    let mut seen: HashSet<(usize, usize)> = HashSet::new();
    for (index, endpoint) in endpoints.iter().enumerate() {
        groups.others(index, endpoint, |other_index| {
            let Some(other) = endpoints.get(other_index) else { return };
            if seen.len() >= MAX_REPORTS || !shares_port(endpoint, other) {
                return;
            }
            let Some(what) = disagreement(other, endpoint).filter(|_| hosts_overlap(endpoint, other)) else {
                return;
            };
            if seen.insert((index.min(other_index), index.max(other_index))) {
                report(other, endpoint, what, found);
            }
        });
    }
}

fn report(a: &Endpoint, b: &Endpoint, what: &str, found: &mut Diagnostics) {
    let (first, second) = if a.at <= b.at { (a, b) } else { (b, a) };
    let message = format!(
        "this endpoint ({}) overlaps the one of rule `{}` on {} ({}), and they disagree on {what}",
        second.host_text(),
        first.rule_key,
        found.other_place(first.at, second.at),
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
    } else if a.reading().map(|own| own.limit) != b.reading().map(|own| own.limit) {
        Some("how large a body may be")
    } else if a.reading() != b.reading() || a.other_methods() != b.other_methods() {
        Some("`mcp`")
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

/// Everything that overlapping endpoints have to agree on.
type Treatment<'a> = (
    Tls,
    Protocol,
    Enforcement,
    EncodedSlash,
    Option<&'a BodyReading>,
    Option<OtherMethods>,
    Option<&'a [IpNet]>,
);

fn treatment(endpoint: &Endpoint) -> Treatment<'_> {
    let ranges = match &endpoint.addresses {
        AddressScope::AllowedRanges(ranges) => Some(&**ranges),
        _ => None,
    };
    (
        endpoint.tls,
        endpoint.protocol(),
        endpoint.enforcement,
        endpoint.encoded_slash,
        endpoint.reading(),
        endpoint.other_methods(),
        ranges,
    )
}

/// Endpoints by what their hosts can have in common and by their treatment: those with the same treatment can't disagree, and hosts
/// that share no suffix can't overlap, so that a large policy is not compared pair by pair.
#[derive(Default)]
struct Groups<'a> {
    exact: HashMap<&'a Host, Vec<usize>>,
    /// By tail.
    wildcards: HashMap<&'a str, Vec<usize>>,
    any_host: Vec<usize>,
    /// By index: a number for each different treatment.
    treatments: Vec<usize>,
    different: usize,
}

impl<'a> Groups<'a> {
    fn of(endpoints: &'a [Endpoint]) -> Self {
        let mut groups = Groups::default();
        let mut numbers: HashMap<Treatment<'a>, usize> = HashMap::new();
        for (index, endpoint) in endpoints.iter().enumerate() {
            let next = numbers.len();
            groups.treatments.push(*numbers.entry(treatment(endpoint)).or_insert(next));
            match &endpoint.host {
                None => groups.any_host.push(index),
                Some(pattern) => match pattern.as_exact() {
                    Some(host) => groups.exact.entry(host).or_default().push(index),
                    None => groups.wildcards.entry(pattern.tail().unwrap_or_default()).or_default().push(index),
                },
            }
        }
        groups.different = numbers.len();
        groups
    }

    /// Calls `found` with those that may overlap and disagree. Each such pair is found from at least one of its sides.
    fn others(&self, index: usize, endpoint: &'a Endpoint, mut found: impl FnMut(usize)) {
        if self.different < 2 {
            return;
        }
        let own = self.treatments.get(index);
        let mut look = |group: &[usize]| {
            for other in group.iter().filter(|other| self.treatments.get(**other) != own) {
                found(*other);
            }
        };
        let Some(pattern) = &endpoint.host else {
            self.exact.values().chain(self.wildcards.values()).for_each(|group| look(group));
            look(&self.any_host);
            return;
        };
        let suffixes_of = match pattern.as_exact() {
            Some(host) => {
                look(self.exact.get(host).map_or(&[], Vec::as_slice));
                host.name().unwrap_or_default()
            }
            None => pattern.tail().unwrap_or_default(),
        };
        let suffixes = std::iter::successors(Some(suffixes_of), |suffix| suffix.split_once('.').map(|(_, tail)| tail));
        for suffix in suffixes {
            look(self.wildcards.get(suffix).map_or(&[], Vec::as_slice));
        }
    }
}
