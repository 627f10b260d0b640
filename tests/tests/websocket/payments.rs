//! Payments in messages: judged as in a request's body, however a message is cut up or compressed; none passes unseen.

use serde_json::{Value, json};
use tollgate_tests::eventually;
use tollgate_tests::payment::{self, Terms, Wallet, encode};
use tollgate_tests::verdict_peer::{Mood, Says, VerdictPeer};
use tollgate_tests::websocket::{
    DEFLATE, Deflater, ENFORCE, HANDSHAKE, Seen, Sockets, WEBSOCKET, bits, fragmented, fragments, frame, op, text,
};

async fn shop(mood: Mood, agreed: &str, payments: Value) -> (Sockets, VerdictPeer) {
    let peer = VerdictPeer::start(mood).await;
    let settings = peer.settings();
    let lines = &[WEBSOCKET, ENFORCE, "access: full"];
    let sockets = Sockets::start(lines, agreed, "", |setup| {
        setup
            .config(payment::settings())
            .config(json!({ "payments": payments }))
            .config(settings)
    })
    .await;
    (sockets, peer)
}

fn paid(terms: &Terms) -> String {
    let payment = Wallet::default().v2("mcp://tool/weather", terms);
    json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": "weather", "_meta": { "x402/payment": payment } } })
        .to_string()
}

#[tokio::test]
async fn go_lets_a_paid_message_out_byte_for_byte() {
    let (sockets, peer) = shop(Mood::Always(Says::Go), DEFLATE, json!({})).await;
    let mut deflater = Deflater::default();
    let (answer, mut client) = sockets.handshake("/rpc", &format!("{HANDSHAKE}{DEFLATE}")).await;
    assert_eq!(answer.status, 101);
    let messages = [
        text(&paid(&Terms::default())),
        fragments(&paid(&Terms::default()), 9),
        deflater.text(&paid(&Terms::default())),
        frame(bits::FIN | op::BINARY, paid(&Terms::default()).as_bytes()),
        fragmented(op::BINARY, paid(&Terms::default()).as_bytes(), 5),
    ];
    let mut all = Vec::new();
    for (number, message) in messages.iter().enumerate() {
        client.send(message).await;
        all.extend_from_slice(message);
        sockets.arrived(&all).await;
        assert_eq!(peer.questions().len(), number + 1, "asked once per payment");
    }
    assert_eq!(peer.questions()[0].claim["resource"], "mcp://tool/weather");
    let line = sockets
        .gate
        .audited(json!({ "decision": "allow", "method": "WEBSOCKET_TEXT", "verdict": { "verdict": "go" } }))
        .await;
    assert_eq!((&line["payment"]["amount"], &line["status"]), (&json!("10000"), &json!(null)));
    // An authorisation pays once here as well.
    let again = paid(&Terms::default());
    client.send(text(&again)).await;
    client.send(text(&again)).await;
    assert_eq!(Seen::next(&mut client).await.close(), (1008, "payment_replayed".to_owned()));
}

#[tokio::test]
async fn without_go_nothing_of_a_paid_message_arrives() {
    for (mood, reason) in [
        (Mood::Always(Says::Hold), "verdict_hold"),
        (Mood::Always(Says::Stop), "verdict_stop"),
        (Mood::Dead, "verdict_unavailable"),
    ] {
        let (sockets, _peer) = shop(mood, "", json!({})).await;
        for message in [
            text(&paid(&Terms::default())),
            fragments(&paid(&Terms::default()), 30),
            frame(bits::FIN | op::BINARY, paid(&Terms::default()).as_bytes()),
        ] {
            assert_stopped(&sockets, reason, "", &message, reason).await;
        }
        sockets
            .gate
            .audited(json!({ "decision": "deny", "reason_code": reason, "payment": { "amount": "10000" } }))
            .await;
    }
}

/// Sends a message on a new WebSocket, and expects a close frame with this reason, and no more than a goodbye at the origin.
async fn assert_stopped(sockets: &Sockets, name: &str, fields: &str, message: &[u8], reason: &str) {
    let before = sockets.received().len();
    let (answer, mut client) = sockets.handshake("/rpc", &format!("{HANDSHAKE}{fields}")).await;
    assert_eq!(answer.status, 101);
    client.send(message).await;
    assert_eq!(Seen::next(&mut client).await.close(), (1008, reason.to_owned()), "{name}");
    drop(client);
    eventually("the goodbye", || (sockets.received().len() > before).then_some(())).await;
    assert_eq!(sockets.received().len() - before, 8, "{name}: more than a goodbye arrived");
}

#[tokio::test]
async fn a_payment_that_is_not_one_in_its_one_place_ends_the_connection() {
    let (sockets, peer) = shop(Mood::Always(Says::Go), DEFLATE, json!({})).await;
    let naked = Wallet::default().v2("mcp://tool/weather", &Terms::default());
    let one = paid(&Terms::default());
    let cases = [
        ("a batch", format!("[{one}]"), "payment_malformed"),
        (
            "two in a batch",
            format!("[{one},{}]", paid(&Terms::default())),
            "payment_conflicting",
        ),
        (
            "after Socket.IO's prefix",
            format!("42{}", json!(["rpc", serde_json::from_str::<Value>(&one).unwrap()])),
            "payment_scheme_not_allowed",
        ),
        ("a payment by itself", naked.to_string(), "payment_scheme_not_allowed"),
        (
            "in base64",
            json!({ "note": encode(&naked) }).to_string(),
            "payment_scheme_not_allowed",
        ),
        (
            "a header line",
            format!("PAYMENT-SIGNATURE: {}", encode(&naked)),
            "payment_scheme_not_allowed",
        ),
        ("only its signature", naked["payload"].to_string(), "rail_broadcast"),
        (
            "another tool",
            one.replace("\"name\":\"weather\"", "\"name\":\"other\""),
            "payment_mismatch",
        ),
        (
            "nested",
            json!({ "call": serde_json::from_str::<Value>(&one).unwrap() }).to_string(),
            "payment_malformed",
        ),
    ];
    for (name, message, reason) in &cases {
        assert_stopped(&sockets, name, "", &text(message), reason).await;
        assert_stopped(&sockets, name, "", &fragments(message, 40), reason).await;
        assert_stopped(&sockets, name, DEFLATE, &Deflater::default().text(message), reason).await;
    }
    let not_utf8 = [&b"{\"\xFF\":1,"[..], &one.as_bytes()[1..]].concat();
    assert_stopped(
        &sockets,
        "not UTF-8",
        "",
        &frame(bits::FIN | op::BINARY, &not_utf8),
        "payment_malformed",
    )
    .await;
    assert!(peer.questions().is_empty());
}

#[tokio::test]
async fn where_a_payment_has_to_answer_a_challenge_a_message_that_nobody_asked_for_is_refused() {
    let (sockets, peer) = shop(Mood::Always(Says::Go), "", json!({ "require_challenge": true })).await;
    assert_stopped(&sockets, "unasked", "", &text(&paid(&Terms::default())), "payment_no_challenge").await;
    assert!(peer.questions().is_empty());
}
