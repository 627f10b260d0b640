//! D23 and D24: MCP tools and JSON-RPC calls.

use super::{ask, call, check, mcp};
use crate::judge::rule;

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
        ],
    );
}

#[test]
fn a_tool_call_that_hides_from_one_reader_is_refused() {
    let policy = mcp("rules:\n  - allow: { method: tools/list }\n  - allow: { method: tools/call, tool: 'read_*' }\n");
    check(
        &policy,
        &[
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
