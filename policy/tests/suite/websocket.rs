//! WebSocket endpoints: the handshake is a GET, a text message a request of its own method on the same path (facts of OpenShell 1.5).
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::judge::{policy, request, rule, verdict};
use tollgate_policy::operation::{SocketMessage, socket_message};
use tollgate_policy::{Caller, CanonicalPath, EncodedSlash, Facts, Host, HttpFacts, Messages, Policy};

fn socket(rest: &str) -> Policy {
    rule(&format!(
        "host: api.example.com\nport: 443\nprotocol: websocket\nenforcement: enforce\n{rest}"
    ))
}

fn table(policy: &Policy, rows: &[(&str, &str)]) {
    for (line, expected) in rows {
        assert_eq!(request(policy, line), *expected, "{line}");
    }
}

fn messages(policy: &Policy, path: &str) -> Option<Messages> {
    let host = Host::parse("api.example.com").unwrap();
    let path = CanonicalPath::parse(path, EncodedSlash::Reject).unwrap();
    let request = HttpFacts {
        method: "GET",
        path: &path,
        query: None,
        operation: None,
    };
    let facts = Facts {
        host: &host,
        port: 443,
        caller: Caller::NotEnforced,
        request: Some(request),
    };
    policy.decide(&facts).treatment.map(|treatment| treatment.messages)
}

#[test]
fn presets_open_the_handshake_then_messages_then_everything() {
    table(
        &socket("access: read-only"),
        &[
            ("GET /socket", "allow"),
            ("WEBSOCKET_TEXT /socket", "deny:method_not_allowed"),
            ("OPTIONS /socket", "deny:method_not_allowed"),
        ],
    );
    table(
        &socket("access: read-write"),
        &[
            ("GET /socket", "allow"),
            ("WEBSOCKET_TEXT /socket", "allow"),
            ("POST /socket", "deny:method_not_allowed"),
        ],
    );
    table(
        &socket("access: full"),
        &[("GET /socket", "allow"), ("WEBSOCKET_TEXT /socket", "allow")],
    );
}

#[test]
fn rules_allow_messages_by_path_and_query() {
    let policy = socket(
        "rules:\n  - allow: { method: GET, path: '/v1/**' }\n  - allow: { method: WEBSOCKET_TEXT, path: /v1/chat, query: { room: 'r-*' } }\n  - allow: { method: '*', path: /v1/open }",
    );
    table(
        &policy,
        &[
            ("GET /v1/chat?room=r-1", "allow"),
            ("WEBSOCKET_TEXT /v1/chat?room=r-1", "allow"),
            ("WEBSOCKET_TEXT /v1/chat?room=x", "deny:query_not_allowed"),
            ("GET /v1/feed", "allow"),
            ("WEBSOCKET_TEXT /v1/feed", "deny:method_not_allowed"),
            ("WEBSOCKET_TEXT /v1/open", "allow"),
            ("WEBSOCKET_TEXT /elsewhere", "deny:path_not_allowed"),
        ],
    );
}

#[test]
fn a_deny_rule_for_messages_leaves_the_handshake_open() {
    let policy = socket("access: full\ndeny_rules: [ { method: WEBSOCKET_TEXT, path: '/admin' } ]");
    table(
        &policy,
        &[
            ("GET /admin", "allow"),
            ("WEBSOCKET_TEXT /admin", "deny:denied_by_rule"),
            ("WEBSOCKET_TEXT /chat", "allow"),
        ],
    );
}

#[test]
fn a_rest_endpoint_never_lets_a_message_pass_not_even_by_a_star() {
    let rest = rule("host: api.example.com\nport: 443\nprotocol: rest\nenforcement: audit\naccess: full");
    // Not softened by `audit`: no endpoint that reads messages is there to say so.
    table(
        &rest,
        &[("GET /socket", "allow"), ("WEBSOCKET_TEXT /socket", "deny:path_not_allowed")],
    );
    assert_eq!(messages(&rest, "/socket"), Some(Messages::Unread));
}

#[test]
fn one_endpoint_that_judges_messages_is_enough_and_only_it_allows_them() {
    let both = policy(
        "version: 1
network_policies:
  rest:
    endpoints: [ { host: api.example.com, port: 443, protocol: rest, enforcement: audit, access: full } ]
    binaries: [ { path: '/**' } ]
  socket:
    endpoints: [ { host: api.example.com, port: 443, path: /socket, protocol: websocket, enforcement: enforce, access: read-only } ]
    binaries: [ { path: '/**' } ]
",
    );
    assert_eq!(messages(&both, "/socket"), Some(Messages::Judged));
    assert_eq!(messages(&both, "/other"), Some(Messages::Unread));
    table(
        &both,
        &[("GET /socket", "allow"), ("WEBSOCKET_TEXT /socket", "deny:method_not_allowed")],
    );
}

#[test]
fn audit_softens_a_message_as_it_does_a_request() {
    let policy = rule("host: api.example.com\nport: 443\nprotocol: websocket\nenforcement: audit\naccess: read-only");
    table(&policy, &[("WEBSOCKET_TEXT /socket", "would_deny:method_not_allowed")]);
}

#[test]
fn a_refused_message_names_the_rule_that_would_allow_it() {
    let policy = socket("rules: [ { allow: { method: GET, path: /socket } } ]");
    let host = Host::parse("api.example.com").unwrap();
    let path = CanonicalPath::parse("/socket", EncodedSlash::Reject).unwrap();
    let facts = |host, method| Facts {
        host,
        port: 443,
        caller: Caller::NotEnforced,
        request: Some(HttpFacts {
            method,
            path: &path,
            query: None,
            operation: None,
        }),
    };
    let refused = policy.explain(&facts(&host, "WEBSOCKET_TEXT"));
    assert!(
        refused
            .next_steps
            .concat()
            .contains("- allow: { method: \"WEBSOCKET_TEXT\", path: \"/socket\" }"),
        "{:?}",
        refused.next_steps
    );
    let unlisted = policy.explain(&facts(&Host::parse("other.example.com").unwrap(), "WEBSOCKET_TEXT"));
    assert!(
        unlisted.next_steps.concat().contains("protocol: websocket"),
        "{:?}",
        unlisted.next_steps
    );
}

/// What becomes of a GraphQL operation that a message on `/graphql` asks for.
fn operation(policy: &Policy, query: &str) -> String {
    let message = format!(r#"{{"id":"1","type":"subscribe","payload":{{"query":"{query}"}}}}"#);
    let Ok(SocketMessage::Operations(operations)) = socket_message(&message) else {
        return "unreadable".to_owned();
    };
    let host = Host::parse("api.example.com").unwrap();
    let path = CanonicalPath::parse("/graphql", EncodedSlash::Reject).unwrap();
    let request = HttpFacts {
        method: "WEBSOCKET_TEXT",
        path: &path,
        query: None,
        operation: None,
    };
    let facts = Facts {
        host: &host,
        port: 443,
        caller: Caller::NotEnforced,
        request: Some(request),
    };
    verdict(&policy.decide_each(&facts, &operations).0.action)
}

const OPERATIONS: &str = "rules:
  - allow: { method: GET, path: /graphql }
  - allow: { operation_type: subscription, fields: [ 'issue*' ] }
  - allow: { operation_type: query }
deny_rules:
  - { operation_type: query, fields: [ secrets ] }";

#[test]
fn operations_in_messages_are_allowed_and_denied_one_by_one() {
    let policy = socket(OPERATIONS);
    assert_eq!(messages(&policy, "/graphql"), Some(Messages::Operations));
    let rows = [
        ("subscription { issueAdded { id } }", "allow"),
        ("subscription { issueAdded { id } other { id } }", "deny:operation_not_allowed"),
        ("subscription { other { id } }", "deny:operation_not_allowed"),
        ("{ viewer { login } }", "allow"),
        ("{ viewer { login } secrets { key } }", "deny:denied_by_rule"),
        ("mutation { remove }", "deny:operation_not_allowed"),
        ("mutation { remove", "unreadable"),
    ];
    for (query, expected) in rows {
        assert_eq!(operation(&policy, query), expected, "{query}");
    }
    // A message as a whole is for no rule.
    table(
        &policy,
        &[("GET /graphql", "allow"), ("WEBSOCKET_TEXT /graphql", "deny:method_not_allowed")],
    );
}

#[test]
fn a_rule_for_whole_messages_elsewhere_does_not_lift_what_is_said_about_operations() {
    let endpoint = "host: api.example.com, port: 443, protocol: websocket, enforcement: enforce";
    let both = policy(&format!(
        "version: 1
network_policies:
  any:
    endpoints: [ {{ {endpoint}, access: full }} ]
    binaries: [ {{ path: '/**' }} ]
  some:
    endpoints: [ {{ {endpoint}, rules: [ {{ allow: {{ operation_type: query }} }} ] }} ]
    binaries: [ {{ path: '/**' }} ]
"
    ));
    assert_eq!(messages(&both, "/graphql"), Some(Messages::Operations));
    assert_eq!(operation(&both, "{ viewer }"), "allow");
    assert_eq!(operation(&both, "mutation { remove }"), "deny:operation_not_allowed");
}

#[test]
fn persisted_queries_in_messages_are_what_the_policy_says_they_are() {
    let registered = socket(
        "persisted_queries: allow_registered\ngraphql_persisted_queries: { abc: { operation_type: query, fields: [ viewer ] } }\nrules: [ { allow: { method: GET, path: /graphql } }, { allow: { operation_type: query } } ]",
    );
    let message =
        |hash: &str| format!(r#"{{"type":"subscribe","payload":{{"extensions":{{"persistedQuery":{{"sha256Hash":"{hash}"}}}}}}}}"#);
    let host = Host::parse("api.example.com").unwrap();
    let path = CanonicalPath::parse("/graphql", EncodedSlash::Reject).unwrap();
    for (hash, expected) in [("abc", "allow"), ("abd", "deny:operation_not_allowed")] {
        let Ok(SocketMessage::Operations(operations)) = socket_message(&message(hash)) else {
            panic!("{hash}")
        };
        let request = HttpFacts {
            method: "WEBSOCKET_TEXT",
            path: &path,
            query: None,
            operation: operations.first(),
        };
        let facts = Facts {
            host: &host,
            port: 443,
            caller: Caller::NotEnforced,
            request: Some(request),
        };
        assert_eq!(verdict(&registered.decide(&facts).action), expected, "{hash}");
    }
}
