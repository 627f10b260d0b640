//! Rails stay shut over WebSockets too, whatever the policy says, and however a message is cut up.

use serde_json::json;
use tollgate_tests::websocket::{ENFORCE, Seen, Sockets, WEBSOCKET, bits, fragments, frame, op, text};

const BROADCAST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":["0x02f8"]}"#;

#[tokio::test]
async fn a_rails_call_in_a_message_is_refused_by_what_it_asks() {
    let settle = r#"{"x402Version":1,"paymentPayload":{"payload":{}},"paymentRequirements":{"scheme":"exact"}}"#;
    let escaped = BROADCAST.replace("eth_send", "\\u0065th_send");
    let batch = format!("[{{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"eth_chainId\"}},{BROADCAST}]");
    let socket_io = format!(
        "42{}",
        json!(["rpc", { "jsonrpc": "2.0", "method": "eth_sendRawTransaction", "params": [] }])
    );
    let cases = [
        ("plain", text(BROADCAST), "rail_broadcast"),
        ("fragmented", fragments(BROADCAST, 9), "rail_broadcast"),
        ("escaped", text(&escaped), "rail_broadcast"),
        ("in a batch", text(&batch), "rail_broadcast"),
        ("after Socket.IO's prefix", text(&socket_io), "rail_broadcast"),
        ("a facilitator's call", text(settle), "rail_facilitator_call"),
    ];
    for enforcement in [ENFORCE, "enforcement: audit"] {
        let sockets = Sockets::start(&[WEBSOCKET, enforcement, "access: full"], "", "", |setup| setup).await;
        for (name, bytes, reason) in &cases {
            let before = sockets.received().len();
            let mut client = sockets.open("/rpc").await;
            client.send(bytes).await;
            assert_eq!(Seen::next(&mut client).await.close(), (1008, (*reason).to_owned()), "{name}");
            drop(client);
            tollgate_tests::eventually("the goodbye", || (sockets.received().len() > before).then_some(())).await;
            assert_eq!(sockets.received().len() - before, 8, "{name}: more than a goodbye arrived");
        }
        sockets
            .gate
            .audited(json!({ "method": "WEBSOCKET_TEXT", "decision": "deny", "reason_code": "rail_broadcast" }))
            .await;
        let denied = sockets
            .gate
            .metric("tollgate_rail_denied_total", &[("reason_code", "rail_broadcast")])
            .await;
        assert!((denied - 5.0).abs() < f64::EPSILON, "{denied}");
    }
}

#[tokio::test]
async fn a_ping_between_its_fragments_does_not_hide_a_broadcast() {
    let sockets = Sockets::access("full").await;
    let mut client = sockets.open("/rpc").await;
    let (start, end) = BROADCAST.as_bytes().split_at(40);
    let ping = frame(bits::FIN | op::PING, b"eth_send");
    client
        .send([frame(op::TEXT, start), ping.clone(), frame(bits::FIN | op::CONTINUATION, end)].concat())
        .await;
    assert_eq!(Seen::next(&mut client).await.close(), (1008, "rail_broadcast".to_owned()));
    sockets.origin_ended().await;
    assert!(sockets.received().starts_with(&ping));
    assert_eq!(sockets.received().len(), ping.len() + 8);
}

#[tokio::test]
async fn chain_reads_and_subscriptions_pass() {
    let sockets = Sockets::access("read-write").await;
    let mut client = sockets.open("/rpc").await;
    let reads = [
        text(r#"{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}"#),
        text(r#"{"jsonrpc":"2.0","id":2,"method":"eth_getBalance","params":["0x00","latest"]}"#),
        text("2probe"),
    ]
    .concat();
    client.send(&reads).await;
    sockets.arrived(&reads).await;
}
