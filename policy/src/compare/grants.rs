//! What one policy lets pass, held against another: hosts, programs, requests, addresses.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::finding::{Certainty, Finding, FindingKind, Spot};
use super::reach::{Program, counterpart, listing, open_to};
use super::{Direction, Side, addresses, words};
use crate::matcher::{EndpointPath, Inclusion, Language, MethodMatcher, SegmentedGlob, included};
use crate::policy::{AllowRule, Endpoint, QueryMatcher, RestRules, Tls, Traffic};

/// What of an endpoint is held against the other policy.
#[derive(Debug, Clone, Copy)]
enum Grant<'a> {
    /// Whatever is sent.
    Unread,
    /// The requests of one rule.
    Requests(&'a AllowRule),
    /// All that a protocol's rules allow, which is not looked into.
    Protocol,
}

impl<'a> Grant<'a> {
    fn rule(&self) -> Option<&'a AllowRule> {
        match *self {
            Grant::Requests(rule) => Some(rule),
            Grant::Unread | Grant::Protocol => None,
        }
    }

    fn is_of_one_preset_with(&self, other: &Self) -> bool {
        self.rule()
            .is_some_and(|own| other.rule().is_some_and(|other| own.label == other.label))
    }
}

/// Why the other policy does not grant it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Lack {
    Inspection,
    Requests(Certainty),
    EncodedSlash,
    Protocol,
    Addresses,
}

/// By what is lacking and the place of the grant: the ports and programs.
type Lacking<'a> = BTreeMap<(Lack, usize), (Vec<u16>, Vec<Program<'a>>)>;

/// Grants that are told in one sentence.
type Together<'a> = (Lack, Vec<&'a Grant<'a>>, Vec<u16>, Vec<Program<'a>>);

/// Reports what `subject` grants and `against` does not.
pub(super) fn compare(subject: &Side<'_>, against: &Side<'_>, direction: Direction, findings: &mut Vec<Finding>) {
    for endpoint in subject.policy.all_endpoints() {
        let programs = Program::all(subject, endpoint);
        let mut report = Report {
            subject: endpoint,
            counterpart: counterpart(against, endpoint),
            direction,
            findings,
        };
        if !programs.is_empty() {
            compare_endpoint((subject, endpoint), &programs, against, &mut report);
        }
    }
}

fn compare_endpoint<'a>(
    (side, endpoint): (&Side<'_>, &'a Endpoint),
    programs: &[Program<'a>],
    against: &Side<'_>,
    report: &mut Report<'_, '_>,
) {
    let mut unlisted = Vec::new();
    let mut closed: Vec<(Program<'_>, Vec<u16>)> = Vec::new();
    // By what is lacking and the rule it is about; each with the ports and programs.
    let mut lacking: Lacking<'_> = BTreeMap::new();
    for port in &endpoint.ports {
        let listing = listing(against, endpoint.host.as_ref(), *port);
        if listing.is_empty() {
            unlisted.push(*port);
            continue;
        }
        for program in programs {
            let open = open_to(against, &listing, *program);
            if open.is_empty() {
                note(&mut closed, *program, *port);
                continue;
            }
            let mut lacks = |lack: Lack, index: usize| {
                let (ports, for_programs) = lacking.entry((lack, index)).or_default();
                push_new(ports, *port);
                push_new(for_programs, *program);
            };
            // One endpoint that takes them is enough for all that list the host: the others that audit let them pass too.
            let takes_no_slashes = open.iter().all(|other| other.encoded_slash < endpoint.encoded_slash);
            if takes_no_slashes {
                lacks(Lack::EncodedSlash, 0);
            }
            for (index, grant) in grants(endpoint).into_iter().enumerate() {
                if let Some(lack) =
                    lack((side, endpoint), grant, against, &open).filter(|lack| *lack != Lack::EncodedSlash || !takes_no_slashes)
                {
                    lacks(lack, index);
                }
            }
        }
    }
    if !unlisted.is_empty() {
        report.unlisted(&unlisted, programs);
    }
    report.closed(closed);
    report.all_lacking(&grants(endpoint), lacking);
}

fn push_new<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}

fn note<'a>(closed: &mut Vec<(Program<'a>, Vec<u16>)>, program: Program<'a>, port: u16) {
    match closed.iter_mut().find(|(own, _)| *own == program) {
        Some((_, ports)) => ports.push(port),
        None => closed.push((program, vec![port])),
    }
}

fn grants(endpoint: &Endpoint) -> Vec<Grant<'_>> {
    match &endpoint.traffic {
        Traffic::L4 => vec![Grant::Unread],
        Traffic::Rest(RestRules { allow, deny: _ }) => allow.iter().map(Grant::Requests).collect(),
        _ => vec![Grant::Protocol],
    }
}

/// What keeps the endpoints from granting it; `None` if they do.
fn lack((side, endpoint): (&Side<'_>, &Endpoint), grant: Grant<'_>, against: &Side<'_>, open: &[&Arc<Endpoint>]) -> Option<Lack> {
    let given = |others: &[&Arc<Endpoint>]| lack_of_requests((side, endpoint), grant, against, others);
    if let Some(lack) = given(open) {
        return Some(lack);
    }
    let with_slash: Vec<&Arc<Endpoint>> = open
        .iter()
        .copied()
        .filter(|other| other.encoded_slash >= endpoint.encoded_slash)
        .collect();
    if given(&with_slash).is_some() {
        return Some(Lack::EncodedSlash);
    }
    let dialled: Vec<&Arc<Endpoint>> = with_slash
        .into_iter()
        .filter(|other| addresses::within(&endpoint.addresses, &other.addresses))
        .collect();
    given(&dialled).map(|_| Lack::Addresses)
}

fn lack_of_requests(
    (side, endpoint): (&Side<'_>, &Endpoint),
    grant: Grant<'_>,
    against: &Side<'_>,
    others: &[&Arc<Endpoint>],
) -> Option<Lack> {
    // An endpoint that reads nothing grants everything, but not that TLS stays closed.
    let unread = |other: &&Arc<Endpoint>| !other.is_read() && (endpoint.tls == Tls::Auto || other.tls == Tls::Skip);
    if others.iter().any(unread) {
        return None;
    }
    match grant {
        Grant::Unread => Some(Lack::Inspection),
        Grant::Requests(rule) => lack_of_rule((side, endpoint), rule, against, others),
        Grant::Protocol => {
            let own = side.contents.judging(endpoint.at);
            let same = others
                .iter()
                .any(|other| against.contents.judging(other.at) == own && path_within(&endpoint.path, &other.path) == Inclusion::Included);
            (!same).then_some(Lack::Protocol)
        }
    }
}

fn lack_of_rule((side, endpoint): (&Side<'_>, &Endpoint), rule: &AllowRule, against: &Side<'_>, others: &[&Arc<Endpoint>]) -> Option<Lack> {
    let AllowRule {
        label,
        method,
        path,
        query,
    } = rule;
    let (beside, beside_matcher) = (side.contents.beside(endpoint.at), side.contents.beside_matcher(label.at));
    let mut outer: Vec<Vec<Language<'_>>> = Vec::new();
    let mut incomparable = false;
    for other in others {
        let Traffic::Rest(rules) = &other.traffic else { continue };
        let same_beside = against.contents.beside(other.at) == beside;
        for theirs in &rules.allow {
            if !theirs.method.covers(method) || !query_within(query, &theirs.query) {
                continue;
            }
            if !same_beside || against.contents.beside_matcher(theirs.label.at) != beside_matcher {
                incomparable = true;
                continue;
            }
            if theirs.path == *path && (other.path == endpoint.path || other.path == EndpointPath::Any) {
                return None;
            }
            outer.push(language(&other.path, &theirs.path));
        }
    }
    match included(&language(&endpoint.path, path), &outer, Some(b'/')) {
        Inclusion::Included => None,
        _ if incomparable => Some(Lack::Protocol),
        Inclusion::NotIncluded => Some(Lack::Requests(Certainty::Known)),
        Inclusion::Unknown => Some(Lack::Requests(Certainty::Assumed)),
    }
}

/// The paths that an endpoint's rule is about: those of both.
fn language<'a>(endpoint: &'a EndpointPath, rule: &'a SegmentedGlob) -> Vec<Language<'a>> {
    match endpoint {
        EndpointPath::Any => vec![Language::Segmented(rule)],
        path @ EndpointPath::Globs { .. } => vec![Language::Endpoint(path), Language::Segmented(rule)],
    }
}

pub(super) fn path_within(inner: &EndpointPath, outer: &EndpointPath) -> Inclusion {
    if inner == outer || *outer == EndpointPath::Any {
        return Inclusion::Included;
    }
    included(&[Language::Endpoint(inner)], &[vec![Language::Endpoint(outer)]], Some(b'/'))
}

/// Whether every query that fits the one matchers fits the others.
pub(super) fn query_within(inner: &[QueryMatcher], outer: &[QueryMatcher]) -> bool {
    outer.iter().all(|asked| {
        let same_name = inner.iter().filter(|own| own.name == asked.name);
        same_name.into_iter().any(|own| {
            let theirs: Vec<_> = asked.globs.iter().map(|glob| vec![Language::Segmented(glob)]).collect();
            let within = |glob| asked.globs.contains(glob) || included(&[Language::Segmented(glob)], &theirs, None) == Inclusion::Included;
            own.globs.iter().all(within)
        })
    })
}

/// Writes findings about one endpoint.
struct Report<'a, 'f> {
    subject: &'a Endpoint,
    counterpart: Option<&'a Arc<Endpoint>>,
    direction: Direction,
    findings: &'f mut Vec<Finding>,
}

impl Report<'_, '_> {
    fn push(&mut self, kind: FindingKind, certainty: Certainty, own: Spot, text: String) {
        let other = self.counterpart.map(|endpoint| Spot::of(endpoint));
        let (old, new) = match self.direction {
            Direction::Gained => (other, Some(own)),
            Direction::Lost => (Some(own), other),
        };
        self.findings.push(Finding {
            effect: self.direction.effect(),
            certainty,
            kind,
            text,
            old,
            new,
        });
    }

    fn unlisted(&mut self, ports: &[u16], programs: &[Program<'_>]) {
        let (place, who) = (words::place(self.subject, ports), words::programs(programs));
        let what = words::passes(self.subject);
        let text = match self.direction {
            Direction::Gained => format!("{place} becomes reachable for {who}: {what}"),
            Direction::Lost => format!("{place} is no longer reachable for {who}: {what}"),
        };
        self.push(FindingKind::Endpoint, Certainty::Known, Spot::of(self.subject), text);
    }

    fn closed(&mut self, closed: Vec<(Program<'_>, Vec<u16>)>) {
        let mut by_ports: BTreeMap<Vec<u16>, Vec<Program<'_>>> = BTreeMap::new();
        for (program, ports) in closed {
            by_ports.entry(ports).or_default().push(program);
        }
        for (ports, programs) in by_ports {
            let (place, who) = (words::place(self.subject, &ports), words::programs(&programs));
            let what = words::passes(self.subject);
            let text = match self.direction {
                Direction::Gained => format!("{who} may use {place}: {what}"),
                Direction::Lost => format!("{who} may no longer use {place}: {what}"),
            };
            self.push(FindingKind::Binary, Certainty::Known, Spot::of(self.subject), text);
        }
    }

    /// The methods of a preset are told together.
    fn all_lacking(&mut self, grants: &[Grant<'_>], lacking: Lacking<'_>) {
        let mut open: Vec<Together<'_>> = Vec::new();
        for ((lack, index), (ports, programs)) in lacking {
            let Some(grant) = grants.get(index) else { continue };
            match open.last_mut() {
                Some((own, of, same_ports, same_programs))
                    if *own == lack
                        && *same_ports == ports
                        && *same_programs == programs
                        && of.first().is_some_and(|first| first.is_of_one_preset_with(grant)) =>
                {
                    of.push(grant);
                }
                _ => open.push((lack, vec![grant], ports, programs)),
            }
        }
        for (lack, grants, ports, programs) in open {
            self.lacking(lack, &grants, &ports, &programs);
        }
    }

    fn lacking(&mut self, lack: Lack, grants: &[&Grant<'_>], ports: &[u16], programs: &[Program<'_>]) {
        let (place, who) = (words::place(self.subject, ports), words::programs(programs));
        let gained = self.direction == Direction::Gained;
        let rules: Vec<&AllowRule> = grants.iter().filter_map(|grant| grant.rule()).collect();
        let methods: Vec<&MethodMatcher> = rules.iter().map(|rule| &rule.method).collect();
        let (what, at) = match rules.first() {
            Some(rule) => (
                words::requests(&methods, &rule.path, &rule.query) + &words::under_path(self.subject),
                Spot::at(self.subject, rule.label.at),
            ),
            None => (words::passes(self.subject), Spot::of(self.subject)),
        };
        match lack {
            Lack::Requests(certainty) => {
                let text = match (gained, certainty) {
                    (true, Certainty::Known) => format!("{what} becomes allowed on {place} for {who}"),
                    (false, Certainty::Known) => format!("{what} is no longer allowed on {place} for {who}"),
                    (_, Certainty::Assumed) => format!("{what} on {place} for {who}: changed, and cannot be compared"),
                };
                self.push(FindingKind::Requests, certainty, at, text);
            }
            Lack::EncodedSlash => {
                let verb = if gained { "is now taken" } else { "is no longer taken" };
                self.push(
                    FindingKind::Requests,
                    Certainty::Known,
                    at,
                    format!("%2F in paths {verb} on {place} for {who}: {what}"),
                );
            }
            Lack::Inspection => {
                let text = match (gained, self.subject.tls) {
                    (true, Tls::Auto) => format!("traffic to {place} is no longer judged by requests for {who}: whatever is sent passes"),
                    (true, Tls::Skip) => format!("TLS to {place} is no longer terminated for {who}: nothing in it can be read"),
                    (false, _) => format!("traffic to {place} is now read for {who}: not everything passes any more"),
                };
                self.push(FindingKind::Inspection, Certainty::Known, at, text);
            }
            Lack::Protocol => {
                let protocol = words::protocol(self.subject.protocol());
                let text = format!("the {protocol} rules for {place} ({who}) changed, and cannot be compared further");
                self.push(FindingKind::Protocol, Certainty::Assumed, at, text);
            }
            Lack::Addresses => {
                let scope = words::addresses(&self.subject.addresses);
                let text = if gained {
                    format!("{place} may be dialled at more addresses: {scope}")
                } else {
                    format!("{place} may be dialled at fewer addresses than before: no longer {scope}")
                };
                self.push(FindingKind::Addresses, Certainty::Known, Spot::of(self.subject), text);
            }
        }
    }
}
