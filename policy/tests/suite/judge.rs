//! A policy and a question, as the tables of these tests write them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use serde_json::Value;
use tollgate_policy::{
    Action, Caller, CanonicalPath, ConfigFault, EncodedSlash, Facts, Host, HttpFacts, Loaded, MiddlewareSchema, Policy, Process, Sources,
    Style, Target, load,
};

/// Knows `tollgate/x402` with a `max_amount`, and nothing else.
pub(crate) struct Schema;

impl MiddlewareSchema for Schema {
    fn validate(&self, middleware: &str, config: &Value) -> Result<(), Vec<ConfigFault>> {
        if middleware != "tollgate/x402" && middleware != "openshell/regex" {
            return Err(vec![ConfigFault::unknown_middleware(format!(
                "no middleware is registered as `{middleware}`"
            ))]);
        }
        match config.get("max_amount") {
            None | Some(Value::String(_)) => Ok(()),
            Some(_) => Err(vec![
                ConfigFault::at("/max_amount", "`max_amount` takes text").hint("put it in quotes"),
            ]),
        }
    }
}

pub(crate) fn loaded(source: &str) -> Loaded {
    load(source, &Schema)
}

/// The policy; panics with everything the loader said if there is none.
pub(crate) fn policy(source: &str) -> Policy {
    let Loaded { policy, diagnostics } = loaded(source);
    let rendered = Sources::one("policy.yaml", source).render_all(&diagnostics, Style::Plain);
    policy.unwrap_or_else(|| panic!("{source}\n{rendered}"))
}

/// One rule `api` for curl.
pub(crate) fn rule(endpoint: &str) -> Policy {
    policy(&format!(
        "version: 1\nnetwork_policies:\n  api:\n    endpoints:\n      - {}\n    binaries: [ {{ path: /usr/bin/curl }} ]\n",
        endpoint.trim().replace('\n', "\n        ")
    ))
}

pub(crate) fn process(binary: &str) -> Process {
    Process {
        binary: binary.to_owned(),
        ancestors: Vec::new(),
    }
}

/// `allow`, `would_deny:reason` or `deny:reason` for a connection; a host that has no canonical form is `unparsable`.
pub(crate) fn connect(policy: &Policy, host: &str, port: u16, binary: &str) -> String {
    let process = process(binary);
    connect_as(policy, host, port, Caller::Identified(&process))
}

pub(crate) fn connect_as(policy: &Policy, host: &str, port: u16, caller: Caller<'_>) -> String {
    let Ok(host) = Host::parse(host) else {
        return "unparsable".to_owned();
    };
    verdict(
        &policy
            .decide(&Facts {
                host: &host,
                port,
                caller,
                request: None,
            })
            .action,
    )
}

/// The same for `METHOD target` of curl on `api.example.com:443`.
pub(crate) fn request(policy: &Policy, line: &str) -> String {
    request_as(policy, line, "api.example.com", "/usr/bin/curl")
}

pub(crate) fn request_as(policy: &Policy, line: &str, host: &str, binary: &str) -> String {
    let (method, target) = line.split_once(' ').expect("METHOD target");
    let host = Host::parse(host).unwrap();
    let process = process(binary);
    let caller = Caller::Identified(&process);
    let connection = policy.decide(&Facts {
        host: &host,
        port: 443,
        caller,
        request: None,
    });
    let mode = connection
        .treatment
        .map_or(EncodedSlash::Reject, |treatment| treatment.encoded_slash);
    let target = Target::parse(target).unwrap();
    let path = match CanonicalPath::parse(target.path, mode) {
        Ok(path) => path,
        Err(error) => return format!("{error:?}"),
    };
    let facts = HttpFacts {
        method,
        path: &path,
        query: target.query,
        operation: None,
    };
    verdict(
        &policy
            .decide(&Facts {
                host: &host,
                port: 443,
                caller,
                request: Some(facts),
            })
            .action,
    )
}

pub(crate) fn verdict(action: &Action) -> String {
    match action {
        Action::Allow => "allow".to_owned(),
        Action::WouldDeny(refusal) => format!("would_deny:{}", refusal.reason),
        Action::Deny(refusal) => format!("deny:{}", refusal.reason),
    }
}
