//! What bodies and messages ask for.

use serde_json::json;

use super::{CONFIG, POLICY, Place};

#[tokio::test]
async fn handshakes_and_messages_of_websockets_are_explained() {
    let place = Place::new(POLICY, CONFIG);
    let file = |name: &str, content: &[u8]| {
        std::fs::write(place.file(name), content).unwrap();
        place.file(name)
    };
    let hello = file("hello.txt", b"hello");
    let not_text = file("not-text.bin", b"\xFF");
    let call = br#"{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":["0x02"]}"#;
    let broadcast = file("broadcast.json", call);
    let subscribe = |query: &str| format!(r#"{{"type":"subscribe","payload":{{"query":"{query}"}}}}"#);
    let told = file("told.json", subscribe("subscription { issueAdded { id } }").as_bytes());
    let remove = file("remove.json", subscribe("mutation { remove }").as_bytes());
    let ping = file("ping.json", br#"{"type":"ping"}"#);
    let graph = "wss://graph.example.com/graphql";
    let cases: [(&[&str], &str, Option<&str>); 20] = [
        (&["WEBSOCKET_TEXT", graph, "--body", &told], "allow", None),
        (&["WEBSOCKET_TEXT", graph, "--body", &remove], "deny", Some("operation_not_allowed")),
        (&["WEBSOCKET_TEXT", graph, "--body", &ping], "allow", None),
        (&["WEBSOCKET_TEXT", graph, "--body", &hello], "deny", Some("malformed_request")),
        (&["GET", "wss://chat.example.com/v1/chat"], "allow", None),
        (&["GET", "wss://chat.example.com/admin"], "deny", Some("path_not_allowed")),
        (
            &[
                "GET",
                "https://chat.example.com/v1/chat",
                "--header",
                "Upgrade: websocket",
                "--header",
                "Connection: Upgrade",
            ],
            "deny",
            Some("uninspectable_traffic"),
        ),
        (
            &["GET", "wss://chat.example.com/v1/chat", "--header", "Sec-WebSocket-Version: 8"],
            "deny",
            Some("uninspectable_traffic"),
        ),
        (&["WEBSOCKET_TEXT", "wss://chat.example.com/v1/chat"], "allow", None),
        (
            &["WEBSOCKET_TEXT", "wss://chat.example.com/v1/chat", "--body", &hello],
            "allow",
            None,
        ),
        (
            &["WEBSOCKET_TEXT", "https://chat.example.com/v1/chat", "--body", &hello],
            "allow",
            None,
        ),
        (
            &["WEBSOCKET_TEXT", "wss://chat.example.com/v1/feed", "--body", &hello],
            "deny",
            Some("method_not_allowed"),
        ),
        (
            &["WEBSOCKET_TEXT", "wss://chat.example.com/admin", "--body", &hello],
            "deny",
            Some("path_not_allowed"),
        ),
        (
            &["WEBSOCKET_TEXT", "wss://chat.example.com/v1/chat", "--body", &broadcast],
            "deny",
            Some("rail_broadcast"),
        ),
        (
            &["WEBSOCKET_TEXT", "wss://chat.example.com/v1/chat", "--body", &not_text],
            "deny",
            Some("malformed_request"),
        ),
        (
            &["WEBSOCKET_TEXT", "ws://chat.example.com/v1/chat", "--body", &hello],
            "would_deny",
            Some("method_not_allowed"),
        ),
        (
            &["WEBSOCKET_TEXT", "ws://chat.example.com/v1/chat", "--body", &broadcast],
            "deny",
            Some("rail_broadcast"),
        ),
        (&["WEBSOCKET_TEXT", "wss://api.example.com/v1/x", "--body", &hello], "allow", None),
        // The handshake is judged whole before any message.
        (
            &["WEBSOCKET_TEXT", "wss://chat.example.com/v1/chat", "--header", "X-Payment: e30="],
            "deny",
            Some("payment_malformed"),
        ),
        (
            &["WEBSOCKET_TEXT", "wss://chat.example.com/v1/chat", "--header", "Connection: x-mine"],
            "allow",
            None,
        ),
    ];
    for (words, decision, reason) in cases {
        let (document, text) = place.explained(words).await.unwrap();
        assert_eq!(
            (&document["decision"], &document["reason_code"]),
            (&json!(decision), &json!(reason)),
            "{words:?}\n{text}"
        );
    }
    let without = ["WEBSOCKET_TEXT", "wss://chat.example.com/v1/chat", "--header", "Upgrade: h2c"];
    let refused = place.explained(&without).await.unwrap_err();
    assert!(refused.contains("opens no WebSocket"), "{refused}");
    let (document, text) = place
        .explained(&["WEBSOCKET_TEXT", "wss://chat.example.com/v1/feed", "--body", &hello])
        .await
        .unwrap();
    assert_eq!(document["method"], "WEBSOCKET_TEXT");
    assert!(
        text.contains("pass   request      GET /v1/feed is allowed by rules[0] of policy 'chat'"),
        "{text}"
    );
    assert!(text.contains("DENY   message      method_not_allowed"), "{text}");
    assert!(
        text.contains("- allow: { method: \"WEBSOCKET_TEXT\", path: \"/v1/feed\" }"),
        "{text}"
    );
}

#[tokio::test]
async fn what_a_body_asks_for_is_explained_and_asked_for_where_it_is_missing() {
    let policy = "version: 1
network_policies:
  tools:
    endpoints:
      - host: mcp.example.com
        port: 443
        path: /mcp
        protocol: mcp
        enforcement: enforce
        rules: [ { allow: { method: tools/list } }, { allow: { method: tools/call, tool: read } } ]
    binaries: [ { path: '/**' } ]
";
    let place = Place::new(policy, "{}\n");
    let url = "https://mcp.example.com/mcp";
    let body = |name: &str, text: &str| {
        let file = place.file(name);
        std::fs::write(&file, text).unwrap();
        file
    };
    let call =
        |tool: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{{"a":"sk-1"}}}}}}"#);

    let read = body("read.json", &call("read"));
    let (document, text) = place.explained(&["POST", url, "--body", &read]).await.unwrap();
    assert_eq!(
        (&document["decision"], &document["rule"], &document["operation"]),
        (&json!("allow"), &json!("rules[1]"), &json!("tools/call read")),
        "{document:#}"
    );
    assert!(text.contains("tools/call read is allowed by rules[1] of policy 'tools'"), "{text}");

    let drop = body("drop.json", &call("drop"));
    let (document, text) = place.explained(&["POST", url, "--body", &drop]).await.unwrap();
    assert_eq!(
        (&document["decision"], &document["reason_code"], &document["operation"]),
        (&json!("deny"), &json!("operation_not_allowed"), &json!("tools/call drop")),
        "{document:#}"
    );
    assert_eq!(
        document["trace"]["policy"]["candidates"][0]["rules"][1]["fails"], "tool",
        "{document:#}"
    );
    assert!(text.contains("- allow: { method: \"tools/call\", tool: \"drop\" }"), "{text}");
    assert!(
        !text.contains("sk-1") && !document.to_string().contains("sk-1"),
        "an argument was shown"
    );

    let (document, text) = place.explained(&["POST", url]).await.unwrap();
    assert_eq!(document["reason_code"], "malformed_request", "{document:#}");
    assert!(text.contains("--body FILE"), "{text}");
    let (document, _) = place.explained(&["GET", url]).await.unwrap();
    assert_eq!(
        (&document["decision"], &document["operation"]),
        (&json!("allow"), &json!("stream")),
        "{document:#}"
    );
}
