//! The same walk, with everything it saw.

use serde::Serialize;

use super::evaluate::{Step, Trace, evaluate};
use super::{Facts, HttpFacts};
use crate::diagnostic::Position;
use crate::operation::Operation;
use crate::policy::{BinaryMatch, Endpoint, Enforcement, Fit, Held, Policy, Protocol, SocketRules, Tls, Traffic};

/// A decision and how it came about; its serialised form is part of `explain --format json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// `allow`, `deny` or `would_deny`.
    pub decision: &'static str,
    /// The reason of a denial.
    pub reason_code: Option<&'static str>,
    /// The rule that decided, or the nearest one.
    pub policy: Option<String>,
    /// The allow or deny rule that decided.
    pub rule: Option<String>,
    /// One sentence.
    pub detail: Option<String>,
    /// What would allow it.
    pub next_steps: Vec<String>,
    /// Whether identifying the caller could make a difference.
    pub needs_caller: bool,
    /// Every endpoint that lists the host and port.
    pub candidates: Vec<Candidate>,
}

/// An endpoint that lists the host and port, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Candidate {
    /// The rule's key.
    pub policy: String,
    /// The endpoint's host as written; `*` where it has none.
    pub host: String,
    /// Its ports.
    pub ports: Vec<u16>,
    /// How its traffic is read.
    pub protocol: Protocol,
    /// What happens to TLS.
    pub tls: Tls,
    /// Audit or enforce.
    pub enforcement: Enforcement,
    /// Where it stands.
    pub at: Position,
    /// The rule's binaries as written; `/**` for any, none where the rule never matches.
    pub binaries: Vec<String>,
    /// What became of it.
    pub outcome: Outcome,
    /// Each of its rules that was held against the request.
    pub rules: Vec<RuleTrace>,
}

/// What became of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The rule is not for this binary.
    OtherBinary,
    /// The caller is unknown, and the rule is for certain binaries.
    UnknownBinary,
    /// Host, port and binary match.
    Matches,
    /// The endpoint's `path` is for other requests.
    OtherEndpointPath,
    /// The path holds `%2F`, which the endpoint does not allow.
    EncodedSlash,
    /// A deny rule matches.
    DeniedByRule,
    /// An allow rule matches.
    AllowedByRule,
    /// An endpoint without a protocol lets every request pass.
    PassesUnread,
    /// No rule has the path.
    NoRuleForPath,
    /// Rules have the path, with other methods.
    NoRuleForMethod,
    /// Rules have path and method, with another query.
    NoRuleForQuery,
    /// The endpoint's rules are about the body, which is not known.
    BodyDecides,
    /// The method is none of the endpoint's protocol.
    OtherHttpMethod,
    /// No rule has the operation.
    NoRuleForOperation,
    /// The operation is never allowed.
    NeverAllowed,
    /// The body was read by the protocol of an endpoint with a more specific path.
    OtherProtocol,
}

/// One rule against the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleTrace {
    /// `rules[0]`, `deny_rules[1]` or `access`.
    pub rule: String,
    /// Where it stands.
    pub at: Position,
    /// The first part that does not match: `path`, `method`, `query`, `operation_type`, `operation_name`, `fields` or `tool`; `None` where
    /// all do.
    pub fails: Option<&'static str>,
}

pub(super) fn explain(policy: &Policy, facts: &Facts<'_>) -> Explanation {
    let mut collector = Collector {
        policy,
        request: facts.request,
        candidates: Vec::new(),
    };
    let decision = evaluate(policy, facts, &mut collector);
    let mut candidates = collector.candidates;
    candidates.sort_by(|a, b| (&a.policy, a.at).cmp(&(&b.policy, b.at)));
    Explanation {
        decision: decision.action.as_str(),
        reason_code: decision.reason().map(crate::reason::Reason::as_str),
        policy: decision.policy.map(str::to_owned),
        rule: decision.rule.map(|label| label.to_string()),
        detail: decision.refusal().map(|refusal| refusal.detail(facts)),
        next_steps: decision.refusal().map(|refusal| refusal.next_steps(facts)).unwrap_or_default(),
        needs_caller: policy.needs_caller(facts.host, facts.port),
        candidates,
    }
}

struct Collector<'f> {
    policy: &'f Policy,
    request: Option<HttpFacts<'f>>,
    candidates: Vec<Candidate>,
}

impl Trace for Collector<'_> {
    fn candidate(&mut self, endpoint: &Endpoint, binary: BinaryMatch, step: &Step) {
        self.candidates.push(Candidate {
            policy: endpoint.rule_key.to_string(),
            host: endpoint.host_text().to_owned(),
            ports: endpoint.ports.to_vec(),
            protocol: endpoint.protocol(),
            tls: endpoint.tls,
            enforcement: endpoint.enforcement,
            at: endpoint.at,
            binaries: self
                .policy
                .rule(endpoint.rule)
                .map(|rule| rule.binaries.texts())
                .unwrap_or_default(),
            outcome: outcome(binary, *step),
            rules: match (&self.request, step) {
                (Some(request), Step::Denied(_) | Step::Allowed(_) | Step::NoRule(_) | Step::NoRuleForOperation) => {
                    rules(endpoint, request)
                }
                _ => Vec::new(),
            },
        });
    }
}

fn outcome(binary: BinaryMatch, step: Step) -> Outcome {
    match step {
        Step::OtherBinary if binary == BinaryMatch::Possibly => Outcome::UnknownBinary,
        Step::OtherBinary => Outcome::OtherBinary,
        Step::Connection => Outcome::Matches,
        Step::OtherEndpointPath => Outcome::OtherEndpointPath,
        Step::EncodedSlash => Outcome::EncodedSlash,
        Step::Denied(_) => Outcome::DeniedByRule,
        Step::Unread => Outcome::PassesUnread,
        Step::Allowed(_) => Outcome::AllowedByRule,
        Step::NoRule(Fit::OtherMethod) => Outcome::NoRuleForMethod,
        Step::NoRule(Fit::OtherQuery) => Outcome::NoRuleForQuery,
        Step::NoRule(_) => Outcome::NoRuleForPath,
        Step::Pending => Outcome::BodyDecides,
        Step::OtherHttpMethod => Outcome::OtherHttpMethod,
        Step::NoRuleForOperation => Outcome::NoRuleForOperation,
        Step::Never => Outcome::NeverAllowed,
        Step::OtherProtocol => Outcome::OtherProtocol,
    }
}

fn rules(endpoint: &Endpoint, request: &HttpFacts<'_>) -> Vec<RuleTrace> {
    let held: Vec<Held> = match (&endpoint.traffic, request.operation) {
        (
            Traffic::WebSocket(SocketRules {
                operations: Some(operations),
                ..
            }),
            Some(Operation::Graphql(operation)),
        ) => operations.trace(operation),
        (Traffic::Rest(rules) | Traffic::WebSocket(SocketRules { head: rules, .. }), _) => {
            let denies = rules.deny.iter().map(|rule| (rule.label, part(rule.fit(request))));
            let allows = rules.allow.iter().map(|rule| (rule.label, part(rule.fit(request))));
            denies.chain(allows).collect()
        }
        (Traffic::Body(rules), Some(operation)) => rules.trace(operation),
        (Traffic::L4 | Traffic::Body(_), _) => Vec::new(),
    };
    let trace = |(label, fails): Held| RuleTrace {
        rule: label.to_string(),
        at: label.at,
        fails,
    };
    held.into_iter().map(trace).collect()
}

fn part(fit: Fit) -> Option<&'static str> {
    match fit {
        Fit::OtherPath => Some("path"),
        Fit::OtherMethod => Some("method"),
        Fit::OtherQuery => Some("query"),
        Fit::OtherOperation => Some("operation"),
        Fit::Fits => None,
    }
}
