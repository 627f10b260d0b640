//! Deny rules: whether each of them is still there, for all that it was for.

use std::sync::Arc;

use super::finding::{Certainty, Finding, FindingKind, Spot};
use super::grants::{path_within, query_within};
use super::reach::{Program, counterpart, listing, may_meet, open_to};
use super::{Direction, Side, words};
use crate::matcher::{Inclusion, Language, included};
use crate::policy::{DenyRule, Endpoint, RestRules, Traffic};

/// Reports deny rules that `from` has and `to` lacks. `direction` is that of what passes: a deny rule that is gone lets more pass.
pub(super) fn compare(from: &Side<'_>, to: &Side<'_>, direction: Direction, findings: &mut Vec<Finding>) {
    for endpoint in from.policy.all_endpoints() {
        match &endpoint.traffic {
            Traffic::L4 => {}
            Traffic::Rest(RestRules { allow: _, deny }) => {
                for rule in deny {
                    if let Some(missing) = missing((from, endpoint), rule, to, direction) {
                        findings.push(finding(endpoint, rule, missing, counterpart(to, endpoint), direction));
                    }
                }
            }
            _ => {
                if !is_kept((from, endpoint), to) {
                    findings.push(changed(endpoint, counterpart(to, endpoint), direction));
                }
            }
        }
    }
}

/// Whether the other policy has anything on the port that could meet it: where it has not, nothing passes that it would have stopped.
fn matters(own: (&Side<'_>, &Endpoint), port: u16, to: &Side<'_>) -> bool {
    let mut others = to.policy.all_endpoints().iter();
    others.any(|other| other.ports.contains(&port) && may_meet(own, (to, other)))
}

/// How a deny rule is missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Missing {
    /// Others are there, and do not stop all that it stopped.
    Less,
    /// No deny rule is there.
    Gone,
    /// It cannot be found out.
    Unknown,
}

/// Whether something is no longer stopped.
fn missing((side, endpoint): (&Side<'_>, &Endpoint), rule: &DenyRule, to: &Side<'_>, direction: Direction) -> Option<Missing> {
    let DenyRule {
        label,
        method,
        path,
        query,
    } = rule;
    let (beside, beside_matcher) = (side.contents.beside(endpoint.at), side.contents.beside_matcher(label.at));
    let covered = |others: &[&Arc<Endpoint>]| {
        let mut outer: Vec<Vec<Language<'_>>> = Vec::new();
        for other in others {
            let Traffic::Rest(rules) = &other.traffic else { continue };
            let as_strict = other.enforcement >= endpoint.enforcement && to.contents.beside(other.at) == beside;
            // The rule's path is held against more readings of a path than the endpoint's: each has to be covered by itself.
            if !as_strict || path_within(&endpoint.path, &other.path) != Inclusion::Included {
                continue;
            }
            for theirs in &rules.deny {
                if theirs.method.covers(method)
                    && query_within(query, &theirs.query)
                    && to.contents.beside_matcher(theirs.label.at) == beside_matcher
                {
                    if theirs.path == *path {
                        return Inclusion::Included;
                    }
                    outer.push(vec![Language::Segmented(&theirs.path)]);
                }
            }
        }
        included(&[Language::Segmented(path)], &outer, Some(b'/'))
    };
    let any_rule = |other: &&Arc<Endpoint>| matches!(&other.traffic, Traffic::Rest(rules) if !rules.deny.is_empty());
    let mut missing = None;
    for port in endpoint.ports.iter().filter(|port| matters((side, endpoint), **port, to)) {
        let listing = listing(to, endpoint.host.as_ref(), *port);
        for program in Program::all(side, endpoint) {
            let open = open_to(to, &listing, program);
            // What a program is denied that could not do anything there before is no loss.
            let alone = program.is_one() && endpoint.host.as_ref().is_some_and(|host| host.as_exact().is_some());
            if direction == Direction::Lost && open.is_empty() && alone {
                continue;
            }
            let stopped = covered(&open);
            let missed = match stopped {
                Inclusion::Included => None,
                Inclusion::NotIncluded if open.iter().any(any_rule) => Some(Missing::Less),
                Inclusion::NotIncluded => Some(Missing::Gone),
                Inclusion::Unknown => Some(Missing::Unknown),
            };
            // Whoever may still do anything there may be stopped from this by a rule of their own.
            let all_others = || {
                let others = to.policy.all_endpoints().iter();
                let others = others.filter(|other| other.ports.contains(port) && may_meet((side, endpoint), (to, other)));
                others
                    .flat_map(|other| Program::all(to, other))
                    .all(|theirs| covered(&open_to(to, &listing, theirs)) == Inclusion::Included)
            };
            if missed.is_some() && !all_others() {
                missing = missing.max(missed);
            }
        }
    }
    missing
}

/// Whether an endpoint that is not looked into is there as it was.
fn is_kept((side, endpoint): (&Side<'_>, &Endpoint), to: &Side<'_>) -> bool {
    let own = side.contents.judging(endpoint.at);
    let mut ports = endpoint.ports.iter().filter(|port| matters((side, endpoint), **port, to));
    ports.all(|port| {
        let listing = listing(to, endpoint.host.as_ref(), *port);
        Program::all(side, endpoint).into_iter().all(|program| {
            open_to(to, &listing, program).iter().any(|other| {
                to.contents.judging(other.at) == own
                    && other.enforcement >= endpoint.enforcement
                    && path_within(&endpoint.path, &other.path) == Inclusion::Included
            })
        })
    })
}

fn finding(endpoint: &Endpoint, rule: &DenyRule, missing: Missing, counterpart: Option<&Arc<Endpoint>>, direction: Direction) -> Finding {
    let what = words::request(&rule.method, &rule.path, &rule.query);
    let place = words::place(endpoint, &endpoint.ports);
    let (certainty, text) = match (missing, direction) {
        (Missing::Unknown, _) => (
            Certainty::Assumed,
            format!("the deny rule for {what} on {place} changed, and cannot be compared"),
        ),
        (Missing::Gone, Direction::Gained) => (Certainty::Known, format!("{what} is no longer denied on {place}")),
        (Missing::Less, Direction::Gained) => (
            Certainty::Known,
            format!("the deny rule for {what} on {place} is gone, or stops less than it did"),
        ),
        (Missing::Gone | Missing::Less, Direction::Lost) => (Certainty::Known, format!("{what} becomes denied on {place}")),
    };
    let own = Spot::at(endpoint, rule.label.at);
    placed(FindingKind::DenyRule, certainty, text, own, counterpart, direction)
}

fn changed(endpoint: &Endpoint, counterpart: Option<&Arc<Endpoint>>, direction: Direction) -> Finding {
    let protocol = words::protocol(endpoint.protocol());
    let place = words::place(endpoint, &endpoint.ports);
    let text = format!("the {protocol} rules for {place} changed or are gone, and cannot be compared further");
    placed(
        FindingKind::Protocol,
        Certainty::Assumed,
        text,
        Spot::of(endpoint),
        counterpart,
        direction,
    )
}

/// The rule stands in the side that lost it.
fn placed(
    kind: FindingKind,
    certainty: Certainty,
    text: String,
    own: Spot,
    counterpart: Option<&Arc<Endpoint>>,
    direction: Direction,
) -> Finding {
    let other = counterpart.map(|endpoint| Spot::of(endpoint));
    let (old, new) = match direction {
        Direction::Gained => (Some(own), other),
        Direction::Lost => (other, Some(own)),
    };
    Finding {
        effect: direction.effect(),
        certainty,
        kind,
        text,
        old,
        new,
    }
}
