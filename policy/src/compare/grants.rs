//! What one policy lets pass, held against another: hosts, programs, requests, addresses.

mod grant;
mod lack;
mod report;

use std::collections::BTreeMap;

use super::finding::Finding;
use super::reach::{Program, counterpart, listing, open_to};
use super::reading::Reading;
use super::{Direction, Side};
use crate::matcher::{EndpointPath, Inclusion, Language, included};
use crate::policy::{Endpoint, QueryMatcher};
use grant::Grant;
use lack::{Asking, Lack};
pub(super) use lack::{graphql, json_rpc, mcp};
use report::Report;

/// By what is lacking and the place of the grant: the ports and programs.
type Lacking<'a> = BTreeMap<(Lack, usize), (Vec<u16>, Vec<Program<'a>>)>;

/// Reports what `subject` grants and `against` does not.
pub(super) fn compare(subject: &Side<'_>, against: &Side<'_>, direction: Direction, findings: &mut Vec<Finding>) {
    for endpoint in subject.policy.all_endpoints() {
        let programs = Program::all(subject, endpoint);
        let mut report = Report {
            subject: endpoint,
            contents: &subject.contents,
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
            let asking = Asking {
                own: (side, endpoint),
                against,
                reading: Reading::of((side, endpoint), *port, against, &open),
            };
            for (index, grant) in Grant::all(endpoint).into_iter().enumerate() {
                if let Some(lack) = asking
                    .lack(grant, &open)
                    .filter(|lack| *lack != Lack::EncodedSlash || !takes_no_slashes)
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
    report.all_lacking(&Grant::all(endpoint), lacking);
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
