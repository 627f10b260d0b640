//! How a WebSocket ends: by either side, by new rules; and what is written down of it.

use std::time::Duration;

use serde_json::json;
use tollgate_tests::policy;
use tollgate_tests::websocket::{ENFORCE, HANDSHAKE, Seen, Sockets, WEBSOCKET, bits, frame, op, server_frame, text};

#[tokio::test]
async fn a_goodbye_of_the_client_goes_both_ways_and_the_end_is_written_down_with_bytes() {
    let sockets = Sockets::access("read-write").await;
    let mut client = sockets.open("/socket").await;
    let goodbye = frame(bits::FIN | op::CLOSE, &[0x03, 0xE8]);
    let sent = [text("hello"), goodbye.clone()].concat();
    // What comes after it goes nowhere.
    client.send([sent.clone(), text("late")].concat()).await;
    sockets.arrived(&sent).await;
    let reply = server_frame(bits::FIN | op::CLOSE, &[0x03, 0xE8]);
    sockets.say(reply.clone());
    assert_eq!(Seen::next(&mut client).await.close().0, 1000);
    client.finish_sending().await;
    sockets.origin_ended().await;
    let opened = sockets.gate.audited(json!({ "status": 101, "method": "GET" })).await;
    let end = json!({
        "protocol": "websocket", "method": "GET", "path": "/socket", "decision": "allow", "reason_code": null, "status": null,
        "bytes_up": sent.len(), "bytes_down": reply.len(), "request_id": opened["request_id"],
    });
    sockets.gate.audited(end).await;
    // The end is no second decision.
    let decided = sockets
        .gate
        .metric("tollgate_requests_total", &[("decision", "allow"), ("adapter", "tunnel")])
        .await;
    assert!((decided - 1.0).abs() < f64::EPSILON, "{decided}");
}

#[tokio::test]
async fn a_refused_message_is_the_end_and_its_reason_stands_in_both_lines() {
    let sockets = Sockets::access("read-only").await;
    let mut client = sockets.open("/socket").await;
    client.send(text("hello")).await;
    assert_eq!(Seen::next(&mut client).await.close().0, 1008);
    sockets
        .gate
        .audited(json!({ "method": "WEBSOCKET_TEXT", "decision": "deny", "reason_code": "method_not_allowed" }))
        .await;
    sockets
        .gate
        .audited(json!({ "method": "GET", "protocol": "websocket", "reason_code": "method_not_allowed", "bytes_up": 0, "bytes_down": 0 }))
        .await;
}

#[tokio::test]
async fn an_end_of_the_origin_ends_the_client() {
    let sockets = Sockets::access("read-write").await;
    let mut client = sockets.open("/socket").await;
    sockets.say(server_frame(bits::FIN | op::CLOSE, &[0x03, 0xE9]));
    assert_eq!(Seen::next(&mut client).await.close().0, 1001);
    client.send(frame(bits::FIN | op::CLOSE, &[0x03, 0xE9])).await;
    drop(sockets.origin);
    assert!(client.ends_within(Duration::from_secs(5)).await);
}

#[tokio::test]
async fn a_message_is_judged_by_the_rules_in_force_when_it_is_sent() {
    let sockets = Sockets::access("read-only").await;
    let mut client = sockets.open("/socket").await;
    sockets
        .gate
        .reload(&sockets.policy(&[WEBSOCKET, ENFORCE, "access: read-write"]))
        .await;
    client.send(text("now")).await;
    sockets.arrived(&text("now")).await;
    // It has begun before the rules change, and ends after.
    client.send(frame(op::TEXT, b"half ")).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    sockets
        .gate
        .reload(&sockets.policy(&[WEBSOCKET, ENFORCE, "access: read-only"]))
        .await;
    client.send(frame(bits::FIN | op::CONTINUATION, b"a word")).await;
    assert_eq!(Seen::next(&mut client).await.close(), (1008, "method_not_allowed".to_owned()));
    sockets.origin_ended().await;
    assert_eq!(sockets.received().len(), text("now").len() + 8);
}

#[tokio::test]
async fn an_endpoint_that_no_longer_judges_messages_lets_none_pass() {
    let sockets = Sockets::access("full").await;
    let mut client = sockets.open("/socket").await;
    sockets
        .gate
        .reload(&sockets.policy(&["protocol: rest", "enforcement: audit", "access: full"]))
        .await;
    client.send(text("hello")).await;
    assert_eq!(Seen::next(&mut client).await.close(), (1008, "path_not_allowed".to_owned()));
}

#[tokio::test]
async fn rules_that_no_longer_list_the_host_end_it_within_a_second() {
    let sockets = Sockets::access("full").await;
    let mut client = sockets.open("/socket").await;
    sockets.gate.reload(&policy::document(&[])).await;
    let close = tokio::time::timeout(Duration::from_secs(1), Seen::next(&mut client)).await.unwrap();
    assert_eq!(close.close(), (1012, "policy_stale".to_owned()));
    sockets.origin_ended().await;
    sockets
        .gate
        .audited(json!({ "protocol": "websocket", "method": "GET", "reason_code": "policy_stale" }))
        .await;
}

#[tokio::test]
async fn silence_ends_it() {
    let config = json!({ "limits": { "tunnel_idle": "700ms" } });
    let sockets = Sockets::start(&[WEBSOCKET, ENFORCE, "access: full"], "", "", |setup| setup.config(config)).await;
    let mut client = sockets.open("/socket").await;
    assert!(client.ends_within(Duration::from_secs(5)).await);
    sockets.origin_ended().await;
}

#[tokio::test]
async fn bytes_of_a_websocket_that_is_not_read_are_counted_too() {
    let sockets = Sockets::start(&["protocol: rest", ENFORCE, "access: full"], "", "", |setup| setup).await;
    let (answer, mut client) = sockets.handshake("/socket", HANDSHAKE).await;
    assert_eq!(answer.status, 101);
    client.send("no frames at all").await;
    sockets.arrived(b"no frames at all").await;
    sockets.say(b"none either".to_vec());
    assert_eq!(client.exactly(11).await, "none either");
    client.finish_sending().await;
    drop(client);
    sockets
        .gate
        .audited(json!({ "protocol": "opaque", "path": "/socket", "bytes_up": 16, "bytes_down": 11 }))
        .await;
}
