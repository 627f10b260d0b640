//! Policies of all protocols, as numbers.

use std::fmt::Write as _;

use proptest::prelude::*;

/// An endpoint as numbers, so that another may differ in one of them.
pub(super) type Endpoint = [usize; 10];

const HOSTS: [&str; 4] = ["a.example.com", "a.example.com", "'*.example.com'", "b.example.com"];
const PORTS: [&str; 3] = ["port: 443", "port: 443", "ports: [443, 80]"];
const PATHS: [&str; 7] = ["", "", "/x", "/x", "'/x*'", "'/x/**'", "/X/y"];
const ENFORCEMENT: [&str; 3] = ["enforce", "enforce", "audit"];
const BINARIES: [&str; 4] = ["'/**'", "'/**'", "/usr/bin/curl", "'/usr/bin/*'"];
const GRAPHQL: [&str; 8] = [
    "operation_type: query, fields: [ a ]",
    "operation_type: query, fields: [ a, 'b*' ]",
    "operation_type: query",
    "operation_type: mutation, fields: [ 'b*' ]",
    "operation_type: '*', fields: [ '*' ]",
    "operation_type: '*', operation_name: N, fields: [ a, b ]",
    "operation_type: query, operation_name: 'N*'",
    "operation_type: subscription, fields: [ b ]",
];
const JSON_RPC: [&str; 4] = ["method: a", "method: b", "method: '*'", "method: c"];
const MCP: [&str; 4] = ["method: a", "method: tools/list", "method: 'tools/*'", "method: tools/call"];
const MCP_TOOLS: [&str; 5] = [
    "method: tools/call, tool: a",
    "method: tools/call, tool: 'a*'",
    "method: tools/call, tool: { any: [ a, b ] }",
    "method: 'tools/l*'",
    "method: a",
];
const HEADS: [&str; 6] = [
    "method: GET, path: '**'",
    "method: WEBSOCKET_TEXT, path: '**'",
    "method: '*', path: /x",
    "method: GET, path: /x",
    "method: WEBSOCKET_TEXT, path: '/x*'",
    "method: '*', path: '**'",
];
const REQUESTS: [&str; 4] = [
    "method: POST, path: '**'",
    "method: GET, path: /x",
    "method: '*', path: '/x*'",
    "method: '*', path: '**'",
];
const PERSISTED: [&str; 4] = [
    "",
    "",
    ", persisted_queries: allow_registered, graphql_persisted_queries: { k: { operation_type: query, fields: [ a ] } }",
    ", persisted_queries: allow_registered, graphql_persisted_queries: { k: { operation_type: mutation, fields: [ b ] } }",
];

fn text(of: &Endpoint) -> String {
    let [host, ports, path, kind, enforcement, _, option, allow, deny, access] = *of;
    let (host, ports, path) = (HOSTS[host % 4], PORTS[ports % 3], PATHS[path % 7]);
    let enforcement = ENFORCEMENT[enforcement % 3];
    let rules = |of: &[&str], bits: usize| -> Vec<String> {
        let chosen: Vec<String> = of
            .iter()
            .enumerate()
            .filter(|(at, _)| bits >> at & 1 == 1)
            .map(|(_, rule)| format!("{{ {rule} }}"))
            .collect();
        if chosen.is_empty() {
            vec![format!("{{ {} }}", of[bits % of.len()])]
        } else {
            chosen
        }
    };
    let allows = |of: &[&str]| {
        format!(
            "rules: [ {} ]",
            rules(of, allow)
                .iter()
                .map(|rule| format!("{{ allow: {rule} }}"))
                .collect::<Vec<_>>()
                .join(", ")
        )
    };
    let denies = |of: &[&str]| match deny % 3 {
        0 => format!(", deny_rules: [ {} ]", rules(of, deny / 3).join(", ")),
        _ => String::new(),
    };
    let bytes = [100, 100, 200][option % 3];
    let mut text = format!("host: {host}, {ports}");
    if kind % 12 == 0 {
        return text;
    }
    if !path.is_empty() {
        let _ = write!(text, ", path: {path}");
    }
    let _ = write!(text, ", enforcement: {enforcement}");
    let own = match kind % 12 {
        1..4 => format!(
            "protocol: graphql, graphql_max_body_bytes: {bytes}, {}{}{}",
            if access % 5 == 0 {
                "access: read-write".to_owned()
            } else {
                allows(&GRAPHQL)
            },
            denies(&GRAPHQL),
            PERSISTED[option / 3 % 4],
        ),
        4 | 5 => format!(
            "protocol: json-rpc, json_rpc: {{ max_body_bytes: {bytes} }}, {}{}",
            allows(&JSON_RPC),
            denies(&JSON_RPC)
        ),
        6..8 => {
            let strict = if option / 3 % 3 == 0 { ", strict_tool_names: false" } else { "" };
            let all = if access % 3 == 0 {
                ", allow_all_known_mcp_methods: true"
            } else {
                ""
            };
            let of: &[&str] = match (allow / 64 % 2, strict.is_empty()) {
                (0, _) => &MCP,
                (_, true) => &MCP_TOOLS,
                (_, false) => &["method: tools/call, tool: a", "method: tools/call, tool: { any: [ a, 'b c' ] }"],
            };
            format!(
                "protocol: mcp, mcp: {{ max_body_bytes: {bytes}{strict}{all} }}, {}{}",
                allows(of),
                denies(of)
            )
        }
        8 => format!("protocol: websocket, {}{}", allows(&HEADS), denies(&HEADS)),
        9 => {
            let handshake = format!(
                "{{ allow: {{ {} }} }}",
                ["method: GET, path: '**'", "method: GET, path: /x"][access % 2]
            );
            format!(
                "protocol: websocket, {}, {handshake} ]{}{}",
                allows(&GRAPHQL).trim_end_matches(" ]"),
                denies(&GRAPHQL),
                PERSISTED[option / 3 % 4]
            )
        }
        _ => format!("protocol: rest, {}{}", allows(&REQUESTS), denies(&REQUESTS)),
    };
    format!("{text}, {own}")
}

pub(super) fn document(endpoints: &[Endpoint]) -> String {
    let mut source = String::from("version: 1\nnetwork_policies:\n");
    for (at, endpoint) in endpoints.iter().enumerate() {
        let binary = BINARIES[endpoint[5] % 4];
        let _ = write!(
            source,
            "  r{at}:\n    endpoints:\n      - {{ {} }}\n    binaries: [ {{ path: {binary} }} ]\n",
            text(endpoint)
        );
    }
    source
}

/// Policies of a few endpoints, the second of which differs from the first in some numbers, by an endpoint, or altogether.
pub(super) fn pair() -> impl Strategy<Value = (Vec<Endpoint>, Vec<Endpoint>)> {
    let endpoint = || proptest::array::uniform10(0..1_000_usize);
    let endpoints = || proptest::collection::vec(endpoint(), 1..4);
    let edits = proptest::collection::vec((0..4_usize, 0..10_usize, 0..1_000_usize), 0..4);
    prop_oneof![
        6 => (endpoints(), edits).prop_map(|(old, edits)| {
            let mut new = old.clone();
            for (endpoint, number, value) in edits {
                let at = endpoint % new.len();
                new[at][number] = value;
            }
            (old, new)
        }),
        2 => (endpoints(), endpoint(), 0..4_usize).prop_map(|(old, another, at)| {
            let mut new = old.clone();
            new.insert(at % (old.len() + 1), another);
            (old, new)
        }),
        1 => (endpoints(), endpoints()),
    ]
}
