//! Messages: allowed ones arrive byte for byte, refused ones not at all, and each refusal is told and written down.

use serde_json::json;
use tollgate_tests::payment;
use tollgate_tests::websocket::{ENFORCE, Seen, Sockets, WEBSOCKET, bits, fragmented, fragments, frame, op, server_frame, text};

const STANZA: &str = "network_middlewares:\n  payments:\n    middleware: tollgate/x402\n    order: 10\n    config: {}\n    endpoints: { include: [\"**\"] }\n";

#[tokio::test]
async fn what_is_allowed_arrives_as_it_was_sent_whatever_its_frames() {
    let sockets = Sockets::access("read-write").await;
    let mut client = sockets.open("/socket").await;
    let long = "ü".repeat(40_000);
    let sent = [
        text("one"),
        fragments("a message in seven pieces", 7),
        text(""),
        fragments(&long, 3),
        frame(bits::FIN | op::BINARY, &vec![0xFF; 70_000]),
        fragmented(op::BINARY, b"\x00\x01\x02\x03", 2),
        frame(bits::FIN | op::PING, b"alive?"),
    ]
    .concat();
    // In pieces that have nothing to do with the frames.
    for piece in sent.chunks(997) {
        client.send(piece).await;
    }
    sockets.arrived(&sent).await;
}

#[tokio::test]
async fn control_frames_pass_between_fragments_that_are_held() {
    let sockets = Sockets::access("read-write").await;
    let mut client = sockets.open("/socket").await;
    let (start, end) = (frame(op::TEXT, b"first "), frame(bits::FIN | op::CONTINUATION, b"second"));
    let ping = frame(bits::FIN | op::PING, b"alive?");
    client.send([start.clone(), ping.clone()].concat()).await;
    // The ping is there, and nothing of the message.
    sockets.arrived(&ping).await;
    client.send(&end).await;
    sockets.arrived(&[ping, start, end].concat()).await;
}

#[tokio::test]
async fn what_the_origin_says_streams_to_the_client() {
    let sockets = Sockets::access("read-only").await;
    let mut client = sockets.open("/feed").await;
    let big = vec![7; 300_000];
    sockets.say([server_frame(0x81, b"hello"), server_frame(0x82, &big)].concat());
    assert_eq!(Seen::next(&mut client).await.payload, "hello");
    assert_eq!(Seen::next(&mut client).await.payload, big);
}

#[tokio::test]
async fn a_message_that_the_policy_does_not_list_ends_the_connection_and_never_arrives() {
    let sockets = Sockets::access("read-only").await;
    let mut client = sockets.open("/feed").await;
    client.send(text("subscribe me")).await;
    assert_eq!(Seen::next(&mut client).await.close(), (1008, "method_not_allowed".to_owned()));
    sockets.origin_ended().await;
    // The origin hears only that the client goes away.
    let received = sockets.received();
    assert_eq!((received.len(), received[0]), (8, bits::FIN | op::CLOSE));
    let message = json!({
        "protocol": "websocket", "method": "WEBSOCKET_TEXT", "path": "/feed", "decision": "deny", "reason_code": "method_not_allowed",
        "policy": "socket", "status": null,
    });
    sockets.gate.audited(message).await;
    let labels = [("decision", "deny"), ("reason_code", "method_not_allowed"), ("adapter", "tunnel")];
    assert!((sockets.gate.metric("tollgate_requests_total", &labels).await - 1.0).abs() < f64::EPSILON);
}

#[tokio::test]
async fn a_refusal_waits_for_the_end_of_the_origins_frame() {
    let sockets = Sockets::access("read-only").await;
    let mut client = sockets.open("/feed").await;
    // A text would be held until it is whole.
    let reply = server_frame(0x82, &[b'x'; 1000]);
    sockets.say(reply[..600].to_vec());
    assert_eq!(client.exactly(600).await, &reply[..600]);
    client.send(text("subscribe me")).await;
    sockets.gate.audited(json!({ "reason_code": "method_not_allowed" })).await;
    sockets.say(reply[600..].to_vec());
    assert_eq!(client.exactly(404).await, &reply[600..]);
    assert_eq!(Seen::next(&mut client).await.close().0, 1008);
}

#[tokio::test]
async fn deny_rules_hold_for_messages_by_path() {
    let lines = [
        WEBSOCKET,
        ENFORCE,
        "access: full",
        "deny_rules: [ { method: WEBSOCKET_TEXT, path: \"/admin\" } ]",
    ];
    let sockets = Sockets::start(&lines, "", "", |setup| setup).await;
    let mut chat = sockets.open("/chat").await;
    chat.send(text("hello")).await;
    sockets.arrived(&text("hello")).await;
    let mut admin = sockets.open("/admin").await;
    admin.send(text("hello")).await;
    assert_eq!(Seen::next(&mut admin).await.close(), (1008, "denied_by_rule".to_owned()));
    sockets
        .gate
        .audited(json!({ "path": "/admin", "rule": "deny_rules[0]", "decision": "deny" }))
        .await;
}

#[tokio::test]
async fn audit_mode_passes_messages_and_writes_a_line_for_each() {
    let sockets = Sockets::start(&[WEBSOCKET, "enforcement: audit", "access: read-only"], "", "", |setup| setup).await;
    let mut client = sockets.open("/feed").await;
    client.send([text("one"), text("two")].concat()).await;
    sockets.arrived(&[text("one"), text("two")].concat()).await;
    let would = json!({ "method": "WEBSOCKET_TEXT", "decision": "would_deny", "reason_code": "method_not_allowed" });
    sockets.gate.audited(would.clone()).await;
    let count = || {
        let events = sockets.gate.audit_events();
        let lines = events.iter().filter(|event| tollgate_tests::tollgate::has(event, &would)).count();
        (lines == 2).then_some(())
    };
    tollgate_tests::eventually("a line for each message", count).await;
}

#[tokio::test]
async fn json_in_a_binary_message_is_no_way_around_the_rules_for_text() {
    let sockets = Sockets::access("read-only").await;
    let mut client = sockets.open("/feed").await;
    let image = frame(bits::FIN | op::BINARY, b"\x89PNG\r\n");
    client.send(&image).await;
    sockets.arrived(&image).await;
    client.send(frame(bits::FIN | op::BINARY, b" {\"subscribe\": \"me\"}")).await;
    assert_eq!(Seen::next(&mut client).await.close(), (1008, "method_not_allowed".to_owned()));
}

#[tokio::test]
async fn binary_messages_pass_unless_a_payment_rule_covers_the_host() {
    let binary = frame(bits::FIN | op::BINARY, b"\x00\x01\x02");
    let free = Sockets::access("read-write").await;
    let mut client = free.open("/socket").await;
    client.send(&binary).await;
    free.arrived(&binary).await;

    let lines = [WEBSOCKET, ENFORCE, "access: full"];
    let paid = Sockets::start(&lines, "", STANZA, |setup| setup.config(payment::settings())).await;
    let mut client = paid.open("/socket").await;
    client.send(text("{\"hello\": 1}")).await;
    paid.arrived(&text("{\"hello\": 1}")).await;
    client.send(&binary).await;
    assert_eq!(Seen::next(&mut client).await.close(), (1008, "uninspectable_traffic".to_owned()));
    paid.gate
        .audited(json!({ "method": "WEBSOCKET_BINARY", "decision": "deny", "reason_code": "uninspectable_traffic" }))
        .await;
    paid.origin_ended().await;
    assert!(!paid.received().windows(binary.len()).any(|part| part == binary));
}
