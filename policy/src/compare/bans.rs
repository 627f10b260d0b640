//! What is stopped: whether each deny rule is still there, for all that it was for, and whether what was read is read as before.

use std::sync::Arc;

use super::finding::{Certainty, Finding, FindingKind, Spot};
use super::grants::{graphql, json_rpc, mcp, path_within, query_within};
use super::operations::{self, Calls};
use super::reach::{Program, counterpart, listing, may_meet, open_to};
use super::reading::{self, Messages, covers, meets};
use super::words::operations as told;
use super::{Direction, Side, words};
use crate::decide::RuleLabel;
use crate::matcher::{Inclusion, Language, included};
use crate::operation::GraphqlOperation;
use crate::policy::{DenyRule, Endpoint, GraphqlRule, GraphqlRules, JsonRpcRule, Judgement, McpRule, Traffic};

/// Something that is stopped.
#[derive(Debug, Clone, Copy)]
enum Ban<'a> {
    Request(&'a DenyRule),
    Operation(&'a GraphqlRule),
    /// What the server knows by a name, by the rule that denies what stands behind it.
    Persisted(&'a str, RuleLabel),
    Call(&'a JsonRpcRule),
    Tool(&'a McpRule),
}

/// Reports what `from` stops and `to` does not. `direction` is that of what passes: a deny rule that is gone lets more pass.
pub(super) fn compare(from: &Side<'_>, to: &Side<'_>, direction: Direction, findings: &mut Vec<Finding>) {
    for endpoint in from.policy.all_endpoints() {
        let own = (from, &**endpoint);
        for ban in Ban::all(endpoint) {
            if let Some(missing) = missing(own, ban, to, direction) {
                let found = finding(endpoint, ban, missing, counterpart(to, endpoint), direction);
                let matcher = from.contents.matcher(ban.label().at);
                findings.push(Finding { matcher, ..found });
            }
        }
        if !is_read_as_before(own, to) {
            findings.push(changed(endpoint, counterpart(to, endpoint), direction));
        }
    }
}

impl<'a> Ban<'a> {
    fn all(endpoint: &'a Endpoint) -> Vec<Self> {
        let requests = endpoint.traffic.rules().into_iter().flat_map(|rules| &rules.deny).map(Ban::Request);
        let operations = graphql(endpoint).into_iter().flat_map(|rules| {
            let persisted = rules.persisted.keys().filter_map(|key| match rules.judge(&asked(key)) {
                Judgement::Denied(label) => Some(Ban::Persisted(key, label)),
                _ => None,
            });
            rules.deny.iter().map(Ban::Operation).chain(persisted)
        });
        let calls = json_rpc(endpoint).into_iter().flat_map(|rules| &rules.deny).map(Ban::Call);
        let tools = mcp(endpoint).into_iter().flat_map(|rules| &rules.deny).map(Ban::Tool);
        requests.chain(operations).chain(calls).chain(tools).collect()
    }

    fn label(self) -> RuleLabel {
        match self {
            Ban::Request(rule) => rule.label,
            Ban::Operation(rule) => rule.label,
            Ban::Persisted(_, label) => label,
            Ban::Call(rule) => rule.label,
            Ban::Tool(rule) => rule.label,
        }
    }

    fn text(self) -> String {
        match self {
            Ban::Request(rule) => words::request(&rule.method, &rule.path, &rule.query),
            Ban::Operation(rule) => told::graphql(rule),
            Ban::Persisted(key, _) => format!("the persisted query `{key}`"),
            Ban::Call(rule) => told::json_rpc(rule),
            Ban::Tool(rule) => told::mcp(rule),
        }
    }
}

fn asked(key: &str) -> GraphqlOperation {
    GraphqlOperation::Persisted { key: key.into() }
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
fn missing((side, endpoint): (&Side<'_>, &Endpoint), ban: Ban<'_>, to: &Side<'_>, direction: Direction) -> Option<Missing> {
    let any_rule = |other: &&Arc<Endpoint>| !Ban::all(other).is_empty();
    let covered = |others: &[&Arc<Endpoint>]| covered((side, endpoint), ban, to, others);
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

/// Whether the others stop all of it.
fn covered((side, endpoint): (&Side<'_>, &Endpoint), ban: Ban<'_>, to: &Side<'_>, others: &[&Arc<Endpoint>]) -> Inclusion {
    let (beside, beside_matcher) = (side.contents.beside(endpoint.at), side.contents.beside_matcher(ban.label().at));
    let as_strict = |other: &&Endpoint| other.enforcement >= endpoint.enforcement && to.contents.beside(other.at) == beside;
    let same_beside = |label: RuleLabel| to.contents.beside_matcher(label.at) == beside_matcher;
    let others: Vec<&Endpoint> = others.iter().map(|other| &***other).filter(as_strict).collect();
    let of_its_kind = |other: &&Endpoint| other.protocol() == endpoint.protocol() && covers(other, endpoint);
    let alike: Vec<&Endpoint> = others.iter().copied().filter(of_its_kind).collect();
    match ban {
        Ban::Request(DenyRule { method, path, query, .. }) => {
            let mut outer: Vec<Vec<Language<'_>>> = Vec::new();
            // The rule's path is held against more readings of a path than the endpoint's: each has to be covered by itself.
            let others = others
                .iter()
                .filter(|other| path_within(&endpoint.path, &other.path) == Inclusion::Included);
            for theirs in others.filter_map(|other| other.traffic.rules()).flat_map(|rules| &rules.deny) {
                if theirs.method.covers(method) && query_within(query, &theirs.query) && same_beside(theirs.label) {
                    if theirs.path == *path {
                        return Inclusion::Included;
                    }
                    outer.push(vec![Language::Segmented(&theirs.path)]);
                }
            }
            included(&[Language::Segmented(path)], &outer, Some(b'/'))
        }
        Ban::Operation(rule) => {
            let rules = alike.iter().filter_map(|other| graphql(other)).flat_map(|rules| &rules.deny);
            operations::denied(rule, &rules.filter(|theirs| same_beside(theirs.label)).collect::<Vec<_>>())
        }
        Ban::Persisted(key, _) => {
            let asked = asked(key);
            let denies = |rules: &GraphqlRules| matches!(rules.judge(&asked), Judgement::Denied(_));
            if alike.iter().filter_map(|other| graphql(other)).any(denies) {
                Inclusion::Included
            } else {
                Inclusion::NotIncluded
            }
        }
        Ban::Call(rule) => {
            let rules = alike.iter().filter_map(|other| json_rpc(other)).flat_map(|rules| &rules.deny);
            operations::called(rule, &rules.filter(|theirs| same_beside(theirs.label)).collect::<Vec<_>>())
        }
        Ban::Tool(rule) => {
            let rules = alike.iter().filter_map(|other| mcp(other)).flat_map(|rules| &rules.deny);
            let calls: Vec<Calls<'_>> = rules.filter(|theirs| same_beside(theirs.label)).map(Calls::of_rule).collect();
            Calls::of_rule(rule).within(&calls)
        }
    }
}

/// Whether all bodies and messages that the endpoint reads are still read by its protocol, wherever they could still pass.
fn is_read_as_before((side, endpoint): (&Side<'_>, &Endpoint), to: &Side<'_>) -> bool {
    let level = Messages::of(endpoint);
    if endpoint.reading().is_none() && level.is_none() {
        return true;
    }
    let own = (side, endpoint);
    let reaches = |port: u16| to.policy.all_endpoints().iter().any(|other| meets(own, port, (to, other)));
    endpoint.ports.iter().filter(|port| reaches(**port)).all(|port| {
        let listing = listing(to, endpoint.host.as_ref(), *port);
        Program::all(side, endpoint).into_iter().all(|program| {
            let open = open_to(to, &listing, program);
            match endpoint.reading() {
                Some(reading) => reading::is_read(own, *port, to, &open, &|other| other.protocol == reading.protocol),
                None => open.iter().any(|other| Messages::of(other) >= level && covers(other, endpoint)),
            }
        })
    })
}

fn finding(endpoint: &Endpoint, ban: Ban<'_>, missing: Missing, counterpart: Option<&Arc<Endpoint>>, direction: Direction) -> Finding {
    let what = match &endpoint.traffic {
        Traffic::Body(_) => ban.text() + &words::under_path(endpoint),
        _ => ban.text(),
    };
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
    let own = Spot::at(endpoint, ban.label().at);
    placed(FindingKind::DenyRule, certainty, text, own, counterpart, direction)
}

fn changed(endpoint: &Endpoint, counterpart: Option<&Arc<Endpoint>>, direction: Direction) -> Finding {
    let protocol = words::protocol(endpoint.protocol());
    let place = words::place(endpoint, &endpoint.ports) + &words::under_path(endpoint);
    let text = match direction {
        Direction::Gained => {
            format!("requests to {place} are no longer read as {protocol}, or not all of them: what passes cannot be compared")
        }
        Direction::Lost => {
            format!("requests to {place} are read as {protocol} now, and were not, or not all of them: what passes cannot be compared")
        }
    };
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
        matcher: None,
        old,
        new,
    }
}
