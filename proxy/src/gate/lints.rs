//! What the rail and payment rules have to say about a policy: findings that only the proxy can make.

use tollgate_policy::{Code, Diagnostic, EndpointView, Policy, Protocol, Severity, Tls};

use super::rail::Rails;

/// All of them, in the order of the file.
pub fn findings(policy: &Policy, rails: &Rails) -> Vec<Diagnostic> {
    let mut findings: Vec<Diagnostic> = policy
        .endpoints()
        .flat_map(|endpoint| [rail_listed(&endpoint, rails), payments_not_visible(&endpoint)])
        .flatten()
        .collect();
    findings.sort_by_key(|finding| (finding.line, finding.column));
    findings
}

/// A rail that a policy lists stays shut; its author should hear of it before the agent does.
fn rail_listed(endpoint: &EndpointView<'_>, rails: &Rails) -> Option<Diagnostic> {
    let pattern = endpoint.host?;
    let listed = match pattern.as_exact() {
        Some(host) => endpoint
            .ports
            .iter()
            .find_map(|port| rails.destination(host, *port))
            .map(|_| pattern.as_str().to_owned()),
        None => rails.names().find(|rail| pattern.matches(rail)).map(|rail| rail.to_string()),
    }?;
    Some(warning(
        endpoint,
        Code::RailListed,
        format!(
            "`{}` lists the payment rail `{listed}`, which stays shut: no policy can open one",
            pattern.as_str()
        ),
        "remove the endpoint; a payment is made by paying a seller, never by calling a rail",
    ))
}

fn payments_not_visible(endpoint: &EndpointView<'_>) -> Option<Diagnostic> {
    let why = match (endpoint.tls, endpoint.protocol) {
        (Tls::Skip, _) => "its TLS is not terminated",
        (Tls::Auto, Protocol::L4) => "bytes that are neither TLS nor HTTP pass unread",
        _ => return None,
    };
    let host = endpoint.host.map_or("the endpoint", |host| host.as_str());
    Some(warning(
        endpoint,
        Code::PaymentsNotVisible,
        format!("payments to `{host}` are not visible: {why}"),
        "use `protocol: rest` so that requests are read, or cover the host with the payment stanza so that unreadable bytes are refused",
    ))
}

fn warning(endpoint: &EndpointView<'_>, code: Code, message: String, hint: &str) -> Diagnostic {
    Diagnostic::new(Severity::Warning, code, endpoint.at, message, hint)
}
