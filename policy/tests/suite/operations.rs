//! What bodies ask for: the tables D19 to D24 of the conformance cases, and what the field has seen beyond them.
#![allow(clippy::unwrap_used, clippy::expect_used)]

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
    let reading = match (head.action.passes(), head.treatment.as_ref().and_then(|treatment| treatment.body)) {
        (true, Some(reading)) => reading,
        _ => return verdict(&head.action),
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

fn json(query: &str) -> String {
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
fn d20_every_operation_and_every_root_field_must_be_allowed() {
    let policy = graphql("rules:\n  - allow: { operation_type: query, fields: [viewer, repository, 'public*'] }\n");
    let ok = json("query Q { viewer { login } repository(name: \"x\") { id } }");
    let bad = json("{ organization }");
    for (body, expected) in [
        (ok.clone(), "allow"),
        (json("{ me: viewer publicKeys }"), "allow"),
        (bad.clone(), "deny:operation_not_allowed"),
        (json("{ viewer organization }"), "deny:operation_not_allowed"),
        // An alias does not rename what is read.
        (json("{ viewer: organization }"), "deny:operation_not_allowed"),
        (json("mutation { viewer }"), "deny:operation_not_allowed"),
        (json("subscription { viewer }"), "deny:operation_not_allowed"),
        (json("{ __schema { types { name } } }"), "deny:operation_not_allowed"),
        // Fragments and inline fragments are looked through, whatever their order, also in a circle.
        (json("{ ...F } fragment F on Query { viewer }"), "allow"),
        (
            json("fragment F on Query { organization } { viewer ...F }"),
            "deny:operation_not_allowed",
        ),
        (
            json("{ ... on Query { ... @include(if: true) { organization } } }"),
            "deny:operation_not_allowed",
        ),
        (
            json("{ ...A } fragment A on Query { ...B viewer } fragment B on Query { ...A organization }"),
            "deny:operation_not_allowed",
        ),
        (
            json("{ ...A } fragment A on Query { ...B } fragment B on Query { ...A viewer }"),
            "allow",
        ),
        // Which operation of several is executed is the server's choice.
        (
            serde_json::json!({ "query": "query A { viewer } mutation B { drop }", "operationName": "A" }).to_string(),
            "deny:operation_not_allowed",
        ),
        (
            serde_json::json!({ "query": "query A { viewer } query B { repository }", "operationName": "B", "variables": null })
                .to_string(),
            "allow",
        ),
        // Batches.
        (format!("[{ok},{ok}]"), "allow"),
        (format!("[{ok},{bad}]"), "deny:operation_not_allowed"),
        // What has no single meaning.
        (json("query {"), "deny:malformed_request"),
        (json("{ viewer } { repository }"), "deny:malformed_request"),
        (json("query A { viewer } query B { viewer }"), "deny:malformed_request"),
        (
            json("{ ...F } fragment F on Query { viewer } fragment F on Query { organization }"),
            "deny:malformed_request",
        ),
        (json("{ ...F }"), "deny:malformed_request"),
        (json("type Query { viewer: String }"), "deny:malformed_request"),
        (json("{ viewer } type X { a: Int }"), "deny:malformed_request"),
        (json("fragment F on Query { viewer }"), "deny:malformed_request"),
        (json(""), "deny:malformed_request"),
        (format!("{ok}{bad}"), "deny:malformed_request"),
        (
            r#"{"query":"{viewer}","query":"mutation{drop}"}"#.to_owned(),
            "deny:malformed_request",
        ),
        (
            r#"{"query":"{viewer}","\u0071uery":"mutation{drop}"}"#.to_owned(),
            "deny:malformed_request",
        ),
        (
            r#"{"query":"{viewer}","Query":"mutation{drop}"}"#.to_owned(),
            "deny:malformed_request",
        ),
        (
            r#"{"query":"{viewer}","QUERY":"mutation{drop}"}"#.to_owned(),
            "deny:malformed_request",
        ),
        (r#"{"query":["{viewer}"]}"#.to_owned(), "deny:malformed_request"),
        (r#"{"query":"{viewer}","operationName":7}"#.to_owned(), "deny:malformed_request"),
        (
            r#"{"query":"{viewer}","operationName":"Other"}"#.to_owned(),
            "deny:malformed_request",
        ),
        (r#"{"query":"{viewer}","extensions":[]}"#.to_owned(), "deny:malformed_request"),
        ("[]".to_owned(), "deny:malformed_request"),
        ("[[]]".to_owned(), "deny:malformed_request"),
        ("\"{viewer}\"".to_owned(), "deny:malformed_request"),
        ("{ viewer }".to_owned(), "deny:malformed_request"),
        (String::new(), "deny:malformed_request"),
        ("\u{feff}{}".to_owned(), "deny:malformed_request"),
    ] {
        assert_eq!(ask(&policy, "POST /graphql", "application/json", &body), expected, "{body}");
    }
}

#[test]
fn a_comment_ends_where_every_reader_ends_it() {
    let policy = graphql("rules:\n  - allow: { operation_type: query, fields: [viewer] }\n");
    for (text, expected) in [
        ("{ viewer # organization\n }", "allow"),
        ("{ viewer # \r organization }", "deny:operation_not_allowed"),
        ("{ viewer # \r\n organization }", "deny:operation_not_allowed"),
        ("{ viewer # \u{2028} organization\n }", "allow"),
        ("{ viewer(a: \"\"\" \\\"\"\" } organization { \"\"\") }", "allow"),
        (
            "{ viewer(a: \"\"\" \"\"\") organization(b: \"\"\" \"\"\") }",
            "deny:operation_not_allowed",
        ),
        ("{ viewer(a: \"\\\"\") organization }", "deny:operation_not_allowed"),
        ("{ viewer(a: \"\n\") }", "deny:malformed_request"),
        ("\u{feff}{ viewer }", "allow"),
        ("{ view\u{0000}er }", "deny:malformed_request"),
    ] {
        assert_eq!(ask(&policy, "POST /graphql", "", &json(text)), expected, "{text:?}");
    }
}

#[test]
fn d21_a_denied_mutation_stays_denied_whatever_is_allowed() {
    let policy = graphql(
        "access: full\ndeny_rules:\n  - { operation_type: mutation, fields: [deleteRepository] }\n  - { operation_type: '*', operation_name: 'Admin*' }\n",
    );
    check(
        &policy,
        &[
            ("POST /graphql", &json("mutation { createIssue }"), "allow"),
            ("POST /graphql", &json("mutation { deleteRepository }"), "deny:denied_by_rule"),
            // One denied field is enough, behind a fragment too.
            (
                "POST /graphql",
                &json("mutation { createIssue ...F } fragment F on Mutation { deleteRepository }"),
                "deny:denied_by_rule",
            ),
            ("POST /graphql", &json("mutation { x: deleteRepository }"), "deny:denied_by_rule"),
            ("POST /graphql", &json("{ deleteRepository }"), "allow"),
            ("POST /graphql", &json("query AdminUsers { users }"), "deny:denied_by_rule"),
            (
                "POST /graphql",
                &format!("[{},{}]", json("{ a }"), json("mutation { deleteRepository }")),
                "deny:denied_by_rule",
            ),
        ],
    );
    let read_only = graphql("access: read-only\n");
    let read_write = graphql("access: read-write\n");
    for (text, ro, rw) in [
        ("{ a }", "allow", "allow"),
        ("mutation { a }", "deny:operation_not_allowed", "allow"),
        ("subscription { a }", "deny:operation_not_allowed", "deny:operation_not_allowed"),
    ] {
        assert_eq!(ask(&read_only, "POST /", "", &json(text)), ro, "{text}");
        assert_eq!(ask(&read_write, "POST /", "", &json(text)), rw, "{text}");
    }
}

#[test]
fn d22_a_persisted_query_is_what_the_policy_says_it_is() {
    let hash = "ab".repeat(32);
    let own = "a82ef5ee5a1c9fe4b5a5e1b1c5bd3a8b";
    let by_hash = |hash: &str| serde_json::json!({ "extensions": { "persistedQuery": { "version": 1, "sha256Hash": hash } } }).to_string();
    let deny = graphql("access: full\n");
    assert_eq!(ask(&deny, "POST /graphql", "", &by_hash(&hash)), "deny:operation_not_allowed");
    let registered = graphql(&format!(
        "persisted_queries: allow_registered\ngraphql_persisted_queries:\n  {hash}: {{ operation_type: query, fields: [viewer] }}\n  saved: {{ operation_type: mutation, operation_name: Drop, fields: [drop] }}\nrules:\n  - allow: {{ operation_type: query, fields: [viewer] }}\n"
    ));
    check(
        &registered,
        &[
            ("POST /graphql", &by_hash(&hash), "allow"),
            ("POST /graphql", &by_hash("00"), "deny:operation_not_allowed"),
            ("POST /graphql", r#"{"id":"saved"}"#, "deny:operation_not_allowed"),
            ("POST /graphql", r#"{"documentId":"unknown"}"#, "deny:operation_not_allowed"),
            ("POST /graphql", r#"{"extensions":{"persistedQuery":{}}}"#, "deny:malformed_request"),
            (
                "POST /graphql",
                r#"{"extensions":{"persistedQuery":{"sha256Hash":1}}}"#,
                "deny:malformed_request",
            ),
            (
                "POST /graphql",
                r#"{"extensions":{"PersistedQuery":{"sha256Hash":"x"}}}"#,
                "deny:malformed_request",
            ),
            ("POST /graphql", r#"{"id":7}"#, "deny:malformed_request"),
            // A harmless text beside the name of something else: the server may prefer the name.
            (
                "POST /graphql",
                r#"{"query":"{viewer}","id":"saved"}"#,
                "deny:operation_not_allowed",
            ),
            (
                "POST /graphql",
                &format!(r#"{{"query":"{{viewer}}","extensions":{{"persistedQuery":{{"sha256Hash":"{own}"}}}}}}"#),
                "deny:operation_not_allowed",
            ),
            // Registering a text under its own hash is asking for the text.
            (
                "POST /graphql",
                r#"{"query":"{viewer}","extensions":{"persistedQuery":{"version":1,"sha256Hash":"d56d6d58bf01fb04e11b0b1ff5ae8a1a4c7c5ffd22ef0c34ab77fb0e7ba4a4c5"}}}"#,
                "deny:operation_not_allowed",
            ),
            (
                "GET /graphql?extensions=%7B%22persistedQuery%22:%7B%22sha256Hash%22:%22saved%22%7D%7D",
                "",
                "deny:operation_not_allowed",
            ),
            ("GET /graphql?id=saved", "", "deny:operation_not_allowed"),
            ("GET /graphql?extensions=nonsense", "", "deny:malformed_request"),
        ],
    );
    use sha2::{Digest, Sha256};
    let digest: String = Sha256::digest(b"{viewer}").iter().map(|byte| format!("{byte:02x}")).collect();
    let body = format!(r#"{{"query":"{{viewer}}","extensions":{{"persistedQuery":{{"version":1,"sha256Hash":"{digest}"}}}}}}"#);
    assert_eq!(ask(&registered, "POST /graphql", "", &body), "allow");
}

#[test]
fn a_query_hidden_in_the_target_or_in_a_form_is_judged_too() {
    let policy = graphql("rules:\n  - allow: { operation_type: query, fields: [viewer] }\n");
    let ok = json("{ viewer }");
    for (line, media, body, expected) in [
        ("GET /graphql?query=%7Bviewer%7D", "", "", "allow"),
        (
            "GET /graphql?query=query+A%7Bviewer%7D&operationName=A&variables=%7B%7D",
            "",
            "",
            "allow",
        ),
        ("GET /graphql?query=%7Borganization%7D", "", "", "deny:operation_not_allowed"),
        ("GET /graphql?query=mutation%7Bviewer%7D", "", "", "deny:operation_not_allowed"),
        (
            "GET /graphql?query=%7Bviewer%7D&query=%7Borganization%7D",
            "",
            "",
            "deny:malformed_request",
        ),
        (
            "GET /graphql?query=%7Bviewer%7D&query%5B%5D=%7Borganization%7D",
            "",
            "",
            "deny:malformed_request",
        ),
        (
            "GET /graphql?query=%7Bviewer%7D&+query=%7Borganization%7D",
            "",
            "",
            "deny:malformed_request",
        ),
        ("GET /graphql?x=1;query=%7Borganization%7D", "", "", "deny:malformed_request"),
        ("GET /graphql?query=%7Bviewer%7D", "", ok.as_str(), "deny:malformed_request"),
        ("GET /graphql", "", "", "deny:malformed_request"),
        ("HEAD /graphql?query=%7Bviewer%7D", "", "", "deny:method_not_allowed"),
        ("PUT /graphql", "", ok.as_str(), "deny:method_not_allowed"),
        ("POST /graphql?operationName=A", "", ok.as_str(), "allow"),
        (
            "POST /graphql?query=mutation%7Bdrop%7D",
            "",
            ok.as_str(),
            "deny:operation_not_allowed",
        ),
        ("POST /graphql?id=1", "", ok.as_str(), "deny:operation_not_allowed"),
        ("POST /graphql", "application/graphql", "{ viewer }", "allow"),
        (
            "POST /graphql",
            "application/graphql; charset=utf-8",
            "{ organization }",
            "deny:operation_not_allowed",
        ),
        ("POST /graphql", "application/graphql", ok.as_str(), "deny:malformed_request"),
        ("POST /graphql", "application/x-www-form-urlencoded", ok.as_str(), "allow"),
        (
            "POST /graphql",
            "application/x-www-form-urlencoded",
            r#"{"query":"{viewer}","variables":{"x":"&query=mutation{drop}&"}}"#,
            "deny:uninspectable_traffic",
        ),
        (
            "POST /graphql",
            "application/json; charset=utf-7",
            ok.as_str(),
            "deny:uninspectable_traffic",
        ),
        (
            "POST /graphql",
            "multipart/form-data; boundary=x",
            ok.as_str(),
            "deny:uninspectable_traffic",
        ),
    ] {
        assert_eq!(ask(&policy, line, media, body), expected, "{line} {media} {body}");
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
fn d23_tools_are_told_apart_by_name() {
    let policy = mcp(
        "rules:\n  - allow: { method: initialize }\n  - allow: { method: tools/list }\n  - allow: { method: tools/call, tool: { any: ['read_*', 'github.*'] } }\ndeny_rules:\n  - { method: tools/call, tool: read_secrets }\n",
    );
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    check(
        &policy,
        &[
            ("POST /mcp", list, "allow"),
            ("POST /mcp", &call("read_status"), "allow"),
            ("POST /mcp", &call("github.search"), "allow"),
            // `*` stays between dots.
            ("POST /mcp", &call("github.repos.delete"), "deny:operation_not_allowed"),
            ("POST /mcp", &call("delete_all"), "deny:operation_not_allowed"),
            ("POST /mcp", &call("read_secrets"), "deny:denied_by_rule"),
            (
                "POST /mcp",
                r#"{"jsonrpc":"2.0","id":1,"method":"resources/read"}"#,
                "deny:operation_not_allowed",
            ),
            ("POST /mcp", &format!("[{list},{}]", call("read_status")), "allow"),
            (
                "POST /mcp",
                &format!("[{list},{}]", call("delete_all")),
                "deny:operation_not_allowed",
            ),
            ("POST /mcp", &format!("[{},{list}]", call("read_secrets")), "deny:denied_by_rule"),
            // Answers to the server, and its stream.
            ("POST /mcp", r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}"#, "allow"),
            (
                "POST /mcp",
                r#"{"jsonrpc":"2.0","id":"a","error":{"code":1,"message":"no"}}"#,
                "allow",
            ),
            ("GET /mcp", "", "allow"),
            ("DELETE /mcp", "", "allow"),
            ("GET /mcp", "{}", "deny:malformed_request"),
            ("PUT /mcp", list, "deny:method_not_allowed"),
            ("GET /other", "", "deny:path_not_allowed"),
            // What has no single meaning, or hides a tool.
            ("POST /mcp", "", "deny:malformed_request"),
            ("POST /mcp", "[]", "deny:malformed_request"),
            (
                "POST /mcp",
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}"#,
                "deny:malformed_request",
            ),
            (
                "POST /mcp",
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","Method":"tools/call"}"#,
                "deny:malformed_request",
            ),
            (
                "POST /mcp",
                r#"{"jsonrpc":"2.0","id":1,"method":"Tools/Call","params":{"name":"delete_all"}}"#,
                "deny:malformed_request",
            ),
            (
                "POST /mcp",
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_x","Name":"delete_all"}}"#,
                "deny:malformed_request",
            ),
            (
                "POST /mcp",
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_x","name":"delete_all"}}"#,
                "deny:malformed_request",
            ),
            (
                "POST /mcp",
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1}}"#,
                "deny:malformed_request",
            ),
            (
                "POST /mcp",
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["read_x"]}"#,
                "deny:malformed_request",
            ),
            (
                "POST /mcp",
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#,
                "deny:malformed_request",
            ),
            (
                "POST /mcp",
                r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"read_x"}}"#,
                "deny:malformed_request",
            ),
            (
                "POST /mcp",
                r#"{"jsonrpc":"1.0","id":1,"method":"tools/list"}"#,
                "deny:malformed_request",
            ),
            ("POST /mcp", r#"{"id":1,"method":"tools/list"}"#, "deny:malformed_request"),
            (
                "POST /mcp",
                r#"{"jsonrpc":"2.0","id":1,"method":["tools/list"]}"#,
                "deny:malformed_request",
            ),
            (
                "POST /mcp",
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","result":{}}"#,
                "deny:malformed_request",
            ),
            ("POST /mcp", &call("read status"), "deny:malformed_request"),
            ("POST /mcp", &call(&"r".repeat(129)), "deny:malformed_request"),
        ],
    );
}

#[test]
fn all_methods_may_pass_while_tools_need_rules() {
    let all = mcp("mcp: { allow_all_known_mcp_methods: true }\ndeny_rules:\n  - { tool: drop }\n");
    let by_tool = mcp("mcp: { allow_all_known_mcp_methods: true }\nrules:\n  - allow: { tool: read }\n");
    let empty = mcp("mcp: { allow_all_known_mcp_methods: true }\nrules:\n  - allow: {}\n");
    let lax = mcp(
        "mcp: { strict_tool_names: false }\nrules:\n  - allow: { method: tools/call, params: { name: 'read status' } }\n  - allow: { method: 'tools/l*' }\n",
    );
    let prompts = r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get"}"#;
    for (policy, body, expected) in [
        (&all, prompts, "allow"),
        (&all, &call("read"), "allow"),
        (&all, &call("drop"), "deny:denied_by_rule"),
        (&by_tool, prompts, "allow"),
        (&by_tool, &call("read"), "allow"),
        (&by_tool, &call("drop"), "deny:operation_not_allowed"),
        (&empty, &call("drop"), "allow"),
        (&lax, &call("read status"), "allow"),
        (&lax, &call("read"), "deny:operation_not_allowed"),
        (&lax, r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, "allow"),
        (&lax, prompts, "deny:operation_not_allowed"),
    ] {
        assert_eq!(ask(policy, "POST /mcp", "application/json", body), expected, "{body}");
    }
}

#[test]
fn a_session_ends_only_at_a_path_that_is_the_servers() {
    // Without a `path`, DELETE would reach everything on the host.
    let anywhere =
        rule("host: api.example.com\nport: 443\nprotocol: mcp\nenforcement: enforce\nrules:\n  - allow: { method: tools/list }\n");
    assert_eq!(ask(&anywhere, "DELETE /repos/a", "", ""), "deny:method_not_allowed");
    assert_eq!(ask(&anywhere, "GET /mcp", "", ""), "allow");
}

#[test]
fn d24_json_rpc_is_calls_by_post_and_nothing_else_even_in_audit_mode() {
    let endpoint = "host: api.example.com\nport: 443\nprotocol: json-rpc\nrules:\n  - allow: { method: eth_call }\n  - allow: { method: eth_chainId }\ndeny_rules:\n  - { method: eth_sign }\n";
    let enforced = rule(&format!("{endpoint}enforcement: enforce\n"));
    let audited = rule(&format!("{endpoint}enforcement: audit\n"));
    let call = |method: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":[]}}"#);
    let response = r#"{"jsonrpc":"2.0","id":1,"result":"0x"}"#;
    for (line, body, expected) in [
        ("POST /", call("eth_call"), "allow"),
        ("POST /", r#"{"jsonrpc":"2.0","method":"eth_call"}"#.to_owned(), "allow"),
        ("POST /", call("eth_getBalance"), "soft:operation_not_allowed"),
        ("POST /", call("ETH_CALL"), "soft:operation_not_allowed"),
        ("POST /", call("eth_sign"), "soft:denied_by_rule"),
        ("POST /", format!("[{},{}]", call("eth_call"), call("eth_chainId")), "allow"),
        (
            "POST /",
            format!("[{},{}]", call("eth_call"), call("eth_getBalance")),
            "soft:operation_not_allowed",
        ),
        ("POST /", response.to_owned(), "deny:operation_not_allowed"),
        ("POST /", format!("[{},{response}]", call("eth_call")), "deny:operation_not_allowed"),
        ("GET /", String::new(), "deny:method_not_allowed"),
        ("DELETE /", String::new(), "deny:method_not_allowed"),
        ("POST /", String::new(), "deny:malformed_request"),
        ("POST /", "{".to_owned(), "deny:malformed_request"),
        ("POST /", "[1]".to_owned(), "deny:malformed_request"),
        (
            "POST /",
            r#"{"jsonrpc":"2.0","id":{},"method":"eth_call"}"#.to_owned(),
            "deny:malformed_request",
        ),
        (
            "POST /",
            r#"{"jsonrpc":"2.0","id":1,"method":"eth_call","params":"x"}"#.to_owned(),
            "deny:malformed_request",
        ),
        (
            "POST /",
            r#"{"jsonrpc":"2.0","id":1,"method":"eth_call","METHOD":"eth_sign"}"#.to_owned(),
            "deny:malformed_request",
        ),
        ("POST /", r#"{"jsonrpc":"2.0","result":1}"#.to_owned(), "deny:malformed_request"),
        (
            "POST /",
            r#"{"jsonrpc":"2.0","id":1,"result":1,"error":{}}"#.to_owned(),
            "deny:malformed_request",
        ),
    ] {
        let soft = expected.strip_prefix("soft:");
        let hard = soft.map_or(expected.to_owned(), |reason| format!("deny:{reason}"));
        let would = soft.map_or(expected.to_owned(), |reason| format!("would_deny:{reason}"));
        assert_eq!(ask(&enforced, line, "application/json", &body), hard, "{line} {body}");
        assert_eq!(ask(&audited, line, "application/json", &body), would, "{line} {body}");
    }
    let any = rule("host: api.example.com\nport: 443\nprotocol: json-rpc\nenforcement: enforce\nrules:\n  - allow: { method: '*' }\n");
    assert_eq!(ask(&any, "POST /", "", &call("anything")), "allow");
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
