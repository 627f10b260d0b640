//! A refusal in words, and the smallest change that would lift it.
//!
//! Denial bodies reach the agent inside the sandbox: texts hold no query values, and long paths are cut.

use std::fmt::Write as _;

use super::{Caller, Facts, HttpFacts, Refusal, RuleList};
use crate::operation::{BodyProtocol, GraphqlOperation, Operation};
use crate::policy::{Endpoint, SocketRules, Traffic};
use crate::reason::Reason;

mod yaml;

use yaml::{allow_operation, allow_rule, new_rule, quoted};

/// Longer paths are cut in sentences.
const MAX_SHOWN: usize = 200;

pub(super) fn detail(refusal: &Refusal, facts: &Facts<'_>) -> String {
    let (host, port) = (facts.host, facts.port);
    let policy = refusal.nearest.as_deref().map_or("", |endpoint| &*endpoint.rule_key);
    let request = facts.request.map_or_else(|| "the request".to_owned(), |request| shown(&request));
    match refusal.reason {
        Reason::NoPolicy => "network connections not allowed by policy: it lists no endpoint".to_owned(),
        Reason::HostNotAllowed => format!("endpoint {host}:{port} is not allowed by any policy"),
        Reason::PortNotAllowed => {
            let ports = refusal.nearest.as_deref().map(ports).unwrap_or_default();
            format!("endpoint {host}:{port} is not allowed by any policy; policy '{policy}' lists the host with port {ports}")
        }
        Reason::BinaryNotAllowed => match facts.caller {
            Caller::Identified(process) => {
                let mut text = format!(
                    "binary '{}' not allowed in policy '{policy}' for {host}:{port}",
                    cut(&process.binary)
                );
                if !process.ancestors.is_empty() {
                    let _ = write!(text, " (ancestors: {})", cut(&process.ancestors.join(", ")));
                }
                text
            }
            _ => format!("the calling process is unknown, and policy '{policy}' allows {host}:{port} only for the binaries it lists"),
        },
        Reason::MethodNotAllowed if refusal.protocol().is_some() => {
            let protocol = refusal.protocol().map_or("", BodyProtocol::as_str);
            format!("{request} is not allowed on {host}:{port}: policy '{policy}' reads it as {protocol}, which is not spoken like this")
        }
        Reason::MethodNotAllowed => {
            format!("{request} is not allowed on {host}:{port}: policy '{policy}' allows the path with other methods")
        }
        Reason::QueryNotAllowed => format!("{request} is not allowed on {host}:{port} with this query by policy '{policy}'"),
        Reason::DeniedByRule => {
            let label = refusal.denied_by.map(|label| label.to_string()).unwrap_or_default();
            format!("{request} is denied on {host}:{port} by {label} of policy '{policy}'")
        }
        _ => format!("{request} is not allowed on {host}:{port}"),
    }
}

pub(super) fn next_steps(refusal: &Refusal, facts: &Facts<'_>) -> Vec<String> {
    let Some(endpoint) = refusal.nearest.as_deref() else {
        return vec![format!("add a rule under network_policies:\n{}", new_rule(facts))];
    };
    let place = format!(
        "policy '{}', endpoint {} ({})",
        endpoint.rule_key,
        endpoint.host_text(),
        cut(&endpoint.place(endpoint.at.line))
    );
    match refusal.reason {
        Reason::HostNotAllowed => host_steps(endpoint, facts),
        Reason::PortNotAllowed => {
            let mut ports = endpoint.ports.to_vec();
            ports.push(facts.port);
            ports.sort_unstable();
            vec![format!("in {place}, list the port:\nports: {ports:?}")]
        }
        Reason::BinaryNotAllowed => binary_steps(endpoint, facts),
        Reason::MethodNotAllowed if refusal.protocol().is_some() => Vec::new(),
        Reason::MethodNotAllowed | Reason::PathNotAllowed => request_steps(endpoint, facts, &place),
        Reason::OperationNotAllowed => operation_steps(endpoint, facts, &place),
        Reason::QueryNotAllowed => vec![format!("in {place}, widen the `query` of the rule for this method and path")],
        Reason::DeniedByRule => {
            let rule = cut(&endpoint.place(refusal.denied_by.map_or(0, |label| label.at.line)));
            vec![format!(
                "in {place}, narrow or remove the deny rule at {rule}: no allow rule can override it"
            )]
        }
        _ => Vec::new(),
    }
}

fn host_steps(endpoint: &Endpoint, facts: &Facts<'_>) -> Vec<String> {
    let mut steps = Vec::new();
    let (listed, wanted) = (endpoint.host_text(), facts.host.name().unwrap_or_default());
    if listed.contains('*') && endpoint.host.as_ref().and_then(|pattern| pattern.apex()) == Some(wanted) {
        steps.push(format!(
            "policy '{}' lists {listed}, which covers subdomains but never {wanted} itself",
            endpoint.rule_key
        ));
    } else if listed.contains('*') {
        steps.push(format!(
            "policy '{}' lists {listed}, where `*` stands for one label; `**` stands for several",
            endpoint.rule_key
        ));
    } else {
        steps.push(format!("policy '{}' lists {listed}; {wanted} is another host", endpoint.rule_key));
    }
    steps.push(format!("add a rule under network_policies:\n{}", new_rule(facts)));
    steps
}

fn binary_steps(endpoint: &Endpoint, facts: &Facts<'_>) -> Vec<String> {
    let mut rule = format!("policy '{}'", endpoint.rule_key);
    if let Some(file) = &endpoint.file {
        let _ = write!(rule, " ({})", cut(file));
    }
    match facts.caller {
        Caller::Identified(process) => vec![
            format!("in {rule}, add to binaries:\n- path: {}", quoted(&process.binary)),
            "binaries are compared by the resolved path of the executable, of the caller or of one of its ancestors; a symlink in the policy stands for its target".to_owned(),
        ],
        _ => vec![format!(
            "in {rule}, list the binary; or, if any process may use the endpoint:\nbinaries:\n  - path: \"/**\""
        )],
    }
}

fn request_steps(endpoint: &Endpoint, facts: &Facts<'_>, place: &str) -> Vec<String> {
    let Some(request) = facts.request else {
        return Vec::new();
    };
    if request.path.has_encoded_slash() && !endpoint.keeps_encoded_slash() {
        return vec![format!("in {place}, allow %2F in paths:\nallow_encoded_slash: true")];
    }
    if !endpoint.path.matches(request.path.as_str()) {
        return vec![format!(
            "no endpoint's `path` covers the request; add a rule under network_policies:\n{}",
            new_rule(facts)
        )];
    }
    let rule = allow_rule(&request);
    vec![add_rule(endpoint, place, &rule)]
}

fn add_rule(endpoint: &Endpoint, place: &str, rule: &str) -> String {
    let by_access = match &endpoint.traffic {
        Traffic::Rest(rules) | Traffic::WebSocket(SocketRules { head: rules, .. }) => {
            rules.allow.iter().any(|rule| rule.label.list == RuleList::Access)
        }
        Traffic::Body(rules) => rules.has_preset(),
        Traffic::L4 => false,
    };
    if by_access {
        return format!("in {place}, write `rules` instead of `access` and add to them:\n{rule}");
    }
    format!("in {place}, add to rules:\n{rule}")
}

fn operation_steps(endpoint: &Endpoint, facts: &Facts<'_>, place: &str) -> Vec<String> {
    let operation = facts.request.and_then(|request| request.operation);
    if let Some(Operation::Graphql(GraphqlOperation::Persisted { key })) = operation {
        let key = quoted(&cut(key));
        return vec![format!(
            "send the query's text; or, in {place}, say what the server knows by this name:\npersisted_queries: allow_registered\ngraphql_persisted_queries:\n  {key}: {{ operation_type: query, fields: [\"…\"] }}"
        )];
    }
    operation
        .and_then(allow_operation)
        .map(|rule| vec![add_rule(endpoint, place, &rule)])
        .unwrap_or_default()
}

/// `POST /graphql` with what of it is judged, if that is known.
fn shown(request: &HttpFacts<'_>) -> String {
    let line = format!("{} {}", cut(request.method), cut(request.path.as_str()));
    match request.operation {
        Some(operation) => format!("{operation} ({line})"),
        None => line,
    }
}

fn cut(text: &str) -> String {
    let mut shown: String = text
        .chars()
        .take(MAX_SHOWN)
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect();
    if text.chars().nth(MAX_SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

fn ports(endpoint: &Endpoint) -> String {
    endpoint.ports.iter().map(u16::to_string).collect::<Vec<_>>().join(", ")
}
