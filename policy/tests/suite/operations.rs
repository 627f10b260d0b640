//! What bodies ask for: the tables D19 to D24 of the conformance cases, and what the field has seen beyond them.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod calls;
mod graphql;

use tollgate_policy::{BodyReading, Caller, CanonicalPath, EncodedSlash, Facts, Host, HttpFacts, Media, Policy, Sent, Target};

use crate::judge::{process, rule, verdict};

/// `METHOD target` with a body, as the runtime judges it: the head first, then each operation in the body.
pub(crate) fn ask(policy: &Policy, line: &str, media: &str, body: &str) -> String {
    let (method, target) = line.split_once(' ').expect("METHOD target");
    let host = Host::parse("api.example.com").unwrap();
    let curl = process("/usr/bin/curl");
    let target = Target::parse(target).unwrap();
    let path = CanonicalPath::parse(target.path, EncodedSlash::Keep).unwrap();
    let facts = Facts {
        host: &host,
        port: 443,
        caller: Caller::Identified(&curl),
        request: Some(HttpFacts {
            method,
            path: &path,
            query: target.query,
            operation: None,
        }),
    };
    let head = policy.decide(&facts);
    let reading = head.treatment.as_ref().and_then(|treatment| treatment.body);
    let Some(reading) = reading.filter(|_| head.action.passes()) else {
        return verdict(&head.action);
    };
    match read(reading, method, target.query, media, body) {
        Err(reason) => format!("deny:{reason}"),
        Ok(operations) => {
            let (decision, facts) = policy.decide_each(&facts, &operations);
            let explained = policy.explain(&facts);
            assert_eq!(explained.decision, decision.action.as_str());
            assert_eq!(explained.policy.as_deref(), decision.policy);
            verdict(&decision.action)
        }
    }
}

fn read(
    reading: BodyReading,
    method: &str,
    query: Option<&str>,
    media: &str,
    body: &str,
) -> Result<Vec<tollgate_policy::Operation>, String> {
    let media = if media.is_empty() {
        Media::Json
    } else {
        Media::of(std::iter::once(media.as_bytes()))
    };
    let sent = Sent {
        method,
        query,
        media,
        body: body.as_bytes(),
    };
    reading.read(&sent).map_err(|error| error.reason().to_string())
}

pub(crate) fn json(query: &str) -> String {
    serde_json::json!({ "query": query }).to_string()
}

fn graphql(rules: &str) -> Policy {
    rule(&format!(
        "host: api.example.com\nport: 443\nprotocol: graphql\nenforcement: enforce\n{rules}"
    ))
}

fn check(policy: &Policy, cases: &[(&str, &str, &str)]) {
    for (line, body, expected) in cases {
        assert_eq!(ask(policy, line, "application/json", body), *expected, "{line} {body}");
    }
}

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"NAME","arguments":{"x":1}}}"#;

fn call(tool: &str) -> String {
    CALL.replace("NAME", tool)
}

fn mcp(rules: &str) -> Policy {
    rule(&format!(
        "host: api.example.com\nport: 443\npath: /mcp\nprotocol: mcp\nenforcement: enforce\n{rules}"
    ))
}

#[test]
fn d19_each_path_is_read_by_its_own_protocol() {
    let policy = crate::judge::policy(
        "version: 1
network_policies:
  api:
    endpoints:
      - { host: api.example.com, port: 443, protocol: rest, enforcement: enforce, rules: [ { allow: { method: GET, path: '/repos/**' } }, { allow: { method: POST, path: '**' } } ] }
      - { host: api.example.com, port: 443, path: /graphql, protocol: graphql, enforcement: enforce, access: read-only }
      - { host: api.example.com, port: 443, path: '/mcp/**', protocol: mcp, enforcement: enforce, rules: [ { allow: { method: tools/list } } ] }
    binaries: [ { path: /usr/bin/curl } ]
",
    );
    check(
        &policy,
        &[
            ("GET /repos/a", "", "allow"),
            ("POST /repos/a", "not JSON at all", "allow"),
            ("POST /graphql", &json("{ viewer }"), "allow"),
            ("POST /graphql", &json("mutation { drop }"), "deny:operation_not_allowed"),
            ("POST /graphql", "not JSON at all", "deny:malformed_request"),
            ("GET /graphql?query=%7Bviewer%7D", "", "allow"),
            // The broad POST rule of the same host does not lift what the mcp endpoint says.
            ("POST /mcp", r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, "allow"),
            (
                "POST /mcp",
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}"#,
                "deny:operation_not_allowed",
            ),
            ("GET /mcp", "", "allow"),
            ("DELETE /mcp", "", "allow"),
            ("DELETE /graphql", "", "deny:method_not_allowed"),
            ("DELETE /repos/a", "", "deny:method_not_allowed"),
        ],
    );
}

#[test]
fn a_hard_denial_in_a_batch_wins_over_one_that_is_only_audited() {
    let policy = rule("host: api.example.com\nport: 443\nprotocol: json-rpc\nenforcement: audit\nrules:\n  - allow: { method: a }\n");
    let body = r#"[{"jsonrpc":"2.0","id":1,"method":"b"},{"jsonrpc":"2.0","id":1,"result":1}]"#;
    assert_eq!(ask(&policy, "POST /", "", body), "deny:operation_not_allowed");
}

#[test]
fn two_rules_each_allow_their_own_operations_of_one_batch() {
    let policy = crate::judge::policy(
        "version: 1
network_policies:
  a:
    endpoints: [ { host: api.example.com, port: 443, protocol: json-rpc, enforcement: enforce, rules: [ { allow: { method: a } } ] } ]
    binaries: [ { path: /usr/bin/curl } ]
  b:
    endpoints: [ { host: api.example.com, port: 443, protocol: json-rpc, enforcement: enforce, rules: [ { allow: { method: b } } ] } ]
    binaries: [ { path: '/**' } ]
  c:
    endpoints: [ { host: api.example.com, port: 443, protocol: json-rpc, enforcement: enforce, rules: [ { allow: { method: c } } ], deny_rules: [ { method: d } ] } ]
    binaries: [ { path: /usr/bin/other } ]
",
    );
    let batch = |methods: &[&str]| {
        let calls: Vec<String> = methods
            .iter()
            .map(|method| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#))
            .collect();
        format!("[{}]", calls.join(","))
    };
    assert_eq!(ask(&policy, "POST /", "", &batch(&["a", "b"])), "allow");
    assert_eq!(ask(&policy, "POST /", "", &batch(&["a", "c"])), "deny:operation_not_allowed");
}

#[test]
fn a_remedy_allows_what_was_refused_and_nothing_beside_it() {
    let base = |rules: &str| format!("host: api.example.com\nport: 443\npath: /x\nenforcement: enforce\n{rules}");
    let cases = [
        (
            "protocol: graphql\nrules:\n  - allow: { operation_type: query, fields: [a] }\n",
            json("mutation { drop create }"),
            json("mutation { drop other }"),
        ),
        (
            "protocol: mcp\nrules:\n  - allow: { method: tools/list }\n",
            call("read_x"),
            call("read_y"),
        ),
        (
            "protocol: json-rpc\nrules:\n  - allow: { method: a }\n",
            r#"{"jsonrpc":"2.0","id":1,"method":"b"}"#.to_owned(),
            r#"{"jsonrpc":"2.0","id":1,"method":"c"}"#.to_owned(),
        ),
    ];
    for (rules, refused, other) in cases {
        let steps = steps(&rule(&base(rules)), &refused);
        let (_, proposed) = steps.first().expect(rules).split_once('\n').unwrap();
        let after = rule(&base(&format!("{rules}  {proposed}\n")));
        assert_eq!(ask(&after, "POST /x", "", &refused), "allow", "{proposed}");
        assert_ne!(ask(&after, "POST /x", "", &other), "allow", "{proposed}");
    }
}

fn steps(policy: &Policy, body: &str) -> Vec<String> {
    let host = Host::parse("api.example.com").unwrap();
    let curl = process("/usr/bin/curl");
    let path = CanonicalPath::parse("/x", EncodedSlash::Keep).unwrap();
    let facts = Facts {
        host: &host,
        port: 443,
        caller: Caller::Identified(&curl),
        request: Some(HttpFacts {
            method: "POST",
            path: &path,
            query: None,
            operation: None,
        }),
    };
    let reading = policy.decide(&facts).treatment.and_then(|treatment| treatment.body).unwrap();
    let operations = read(reading, "POST", None, "", body).unwrap();
    let (decision, facts) = policy.decide_each(&facts, &operations);
    decision.refusal().unwrap().next_steps(&facts)
}
