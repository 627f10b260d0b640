//! Where two endpoints meet: hosts, ports and programs.

use std::sync::Arc;

use super::Side;
use crate::matcher::{HostPattern, Inclusion, Language, included};
use crate::policy::{Binaries, Binary, Endpoint};

/// A program of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Program<'a> {
    Anybody,
    Listed(&'a Binary),
}

impl<'a> Program<'a> {
    /// Those of an endpoint's rule; none where it never matches.
    pub(super) fn all(side: &Side<'a>, endpoint: &Endpoint) -> Vec<Program<'a>> {
        match binaries(side, endpoint) {
            None | Some(Binaries::Nobody) => Vec::new(),
            Some(Binaries::Anybody) => vec![Program::Anybody],
            Some(Binaries::Listed(list)) => list.iter().map(Program::Listed).collect(),
        }
    }

    pub(super) fn text(self) -> &'a str {
        match self {
            Program::Anybody => "any program",
            Program::Listed(binary) => binary.text(),
        }
    }

    /// Whether it is one path, and no pattern of several.
    pub(super) fn is_one(self) -> bool {
        matches!(self, Program::Listed(Binary::Path(_)))
    }

    /// Whether a rule with these binaries is for all that this stands for.
    fn within(self, others: &Binaries) -> bool {
        match (self, others) {
            (_, Binaries::Anybody) => true,
            (Program::Anybody, _) | (_, Binaries::Nobody) => false,
            (Program::Listed(Binary::Path(path)), Binaries::Listed(_)) => others.lists(path),
            (Program::Listed(Binary::Glob { glob, .. }), Binaries::Listed(list)) => {
                let globs = list.iter().filter_map(|other| match other {
                    Binary::Glob { glob, .. } => Some(vec![Language::Segmented(glob)]),
                    Binary::Path(_) => None,
                });
                let globs: Vec<_> = globs.collect();
                included(&[Language::Segmented(glob)], &globs, None) == Inclusion::Included
            }
        }
    }
}

pub(super) fn binaries<'a>(side: &Side<'a>, endpoint: &Endpoint) -> Option<&'a Binaries> {
    side.policy.rule(endpoint.rule).map(|rule| &rule.binaries)
}

/// The endpoints of a side that list all of a host on a port.
pub(super) fn listing<'a>(side: &Side<'a>, host: Option<&HostPattern>, port: u16) -> Vec<&'a Arc<Endpoint>> {
    if let Some(exact) = host.and_then(HostPattern::as_exact) {
        let mut found = Vec::new();
        side.policy
            .index()
            .candidates(exact, port, |id| found.extend(side.policy.endpoint(id)));
        found.sort_by_key(|endpoint| endpoint.id);
        return found;
    }
    let covers = |endpoint: &&Arc<Endpoint>| {
        endpoint.ports.binary_search(&port).is_ok()
            && match (&endpoint.host, host) {
                (None, _) => true,
                (Some(_), None) => false,
                (Some(own), Some(host)) => own == host || own.includes(host) == Inclusion::Included,
            }
    };
    side.policy.all_endpoints().iter().filter(covers).collect()
}

/// Those of them whose rule is for the program.
pub(super) fn open_to<'a>(side: &Side<'a>, listing: &[&'a Arc<Endpoint>], program: Program<'_>) -> Vec<&'a Arc<Endpoint>> {
    let is_for = |endpoint: &&&Arc<Endpoint>| binaries(side, endpoint).is_some_and(|binaries| program.within(binaries));
    listing.iter().filter(is_for).copied().collect()
}

/// Whether some connection may be judged by both endpoints. Errs on the side of yes.
pub(super) fn may_meet(a: (&Side<'_>, &Endpoint), b: (&Side<'_>, &Endpoint)) -> bool {
    let hosts = match (&a.1.host, &b.1.host) {
        (Some(own), Some(other)) => own.overlaps(other),
        _ => true,
    };
    let ports = || a.1.ports.iter().any(|port| b.1.ports.binary_search(port).is_ok());
    let programs = || match (binaries(a.0, a.1), binaries(b.0, b.1)) {
        (None | Some(Binaries::Nobody), _) | (_, None | Some(Binaries::Nobody)) => false,
        // Not only the caller's own path is looked at, but also its ancestors': two lists without a common entry meet in one process.
        _ => true,
    };
    hosts && ports() && programs()
}

/// The endpoint of the other side that stands for the same, for places: best of the same rule key.
pub(super) fn counterpart<'a>(side: &Side<'a>, endpoint: &Endpoint) -> Option<&'a Arc<Endpoint>> {
    let rank = |other: &&'a Arc<Endpoint>| {
        let same_host = other.host == endpoint.host;
        let overlaps = match (&other.host, &endpoint.host) {
            (Some(own), Some(host)) => own.overlaps(host),
            _ => true,
        };
        let same_port = other.ports.iter().any(|port| endpoint.ports.binary_search(port).is_ok());
        let near = (same_host, overlaps && same_port);
        (near != (false, false)).then_some((
            same_host && same_port,
            near,
            other.rule_key == endpoint.rule_key,
            other.path == endpoint.path,
        ))
    };
    side.policy
        .all_endpoints()
        .iter()
        .filter_map(|other| Some((rank(&other)?, other)))
        .max_by(|(a, first), (b, second)| a.cmp(b).then(second.id.cmp(&first.id)))
        .map(|(_, other)| other)
}
