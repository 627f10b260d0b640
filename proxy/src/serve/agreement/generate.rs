//! Policies and requests over a small world, so that they meet: a handful of hosts, two ports, a few paths.
//!
//! By hand and not by proptest: nothing is shrunk, and its value trees would take more time than everything that is tested.

use std::fmt::Write as _;

use http::{HeaderName, HeaderValue, Method};
use rand::Rng;
use rand::seq::IndexedRandom;

/// What has to come up among the decisions.
pub(super) const KINDS: &[&str] = &[
    "allow",
    "would_deny:path_not_allowed",
    "would_deny:method_not_allowed",
    "would_deny:query_not_allowed",
    "would_deny:denied_by_rule",
    "deny:no_policy",
    "deny:host_not_allowed",
    "deny:port_not_allowed",
    "deny:binary_not_allowed",
    "deny:method_not_allowed",
    "deny:path_not_allowed",
    "deny:query_not_allowed",
    "deny:denied_by_rule",
    "deny:path_not_canonical",
    "deny:malformed_request",
    "deny:authority_mismatch",
    "deny:h2c_not_allowed",
    "deny:uninspectable_traffic",
    "deny:address_not_allowed",
    "deny:rail_destination",
    "deny:rail_broadcast",
    "deny:rail_facilitator_call",
    "deny:rail_payment_scheme",
    "deny:payment_malformed",
    "deny:payment_conflicting",
    "deny:payment_payee_not_allowed",
    "deny:credential_mismatch",
];

/// A request.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) method: Method,
    pub(super) https: bool,
    pub(super) host: &'static str,
    pub(super) port: u16,
    pub(super) target: &'static str,
    pub(super) fields: &'static [(&'static str, &'static str)],
    pub(super) body: &'static str,
    pub(super) binary: Option<&'static str>,
    pub(super) ancestor: Option<&'static str>,
}

impl Asked {
    pub(super) fn authority(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    pub(super) fn url(&self) -> String {
        let scheme = if self.https { "https" } else { "http" };
        format!("{scheme}://{}{}", self.authority(), self.target)
    }

    pub(super) fn headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        let field = |(name, value): &(&'static str, &'static str)| (HeaderName::from_static(name), HeaderValue::from_static(value));
        self.fields.iter().map(field).collect()
    }
}

/// Hosts that policies list, and others.
const LISTED: &[&str] = &[
    "example.com",
    "api.example.com",
    "API.Example.com",
    "a.api.example.com",
    "www.example.com",
];
const OTHERS: &[&str] = &[
    "rail.example.com",
    "mirror.example.com",
    "meta.example.com",
    "127.0.0.1",
    "elsewhere.test",
    "2130706433",
];

/// Targets that are what they say, and others.
const PLAIN: &[&str] = &[
    "/",
    "/a",
    "/a/b",
    "/a/b/c",
    "/b1",
    "/c?k=v",
    "/a?k=v",
    "/a/b?k=v&k=x",
    "/a/b?k=w1&other=1",
    "/settle",
];
const ODD: &[&str] = &[
    "/a/x%2Fy",
    "/a/%2A",
    "/a/../b1",
    "/a/%2e%2e/%2e%2e/b",
    "//a//b",
    "/a;v=1/b",
    "/a/%zz",
    "/a/%00",
    "/v2/x402/settle",
];

const FIELDS: &[&[(&str, &str)]] = &[
    &[("host", "evil.example.com")],
    &[("connection", "host")],
    &[("connection", "x-mine"), ("x-mine", "1")],
    &[("upgrade", "h2c"), ("connection", "upgrade")],
    &[
        ("upgrade", "websocket"),
        ("connection", "upgrade"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ],
    &[("authorization", "Payment abc")],
    &[("authorization", "Bearer abc")],
    &[("authorization", "Bearer openshell:resolve:env:PATH")],
    &[("x-key", "openshell:resolve:env:NOBODY")],
    &[("x-payment", "e30=")],
    &[("payment-signature", "e30=")],
    &[("x-payment", "e30="), ("payment-signature", "e30=")],
    &[("x_payment", "e30=")],
    &[("transfer-encoding", "gzip, chunked")],
    &[("x-http-method-override", "DELETE")],
    &[("content-encoding", "gzip")],
    &[("content-type", "application/json")],
    &[("mcp-session-id", "1"), ("content-type", "application/json")],
    &[("content-type", "application/json"), ("payment-signature", "e30=")],
];

const BODIES: &[&str] = &[
    r#"{"jsonrpc":"2.0","method":"eth_sendRawTransaction","params":["0x"],"id":1}"#,
    r#"[{"jsonrpc":"2.0","method":"eth_chainId","id":1},{"jsonrpc":"2.0","method":"eth_sendRawTransaction","id":2}]"#,
    r#"{"jsonrpc":"2.0","method":"eth_chainId","id":1}"#,
    r#"{"method":"a","method":"b"}"#,
    r#"{"paymentPayload":{},"paymentRequirements":{}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"x402/payment":{"x402Version":2}}}}"#,
    r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"x402/payment":{}}}}]"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t",}}"#,
    "not json",
];

fn pick<T: Clone>(rng: &mut impl Rng, of: &[T]) -> T {
    of.choose(rng).unwrap().clone()
}

/// A request.
pub(super) fn request(rng: &mut impl Rng, ports: [u16; 2]) -> Asked {
    let methods = [Method::GET, Method::HEAD, Method::POST, Method::DELETE];
    let method = pick(rng, &methods);
    let host = if rng.random_ratio(5, 6) {
        pick(rng, LISTED)
    } else {
        pick(rng, OTHERS)
    };
    let port = match rng.random_range(0..17) {
        0..12 => ports[0],
        12..16 => ports[1],
        _ => 22,
    };
    let target = if rng.random_ratio(4, 5) { pick(rng, PLAIN) } else { pick(rng, ODD) };
    let fields = if rng.random_ratio(1, 3) { pick(rng, FIELDS) } else { &[] };
    // A body on HEAD is nothing that a client sends.
    let with_body = method != Method::HEAD && rng.random_ratio(1, 3);
    let body = if with_body { pick(rng, BODIES) } else { "" };
    let binaries = ["/usr/bin/curl", "/usr/bin/curl", "/usr/bin/curl", "/opt/x", "/opt/a/x", "/bin/sh"];
    let binary = rng.random_ratio(4, 5).then(|| pick(rng, &binaries));
    let ancestor = rng.random_ratio(1, 5).then(|| pick(rng, &["/usr/bin/curl", "/opt/x"]));
    Asked {
        method,
        https: rng.random(),
        host,
        port,
        target,
        fields,
        body,
        binary,
        ancestor,
    }
}

fn matcher(rng: &mut impl Rng) -> String {
    let method = pick(rng, &["GET", "POST", "'*'"]);
    let path = pick(rng, &["/", "/a", "'/a/*'", "'/a/**'", "'**'", "'/b?'", "/c", "/settle"]);
    let query = pick(rng, &["", "", "", ", query: { k: v }", ", query: { k: { any: [v, 'w*'] } }"]);
    format!("{{ method: {method}, path: {path}{query} }}")
}

fn matchers(rng: &mut impl Rng, most: usize, shown: impl Fn(String) -> String) -> String {
    let all: Vec<String> = (0..rng.random_range(1..=most)).map(|_| shown(matcher(rng))).collect();
    format!("[ {} ]", all.join(", "))
}

fn traffic(rng: &mut impl Rng) -> String {
    match rng.random_range(0..10) {
        0 => String::new(),
        1 => ", tls: skip".to_owned(),
        _ => {
            let enforcement = pick(rng, &["audit", "enforce", "enforce"]);
            let path = pick(rng, &["", "", ", path: '/a/**'"]);
            let slash = pick(rng, &["", ", allow_encoded_slash: true"]);
            let allow = if rng.random_ratio(3, 5) {
                format!("rules: {}", matchers(rng, 3, |matcher| format!("{{ allow: {matcher} }}")))
            } else {
                format!("access: {}", pick(rng, &["read-only", "read-write", "full"]))
            };
            let mut text = format!(", protocol: rest, enforcement: {enforcement}{path}{slash}, {allow}");
            if rng.random_ratio(1, 3) {
                let _ = write!(text, ", deny_rules: {}", matchers(rng, 2, |matcher| matcher));
            }
            text
        }
    }
}

fn endpoint(rng: &mut impl Rng, ports: [u16; 2]) -> String {
    let host = match rng.random_range(0..9) {
        0..4 => pick(rng, &["example.com", "api.example.com"]),
        4..8 => pick(rng, &["'*.example.com'", "'**.example.com'", "'a*.example.com'"]),
        _ => "127.0.0.1",
    };
    let ports = pick(
        rng,
        &[format!("port: {}", ports[0]), format!("ports: [{}, {}]", ports[0], ports[1])],
    );
    let traffic = traffic(rng);
    format!("{{ host: {host}, {ports}{traffic} }}")
}

/// A policy's text.
pub(super) fn policy(rng: &mut impl Rng, ports: [u16; 2]) -> String {
    let mut source = String::from("version: 1\n");
    let rules = if rng.random_ratio(1, 60) { 0 } else { rng.random_range(2..=5) };
    if rules > 0 {
        source.push_str("network_policies:\n");
    }
    for rule in 0..rules {
        let _ = write!(source, "  r{rule}:\n    endpoints:\n");
        for _ in 0..rng.random_range(1..=3) {
            let _ = writeln!(source, "      - {}", endpoint(rng, ports));
        }
        let binaries = match rng.random_range(0..11) {
            0..4 => "{ path: '/**' }",
            4..8 => "{ path: /usr/bin/curl }",
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
