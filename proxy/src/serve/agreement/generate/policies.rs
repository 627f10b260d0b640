//! Policies: every protocol with its options, on hosts and paths that overlap.

use std::fmt::Write as _;

use rand::Rng;

use super::pick;

/// A policy's text.
pub(in super::super) fn policy(rng: &mut impl Rng, ports: [u16; 2]) -> String {
    let mut source = String::from("version: 1\n");
    let rules = if rng.random_ratio(1, 60) { 0 } else { rng.random_range(2..=5) };
    if rules > 0 {
        source.push_str("network_policies:\n");
    }
    let habits = Habits::some(rng);
    for rule in 0..rules {
        let _ = write!(source, "  r{rule}:\n    endpoints:\n");
        for _ in 0..rng.random_range(2..=4) {
            let _ = writeln!(source, "      - {}", endpoint(rng, ports, &habits));
        }
        let binaries = match rng.random_range(0..11) {
            0..5 => "{ path: '/**' }",
            5..8 => "{ path: /usr/bin/curl }",
            8..10 => "{ path: '/opt/*' }",
            _ => "",
        };
        let _ = writeln!(source, "    binaries: [ {binaries} ]");
    }
    if rng.random_ratio(3, 10) {
        let hosts = pick(rng, &["[ api.example.com ]", "[ '**' ], exclude: [ www.example.com ]"]);
        let _ = write!(
            source,
            "network_middlewares:\n  payments:\n    middleware: tollgate/x402\n    endpoints: {{ include: {hosts} }}\n"
        );
    }
    source
}

/// What all endpoints of a policy have in common, because those that overlap have to agree on it or the policy does not load.
struct Habits {
    /// How requests are read under each of [`PATHS`].
    paths: [Path; PATHS.len()],
    max_body_bytes: Option<u32>,
    strict_tool_names: bool,
    all_mcp_methods: bool,
    tls: Tls,
}

/// The last three are for any protocol.
const PATHS: [&str; 9] = [
    "/graphql",
    "/rpc",
    "/mcp",
    "'/mcp/**'",
    "/socket",
    "'/socket/**'",
    "'/b*'",
    "'/a/**'",
    "",
];

#[derive(Clone, Copy)]
struct Path {
    text: &'static str,
    protocol: Protocol,
    enforcement: &'static str,
    slash: &'static str,
}

#[derive(Clone, Copy)]
enum Protocol {
    Rest,
    Graphql,
    JsonRpc,
    Mcp,
    WebSocket,
}

#[derive(Clone, Copy)]
enum Tls {
    Terminated,
    SometimesSkipped,
}

impl Habits {
    fn some(rng: &mut impl Rng) -> Self {
        Habits {
            paths: PATHS.map(|text| Path {
                text,
                protocol: match text {
                    "/graphql" => Protocol::Graphql,
                    "/rpc" => Protocol::JsonRpc,
                    "/mcp" | "'/mcp/**'" => Protocol::Mcp,
                    "/socket" | "'/socket/**'" => Protocol::WebSocket,
                    _ => any_protocol(rng),
                },
                enforcement: pick(rng, &["audit", "enforce", "enforce"]),
                slash: pick(rng, &["", "", "", ", allow_encoded_slash: true"]),
            }),
            max_body_bytes: rng.random_ratio(1, 2).then_some(200),
            strict_tool_names: rng.random_ratio(3, 4),
            all_mcp_methods: rng.random_ratio(1, 3),
            tls: pick(rng, &[Tls::Terminated, Tls::Terminated, Tls::Terminated, Tls::SometimesSkipped]),
        }
    }

    /// `NAME: { max_body_bytes: …, … }`.
    fn options(&self, name: &str, more: &[&str]) -> String {
        let limit = self.max_body_bytes.map(|most| format!("max_body_bytes: {most}"));
        let all: Vec<&str> = limit.as_deref().into_iter().chain(more.iter().copied()).collect();
        if all.is_empty() {
            String::new()
        } else {
            format!(", {name}: {{ {} }}", all.join(", "))
        }
    }
}

fn any_protocol(rng: &mut impl Rng) -> Protocol {
    use Protocol::{Graphql, JsonRpc, Mcp, Rest, WebSocket};
    pick(rng, &[Rest, Rest, Rest, Rest, Graphql, JsonRpc, Mcp, WebSocket])
}

fn endpoint(rng: &mut impl Rng, ports: [u16; 2], habits: &Habits) -> String {
    let host = match rng.random_range(0..9) {
        0..5 => pick(rng, &["example.com", "api.example.com"]),
        5..8 => pick(rng, &["'*.example.com'", "'**.example.com'", "'a*.example.com'"]),
        _ => "127.0.0.1",
    };
    let ports = pick(
        rng,
        &[format!("port: {}", ports[0]), format!("ports: [{}, {}]", ports[0], ports[1])],
    );
    let traffic = traffic(rng, habits);
    format!("{{ host: {host}, {ports}{traffic} }}")
}

fn traffic(rng: &mut impl Rng, habits: &Habits) -> String {
    match (rng.random_range(0..20), habits.tls) {
        (0, _) => return String::new(),
        (1, Tls::SometimesSkipped) => return ", tls: skip".to_owned(),
        _ => {}
    }
    // Where nothing more is said, most are for every path.
    let everywhere = habits.paths[PATHS.len() - 1];
    let own = if rng.random_ratio(1, 3) {
        everywhere
    } else {
        pick(rng, &habits.paths)
    };
    let Path {
        text,
        protocol,
        enforcement,
        slash,
    } = own;
    let rules = match protocol {
        Protocol::Rest => rest(rng),
        Protocol::Graphql => graphql(rng, habits),
        Protocol::JsonRpc => json_rpc(rng, habits),
        Protocol::Mcp => mcp(rng, habits),
        Protocol::WebSocket => websocket(rng),
    };
    let path = if text.is_empty() {
        String::new()
    } else {
        format!(", path: {text}")
    };
    format!(", {rules}, enforcement: {enforcement}{path}{slash}")
}

fn rest(rng: &mut impl Rng) -> String {
    let allow = preset_or(rng, request_matcher);
    let deny = deny(rng, request_matcher);
    format!("protocol: rest, {allow}{deny}")
}

fn graphql(rng: &mut impl Rng, habits: &Habits) -> String {
    let allow = preset_or(rng, operation_matcher);
    let (deny, persisted) = (deny(rng, operation_matcher), persisted(rng));
    let limit = habits
        .max_body_bytes
        .map_or_else(String::new, |most| format!(", graphql_max_body_bytes: {most}"));
    format!("protocol: graphql, {allow}{deny}{persisted}{limit}")
}

fn json_rpc(rng: &mut impl Rng, habits: &Habits) -> String {
    let matcher = |rng: &mut _| format!("{{ method: {} }}", pick(rng, &["a", "b", "eth_chainId", "'*'"]));
    let (allow, deny, options) = (rules(rng, matcher), deny(rng, matcher), habits.options("json_rpc", &[]));
    format!("protocol: json-rpc, {allow}{deny}{options}")
}

/// A rule for every tool call beside one for single tools is no policy.
fn mcp(rng: &mut impl Rng, habits: &Habits) -> String {
    let by_tool = rng.random_ratio(2, 3);
    let matcher = |rng: &mut _| match (by_tool, habits.strict_tool_names) {
        (true, true) => pick(
            rng,
            &[
                "{ method: tools/call, tool: read }",
                "{ method: tools/call, tool: { any: [ 'read_*', write ] } }",
                "{ method: tools/call, params: { name: write } }",
                "{ method: initialize }",
                "{ method: 'tools/l*' }",
            ],
        ),
        (true, false) => pick(
            rng,
            &[
                "{ method: tools/call, tool: read }",
                "{ method: tools/call, tool: { any: [ 'read it', write ] } }",
                "{ method: initialize }",
                "{ method: tools/list }",
            ],
        ),
        (false, _) => pick(
            rng,
            &[
                "{ method: initialize }",
                "{ method: tools/list }",
                "{ method: 'tools/*' }",
                "{ method: tools/call }",
            ],
        ),
    };
    let matcher = |rng: &mut _| matcher(rng).to_owned();
    let allow = if habits.all_mcp_methods && rng.random_ratio(1, 2) {
        String::new()
    } else {
        rules(rng, matcher) + ", "
    };
    let deny = deny(rng, matcher);
    let deny = deny.trim_start_matches(", ");
    let mut more = Vec::new();
    if !habits.strict_tool_names {
        more.push("strict_tool_names: false");
    }
    if habits.all_mcp_methods {
        more.push("allow_all_known_mcp_methods: true");
    }
    let options = habits.options("mcp", &more);
    let all = format!("protocol: mcp, {allow}{deny}");
    all.trim_end_matches(", ").to_owned() + &options
}

fn websocket(rng: &mut impl Rng) -> String {
    if rng.random_ratio(1, 2) {
        let allow = preset_or(rng, message_matcher);
        let deny = deny(rng, message_matcher);
        return format!("protocol: websocket, {allow}{deny}");
    }
    // Beside rules about operations, those about the head are for the handshake only.
    let handshake = |rng: &mut _| format!("{{ method: GET, path: {} }}", pick(rng, &["/socket", "'**'", "'/a/*'"]));
    let mut all = listed(rng, 2, |rng| format!("{{ allow: {} }}", operation_matcher(rng)));
    all.extend(listed(rng, 1, |rng| format!("{{ allow: {} }}", handshake(rng))));
    let (deny, persisted) = (deny(rng, operation_matcher), persisted(rng));
    format!("protocol: websocket, rules: [ {} ]{deny}{persisted}", all.join(", "))
}

fn persisted(rng: &mut impl Rng) -> &'static str {
    pick(
        rng,
        &[
            "",
            "",
            ", persisted_queries: allow_registered, graphql_persisted_queries: { known: { operation_type: query, fields: [ a ] }, writes: { operation_type: mutation, operation_name: N, fields: [ b ] } }",
        ],
    )
}

fn request_matcher(rng: &mut impl Rng) -> String {
    let method = pick(rng, &["GET", "POST", "'*'"]);
    let path = pick(rng, &["/", "/a", "'/a/*'", "'/a/**'", "'**'", "'/b?'", "/c", "/settle"]);
    format!("{{ method: {method}, path: {path}{} }}", query_matcher(rng))
}

fn message_matcher(rng: &mut impl Rng) -> String {
    let method = pick(rng, &["GET", "GET", "WEBSOCKET_TEXT", "WEBSOCKET_TEXT", "'*'"]);
    let path = pick(rng, &["/socket", "'/socket/*'", "'/a/**'", "'**'", "'**'"]);
    format!("{{ method: {method}, path: {path}{} }}", query_matcher(rng))
}

fn query_matcher(rng: &mut impl Rng) -> &'static str {
    pick(rng, &["", "", "", ", query: { k: v }", ", query: { k: { any: [v, 'w*'] } }"])
}

fn operation_matcher(rng: &mut impl Rng) -> String {
    let kind = pick(rng, &["query", "query", "mutation", "subscription", "'*'"]);
    let name = pick(rng, &["", "", "", ", operation_name: N", ", operation_name: 'N*'"]);
    let fields = pick(rng, &["", "", ", fields: [ a ]", ", fields: [ a, 'b*' ]", ", fields: [ '*' ]"]);
    format!("{{ operation_type: {kind}{name}{fields} }}")
}

fn preset_or<R: Rng>(rng: &mut R, matcher: impl Fn(&mut R) -> String) -> String {
    if rng.random_ratio(3, 5) {
        rules(rng, matcher)
    } else {
        format!("access: {}", pick(rng, &["read-only", "read-write", "full"]))
    }
}

fn rules<R: Rng>(rng: &mut R, matcher: impl Fn(&mut R) -> String) -> String {
    let all = listed(rng, 3, |rng| format!("{{ allow: {} }}", matcher(rng)));
    format!("rules: [ {} ]", all.join(", "))
}

fn deny<R: Rng>(rng: &mut R, matcher: impl Fn(&mut R) -> String) -> String {
    if rng.random_ratio(2, 3) {
        return String::new();
    }
    format!(", deny_rules: [ {} ]", listed(rng, 2, matcher).join(", "))
}

fn listed<R: Rng>(rng: &mut R, most: usize, one: impl Fn(&mut R) -> String) -> Vec<String> {
    (0..rng.random_range(1..=most)).map(|_| one(rng)).collect()
}
