//! Rules and endpoints in words.

pub(super) mod operations;

use std::fmt::Write as _;

use super::reach::Program;
use crate::address::AddressScope;
use crate::matcher::{MethodMatcher, SegmentedGlob};
use crate::policy::{Endpoint, Enforcement, Protocol, QueryMatcher, RestRules, SocketRules, Tls, Traffic};

/// No more of a list than this is written out.
const MOST_LISTED: usize = 6;

pub(super) fn list<T: AsRef<str>>(items: &[T]) -> String {
    let shown: Vec<&str> = items.iter().take(MOST_LISTED).map(AsRef::as_ref).collect();
    match items.len().checked_sub(MOST_LISTED) {
        Some(more @ 1..) => format!("{} and {more} more", shown.join(", ")),
        _ => shown.join(", "),
    }
}

/// `api.example.com:443`, `api.example.com:80,443`.
pub(super) fn place(endpoint: &Endpoint, ports: &[u16]) -> String {
    let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
    format!(
        "{}:{}",
        endpoint.host.as_ref().map_or("any host", |host| host.as_str()),
        ports.join(",")
    )
}

pub(super) fn programs(programs: &[Program<'_>]) -> String {
    list(&programs.iter().map(|program| program.text()).collect::<Vec<_>>())
}

pub(super) fn protocol(protocol: Protocol) -> String {
    // The word of the policy.
    serde_json::to_value(protocol)
        .ok()
        .and_then(|word| word.as_str().map(str::to_owned))
        .unwrap_or_default()
}

/// `GET /v1/** with query q=a*`.
pub(super) fn request(method: &MethodMatcher, path: &SegmentedGlob, query: &[QueryMatcher]) -> String {
    requests(&[method], path, query)
}

/// `GET, HEAD /v1/**`.
pub(super) fn requests(methods: &[&MethodMatcher], path: &SegmentedGlob, query: &[QueryMatcher]) -> String {
    let methods: Vec<String> = methods.iter().map(ToString::to_string).collect();
    let mut text = format!("{} {path}", methods.join(", "));
    for (index, QueryMatcher { name, globs }) in query.iter().enumerate() {
        let globs: Vec<String> = globs.iter().map(ToString::to_string).collect();
        let _ = write!(
            text,
            "{}{name}={}",
            if index == 0 { " with query " } else { " and " },
            globs.join(" or ")
        );
    }
    text
}

/// What an endpoint lets pass.
pub(super) fn passes(endpoint: &Endpoint) -> String {
    match &endpoint.traffic {
        Traffic::L4 if endpoint.tls == Tls::Skip => "whatever is sent, TLS not terminated".to_owned(),
        Traffic::L4 => "whatever is sent".to_owned(),
        Traffic::Rest(rules) => passes_requests(rules) + audited(endpoint),
        Traffic::WebSocket(SocketRules { head, operations }) => {
            let mut text = passes_requests(head);
            if let Some(operations) = operations {
                let _ = write!(text, ", and messages with {}", operations::passes_graphql(operations));
            }
            text + audited(endpoint)
        }
        Traffic::Body(rules) => operations::passes(rules) + audited(endpoint),
    }
}

fn passes_requests(RestRules { allow, deny }: &RestRules) -> String {
    // A preset is several rules at one place.
    let presets = allow.chunk_by(|a, b| a.label == b.label);
    let allowed: Vec<String> = presets
        .filter_map(|rules| {
            let methods: Vec<&MethodMatcher> = rules.iter().map(|rule| &rule.method).collect();
            rules.first().map(|rule| requests(&methods, &rule.path, &rule.query))
        })
        .collect();
    let mut text = list(&allowed);
    if !deny.is_empty() {
        let denied: Vec<String> = deny.iter().map(|rule| request(&rule.method, &rule.path, &rule.query)).collect();
        let _ = write!(text, ", but not {}", list(&denied));
    }
    text
}

fn audited(endpoint: &Endpoint) -> &'static str {
    match endpoint.enforcement {
        Enforcement::Audit => "; it only audits, so everything else passes too and is logged",
        Enforcement::Enforce => "",
    }
}

/// Paths, where the endpoint is not for all of them.
pub(super) fn under_path(endpoint: &Endpoint) -> String {
    if endpoint.path.specificity() == 0 {
        String::new()
    } else {
        format!(" under {}", endpoint.path)
    }
}

pub(super) fn addresses(scope: &AddressScope) -> String {
    match scope {
        AddressScope::AllowedRanges(ranges) => list(&ranges.iter().map(ToString::to_string).collect::<Vec<_>>()),
        AddressScope::Literal(address) => address.to_string(),
        AddressScope::DeclaredName => "any that its exact name resolves to, private ones too".to_owned(),
        AddressScope::PublicOnly => "public ones".to_owned(),
        AddressScope::AnyOf(scopes) => scopes.iter().map(addresses).collect::<Vec<_>>().join(", "),
    }
}
