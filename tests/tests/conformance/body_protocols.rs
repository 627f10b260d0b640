//! The body protocols through the real binary: `graphql`, `json-rpc` and `mcp`, allowed, denied, audited and malformed. What is denied
//! reaches no origin.

use std::io::Write as _;
use std::time::Duration;

use serde_json::{Value, json};
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::policy::{self, Entry, HOST};
use tollgate_tests::wire::H1;
use tollgate_tests::world::World;

/// Ways of a request that differ in what they make of bodies.
const WAYS: [Via; 3] = [Via::AbsoluteForm, Via::TlsH1, Via::TlsH2];

const GRAPHQL: &[&str] = &[
    "path: /graphql",
    "protocol: graphql",
    "enforcement: enforce",
    "graphql_max_body_bytes: 2000",
    "rules:",
    "  - allow: { operation_type: query, fields: [viewer, repository] }",
    "  - allow: { operation_type: mutation, fields: [createIssue, deleteRepository] }",
    "deny_rules:",
    "  - { operation_type: mutation, fields: [deleteRepository] }",
];

const MCP: &[&str] = &[
    "path: /mcp",
    "protocol: mcp",
    "enforcement: enforce",
    "rules:",
    "  - allow: { method: initialize }",
    "  - allow: { method: tools/list }",
    "  - allow: { method: tools/call, tool: read_status }",
];

const JSON_RPC: &[&str] = &[
    "path: /rpc",
    "protocol: json-rpc",
    "enforcement: audit",
    "rules:",
    "  - allow: { method: status }",
];

/// All three on one host, beside a REST endpoint for everything.
fn all(ports: &[u16]) -> String {
    let rest = ["protocol: rest", "enforcement: enforce", "access: full"];
    let entries = [("ql", GRAPHQL), ("mcp", MCP), ("rpc", JSON_RPC), ("rest", &rest[..])];
    policy::document(&entries.map(|(name, lines)| Entry {
        name,
        host: HOST,
        ports,
        lines,
    }))
}

fn query(text: &str) -> String {
    json!({ "query": text }).to_string()
}

fn call(tool: &str) -> String {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": { "token": "sk-secret" } } })
        .to_string()
}

#[tokio::test]
async fn what_is_allowed_arrives_byte_for_byte_and_what_is_not_reaches_no_origin() {
    let world = World::start(all, |setup| setup).await;
    let (ok, list) = (
        query("{ viewer { login } }"),
        r#" {"jsonrpc":"2.0", "id":1,"method":"tools/list"} "#,
    );
    let denied = [
        (
            "/graphql",
            query("{ organization }"),
            "operation_not_allowed",
            "query { organization }",
        ),
        (
            "/graphql",
            query("mutation Drop { deleteRepository(id: 1) { id } }"),
            "denied_by_rule",
            "mutation Drop { deleteRepository }",
        ),
        (
            "/graphql",
            query("{ ...F } fragment F on Query { organization }"),
            "operation_not_allowed",
            "query { organization }",
        ),
        (
            "/graphql",
            format!("[{ok},{}]", query("{ organization }")),
            "operation_not_allowed",
            "query { organization }",
        ),
        ("/mcp", call("delete_all"), "operation_not_allowed", "tools/call delete_all"),
        (
            "/mcp",
            format!("[{list},{}]", call("delete_all")),
            "operation_not_allowed",
            "tools/call delete_all",
        ),
        (
            "/mcp",
            r#"{"jsonrpc":"2.0","id":1,"method":"resources/read"}"#.to_owned(),
            "operation_not_allowed",
            "resources/read",
        ),
    ];
    for via in WAYS {
        for (target, body, reason, operation) in &denied {
            let answer = world.gate.fetch(via, &Ask::get(world.port(via), target).json(body)).await;
            let denial = answer.assert_denied(403, reason);
            assert_eq!(denial["operation"], *operation, "{denial}");
            assert!(!answer.text().contains("sk-secret"), "an argument was told: {}", answer.text());
            let event = world.gate.audited(json!({ "reason_code": reason, "operation": operation })).await;
            assert_eq!((&event["decision"], &event["path"]), (&json!("deny"), &json!(target)), "{event}");
        }
    }
    world.assert_untouched();
    let audit = world.gate.audit_events();
    assert!(!format!("{audit:?}").contains("sk-secret"), "an argument was written down");

    for via in WAYS {
        for (target, body) in [
            ("/graphql", ok.as_str()),
            ("/mcp", list),
            ("/mcp", &call("read_status")),
            ("/anything", "{\"query\": 1}"),
        ] {
            let ask = Ask::get(world.port(via), target).json(body);
            world.gate.fetch(via, &ask).await.assert_allowed();
            assert_eq!(world.origin(via).last().body, body.as_bytes(), "{via:?} {target}");
        }
    }
    let event = world
        .gate
        .audited(json!({ "decision": "allow", "operation": "tools/call read_status" }))
        .await;
    assert_eq!((&event["policy"], &event["rule"]), (&json!("mcp"), &json!("rules[2]")), "{event}");
}

#[tokio::test]
async fn bodies_that_have_no_single_meaning_are_refused() {
    let world = World::start(all, |setup| setup).await;
    for via in WAYS {
        for (target, body) in [
            ("/graphql", r#"{"query":"{ viewer }","query":"mutation { deleteRepository }"}"#),
            ("/graphql", r#"{"query":"{ viewer }","Query":"mutation { deleteRepository }"}"#),
            ("/graphql", r#"{"query":"{ viewer "}"#),
            ("/graphql", r#"{"query":["{ viewer }"]}"#),
            ("/graphql", "[]"),
            ("/graphql", "not JSON"),
            ("/mcp", r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call"}"#),
            (
                "/mcp",
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_status","name":"x"}}"#,
            ),
            (
                "/mcp",
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read status"}}"#,
            ),
            ("/mcp", "{"),
            ("/rpc", r#"{"jsonrpc":"2.0","id":1,"method":7}"#),
            ("/rpc", "[1]"),
        ] {
            let answer = world.gate.fetch(via, &Ask::get(world.port(via), target).json(body)).await;
            answer.assert_denied(400, "malformed_request");
        }
        for target in ["/graphql", "/mcp", "/rpc"] {
            let ask = Ask::get(world.port(via), target).method("POST");
            world.gate.fetch(via, &ask).await.assert_denied(400, "malformed_request");
        }
    }
    world.assert_untouched();
}

#[tokio::test]
async fn audit_mode_lets_operations_pass_but_never_responses_streams_or_nonsense() {
    let world = World::start(all, |setup| setup).await;
    let call = |method: &str| json!({ "jsonrpc": "2.0", "id": 1, "method": method }).to_string();
    for via in WAYS {
        let ask = |body: &'static str| Ask::get(world.port(via), "/rpc").json(body);
        let stop = call("stop");
        world
            .gate
            .fetch(via, &Ask::get(world.port(via), "/rpc").json(&stop))
            .await
            .assert_allowed();
        let response = ask(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
        world.gate.fetch(via, &response).await.assert_denied(403, "operation_not_allowed");
        world.get(via, "/rpc").await.assert_denied(403, "method_not_allowed");
        world.gate.fetch(via, &ask("{")).await.assert_denied(400, "malformed_request");
    }
    let event = world
        .gate
        .audited(json!({ "decision": "would_deny", "reason_code": "operation_not_allowed" }))
        .await;
    assert_eq!((&event["operation"], &event["status"]), (&json!("stop"), &json!(200)), "{event}");
    assert_eq!(world.plain.requests().len() + world.tls.requests().len(), 3);
}

#[tokio::test]
async fn a_body_over_the_endpoints_limit_is_refused_however_it_comes() {
    let world = World::start(all, |setup| setup).await;
    let padded = |size: usize| {
        let bare = query("{ viewer }");
        bare.replace("{ viewer }", &format!("{{ viewer }}{}", " ".repeat(size - bare.len())))
    };
    let (fits, over) = (padded(2000), padded(2001));
    for via in WAYS {
        let ask = |body| Ask::get(world.port(via), "/graphql").json(body);
        world.gate.fetch(via, &ask(&fits)).await.assert_allowed();
        world.gate.fetch(via, &ask(&over)).await.assert_denied(413, "body_too_large");
        // The same endpoint's limit holds for what a compressed body decodes to.
        for (body, status) in [(&fits, 200), (&over, 413)] {
            let packed = gzip(body.as_bytes());
            let ask = Ask {
                method: "POST",
                body: &packed,
                ..Ask::get(world.port(via), "/graphql")
            };
            let answer = world.gate.fetch(via, &ask.header("content-encoding", "gzip")).await;
            assert_eq!(answer.status, status, "{via:?} {}", answer.text());
            if status == 200 {
                assert_eq!(world.origin(via).last().body, packed, "{via:?}");
            }
        }
    }
    // Without a length, the body is read only up to the limit.
    let mut h1 = world.gate.tls_h1(world.tls.port()).await;
    let head = Ask::get(world.tls.port(), "/graphql")
        .method("POST")
        .header("transfer-encoding", "chunked");
    h1.send(head.h1(Via::TlsH1)).await;
    h1.send(format!("{:x}\r\n{over}\r\n", over.len())).await;
    h1.answer("POST").await.assert_denied(413, "body_too_large");
    assert_eq!(world.tls.requests().len() + world.plain.requests().len(), 6);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn a_compressed_mutation_is_seen() {
    let world = World::start(all, |setup| setup).await;
    for via in WAYS {
        let packed = gzip(query("mutation { deleteRepository }").as_bytes());
        let ask = Ask {
            method: "POST",
            body: &packed,
            ..Ask::get(world.port(via), "/graphql")
        };
        let answer = world.gate.fetch(via, &ask.header("content-encoding", "gzip")).await;
        answer.assert_denied(403, "denied_by_rule");
    }
    world.assert_untouched();
}

#[tokio::test]
async fn graphql_by_get_and_by_its_own_content_type() {
    let world = World::start(all, |setup| setup).await;
    for via in WAYS {
        world.get(via, "/graphql?query=%7Bviewer%7D").await.assert_allowed();
        world
            .get(via, "/graphql?query=%7Borganization%7D")
            .await
            .assert_denied(403, "operation_not_allowed");
        world.get(via, "/graphql").await.assert_denied(400, "malformed_request");
        let ok = query("{ viewer }");
        let both = Ask::get(world.port(via), "/graphql?query=mutation%7BdeleteRepository%7D").json(&ok);
        world.gate.fetch(via, &both).await.assert_denied(403, "denied_by_rule");
        let bare = |text: &'static str| {
            let ask = Ask {
                method: "POST",
                body: text.as_bytes(),
                ..Ask::get(world.port(via), "/graphql")
            };
            ask.header("content-type", "application/graphql")
        };
        world.gate.fetch(via, &bare("{ viewer }")).await.assert_allowed();
        world
            .gate
            .fetch(via, &bare("{ organization }"))
            .await
            .assert_denied(403, "operation_not_allowed");
        let utf7 = Ask {
            method: "POST",
            body: ok.as_bytes(),
            ..Ask::get(world.port(via), "/graphql")
        };
        let answer = world
            .gate
            .fetch(via, &utf7.header("content-type", "application/json; charset=utf-7"))
            .await;
        answer.assert_denied(403, "uninspectable_traffic");
    }
}

#[tokio::test]
async fn mcp_streams_and_session_ends_pass_and_an_upgrade_does_not() {
    let world = World::start(all, |setup| setup).await;
    for via in WAYS {
        let port = world.port(via);
        let stream = Ask::get(port, "/mcp").header("accept", "text/event-stream");
        world.gate.fetch(via, &stream).await.assert_allowed();
        world
            .gate
            .fetch(via, &Ask::get(port, "/mcp").method("DELETE"))
            .await
            .assert_allowed();
        let answer = json!({ "jsonrpc": "2.0", "id": 1, "result": { "action": "accept" } }).to_string();
        world.gate.fetch(via, &Ask::get(port, "/mcp").json(&answer)).await.assert_allowed();
    }
    let upgrade = Ask::get(world.plain.port(), "/mcp")
        .header("connection", "Upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    let answer = world.gate.fetch(Via::AbsoluteForm, &upgrade).await;
    answer.assert_denied(403, "uninspectable_traffic");
}

#[tokio::test]
async fn a_rail_stays_shut_whatever_the_methods_of_an_endpoint() {
    let lines = [
        "protocol: json-rpc",
        "enforcement: enforce",
        "rules:",
        "  - allow: { method: \"*\" }",
    ];
    let world = World::start(
        |ports| {
            policy::document(&[Entry {
                name: "node",
                host: HOST,
                ports,
                lines: &lines,
            }])
        },
        |setup| setup,
    )
    .await;
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_sendRawTransaction", "params": ["0x00"] }).to_string();
    for via in WAYS {
        let ask = Ask::get(world.port(via), "/").json(&body);
        world.gate.fetch(via, &ask).await.assert_denied(403, "rail_broadcast");
        let harmless = body.replace("eth_sendRawTransaction", "eth_call");
        world
            .gate
            .fetch(via, &Ask::get(world.port(via), "/").json(&harmless))
            .await
            .assert_allowed();
    }
    assert_eq!(world.plain.requests().len() + world.tls.requests().len(), 3);
}

#[tokio::test]
async fn rules_that_come_while_a_body_is_held_judge_its_operations_again() {
    let world = World::start(all, |setup| setup).await;
    let ports = [world.plain.port(), world.tls.port()];
    let body = call("read_status");
    let (first, second) = body.split_at(body.len() / 2);
    let half = |h1: H1| async {
        let mut h1 = h1;
        let head = Ask::get(ports[1], "/mcp")
            .method("POST")
            .header("content-length", body.len().to_string());
        h1.send(head.h1(Via::TlsH1)).await;
        h1.send(first).await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        h1
    };
    let narrower = all(&ports).replace("tool: read_status", "tool: other");
    let mut h1 = half(world.gate.tls_h1(ports[1]).await).await;
    world.gate.reload(&narrower).await;
    h1.send(second).await;
    h1.answer("POST").await.assert_denied(403, "operation_not_allowed");
    world.assert_untouched();
}

/// A route that needs no body must not wait for one.
#[tokio::test]
async fn a_route_that_needs_no_body_does_not_hold_one() {
    let world = World::start(all, |setup| setup).await;
    let mut h1 = world.gate.tls_h1(world.tls.port()).await;
    let head = Ask::get(world.tls.port(), "/upload")
        .method("POST")
        .header("content-length", "100000");
    h1.send(head.h1(Via::TlsH1)).await;
    h1.send("x".repeat(50_000)).await;
    tollgate_tests::eventually("the origin's connection", || (world.tls.connections() > 0).then_some(())).await;
    h1.send("x".repeat(50_000)).await;
    let answer = h1.answer("POST").await;
    assert_eq!(answer.assert_allowed().status, 200);
    let seen: Value = json!(world.tls.last().body.len());
    assert_eq!(seen, 100_000);
}
