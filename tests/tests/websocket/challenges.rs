//! What an origin asks for in messages: remembered, so that a payment in a message can answer it, and screened before the client sees it.

use std::collections::HashMap;

use serde_json::{Value, json};
use tollgate_tests::eventually;
use tollgate_tests::payment::{self, ASSET, CENT, NETWORK, PAYEE, Terms, Wallet};
use tollgate_tests::verdict_peer::{Mood, Says, VerdictPeer};
use tollgate_tests::websocket::{DEFLATE, Deflater, ENFORCE, HANDSHAKE, Seen, Sockets, WEBSOCKET, bits, op, server_frame, text};

const TOOL: &str = "mcp://tool/weather";
const STRANGER: &str = "0x00000000000000000000000000000000000000aa";

async fn shop(agreed: &str, screened: bool) -> (Sockets, VerdictPeer) {
    let peer = VerdictPeer::start(Mood::Honest(HashMap::from([(PAYEE.to_ascii_lowercase(), Says::Go)]))).await;
    let settings = peer.settings();
    let lines = &[WEBSOCKET, ENFORCE, "access: full"];
    let sockets = Sockets::start(lines, agreed, "", |setup| {
        setup
            .config(payment::settings())
            .config(json!({ "payments": { "require_challenge": true, "screen_challenges": screened } }))
            .config(settings)
    })
    .await;
    (sockets, peer)
}

fn option(pay_to: &str) -> Value {
    json!({ "scheme": "exact", "network": NETWORK, "amount": CENT, "asset": ASSET, "payTo": pay_to, "maxTimeoutSeconds": 300,
        "extra": { "name": "USDC", "version": "2" } })
}

/// Asks for a payment to any of these, in each of the shapes that servers have.
fn asked(payees: &[&str]) -> Vec<String> {
    let options: Vec<Value> = payees.iter().map(|payee| option(payee)).collect();
    let challenge = json!({ "x402Version": 2, "error": "Payment required",
        "resource": { "url": TOOL, "description": "one cent", "mimeType": "application/json" }, "accepts": options });
    vec![
        json!({ "jsonrpc": "2.0", "id": 7, "result": { "content": [{ "type": "text", "text": challenge.to_string() }],
            "structuredContent": challenge, "isError": true } })
        .to_string(),
        json!({ "jsonrpc": "2.0", "id": 7, "error": { "code": 402, "message": "Payment required", "data": challenge } }).to_string(),
    ]
}

fn call() -> String {
    json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": "weather" } }).to_string()
}

fn paid() -> String {
    let payment = Wallet::default().v2(TOOL, &Terms::default());
    json!({ "jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": { "name": "weather", "_meta": { "x402/payment": payment } } })
        .to_string()
}

fn said(message: &str) -> Vec<u8> {
    server_frame(bits::FIN | op::TEXT, message.as_bytes())
}

fn in_three(message: &str) -> Vec<u8> {
    let (first, rest) = message.as_bytes().split_at(message.len() / 3);
    let (second, third) = rest.split_at(rest.len() / 2);
    [
        server_frame(op::TEXT, first),
        server_frame(op::CONTINUATION, second),
        server_frame(bits::FIN | op::PING, b"beat"),
        server_frame(bits::FIN | op::CONTINUATION, third),
    ]
    .concat()
}

#[tokio::test]
async fn a_payment_in_a_message_answers_a_challenge_in_a_message() {
    for screened in [true, false] {
        for (number, asked) in asked(&[PAYEE]).iter().enumerate() {
            let (sockets, _peer) = shop(DEFLATE, screened).await;
            let (answer, mut client) = sockets.handshake("/rpc", &format!("{HANDSHAKE}{DEFLATE}")).await;
            assert_eq!(answer.status, 101);
            client.send(text(&call())).await;
            sockets.arrived(&text(&call())).await;
            let mut deflater = Deflater::default();
            let packed = |message: &[u8]| server_frame(bits::FIN | bits::PACKED | op::TEXT, message);
            let ways = [
                said(asked),
                packed(&deflater.pack(asked.as_bytes())),
                packed(&deflater.pack(asked.as_bytes())),
                server_frame(bits::FIN | op::BINARY, asked.as_bytes()),
            ];
            for way in ways {
                sockets.say(way.clone());
                assert!(client.exactly(way.len()).await == way, "{number} {screened}: other bytes arrived");
                let before = sockets.received().len();
                let message = text(&paid());
                client.send(&message).await;
                eventually("the paid message", || {
                    (sockets.received().len() == before + message.len()).then_some(())
                })
                .await;
            }
        }
    }
}

#[tokio::test]
async fn a_challenge_in_fragments_arrives_as_it_came_and_may_be_answered() {
    let (sockets, _peer) = shop("", true).await;
    let (_, mut client) = sockets.handshake("/rpc", HANDSHAKE).await;
    let challenge = &asked(&[PAYEE])[0];
    sockets.say(in_three(challenge));
    // A beat between the fragments does not wait for them.
    assert_eq!(Seen::next(&mut client).await.payload, "beat");
    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.extend_from_slice(&Seen::next(&mut client).await.payload);
    }
    assert!(seen == challenge.as_bytes());
    client.send(text(&paid())).await;
    sockets
        .gate
        .audited(json!({ "decision": "allow", "method": "WEBSOCKET_TEXT", "verdict": { "verdict": "go" } }))
        .await;
}

#[tokio::test]
async fn options_that_would_be_refused_are_taken_out_of_a_message() {
    for asked in asked(&[STRANGER, PAYEE]) {
        let (sockets, _peer) = shop("", true).await;
        let (_, mut client) = sockets.handshake("/rpc", HANDSHAKE).await;
        sockets.say(said("{\"hello\":1}"));
        assert_eq!(Seen::next(&mut client).await.payload, "{\"hello\":1}");
        sockets.say(said(&asked));
        let seen = Seen::next(&mut client).await;
        let seen = String::from_utf8(seen.payload.to_vec()).unwrap();
        assert!(seen.contains(PAYEE) && !seen.contains(STRANGER), "{seen}");
        client.send(text(&paid())).await;
        sockets
            .gate
            .audited(json!({ "decision": "allow", "verdict": { "verdict": "go" } }))
            .await;
    }
}

#[tokio::test]
async fn a_challenge_that_nobody_may_pay_never_reaches_the_client() {
    let asked = &asked(&[STRANGER])[0];
    let unreadable = asked.replacen("\"accepts\":[", "\"accepts\":[],\"accepts\":[", 1);
    let mut deflater = Deflater::default();
    let packed = deflater.pack(asked.as_bytes());
    let some = self::asked(&[STRANGER, PAYEE])[0].clone();
    let cases = [
        ("one frame", "", said(asked), "verdict_hold"),
        ("fragments", "", in_three(asked), "verdict_hold"),
        ("binary", "", server_frame(bits::FIN | op::BINARY, asked.as_bytes()), "verdict_hold"),
        (
            "compressed",
            DEFLATE,
            server_frame(bits::FIN | bits::PACKED | op::TEXT, &packed),
            "verdict_hold",
        ),
        (
            "of some, compressed",
            DEFLATE,
            server_frame(bits::FIN | bits::PACKED | op::TEXT, &Deflater::default().pack(some.as_bytes())),
            "uninspectable_traffic",
        ),
        ("two readings", "", said(&unreadable), "payment_malformed"),
        ("masked", "", text(asked), "malformed_request"),
    ];
    for (name, agreed, message, reason) in cases {
        let (sockets, _peer) = shop(agreed, true).await;
        let (_, mut client) = sockets.handshake("/rpc", &format!("{HANDSHAKE}{agreed}")).await;
        sockets.say([said("before"), message].concat());
        assert_eq!(Seen::next(&mut client).await.payload, "before", "{name}");
        let mut seen = Seen::next(&mut client).await;
        if seen.payload == "beat" {
            seen = Seen::next(&mut client).await;
        }
        assert_eq!(seen.close().1, reason, "{name}");
        sockets
            .gate
            .audited(json!({ "decision": "deny", "reason_code": reason, "method": "WEBSOCKET_TEXT" }))
            .await;
        assert!(client.some_bytes().await.is_empty(), "{name}: something came after the end");
    }
}

#[tokio::test]
async fn what_cannot_be_read_passes_where_nothing_has_to_be_kept_from_the_client() {
    for (name, message) in [
        ("masked", text("hello")),
        ("a reserved bit", server_frame(bits::FIN | 0x20 | op::TEXT, b"hello")),
        ("not UTF-8", server_frame(bits::FIN | op::TEXT, b"\xFF\xFE")),
    ] {
        let (sockets, _peer) = shop("", false).await;
        let (_, mut client) = sockets.handshake("/rpc", HANDSHAKE).await;
        let all = [said("before"), message, said("after")].concat();
        sockets.say(all.clone());
        assert!(client.exactly(all.len()).await == all, "{name}");
    }
}
