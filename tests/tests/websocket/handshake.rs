//! The upgrade: judged as a GET, and refused where what follows could not be read.

use serde_json::json;
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::payment;
use tollgate_tests::policy::HOST;
use tollgate_tests::websocket::{ENFORCE, HANDSHAKE, Sockets, WEBSOCKET, text};

const STANZA: &str = "network_middlewares:\n  payments:\n    middleware: tollgate/x402\n    order: 10\n    config: {}\n    endpoints: { include: [\"**\"] }\n";

#[tokio::test]
async fn the_handshake_is_a_get_by_path_and_query() {
    let lines = [
        WEBSOCKET,
        ENFORCE,
        "rules: [ { allow: { method: GET, path: \"/v1/**\", query: { room: \"r-*\" } } }, { allow: { method: WEBSOCKET_TEXT, path: \"/v1/**\" } } ]",
    ];
    let sockets = Sockets::start(&lines, "", "", |setup| setup).await;
    for (path, reason) in [("/admin", "path_not_allowed"), ("/v1/a?room=x", "query_not_allowed")] {
        let (answer, _) = sockets.handshake(path, HANDSHAKE).await;
        answer.assert_denied(403, reason);
    }
    assert_eq!(sockets.handshakes(), 0, "a refused handshake reached the origin");
    sockets.open("/v1/a?room=r-1").await;
    sockets
        .gate
        .audited(json!({ "method": "GET", "path": "/v1/a", "status": 101, "decision": "allow", "policy": "socket" }))
        .await;
}

#[tokio::test]
async fn no_request_is_taken_for_a_message_by_its_method() {
    let sockets = Sockets::access("full").await;
    for method in ["WEBSOCKET_TEXT", "websocket_text"] {
        for via in [Via::TlsH1, Via::TlsH2] {
            let ask = Ask::get(sockets.origin.port(), "/socket").method(method);
            sockets.gate.fetch(via, &ask).await.assert_denied(403, "method_not_allowed");
        }
    }
    assert_eq!(sockets.origin.connections(), 0);
}

#[tokio::test]
async fn an_extension_that_is_not_read_is_refused_after_the_origin_chose_it() {
    for extension in [
        "x-webkit-deflate-frame",
        "permessage-deflate; mystery=1",
        "permessage-deflate, permessage-deflate",
    ] {
        let sockets = Sockets::start(
            &[WEBSOCKET, ENFORCE, "access: full"],
            &format!("Sec-WebSocket-Extensions: {extension}\r\n"),
            "",
            |setup| setup,
        )
        .await;
        let fields = format!("{HANDSHAKE}Sec-WebSocket-Extensions: {extension}\r\n");
        let (answer, _) = sockets.handshake("/socket", &fields).await;
        answer.assert_denied(403, "uninspectable_traffic");
        sockets.origin_ended().await;
        sockets
            .gate
            .audited(json!({ "decision": "deny", "reason_code": "uninspectable_traffic", "path": "/socket" }))
            .await;
    }
}

#[tokio::test]
async fn other_versions_of_the_protocol_are_refused_before_the_origin() {
    let sockets = Sockets::access("full").await;
    let without = HANDSHAKE.replace("Sec-WebSocket-Version: 13\r\n", "");
    for fields in [
        without.clone(),
        format!("{without}Sec-WebSocket-Version: 8\r\n"),
        format!("{HANDSHAKE}Sec-WebSocket-Version: 8\r\n"),
    ] {
        let (answer, _) = sockets.handshake("/socket", &fields).await;
        answer.assert_denied(403, "uninspectable_traffic");
    }
    assert_eq!(sockets.origin.connections(), 0);
}

#[tokio::test]
async fn frames_that_come_with_the_handshake_are_judged_like_all_others() {
    let sockets = Sockets::access("read-write").await;
    let mut client = sockets.gate.tls_h1(sockets.origin.port()).await;
    let head = format!("GET /socket HTTP/1.1\r\nHost: {HOST}:{}\r\n{HANDSHAKE}\r\n", sockets.origin.port());
    client.send([head.as_bytes(), &text("early")].concat()).await;
    assert_eq!(client.answer("GET").await.status, 101);
    sockets.arrived(&text("early")).await;
}

#[tokio::test]
async fn under_a_payment_rule_only_websockets_whose_messages_are_judged_open() {
    for (protocol, allowed) in [("protocol: websocket", true), ("protocol: rest", false)] {
        let sockets = Sockets::start(&[protocol, ENFORCE, "access: full"], "", STANZA, |setup| {
            setup.config(payment::settings())
        })
        .await;
        let (answer, _) = sockets.handshake("/socket", HANDSHAKE).await;
        if allowed {
            assert_eq!(answer.status, 101, "{answer:?}");
        } else {
            answer.assert_denied(403, "uninspectable_traffic");
            assert!(answer.text().contains("protocol: websocket"), "{}", answer.text());
        }
    }
}

#[tokio::test]
async fn http2_cannot_open_a_websocket() {
    let sockets = Sockets::access("read-only").await;
    // RFC 8441 needs a setting of the server's, which is never sent.
    let mut h2 = sockets.gate.tls_h2(sockets.origin.port()).await;
    h2.ask(&Ask::get(sockets.origin.port(), "/elsewhere").method("POST")).await;
    assert!(!h2.sender.is_extended_connect_protocol_enabled());
}
