//! Whether the other policy grants the same, and what is lacking where it does not.

use std::sync::Arc;

use super::grant::Grant;
use super::query_within;
use crate::compare::finding::Certainty;
use crate::compare::operations::{self, Calls};
use crate::compare::reading::{Messages, Reading, covers};
use crate::compare::{Side, addresses};
use crate::decide::{RuleLabel, WEBSOCKET_TEXT};
use crate::matcher::{EndpointPath, Inclusion, Language, MethodMatcher, SegmentedGlob, included};
use crate::operation::GraphqlOperation;
use crate::policy::{AllowRule, Endpoint, GraphqlRules, JsonRpcRules, Judgement, McpRules, OperationRules, SocketRules, Tls, Traffic};

/// Why the other policy does not grant it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lack {
    Inspection,
    Requests(Certainty),
    Messages,
    LargeBodies,
    ToolNames,
    EncodedSlash,
    Protocol,
    Addresses,
}

/// An endpoint against another policy, on one port and for one program.
pub(super) struct Asking<'a> {
    pub(super) own: (&'a Side<'a>, &'a Endpoint),
    pub(super) against: &'a Side<'a>,
    pub(super) reading: Reading,
}

impl Asking<'_> {
    /// What keeps the endpoints from granting it; `None` if they do.
    pub(super) fn lack(&self, grant: Grant<'_>, open: &[&Arc<Endpoint>]) -> Option<Lack> {
        let endpoint = self.own.1;
        if let Some(lack) = self.lack_of_requests(grant, open) {
            return Some(lack);
        }
        let with_slash: Vec<&Arc<Endpoint>> = open
            .iter()
            .copied()
            .filter(|other| other.encoded_slash >= endpoint.encoded_slash)
            .collect();
        if self.lack_of_requests(grant, &with_slash).is_some() {
            return Some(Lack::EncodedSlash);
        }
        let dialled: Vec<&Arc<Endpoint>> = with_slash
            .into_iter()
            .filter(|other| addresses::within(&endpoint.addresses, &other.addresses))
            .collect();
        self.lack_of_requests(grant, &dialled).map(|_| Lack::Addresses)
    }

    fn lack_of_requests(&self, grant: Grant<'_>, others: &[&Arc<Endpoint>]) -> Option<Lack> {
        let endpoint = self.own.1;
        // An endpoint that reads nothing grants everything, but not that TLS stays closed.
        let unread = |other: &&Arc<Endpoint>| !other.is_read() && (endpoint.tls == Tls::Auto || other.tls == Tls::Skip);
        let is_unread = others.iter().any(unread);
        if endpoint.reading().is_some() {
            return match (grant, self.reading) {
                (_, Reading::Unread) if is_unread => None,
                (_, Reading::Unread) => Some(Lack::Inspection),
                (Grant::Bodies, Reading::Otherwise) => Some(Lack::Protocol),
                // Told once, and not by each of its rules.
                (_, Reading::Otherwise) => None,
                (Grant::Bodies, Reading::Alike { as_large: false, .. }) => Some(Lack::LargeBodies),
                (Grant::Bodies, Reading::Alike { as_many_names: false, .. }) => Some(Lack::ToolNames),
                (_, Reading::Alike { .. }) => self.lack_of_operations(grant, others),
            };
        }
        if is_unread {
            return None;
        }
        match grant {
            Grant::Unread => Some(Lack::Inspection),
            Grant::Requests(rule) => self.lack_of_rule(rule, others),
            _ => self.lack_of_operations(grant, others),
        }
    }

    fn lack_of_rule(&self, rule: &AllowRule, others: &[&Arc<Endpoint>]) -> Option<Lack> {
        let is_socket = |endpoint: &Endpoint| matches!(endpoint.traffic, Traffic::WebSocket(_));
        let sends_messages = is_socket(self.own.1) && rule.method.matches(WEBSOCKET_TEXT);
        let only_messages = rule.method == MethodMatcher::One(WEBSOCKET_TEXT.into());
        let by_requests = || self.lack_of_method(rule, &rule.method, others);
        let by_messages = || {
            // Only an endpoint that reads messages allows them.
            let sockets: Vec<&Arc<Endpoint>> = others.iter().copied().filter(|other| is_socket(other)).collect();
            self.lack_of_method(rule, &MethodMatcher::One(WEBSOCKET_TEXT.into()), &sockets)
        };
        match (sends_messages, only_messages) {
            (false, _) => by_requests(),
            (true, true) => by_messages(),
            (true, false) => by_requests().or_else(by_messages),
        }
    }

    fn lack_of_method(&self, rule: &AllowRule, method: &MethodMatcher, others: &[&Arc<Endpoint>]) -> Option<Lack> {
        let (side, endpoint) = self.own;
        let AllowRule { label, path, query, .. } = rule;
        let beside = side.contents.beside(endpoint.at);
        let mut outer: Vec<Vec<Language<'_>>> = Vec::new();
        let mut incomparable = false;
        for other in others {
            let Some(rules) = other.traffic.rules() else { continue };
            let same_beside = self.against.contents.beside(other.at) == beside;
            for theirs in &rules.allow {
                if !theirs.method.covers(method) || !query_within(query, &theirs.query) {
                    continue;
                }
                if !same_beside || !self.is_alike_beside(*label, theirs.label) {
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

    /// By the rules of those endpoints that are of the same kind and for all of the same paths.
    fn lack_of_operations(&self, grant: Grant<'_>, others: &[&Arc<Endpoint>]) -> Option<Lack> {
        let (side, endpoint) = self.own;
        let beside = side.contents.beside(endpoint.at);
        let (alike, aside): (Vec<&Endpoint>, Vec<&Endpoint>) = others
            .iter()
            .map(|other| &***other)
            .filter(|other| other.protocol() == endpoint.protocol())
            .partition(|other| covers(other, endpoint) && self.against.contents.beside(other.at) == beside);
        let granted = match grant {
            Grant::Bodies => Inclusion::Included,
            Grant::Messages => {
                let as_strict = |other: &&Endpoint| Messages::of(other) >= Messages::of(endpoint);
                return (!alike.iter().any(as_strict)).then_some(if alike.is_empty() { Lack::Protocol } else { Lack::Messages });
            }
            Grant::SessionEnd => of(alike.iter().any(|other| other.path != EndpointPath::Any)),
            Grant::Operation(rule) => {
                let rules = alike.iter().filter_map(|other| graphql(other)).flat_map(|rules| &rules.allow);
                let rules: Vec<_> = rules.filter(|theirs| self.is_alike_beside(rule.label, theirs.label)).collect();
                operations::allowed(rule, &rules)
            }
            Grant::Persisted(key, _) => {
                let asked = GraphqlOperation::Persisted { key: key.into() };
                let allows = |rules: &GraphqlRules| matches!(rules.judge(&asked), Judgement::Allowed(_));
                // What no rule lets pass is of no effect.
                let is_void = graphql(endpoint).is_some_and(|own| !allows(own));
                of(is_void || alike.iter().filter_map(|other| graphql(other)).any(allows))
            }
            Grant::Call(rule) => {
                let rules = alike.iter().filter_map(|other| json_rpc(other)).flat_map(|rules| &rules.allow);
                let rules: Vec<_> = rules.filter(|theirs| self.is_alike_beside(rule.label, theirs.label)).collect();
                operations::called(rule, &rules)
            }
            Grant::Tool(rule) => Calls::of_rule(rule).within(&self.calls(&alike, Some(rule.label))),
            Grant::OtherMethods(other) => Calls::of_others(other).within(&self.calls(&alike, None)),
            Grant::Unread | Grant::Requests(_) => Inclusion::NotIncluded,
        };
        // Others that are for some of the paths may grant it there.
        let certainty = if aside.is_empty() { Certainty::Known } else { Certainty::Assumed };
        match granted {
            Inclusion::Included => None,
            Inclusion::NotIncluded => Some(Lack::Requests(certainty)),
            Inclusion::Unknown => Some(Lack::Requests(Certainty::Assumed)),
        }
    }

    fn calls<'e>(&self, alike: &[&'e Endpoint], label: Option<RuleLabel>) -> Vec<Calls<'e>> {
        let mut calls = Vec::new();
        for rules in alike.iter().filter_map(|other| mcp(other)) {
            let comparable = rules
                .allow
                .iter()
                .filter(|theirs| label.is_none_or(|own| self.is_alike_beside(own, theirs.label)));
            calls.extend(comparable.map(Calls::of_rule));
            calls.push(Calls::of_others(rules.other));
        }
        calls
    }

    /// Whether two matchers say the same beside what is compared by meaning.
    fn is_alike_beside(&self, own: RuleLabel, theirs: RuleLabel) -> bool {
        self.against.contents.beside_matcher(theirs.at) == self.own.0.contents.beside_matcher(own.at)
    }
}

/// The rules about GraphQL operations, in bodies or in messages.
pub(in crate::compare) fn graphql(endpoint: &Endpoint) -> Option<&GraphqlRules> {
    match &endpoint.traffic {
        Traffic::WebSocket(SocketRules { operations, .. }) => operations.as_ref(),
        Traffic::Body(rules) => match &rules.rules {
            OperationRules::Graphql(rules) => Some(rules),
            OperationRules::JsonRpc(_) | OperationRules::Mcp(_) => None,
        },
        Traffic::L4 | Traffic::Rest(_) => None,
    }
}

pub(in crate::compare) fn json_rpc(endpoint: &Endpoint) -> Option<&JsonRpcRules> {
    match &endpoint.traffic {
        Traffic::Body(rules) => match &rules.rules {
            OperationRules::JsonRpc(rules) => Some(rules),
            OperationRules::Graphql(_) | OperationRules::Mcp(_) => None,
        },
        _ => None,
    }
}

pub(in crate::compare) fn mcp(endpoint: &Endpoint) -> Option<&McpRules> {
    match &endpoint.traffic {
        Traffic::Body(rules) => match &rules.rules {
            OperationRules::Mcp(rules) => Some(rules),
            OperationRules::Graphql(_) | OperationRules::JsonRpc(_) => None,
        },
        _ => None,
    }
}

fn of(is: bool) -> Inclusion {
    if is { Inclusion::Included } else { Inclusion::NotIncluded }
}

/// The paths that an endpoint's rule is about: those of both.
fn language<'a>(endpoint: &'a EndpointPath, rule: &'a SegmentedGlob) -> Vec<Language<'a>> {
    match endpoint {
        EndpointPath::Any => vec![Language::Segmented(rule)],
        path @ EndpointPath::Globs { .. } => vec![Language::Endpoint(path), Language::Segmented(rule)],
    }
}
