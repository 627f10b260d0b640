//! `explain` and `decide` are one evaluator, and what a refusal proposes works.
#![allow(clippy::unwrap_used)]

use std::fmt::Write as _;

use proptest::prelude::*;

use crate::judge::{loaded, policy};
use tollgate_policy::operation::{GraphqlOperation, JsonRpcMessage, McpMessage, OperationKind, RootSelection};
use tollgate_policy::{Action, Caller, CanonicalPath, EncodedSlash, Facts, Host, HttpFacts, Operation, Process, Reason};

pub(crate) fn host() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "example.com",
        "api.example.com",
        "a.api.example.com",
        "other.com",
        "10.0.0.1",
        "www.example.com",
    ])
}

fn host_pattern() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "example.com",
        "api.example.com",
        "'*.example.com'",
        "'**.example.com'",
        "10.0.0.1",
        "'a*.example.com'",
    ])
}

fn matcher() -> impl Strategy<Value = String> {
    let method = prop::sample::select(vec!["GET", "POST", "'*'"]);
    let path = prop::sample::select(vec!["/", "/a", "'/a/*'", "'/a/**'", "'**'", "'/b?'"]);
    let query = prop::sample::select(vec!["", ", query: { k: v }", ", query: { k: { any: [v, 'w*'] } }"]);
    (method, path, query).prop_map(|(method, path, query)| format!("{{ method: {method}, path: {path}{query} }}"))
}

fn endpoint() -> impl Strategy<Value = String> {
    let rest = (
        prop::sample::select(vec!["audit", "enforce"]),
        proptest::collection::vec(matcher(), 1..3),
        proptest::collection::vec(matcher(), 0..2),
        prop::sample::select(vec!["", ", path: '/a/**'"]),
        any::<bool>(),
    );
    let traffic = prop_oneof![
        1 => Just(String::new()),
        4 => rest.prop_map(|(enforcement, allow, deny, path, slash)| {
            let allow: Vec<String> = allow.iter().map(|matcher| format!("{{ allow: {matcher} }}")).collect();
            let deny = if deny.is_empty() { String::new() } else { format!(", deny_rules: [ {} ]", deny.join(", ")) };
            let slash = if slash { ", allow_encoded_slash: true" } else { "" };
            format!(", protocol: rest, enforcement: {enforcement}{path}{slash}, rules: [ {} ]{deny}", allow.join(", "))
        }),
    ];
    let ports = prop::sample::select(vec!["port: 443", "ports: [80, 443]"]);
    (host_pattern(), ports, traffic).prop_map(|(host, ports, traffic)| format!("{{ host: {host}, {ports}{traffic} }}"))
}

/// Endpoints of the body protocols, apart from the others by port and path: they overlap only with their like.
fn body_endpoint() -> impl Strategy<Value = String> {
    let graphql = (
        prop::sample::select(vec!["query", "mutation", "'*'"]),
        prop::sample::select(vec!["", ", fields: [a]", ", fields: [a, 'b*']", ", operation_name: N"]),
    )
        .prop_map(|(kind, rest)| ("graphql", format!("{{ operation_type: {kind}{rest} }}")));
    let rpc = prop::sample::select(vec!["a", "b", "'*'"]).prop_map(|method| ("json-rpc", format!("{{ method: {method} }}")));
    let mcp = prop::sample::select(vec!["a", "tools/list", "tools/call, tool: a", "tools/call, tool: 'b*'"])
        .prop_map(|method| ("mcp", format!("{{ method: {method} }}")));
    let rules = || prop_oneof![graphql.clone(), rpc.clone(), mcp.clone()];
    let path = prop::sample::select(vec!["", "path: /a, ", "path: '/a/**', "]);
    (rules(), proptest::collection::vec(rules(), 0..3), prop::sample::select(vec!["audit", "enforce"]), path).prop_map(
        |((protocol, first), more, enforcement, path)| {
            let more: Vec<String> = more.into_iter().filter(|(own, _)| *own == protocol).map(|(_, rule)| rule).collect();
            let deny = more.first().map(|rule| format!(", deny_rules: [ {rule} ]")).unwrap_or_default();
            format!("{{ host: api.example.com, port: 8443, {path}protocol: {protocol}, enforcement: {enforcement}, rules: [ {{ allow: {first} }} ]{deny} }}")
        },
    )
}

fn operation() -> impl Strategy<Value = Operation> {
    let name = || prop::sample::select(vec!["a", "b", "bc", "tools/list"]);
    let kind = prop::sample::select(vec![OperationKind::Query, OperationKind::Mutation]);
    let fields = proptest::sample::subsequence(vec!["a", "b", "c"], 1..3);
    prop_oneof![
        (kind, prop::option::of(Just("N")), fields).prop_map(|(kind, name, fields)| {
            Operation::Graphql(GraphqlOperation::Document(RootSelection {
                kind,
                name: name.map(Into::into),
                fields: fields.into_iter().map(Into::into).collect(),
            }))
        }),
        Just(Operation::Graphql(GraphqlOperation::Persisted { key: "x".into() })),
        name().prop_map(|method| Operation::JsonRpc(JsonRpcMessage::Call { method: method.into() })),
        Just(Operation::JsonRpc(JsonRpcMessage::Response)),
        name().prop_map(|method| Operation::Mcp(McpMessage::Call {
            method: method.into(),
            tool: None
        })),
        name().prop_map(|tool| Operation::Mcp(McpMessage::Call {
            method: "tools/call".into(),
            tool: Some(tool.into())
        })),
        Just(Operation::Mcp(McpMessage::Response)),
    ]
}

pub(crate) fn source() -> impl Strategy<Value = String> {
    let binaries = prop::sample::select(vec!["{ path: '/**' }", "{ path: /usr/bin/curl }", "{ path: '/opt/*' }", ""]);
    let any_endpoint = prop_oneof![3 => endpoint(), 1 => body_endpoint()];
    let rule = (proptest::collection::vec(any_endpoint, 1..3), binaries);
    proptest::collection::vec(rule, 0..4).prop_map(|rules| {
        let mut source = String::from("version: 1\nnetwork_policies:\n");
        if rules.is_empty() {
            return "version: 1\n".to_owned();
        }
        for (index, (endpoints, binary)) in rules.iter().enumerate() {
            let _ = write!(source, "  r{index}:\n    endpoints:\n");
            for endpoint in endpoints {
                let _ = writeln!(source, "      - {endpoint}");
            }
            let _ = writeln!(source, "    binaries: [ {binary} ]");
        }
        source
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn explain_and_decide_agree_and_remedies_work(
        source in source(),
        host in host(),
        port in prop::sample::select(vec![443_u16, 80, 22, 8443, 8443]),
        binary in prop::sample::select(vec![Some("/usr/bin/curl"), Some("/opt/x"), Some("/bin/sh"), None]),
        method in prop::sample::select(vec!["GET", "HEAD", "POST"]),
        path in prop::sample::select(vec!["/", "/a", "/a/b", "/a/b/c", "/bx", "/c", "/a/x%2Fy", "/a/%2A"]),
        query in prop::sample::select(vec![None, Some("k=v"), Some("k=v&k=x"), Some("k=w1")]),
        with_request in any::<bool>(),
        operation in prop::option::of(operation()),
    ) {
        let loaded = loaded(&source);
        // Policies that contradict themselves don't load, and there is nothing to decide.
        let Some(policy) = loaded.policy else {
            prop_assert!(loaded.diagnostics.iter().any(|diagnostic| diagnostic.code.as_str() == "ambiguous-endpoints"), "{}\n{:?}", source, loaded.diagnostics);
            return Ok(());
        };
        let host = Host::parse(host).unwrap();
        let process = binary.map(|binary| Process { binary: binary.to_owned(), ancestors: Vec::new() });
        let caller = process.as_ref().map_or(Caller::Unidentified, Caller::Identified);
        let path = CanonicalPath::parse(path, EncodedSlash::Keep).unwrap();
        let request = with_request.then_some(HttpFacts { method, path: &path, query, operation: operation.as_ref() });
        let facts = Facts { host: &host, port, caller, request };

        let decision = policy.decide(&facts);
        let explanation = policy.explain(&facts);
        prop_assert_eq!(explanation.decision, decision.action.as_str());
        prop_assert_eq!(explanation.reason_code, decision.reason().map(Reason::as_str));
        prop_assert_eq!(explanation.policy.as_deref(), decision.policy);
        prop_assert_eq!(explanation.rule, decision.rule.map(|rule| rule.to_string()));
        prop_assert_eq!(explanation.detail, decision.refusal().map(|refusal| refusal.detail(&facts)));

        // Where identification is said not to matter, it does not.
        if !policy.needs_caller(&host, port) {
            let unidentified = policy.decide(&Facts { caller: Caller::Unidentified, ..facts });
            prop_assert_eq!(unidentified.action.as_str(), decision.action.as_str());
            prop_assert_eq!(unidentified.policy, decision.policy);
        }
        // A request that passes was let through CONNECT before.
        if decision.action.passes() {
            let connection = policy.decide(&Facts { request: None, ..facts });
            prop_assert!(connection.action.passes());
            prop_assert!(decision.treatment.is_some());
        }
        // No query value leaks into what the agent reads.
        if let Some(refusal) = decision.refusal() {
            let text = format!("{} {}", refusal.detail(&facts), refusal.next_steps(&facts).join(" "));
            prop_assert!(!text.contains("w1") && !text.contains("k="), "{}", text);
        }
        if let Action::Deny(refusal) = &decision.action && matches!(refusal.reason, Reason::HostNotAllowed | Reason::NoPolicy) {
            let steps = refusal.next_steps(&facts);
            let (_, rule) = steps.last().unwrap().split_once('\n').unwrap();
            let proposed = format!("version: 1\nnetwork_policies:\n  {}\n", rule.replace('\n', "\n  "));
            let proposed = crate::judge::policy(&proposed);
            prop_assert_eq!(proposed.decide(&facts).action.as_str(), "allow", "{}", rule);
        }
    }
}

#[test]
fn a_proposed_rule_allows_exactly_what_was_denied() {
    let source = "version: 1\nnetwork_policies:\n  api:\n    endpoints:\n      - host: api.example.com\n        port: 443\n        protocol: rest\n        enforcement: enforce\n        rules:\n          - allow: { method: GET, path: /a }\n";
    let binaries = "    binaries: [ { path: '/**' } ]\n";
    let host = Host::parse("api.example.com").unwrap();
    let path = CanonicalPath::parse("/files/[1]*", EncodedSlash::Reject).unwrap();
    let other = CanonicalPath::parse("/files/1x", EncodedSlash::Reject).unwrap();
    let facts = |path| Facts {
        host: &host,
        port: 443,
        caller: Caller::Unidentified,
        request: Some(HttpFacts {
            method: "POST",
            path,
            query: None,
            operation: None,
        }),
    };
    let before = policy(&format!("{source}{binaries}"));
    let decision = before.decide(&facts(&path));
    let steps = decision.refusal().unwrap().next_steps(&facts(&path));
    let (_, rule) = steps.first().unwrap().split_once('\n').unwrap();
    let after = policy(&format!("{source}          {rule}\n{binaries}"));
    assert!(after.decide(&facts(&path)).action.passes(), "{rule}");
    assert!(!after.decide(&facts(&other)).action.passes(), "{rule}");
}
