//! The walk: candidates from the index, each looked at once, the outcome of all of them merged.
//!
//! Allowing is a union over rules; a deny rule of any matching endpoint beats every allow; the endpoint with the most specific
//! `path` says whether a denial is enforced. Allowing allocates nothing.

use std::sync::Arc;

use super::{Action, Decision, Facts, HttpFacts, Refusal, RuleLabel};
use crate::host::Host;
use crate::operation::Operation;
use crate::policy::{
    Binaries, BinaryMatch, BodyRules, Endpoint, EndpointId, Fit, HostLevel, Judgement, Policy, RestRules, SocketRules, Traffic,
};
use crate::reason::Reason;

mod merge;

use merge::{Best, Merged, Verdict};

/// Hears what became of each candidate.
pub(super) trait Trace {
    fn candidate(&mut self, endpoint: &Endpoint, binary: BinaryMatch, step: &Step);
}

/// The runtime does not listen.
pub(super) struct Silent;

impl Trace for Silent {
    fn candidate(&mut self, _: &Endpoint, _: BinaryMatch, _: &Step) {}
}

/// What became of one candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The rule is not for this binary.
    OtherBinary,
    /// Host, port and binary match; there is no request to judge.
    Connection,
    /// The endpoint's `path` is for other requests.
    OtherEndpointPath,
    /// The path holds `%2F`, which the endpoint does not allow.
    EncodedSlash,
    /// A deny rule matches.
    Denied(RuleLabel),
    /// Passes without being read.
    Unread,
    /// An allow rule matches; or, of a body protocol, none is needed.
    Allowed(Option<RuleLabel>),
    /// No allow rule matches; how far the nearest one got.
    NoRule(Fit),
    /// The body decides, and has not been read yet.
    Pending,
    /// The method is none of the endpoint's protocol.
    OtherHttpMethod,
    /// No allow rule matches the operation.
    NoRuleForOperation,
    /// Nothing allows the operation, and audit mode does not soften it.
    Never,
    /// The body was read by another protocol.
    OtherProtocol,
}

pub(super) fn needs_caller(policy: &Policy, host: &Host, port: u16) -> bool {
    let mut needed = false;
    policy.index().candidates(host, port, |id| {
        let rule = policy.endpoint(id).and_then(|endpoint| policy.rule(endpoint.rule));
        needed |= rule.is_some_and(|rule| matches!(rule.binaries, Binaries::Listed(_)));
    });
    needed
}

pub(super) fn evaluate<'a>(policy: &'a Policy, facts: &Facts<'_>, trace: &mut impl Trace) -> Decision<'a> {
    if policy.is_empty() {
        return hard_denial(Reason::NoPolicy, None);
    }
    let mut merged = Merged::default();
    let mut listed = Best::default();
    let level = policy.index().candidates(facts.host, facts.port, |id| {
        let Some(endpoint) = policy.endpoint(id) else { return };
        let Some(rule) = policy.rule(endpoint.rule) else { return };
        let binary = rule.binaries.matches(facts.caller);
        let step = step(endpoint, binary, facts.request.as_ref());
        trace.candidate(endpoint, binary, &step);
        listed.offer(endpoint.rule, endpoint);
        merged.add(endpoint, binary, step);
    });
    match level {
        HostLevel::Unknown => hard_denial(Reason::HostNotAllowed, nearest_host(policy, facts.host)),
        HostLevel::Host => hard_denial(Reason::PortNotAllowed, nearest_port(policy, facts.host)),
        HostLevel::Port => match merged.verdict() {
            Verdict::OtherBinary => hard_denial(Reason::BinaryNotAllowed, listed.get()),
            Verdict::Allowed { endpoint, label } => Decision {
                action: Action::Allow,
                policy: Some(&endpoint.rule_key),
                rule: label,
                treatment: merged.treatment(),
            },
            Verdict::Refused {
                reason,
                endpoint,
                label,
                enforced,
            } => {
                let refusal = Refusal {
                    reason,
                    nearest: endpoint.cloned(),
                    denied_by: label,
                };
                Decision {
                    action: if enforced {
                        Action::Deny(refusal)
                    } else {
                        Action::WouldDeny(refusal)
                    },
                    policy: endpoint.map(|endpoint| &*endpoint.rule_key),
                    rule: label,
                    treatment: merged.treatment(),
                }
            }
        },
    }
}

fn step(endpoint: &Endpoint, binary: BinaryMatch, request: Option<&HttpFacts<'_>>) -> Step {
    if binary == BinaryMatch::Differs {
        return Step::OtherBinary;
    }
    let Some(request) = request else {
        return match binary {
            BinaryMatch::Matches => Step::Connection,
            _ => Step::OtherBinary,
        };
    };
    if let Some(rules) = endpoint.traffic.rules() {
        if !endpoint.path.matches(request.path.as_str()) {
            return Step::OtherEndpointPath;
        }
        // First of all, and also for a caller that may or may not be the rule's: not knowing who asks must not lift a denial.
        if let Some(deny) = rules.deny.iter().find(|rule| rule.forbids(request)) {
            return Step::Denied(deny.label);
        }
    }
    let in_message = operation_in_message(endpoint, request);
    if let Some(Judgement::Denied(label)) = in_message {
        return Step::Denied(label);
    }
    if let Traffic::Body(rules) = &endpoint.traffic {
        return judge_operation(endpoint, rules, binary, request);
    }
    if binary == BinaryMatch::Possibly {
        return Step::OtherBinary;
    }
    if request.path.has_encoded_slash() && !endpoint.keeps_encoded_slash() {
        return Step::EncodedSlash;
    }
    match in_message {
        Some(Judgement::Allowed(label)) => return Step::Allowed(label),
        Some(_) => return Step::NoRuleForOperation,
        None => {}
    }
    match &endpoint.traffic {
        // A message is no HTTP request: `*` on a `rest` endpoint of the same host must not let one pass.
        Traffic::Rest(_) if request.is_message() => Step::OtherEndpointPath,
        // Rules about messages as a whole must not let one pass of whose operations others say what may pass.
        Traffic::WebSocket(_) if request.is_message() && request.operation.is_some() => Step::OtherEndpointPath,
        Traffic::Rest(rules) | Traffic::WebSocket(SocketRules { head: rules, .. }) => judge(rules, request),
        Traffic::L4 | Traffic::Body(_) => Step::Unread,
    }
}

/// What an endpoint with rules about the operations in messages says to one.
fn operation_in_message(endpoint: &Endpoint, request: &HttpFacts<'_>) -> Option<Judgement> {
    match (&endpoint.traffic, request.operation) {
        (Traffic::WebSocket(rules), Some(Operation::Graphql(operation))) if request.is_message() => {
            rules.operations.as_ref().map(|operations| operations.judge(operation))
        }
        _ => None,
    }
}

fn judge_operation(endpoint: &Endpoint, rules: &BodyRules, binary: BinaryMatch, request: &HttpFacts<'_>) -> Step {
    if !endpoint.path.matches(request.path.as_str()) || request.is_message() {
        return Step::OtherEndpointPath;
    }
    let judgement = request.operation.map(|operation| rules.judge(operation));
    match (judgement, binary) {
        // Not knowing who asks must not lift a denial.
        (Some(Judgement::Denied(label)), _) => Step::Denied(label),
        (_, BinaryMatch::Possibly) => Step::OtherBinary,
        _ if request.path.has_encoded_slash() && !endpoint.keeps_encoded_slash() => Step::EncodedSlash,
        _ if !endpoint.takes(rules.protocol(), request.method) => Step::OtherHttpMethod,
        (None, _) => Step::Pending,
        (Some(Judgement::Allowed(label)), _) => Step::Allowed(label),
        (Some(Judgement::NoRule), _) => Step::NoRuleForOperation,
        (Some(Judgement::Never), _) => Step::Never,
        (Some(Judgement::OtherProtocol), _) => Step::OtherProtocol,
    }
}

fn judge(rules: &RestRules, request: &HttpFacts<'_>) -> Step {
    let mut nearest = Fit::OtherPath;
    for rule in &rules.allow {
        match rule.fit(request) {
            Fit::Fits => return Step::Allowed(Some(rule.label)),
            fit => nearest = nearest.max(fit),
        }
    }
    Step::NoRule(nearest)
}

fn hard_denial(reason: Reason, nearest: Option<&Arc<Endpoint>>) -> Decision<'_> {
    Decision {
        policy: nearest.map(|endpoint| &*endpoint.rule_key),
        action: Action::Deny(Refusal {
            reason,
            nearest: nearest.cloned(),
            denied_by: None,
        }),
        rule: None,
        treatment: None,
    }
}

/// The endpoint whose host differs only by being the apex, a subdomain, or by `www`.
fn nearest_host<'a>(policy: &'a Policy, host: &Host) -> Option<&'a Arc<Endpoint>> {
    let name = host.name()?;
    let index = policy.index();
    let other_www = name
        .strip_prefix("www.")
        .map_or_else(|| index.exact_name(&format!("www.{name}")), |bare| index.exact_name(bare));
    let mut suffixes = std::iter::successors(Some(name), |name| name.split_once('.').map(|(_, parent)| parent));
    let id = other_www.or_else(|| suffixes.find_map(|suffix| index.wildcard_above(suffix)))?;
    policy.endpoint(id)
}

fn nearest_port<'a>(policy: &'a Policy, host: &Host) -> Option<&'a Arc<Endpoint>> {
    let mut nearest: Option<EndpointId> = None;
    policy
        .index()
        .any_port(host, |id| nearest = Some(nearest.map_or(id, |own| own.min(id))));
    policy.endpoint(nearest?)
}
