//! GraphQL over WebSocket: operations in messages, judged one by one by the rules about operations.

use serde_json::json;
use tollgate_tests::websocket::{Deflater, ENFORCE, HANDSHAKE, Seen, Sockets, WEBSOCKET, fragments, text};
use tollgate_tests::wire::H1;

const RULES: &str = "rules: [ { allow: { method: GET, path: /graphql } }, { allow: { operation_type: subscription, fields: [ \"issue*\" ] } }, { allow: { operation_type: query } } ]";
const DENY: &str = "deny_rules: [ { operation_type: query, fields: [ secrets ] } ]";
const MODERN: &str = "Sec-WebSocket-Protocol: graphql-transport-ws\r\n";
const LEGACY: &str = "Sec-WebSocket-Protocol: graphql-ws\r\n";

async fn start(agreed: &str) -> Sockets {
    Sockets::start(&[WEBSOCKET, ENFORCE, RULES, DENY], agreed, "", |setup| setup).await
}

async fn open(sockets: &Sockets) -> H1 {
    let fields = format!("{HANDSHAKE}Sec-WebSocket-Protocol: graphql-transport-ws, graphql-ws\r\n");
    let (answer, client) = sockets.handshake("/graphql", &fields).await;
    assert_eq!(answer.status, 101, "{answer:?}");
    client
}

fn asks(kind: &str, query: &str) -> String {
    json!({ "id": "1", "type": kind, "payload": { "query": query } }).to_string()
}

#[tokio::test]
async fn operations_that_are_allowed_arrive_and_others_do_not() {
    for (agreed, kind) in [(MODERN, "subscribe"), (LEGACY, "start")] {
        let sockets = start(agreed).await;
        let init = text(&json!({ "type": "connection_init", "payload": { "token": "t" } }).to_string());
        let allowed = [
            init.clone(),
            text(&asks(kind, "subscription { issueAdded { id } }")),
            fragments(&asks(kind, "query Q { viewer { login } }"), 5),
            text(r#"{"type":"ping"}"#),
            text(r#"{"id":"1","type":"complete"}"#),
        ]
        .concat();
        let mut client = open(&sockets).await;
        client.send(&allowed).await;
        sockets.arrived(&allowed).await;
        drop(client);
        for (query, reason) in [
            ("mutation { remove }", "operation_not_allowed"),
            ("subscription { issueAdded { id } userAdded { id } }", "operation_not_allowed"),
            ("{ viewer { login } secrets { key } }", "denied_by_rule"),
            ("mutation { remove", "malformed_request"),
        ] {
            let before = sockets.received().len();
            let mut client = open(&sockets).await;
            client.send([init.clone(), text(&asks(kind, query))].concat()).await;
            assert_eq!(Seen::next(&mut client).await.close(), (1008, reason.to_owned()), "{kind}: {query}");
            drop(client);
            let arrived = init.len() + 8;
            tollgate_tests::eventually("the goodbye", || (sockets.received().len() >= before + arrived).then_some(())).await;
            assert_eq!(sockets.received().len() - before, arrived, "{query} arrived");
        }
        let line = json!({
            "method": "WEBSOCKET_TEXT", "decision": "deny", "reason_code": "operation_not_allowed", "operation": "mutation { remove }",
        });
        sockets.gate.audited(line).await;
    }
}

#[tokio::test]
async fn a_mutation_is_found_under_compression() {
    let sockets = start(&format!("{MODERN}Sec-WebSocket-Extensions: permessage-deflate\r\n")).await;
    let mut client = open(&sockets).await;
    let mut deflater = Deflater::default();
    let fine = deflater.text(&asks("subscribe", "query Q { viewer { login } }"));
    client.send(&fine).await;
    sockets.arrived(&fine).await;
    client.send(deflater.text(&asks("subscribe", "mutation Q { remove }"))).await;
    assert_eq!(Seen::next(&mut client).await.close(), (1008, "operation_not_allowed".to_owned()));
}

#[tokio::test]
async fn messages_that_are_neither_protocols_are_refused_even_in_audit_mode() {
    let sockets = Sockets::start(&[WEBSOCKET, "enforcement: audit", RULES], MODERN, "", |setup| setup).await;
    let mut client = open(&sockets).await;
    let mutation = text(&asks("subscribe", "mutation { remove }"));
    client.send(&mutation).await;
    sockets.arrived(&mutation).await;
    sockets
        .gate
        .audited(json!({ "decision": "would_deny", "reason_code": "operation_not_allowed", "operation": "mutation { remove }" }))
        .await;
    client.send(text("mutation { remove }")).await;
    assert_eq!(Seen::next(&mut client).await.close(), (1008, "malformed_request".to_owned()));
}

#[tokio::test]
async fn an_origin_that_chooses_another_subprotocol_is_refused() {
    for agreed in [
        "",
        "Sec-WebSocket-Protocol: chat\r\n",
        "Sec-WebSocket-Protocol: graphql-ws\r\nSec-WebSocket-Protocol: chat\r\n",
    ] {
        let sockets = start(agreed).await;
        let (answer, _) = sockets.handshake("/graphql", HANDSHAKE).await;
        answer.assert_denied(403, "uninspectable_traffic");
    }
}
