//! Requests: plain ones, and ones of each protocol, most of them sent where that is spoken.

use std::io::Write as _;

use http::Method;
use rand::Rng;

use super::{Asked, Shape, bodies, pick};

/// Hosts that policies list, and others.
const LISTED: &[&str] = &[
    "example.com",
    "example.com",
    "api.example.com",
    "api.example.com",
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
const GRAPHQL: &[&str] = &[
    "/graphql",
    "/graphql",
    "/graphql",
    "/graphql",
    "/GraphQL/",
    "/graphql?query=%7Ba%7D",
    "/graphql?query=mutation%7Bb%7D&operationName=N",
    "/graphql?id=known",
    "/graphql?extensions=%7B%22persistedQuery%22:%7B%22sha256Hash%22:%22writes%22%7D%7D",
    "/graphql?query=%7Ba%7D;query=%7Bb%7D",
    "/a/b",
];
const JSON_RPC: &[&str] = &["/rpc", "/rpc", "/rpc", "/RPC", "/rpc?k=v", "/a/b"];
const MCP: &[&str] = &["/mcp", "/mcp", "/mcp", "/mcp/", "/mcp/x", "/Mcp", "/a/b"];
const SOCKET: &[&str] = &["/socket", "/socket", "/socket?k=v", "/socket/x", "/Socket", "/a/b", "/a/b?k=v"];

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
    &[("upgrade", "websocket"), ("connection", "upgrade"), ("sec-websocket-version", "8")],
    &[
        ("upgrade", "websocket"),
        ("connection", "upgrade"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ("sec-websocket-protocol", "graphql-transport-ws"),
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
    &[("content-encoding", "compress")],
    &[("mcp-session-id", "1"), ("content-type", "application/json")],
    &[("content-type", "application/json"), ("payment-signature", "e30=")],
];

/// What bodies are said to be.
const TYPES: &[&str] = &[
    "application/json",
    "application/json; charset=utf-8",
    "application/json; charset=utf-16",
    "application/graphql",
    "application/x-www-form-urlencoded",
    "application/graphql-response+json",
    "text/plain",
    "multipart/form-data; boundary=x",
];

/// A request.
pub(in super::super) fn request(rng: &mut impl Rng, ports: [u16; 2]) -> Asked {
    let shape = match rng.random_range(0..20) {
        0..8 => Shape::Plain,
        8..11 => Shape::Graphql,
        11..14 => Shape::JsonRpc,
        14..17 => Shape::Mcp,
        _ => Shape::Message,
    };
    let host = if rng.random_ratio(9, 10) {
        pick(rng, LISTED)
    } else {
        pick(rng, OTHERS)
    };
    let port = match rng.random_range(0..20) {
        0..16 => ports[0],
        16..19 => ports[1],
        _ => 22,
    };
    let method = method(rng, shape);
    let binaries = [
        "/usr/bin/curl",
        "/usr/bin/curl",
        "/usr/bin/curl",
        "/usr/bin/curl",
        "/opt/x",
        "/opt/a/x",
        "/bin/sh",
    ];
    let binary = rng.random_ratio(9, 10).then(|| pick(rng, &binaries));
    let ancestor = rng.random_ratio(1, 5).then(|| pick(rng, &["/usr/bin/curl", "/opt/x"]));
    let mut asked = Asked {
        shape,
        https: rng.random(),
        host,
        port,
        target: target(rng, shape),
        fields: fields(rng, shape),
        body: Vec::new().into(),
        binary,
        ancestor,
        method,
    };
    if has_body(rng, &asked) {
        asked.body = bodies::body(rng, shape).into();
        frame(rng, &mut asked);
    }
    asked
}

fn method(rng: &mut impl Rng, shape: Shape) -> Method {
    let all = match shape {
        Shape::Plain => &[Method::GET, Method::HEAD, Method::POST, Method::DELETE][..],
        Shape::Message => &[Method::GET],
        _ if rng.random_ratio(3, 4) => &[Method::POST],
        _ => &[Method::GET, Method::DELETE, Method::PUT],
    };
    pick(rng, all)
}

fn target(rng: &mut impl Rng, shape: Shape) -> &'static str {
    let own = match shape {
        Shape::Plain if rng.random_ratio(4, 5) => PLAIN,
        Shape::Plain => ODD,
        _ if rng.random_ratio(1, 20) => ODD,
        _ if rng.random_ratio(1, 20) => PLAIN,
        Shape::Graphql => GRAPHQL,
        Shape::JsonRpc => JSON_RPC,
        Shape::Mcp => MCP,
        Shape::Message => SOCKET,
    };
    pick(rng, own)
}

fn fields(rng: &mut impl Rng, shape: Shape) -> Vec<(&'static str, &'static str)> {
    let rarely = if shape == Shape::Plain { 3 } else { 15 };
    let mut fields = if rng.random_ratio(1, rarely) {
        pick(rng, FIELDS).to_vec()
    } else {
        Vec::new()
    };
    if shape == Shape::Message {
        // No message follows a request for another protocol.
        fields.retain(|field| *field != ("upgrade", "h2c"));
    }
    match shape {
        Shape::Plain => {}
        Shape::Message if fields.iter().any(|(name, _)| *name == "sec-websocket-protocol") => {}
        // The origin opens a WebSocket only where it may choose what is spoken on it.
        Shape::Message => fields.push(("sec-websocket-protocol", pick(rng, &["graphql-transport-ws", "graphql-ws"]))),
        _ if rng.random_ratio(1, 2) => fields.push(("content-type", "application/json")),
        _ if rng.random_ratio(1, 2) => fields.push(("content-type", pick(rng, TYPES))),
        _ => {}
    }
    fields
}

fn has_body(rng: &mut impl Rng, asked: &Asked) -> bool {
    match (asked.shape, &asked.method) {
        (Shape::Message, _) => true,
        // A body on HEAD is nothing that a client sends.
        (_, &Method::HEAD) => false,
        (Shape::Plain, _) => rng.random_ratio(1, 3),
        (_, &Method::POST) => rng.random_ratio(19, 20),
        _ => rng.random_ratio(1, 8),
    }
}

/// As it stands, compressed, or in chunks.
fn frame(rng: &mut impl Rng, asked: &mut Asked) {
    if asked.shape == Shape::Message || asked.has_field("content-encoding") || asked.has_field("transfer-encoding") {
        return;
    }
    if rng.random_ratio(1, 15) {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(&asked.body).unwrap();
        asked.body = packed.finish().unwrap().into();
        asked.fields.push(("content-encoding", "gzip"));
    }
    if rng.random_ratio(1, 15) {
        asked.fields.push(("transfer-encoding", "chunked"));
    }
}
