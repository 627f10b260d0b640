//! Changes of rules about bodies and messages, told by what they do.
#![allow(clippy::too_many_lines, reason = "tables")]

use super::{compared, endpoint};
use tollgate_policy::compare::{Certainty, Effect, Finding, FindingKind};

const HOST: &str = "host: a.example.com, port: 443";

fn graphql(rest: &str) -> String {
    endpoint(&format!("{HOST}, path: /graphql, protocol: graphql, enforcement: enforce, {rest}"))
}

fn json_rpc(rest: &str) -> String {
    endpoint(&format!("{HOST}, path: /rpc, protocol: json-rpc, enforcement: enforce, {rest}"))
}

fn mcp(rest: &str) -> String {
    endpoint(&format!("{HOST}, path: /mcp, protocol: mcp, enforcement: enforce, {rest}"))
}

fn websocket(rest: &str) -> String {
    endpoint(&format!("{HOST}, protocol: websocket, enforcement: enforce, {rest}"))
}

fn rules(rules: &[&str]) -> String {
    let rules: Vec<String> = rules.iter().map(|rule| format!("{{ allow: {{ {rule} }} }}")).collect();
    format!("rules: [ {} ]", rules.join(", "))
}

fn told(found: &[Finding]) -> Vec<(Effect, Certainty, FindingKind)> {
    found
        .iter()
        .map(|finding| (finding.effect, finding.certainty, finding.kind))
        .collect()
}

#[test]
fn other_spellings_of_the_same_rules_are_no_change() {
    for (one, other) in [
        (
            graphql(&rules(&["operation_type: query", "operation_type: mutation"])),
            graphql("access: read-write"),
        ),
        (
            graphql("access: full"),
            graphql(&rules(&[
                "operation_type: subscription",
                "operation_type: mutation",
                "operation_type: query",
            ])),
        ),
        (
            graphql(&rules(&["operation_type: query, fields: [ a, b ]"])),
            graphql(&rules(&[
                "operation_type: query, fields: [ b, a ]",
                "operation_type: query, fields: [ a ]",
            ])),
        ),
        (
            graphql(&rules(&["operation_type: query, operation_name: 'A*', fields: [ a ]"])),
            graphql(&rules(&[
                "operation_type: query, operation_name: 'A*', fields: [ a ]",
                "operation_type: query, operation_name: 'AB*', fields: [ a ]",
            ])),
        ),
        (
            graphql("access: read-only, graphql_max_body_bytes: 65536, persisted_queries: deny"),
            graphql("access: read-only"),
        ),
        (
            json_rpc(&rules(&["method: a", "method: b"])),
            json_rpc(&(rules(&["method: b", "method: a", "method: a"]) + ", json_rpc: { max_body_bytes: 65536 }")),
        ),
        (
            mcp(&rules(&["method: tools/call, tool: { any: [ a, b ] }"])),
            mcp(&(rules(&["method: tools/call, tool: b", "method: tools/call, params: { name: a }"])
                + ", mcp: { strict_tool_names: true }")),
        ),
        (
            mcp("mcp: { allow_all_known_mcp_methods: true }"),
            mcp(&("mcp: { allow_all_known_mcp_methods: true }, ".to_owned() + &rules(&["method: initialize"]))),
        ),
        (websocket("access: read-only"), websocket(&rules(&["method: GET, path: '/**'"]))),
    ] {
        assert_eq!(compared(&one, &other), [], "{one}{other}");
        assert_eq!(compared(&other, &one), [], "{other}{one}");
    }
}

/// The one lets pass what the other does not, and nothing else is different.
#[test]
fn what_becomes_allowed_is_told_by_name() {
    let queries = rules(&["operation_type: query, fields: [ viewer ]"]);
    let tools = rules(&["method: tools/call, tool: read_file"]);
    let handshake = "method: GET, path: /socket";
    let subscriptions = |fields: &str| websocket(&rules(&[handshake, &format!("operation_type: subscription, fields: {fields}")]));
    for (narrow, wide, kind, expected) in [
        (
            graphql(&queries),
            graphql(&rules(&[
                "operation_type: query, fields: [ viewer ]",
                "operation_type: mutation, operation_name: 'Add*', fields: [ addComment ]",
            ])),
            FindingKind::Operations,
            "mutation named Add* of addComment under /graphql becomes allowed on a.example.com:443 for /usr/bin/curl",
        ),
        (
            graphql(&queries),
            graphql(&rules(&["operation_type: query, fields: [ viewer, 'search*' ]"])),
            FindingKind::Operations,
            "query of viewer or search* under /graphql becomes allowed on",
        ),
        (
            graphql("access: read-only"),
            graphql("access: read-write"),
            FindingKind::Operations,
            "mutation under /graphql becomes allowed on",
        ),
        (
            graphql(&queries),
            graphql(
                &(queries.clone()
                    + ", persisted_queries: allow_registered, graphql_persisted_queries: { abc: { operation_type: query, fields: [ viewer ] } }"),
            ),
            FindingKind::Operations,
            "the persisted query `abc` (query { viewer }) under /graphql becomes allowed on",
        ),
        (
            graphql(&(queries.clone() + ", deny_rules: [ { operation_type: '*', fields: [ __schema ] } ]")),
            graphql(&queries),
            FindingKind::DenyRule,
            "any operation of __schema under /graphql is no longer denied on a.example.com:443",
        ),
        (
            graphql(&queries),
            graphql(&(queries.clone() + ", graphql_max_body_bytes: 131072")),
            FindingKind::Options,
            "bodies of up to 131072 bytes are taken on a.example.com:443 under /graphql for /usr/bin/curl: larger ones than before",
        ),
        (
            json_rpc(&rules(&["method: eth_call"])),
            json_rpc(&rules(&["method: eth_call", "method: eth_chainId"])),
            FindingKind::Operations,
            "calls of eth_chainId under /rpc becomes allowed on",
        ),
        (
            json_rpc(&rules(&["method: eth_call"])),
            json_rpc(&rules(&["method: '*'"])),
            FindingKind::Operations,
            "calls of any method under /rpc becomes allowed on",
        ),
        (
            json_rpc(&(rules(&["method: '*'"]) + ", deny_rules: [ { method: eth_sign } ]")),
            json_rpc(&rules(&["method: '*'"])),
            FindingKind::DenyRule,
            "calls of eth_sign under /rpc is no longer denied on",
        ),
        (
            mcp(&tools),
            mcp(&rules(&["method: tools/call, tool: { any: [ read_file, 'search_*' ] }"])),
            FindingKind::Operations,
            "tools/call of read_file or search_* under /mcp becomes allowed on",
        ),
        (
            mcp(&tools),
            mcp(&rules(&["method: tools/call, tool: read_file", "method: tools/list"])),
            FindingKind::Operations,
            "tools/list under /mcp becomes allowed on",
        ),
        (
            mcp(&tools),
            mcp(&(tools.clone() + ", mcp: { allow_all_known_mcp_methods: true }")),
            FindingKind::Operations,
            "every MCP method without a rule, but for tools under /mcp becomes allowed on",
        ),
        (
            mcp(&rules(&["method: tools/list"])),
            mcp(&(rules(&["method: tools/list"]) + ", mcp: { allow_all_known_mcp_methods: true }")),
            FindingKind::Operations,
            "every MCP method and tool without a rule under /mcp becomes allowed on",
        ),
        (
            mcp(&tools),
            mcp(&(tools.clone() + ", mcp: { strict_tool_names: false }")),
            FindingKind::Options,
            "names of tools beyond letters, digits, `_`, `.` and `-` are taken on a.example.com:443 under /mcp",
        ),
        (
            mcp(&(tools.clone() + ", deny_rules: [ { method: tools/call, tool: 'read_*' } ]")),
            mcp(&(tools.clone() + ", deny_rules: [ { method: tools/call, tool: read_secret } ]")),
            FindingKind::DenyRule,
            "the deny rule for tools/call of read_* under /mcp on a.example.com:443 is gone, or stops less than it did",
        ),
        (
            mcp(&tools),
            mcp(&tools).replace("enforcement: enforce", "enforcement: audit"),
            FindingKind::Enforcement,
            "a.example.com:443 under /mcp only audits",
        ),
        (
            websocket(&rules(&[handshake])),
            websocket(&rules(&[handshake, "method: WEBSOCKET_TEXT, path: /socket"])),
            FindingKind::Requests,
            "WEBSOCKET_TEXT /socket becomes allowed on",
        ),
        (
            subscriptions("[ issueAdded ]"),
            subscriptions("[ 'issue*' ]"),
            FindingKind::Operations,
            "subscription of issue* becomes allowed on",
        ),
    ] {
        let found = compared(&narrow, &wide);
        assert_eq!(told(&found), [(Effect::Widening, Certainty::Known, kind)], "{found:#?}");
        assert!(found[0].text.starts_with(expected), "{}\n{expected}", found[0].text);
        // Machines read the rule itself, where one says so and it is no preset.
        let by_rule = matches!(kind, FindingKind::Operations | FindingKind::DenyRule | FindingKind::Requests);
        let told_apart = wide.contains("access:") || expected.starts_with("every MCP") || expected.starts_with("the persisted");
        assert_eq!(found[0].matcher.is_some(), by_rule && !told_apart, "{found:#?}");
        let back = compared(&wide, &narrow);
        assert_eq!(told(&back), [(Effect::Narrowing, Certainty::Known, kind)], "{back:#?}");
    }
}

/// Where requests are read by other endpoints than before, the worse is assumed.
#[test]
fn what_is_read_otherwise_cannot_be_compared() {
    let rest = format!("{HOST}, protocol: rest, enforcement: enforce, access: full");
    let reads = |path: &str| format!("{HOST}, path: {path}, protocol: graphql, enforcement: enforce, access: read-only");
    let socket = format!("{HOST}, path: /socket, protocol: websocket, enforcement: enforce, access: read-only");
    for (old, new, expected) in [
        // What the endpoint kept from the broad one passes by it now.
        (
            endpoint(&format!("{rest}\n{}", reads("/graphql"))),
            endpoint(&rest),
            "requests to a.example.com:443 under /graphql are no longer read as graphql",
        ),
        (
            endpoint(&format!("{rest}\n{socket}")),
            endpoint(&rest),
            "requests to a.example.com:443 under /socket are no longer read as websocket",
        ),
        // A more specific endpoint that reads them as something else stands over it.
        (
            endpoint(&format!("{rest}\n{}", reads("'/graphql*'"))),
            endpoint(&format!(
                "{rest}\n{}\n{}",
                reads("'/graphql*'"),
                rest.replace("protocol", "path: /graphql/raw, protocol")
            )),
            "requests to a.example.com:443 under /graphql* are no longer read as graphql",
        ),
        // In any case and with a slash it is the same path to a server.
        (
            endpoint(&format!("{rest}\n{}", reads("/graphql"))),
            endpoint(&format!(
                "{rest}\n{}\n{}",
                reads("/graphql"),
                rest.replace("protocol", "path: /GraphQL/, protocol")
            )),
            "requests to a.example.com:443 under /graphql are no longer read as graphql",
        ),
        (
            endpoint(&reads("/graphql")),
            endpoint(&format!(
                "{HOST}, path: /graphql, protocol: json-rpc, enforcement: enforce, {}",
                rules(&["method: a"])
            )),
            "requests to a.example.com:443 under /graphql",
        ),
    ] {
        let found = compared(&old, &new);
        let assumed = (Effect::Widening, Certainty::Assumed, FindingKind::Protocol);
        let texts: Vec<&str> = found.iter().map(|finding| finding.text.as_str()).collect();
        assert!(
            told(&found).contains(&assumed) && texts.iter().any(|text| text.starts_with(expected)),
            "{found:#?}"
        );
    }
    // One more endpoint for other paths changes nothing for those that were there.
    let (old, new) = (
        format!("{rest}\n{}", reads("/graphql")),
        format!("{rest}\n{}\n{}", reads("/graphql"), reads("/v2")),
    );
    let found = compared(&endpoint(&old), &endpoint(&new));
    assert!(found.iter().all(|finding| finding.text.contains("/v2")), "{found:#?}");
    // Nothing passes where nothing is listed any more.
    let (old, new) = (endpoint(&format!("{}\n{}", reads("/a"), reads("/b"))), endpoint(&reads("/b")));
    let found = compared(&old, &new);
    assert!(
        !found.is_empty() && found.iter().all(|finding| finding.effect == Effect::Narrowing),
        "{found:#?}"
    );
}
