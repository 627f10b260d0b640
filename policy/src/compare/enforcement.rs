//! `audit` and `enforce`: where a request that no rule allows passes all the same.
//!
//! The endpoint with the most specific `path` that covers a request says what becomes of it. So a policy is wider where one only
//! audits that did not, and also where one that enforced is gone from above one that audits.

use std::sync::Arc;

use super::finding::{Certainty, Finding, FindingKind, Spot};
use super::grants::path_within;
use super::reach::{Program, counterpart, listing, may_meet, open_to};
use super::{Direction, Side, words};
use crate::matcher::Inclusion;
use crate::policy::{Endpoint, EndpointId, Enforcement, RestRules, Traffic};

/// Reports where `subject` only audits and `against` does not.
pub(super) fn compare(subject: &Side<'_>, against: &Side<'_>, direction: Direction, findings: &mut Vec<Finding>) {
    let read = |side: &Side<'_>, enforcement| -> Vec<EndpointId> {
        let endpoints = side.policy.all_endpoints().iter();
        endpoints
            .filter(|endpoint| endpoint.is_read() && endpoint.enforcement == enforcement)
            .map(|endpoint| endpoint.id)
            .collect()
    };
    let mut as_before: Vec<&Arc<Endpoint>> = Vec::new();
    for endpoint in read(subject, Enforcement::Audit)
        .into_iter()
        .filter_map(|id| subject.policy.endpoint(id))
    {
        let laxer = laxer((subject, endpoint), against);
        if laxer.is_empty() {
            as_before.push(endpoint);
        } else {
            findings.push(finding(endpoint, &laxer, counterpart(against, endpoint), direction));
        }
    }
    for endpoint in read(against, Enforcement::Enforce)
        .into_iter()
        .filter_map(|id| against.policy.endpoint(id))
    {
        let gone = !is_kept((against, endpoint), subject);
        let meets = |audits: &&&Arc<Endpoint>| may_meet((subject, audits), (against, endpoint)) && audits.path.overlaps(&endpoint.path);
        if let Some(audits) = as_before.iter().find(|audits| gone && meets(audits)) {
            findings.push(finding(audits, &audits.ports, Some(endpoint), direction));
        }
    }
}

/// The ports on which the endpoint audits what was not audited before, for a program that could come as far.
fn laxer((side, endpoint): (&Side<'_>, &Endpoint), against: &Side<'_>) -> Vec<u16> {
    let mut ports = Vec::new();
    for port in &endpoint.ports {
        let listing = listing(against, endpoint.host.as_ref(), *port);
        let audited_before = |program: &Program<'_>| {
            let open = open_to(against, &listing, *program);
            let audits = |other: &&Arc<Endpoint>| {
                other.is_read()
                    && other.enforcement == Enforcement::Audit
                    && other.path.specificity() >= endpoint.path.specificity()
                    && path_within(&endpoint.path, &other.path) == Inclusion::Included
            };
            // Where nothing was read, nothing was denied either, unless by a deny rule of a neighbour.
            let unread = |other: &&Arc<Endpoint>| !other.is_read();
            // Hosts and programs that are new have their own finding.
            open.is_empty() || open.iter().any(audits) || (open.iter().any(unread) && !has_bans((side, endpoint), against))
        };
        if !Program::all(side, endpoint).iter().all(audited_before) {
            ports.push(*port);
        }
    }
    ports
}

fn has_bans(own: (&Side<'_>, &Endpoint), against: &Side<'_>) -> bool {
    let bans = |endpoint: &Endpoint| match &endpoint.traffic {
        Traffic::L4 => false,
        Traffic::Rest(RestRules { allow: _, deny }) => !deny.is_empty(),
        _ => true,
    };
    let mut others = against.policy.all_endpoints().iter();
    others.any(|endpoint| bans(endpoint) && may_meet(own, (against, endpoint)))
}

/// Whether all that the endpoint enforces is enforced by an endpoint of the other side that is as specific.
fn is_kept((side, endpoint): (&Side<'_>, &Endpoint), other_side: &Side<'_>) -> bool {
    let programs = Program::all(side, endpoint);
    endpoint.ports.iter().all(|port| {
        let listing = listing(other_side, endpoint.host.as_ref(), *port);
        programs.iter().all(|program| {
            open_to(other_side, &listing, *program).iter().any(|other| {
                other.is_read()
                    && other.enforcement == Enforcement::Enforce
                    && other.path.specificity() >= endpoint.path.specificity()
                    && path_within(&endpoint.path, &other.path) == Inclusion::Included
            })
        })
    })
}

fn finding(audits: &Endpoint, ports: &[u16], counterpart: Option<&Arc<Endpoint>>, direction: Direction) -> Finding {
    let place = words::place(audits, ports) + &words::under_path(audits);
    let (own, other) = (Some(Spot::of(audits)), counterpart.map(|endpoint| Spot::of(endpoint)));
    let (text, old, new) = match direction {
        Direction::Gained => (
            format!("{place} only audits: requests that no rule allows pass and are logged"),
            other,
            own,
        ),
        Direction::Lost => (
            format!("{place} is enforced: requests that no rule allows, which were only logged, are denied"),
            own,
            other,
        ),
    };
    Finding {
        effect: direction.effect(),
        certainty: Certainty::Known,
        kind: FindingKind::Enforcement,
        text,
        matcher: None,
        old,
        new,
    }
}
