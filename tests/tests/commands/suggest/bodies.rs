//! Suggestions from what bodies and messages ask for: GraphQL, JSON-RPC, MCP, WebSockets.

use serde_json::{Value, json};
use tempfile::TempDir;
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::origin::Origin;
use tollgate_tests::policy::{self, Entry, HOST};
use tollgate_tests::tollgate::{Setup, Tollgate};
use tollgate_tests::websocket::{HANDSHAKE, Seen, Sockets, WEBSOCKET, text};

use super::audit_file;
use crate::{tollgate, write};

const PLAIN: [(&str, &str); 1] = [("GET", "/status")];
/// What a run asked for at each path.
const POSTED: [(&str, &str); 9] = [
    (
        "/graphql",
        r#"{"query":"query Q { viewer { login } repository(name: \"a\") { id } }"}"#,
    ),
    ("/graphql", r#"{"query":"{ viewer { login } }"}"#),
    ("/graphql", r#"{"query":"mutation { addStar(id: 1) { id } }"}"#),
    ("/rpc", r#"{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[]}"#),
    (
        "/rpc",
        r#"[{"jsonrpc":"2.0","id":1,"method":"eth_chainId"},{"jsonrpc":"2.0","id":2,"method":"eth_call"}]"#,
    ),
    ("/mcp", r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#),
    (
        "/mcp",
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"search","arguments":{"q":"secret-words"}}}"#,
    ),
    (
        "/mcp",
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"read.file"}}"#,
    ),
    ("/mcp", r#"{"jsonrpc":"2.0","id":4,"method":"tools/list"}"#),
];
/// Neighbours of it, which nobody asked for.
const NEIGHBOURS: [(&str, &str); 6] = [
    ("/graphql", r#"{"query":"mutation { removeStar(id: 1) { id } }"}"#),
    ("/graphql", r#"{"query":"{ viewer { login } secrets }"}"#),
    ("/rpc", r#"{"jsonrpc":"2.0","id":1,"method":"eth_getBalance"}"#),
    (
        "/mcp",
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete"}}"#,
    ),
    ("/mcp", r#"{"jsonrpc":"2.0","id":1,"method":"resources/list"}"#),
    ("/other", r#"{"jsonrpc":"2.0","id":1,"method":"eth_call"}"#),
];

/// Endpoints that say by what protocol each path is read, allow next to nothing and do this with the rest.
fn learning(port: u16, enforcement: &str) -> String {
    let enforcement = format!("enforcement: {enforcement}");
    let read = |name, path, rules| (name, [path, enforcement.as_str(), rules]);
    let endpoints = [
        read("plain", "protocol: rest", "rules: [ { allow: { method: GET, path: /nothing } } ]"),
        read(
            "graph",
            "{ protocol: graphql, path: /graphql }",
            "rules: [ { allow: { operation_type: query, fields: [ nothing ] } } ]",
        ),
        read(
            "rpc",
            "{ protocol: json-rpc, path: /rpc }",
            "rules: [ { allow: { method: nothing } } ]",
        ),
        read("tools", "{ protocol: mcp, path: /mcp }", "rules: [ { allow: { method: ping } } ]"),
    ];
    let lines: Vec<(&str, Vec<String>)> = endpoints
        .iter()
        .map(|(name, [read, enforcement, rules])| {
            let read = read.trim_matches(['{', '}', ' ']).split(", ").map(str::to_owned);
            (*name, read.chain([(*enforcement).to_owned(), (*rules).to_owned()]).collect())
        })
        .collect();
    let lines: Vec<(&str, Vec<&str>)> = lines
        .iter()
        .map(|(name, lines)| (*name, lines.iter().map(String::as_str).collect()))
        .collect();
    let entries: Vec<Entry<'_>> = lines
        .iter()
        .map(|(name, lines)| Entry {
            name,
            host: HOST,
            ports: std::slice::from_ref(&port),
            lines,
        })
        .collect();
    policy::document(&entries)
}

async fn play(gate: &Tollgate, port: u16) {
    for (method, target) in PLAIN {
        let _ = gate.fetch(Via::AbsoluteForm, &Ask::get(port, target).method(method)).await;
    }
    for (target, body) in POSTED {
        let _ = gate.fetch(Via::AbsoluteForm, &Ask::get(port, target).json(body)).await;
    }
    let stream = Ask::get(port, "/mcp").header("accept", "text/event-stream");
    let _ = gate.fetch(Via::AbsoluteForm, &stream).await;
    gate.audited(json!({ "method": "GET", "path": "/mcp" })).await;
}

fn denied_since(gate: &Tollgate, seen: usize) -> Vec<Value> {
    let events = gate.audit_events();
    events.into_iter().skip(seen).filter(|event| event["decision"] != "allow").collect()
}

async fn suggested(dir: &TempDir, arguments: &[&str]) -> String {
    let output = tollgate(dir.path(), arguments).await;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_bodies_asked_for_passes_under_the_suggestion_and_nothing_beside_it() {
    let origin = Origin::plain().await;
    let dir = TempDir::new().unwrap();
    for (enforcement, joined) in [("audit", false), ("enforce", false), ("enforce", true)] {
        let standing = learning(origin.port(), enforcement);
        let gate = Setup::new(standing.clone()).local_host().start();
        play(&gate, origin.port()).await;
        assert!(denied_since(&gate, 0).len() > 8, "nothing to learn from");
        let (audit, file) = (audit_file(&gate), write(&dir, "standing.yaml", &standing));
        let mut arguments = vec!["suggest", audit.as_str()];
        if joined {
            arguments.extend(["--policy", &file]);
        }
        let suggestion = suggested(&dir, &arguments).await;
        assert!(!suggestion.contains("secret-words"), "{suggestion}");
        let checked = tollgate(dir.path(), &["check", &write(&dir, "suggested.yaml", &suggestion)]).await;
        assert_eq!(checked.status.code(), Some(0), "{suggestion}\n{checked:?}");

        gate.reload(&suggestion).await;
        let seen = gate.audit_events().len();
        play(&gate, origin.port()).await;
        assert_eq!(denied_since(&gate, seen), Vec::<Value>::new(), "{suggestion}");
        for (target, body) in NEIGHBOURS {
            let answer = gate.fetch(Via::AbsoluteForm, &Ask::get(origin.port(), target).json(body)).await;
            let reason = if target == "/other" {
                "path_not_allowed"
            } else {
                "operation_not_allowed"
            };
            answer.assert_denied(403, reason);
        }
    }
}

/// A folder of policies gains one more file, and the rest of it stays as it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_gains_a_file() {
    let origin = Origin::plain().await;
    let dir = TempDir::new().unwrap();
    std::fs::create_dir(dir.path().join("policy.d")).unwrap();
    let standing = learning(origin.port(), "enforce");
    let more = policy::document(&[Entry {
        name: "more",
        host: "more.example.test",
        ports: &[443],
        lines: &["protocol: rest", "enforcement: enforce", "access: read-only"],
    }]);
    write(&dir, "policy.d/one.yaml", &standing);
    write(&dir, "policy.d/two.yaml", &more);
    let gate = Setup::new(standing).local_host().start();
    play(&gate, origin.port()).await;
    let suggestion = suggested(&dir, &["suggest", &audit_file(&gate), "--policy", "policy.d"]).await;
    assert!(
        !suggestion.contains("more.example.test") && suggestion.contains("tool: search"),
        "{suggestion}"
    );
    write(&dir, "policy.d/suggested.yaml", &suggestion);
    let checked = tollgate(dir.path(), &["check", "policy.d"]).await;
    assert_eq!(checked.status.code(), Some(0), "{suggestion}\n{checked:?}");
    let again = suggested(&dir, &["suggest", &audit_file(&gate), "--policy", "policy.d"]).await;
    assert!(
        again.contains("network_policies: {}"),
        "what is allowed already is suggested again:\n{again}"
    );
}

#[tokio::test]
async fn messages_pass_under_the_suggestion() {
    let audits = "enforcement: audit";
    let read_only = "access: read-only";
    let sockets = Sockets::start(&[WEBSOCKET, audits, read_only], "", "", |setup| setup).await;
    let mut client = sockets.open("/feed").await;
    client.send([text("one"), text("two")].concat()).await;
    sockets.arrived(&[text("one"), text("two")].concat()).await;
    drop(client);
    sockets.gate.audited(json!({ "path": "/feed", "messages": 2 })).await;
    let dir = TempDir::new().unwrap();
    let suggestion = suggested(&dir, &["suggest", &audit_file(&sockets.gate)]).await;
    assert!(
        suggestion.contains("method: WEBSOCKET_TEXT") && !suggestion.contains("protocol: rest"),
        "{suggestion}"
    );

    sockets.gate.reload(&suggestion).await;
    let seen = sockets.gate.audit_events().len();
    let mut client = sockets.open("/feed").await;
    client.send(text("three")).await;
    sockets.arrived(&[text("one"), text("two"), text("three")].concat()).await;
    assert_eq!(denied_since(&sockets.gate, seen), Vec::<Value>::new(), "{suggestion}");
    let (answer, _) = sockets.handshake("/other", HANDSHAKE).await;
    answer.assert_denied(403, "path_not_allowed");
}

#[tokio::test]
async fn operations_in_messages_pass_under_the_suggestion_and_others_do_not() {
    let rules = "rules: [ { allow: { method: GET, path: /graphql } }, { allow: { operation_type: query, fields: [ viewer ] } } ]";
    let agreed = "Sec-WebSocket-Protocol: graphql-transport-ws\r\n";
    let sockets = Sockets::start(&[WEBSOCKET, "enforcement: audit", rules], agreed, "", |setup| setup).await;
    let fields = format!("{HANDSHAKE}{agreed}");
    let asks = |query: &str| text(&json!({ "id": "1", "type": "subscribe", "payload": { "query": query } }).to_string());
    let init = text(r#"{"type":"connection_init"}"#);
    // One that the policy allows already, which only the last line of the WebSocket tells of, and one that it would deny.
    let used = [init.clone(), asks("{ viewer { id } }"), asks("subscription { issueAdded { id } }")].concat();
    let (_, mut client) = sockets.handshake("/graphql", &fields).await;
    client.send(&used).await;
    sockets.arrived(&used).await;
    drop(client);
    sockets.gate.audited(json!({ "path": "/graphql", "messages": 0 })).await;
    let dir = TempDir::new().unwrap();
    let suggestion = suggested(&dir, &["suggest", &audit_file(&sockets.gate)]).await;

    sockets.gate.reload(&suggestion).await;
    let seen = sockets.gate.audit_events().len();
    let (answer, mut client) = sockets.handshake("/graphql", &fields).await;
    assert_eq!(answer.status, 101, "{answer:?}\n{suggestion}");
    client.send(&used).await;
    sockets.arrived(&[used.clone(), used.clone()].concat()).await;
    assert_eq!(denied_since(&sockets.gate, seen), Vec::<Value>::new(), "{suggestion}");
    client.send(asks("subscription { userAdded { id } }")).await;
    assert_eq!(Seen::next(&mut client).await.close(), (1008, "operation_not_allowed".to_owned()));
}
