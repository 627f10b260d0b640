//! The answers to paid calls: one that is lost leaves its payment unsettled, and the same call is not bought again meanwhile; one that comes
//! is heard for what became of the payment.

use std::io::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tollgate_tests::answer::Answer;
use tollgate_tests::authority::{Alpn, Authority};
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::eventually;
use tollgate_tests::payment::{self, CENT, NETWORK, Terms, Wallet, now};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::scripted::{Conversation, Scripted};
use tollgate_tests::tollgate::{Setup, Tollgate};
use tollgate_tests::verdict_peer::{Mood, Says, VerdictPeer};

use super::calls::{Protocol, honest, tool_result};

const TRANSACTION: &str = "0x8a31d4f1c5b9e0e7c2d3b4a5968778695a4b3c2d1e0f00112233445566778899";

/// A seller that records its calls and answers each one with bytes, after which it hangs up; and the gate before it.
struct Stall {
    gate: Tollgate,
    peer: VerdictPeer,
    seller: Scripted,
    calls: Arc<Mutex<Vec<Value>>>,
}

impl Stall {
    async fn open(payments: Value, answer: impl Fn(usize, &Value) -> Vec<u8> + Send + Sync + 'static) -> Self {
        let peer = VerdictPeer::start(Mood::Always(Says::Go)).await;
        let authority = Authority::default();
        let calls = Arc::<Mutex<Vec<Value>>>::default();
        let (kept, answer) = (Arc::clone(&calls), Arc::new(answer));
        let script = move |mut client: Conversation| {
            let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
            async move {
                let Some((head, body)) = client.request().await else { return };
                let call: Value = serde_json::from_slice(&unpacked(&body, head.header("content-encoding"))).unwrap();
                let number = {
                    let mut kept = kept.lock().unwrap();
                    kept.push(call.clone());
                    kept.len() - 1
                };
                client.send(answer(number, &call)).await;
            }
        };
        let seller = Scripted::start(Some(authority.server(HOST, Alpn::H1)), script).await;
        let gate = Setup::new(policy::open(&[seller.port()])).local_host().trust(&authority);
        let payments = json!({ "payments": payments });
        let gate = gate.config(payment::settings()).config(payments).config(peer.settings()).start();
        Stall { gate, peer, seller, calls }
    }

    async fn send(&self, target: &str, call: &Value) -> Answer {
        let text = call.to_string();
        self.gate.fetch(Via::TlsH1, &Ask::get(self.seller.port(), target).json(&text)).await
    }

    /// The call, paid anew.
    fn paid(&self, protocol: Protocol, terms: &Terms) -> Value {
        protocol.paid(&protocol.payment(&format!("https://{HOST}:{}/rpc", self.seller.port()), terms))
    }

    fn seen(&self) -> usize {
        self.calls.lock().unwrap().len()
    }
}

fn unpacked(body: &[u8], coding: Option<&str>) -> Vec<u8> {
    let mut out = Vec::new();
    match coding {
        Some("gzip") => {
            let mut decoder = flate2::write::GzDecoder::new(&mut out);
            decoder.write_all(body).unwrap();
            decoder.finish().unwrap();
        }
        _ => out.extend_from_slice(body),
    }
    out
}

fn packed(body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn document(answer: &Value) -> Vec<u8> {
    let body = answer.to_string();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

const STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

fn chunk(text: &str) -> String {
    format!("{:x}\r\n{text}\r\n", text.len())
}

/// A stream of these events, in pieces that end where no event does.
fn stream(events: &[Value]) -> Vec<u8> {
    let events: Vec<String> = events.iter().map(|event| format!("event: message\ndata: {event}\n\n")).collect();
    let text = events.concat();
    let pieces: String = text
        .as_bytes()
        .chunks(41)
        .map(|piece| chunk(std::str::from_utf8(piece).unwrap()))
        .collect();
    format!("{STREAM}{pieces}0\r\n\r\n").into_bytes()
}

/// What each client changes when it makes a call again.
fn again(protocol: Protocol, mut call: Value, turn: usize) -> Value {
    match protocol {
        Protocol::Mcp => {
            call["id"] = json!(7 + turn);
            let meta = &mut call["params"]["_meta"];
            meta["progressToken"] = json!(7 + turn);
            meta["traceparent"] = json!(format!("00-{}-00f067aa0ba902b7-01", format!("{turn:02x}").repeat(16)));
        }
        Protocol::A2a => {
            call["id"] = json!(format!("a-{turn}"));
            call["params"]["message"]["messageId"] = json!(format!("m-{turn}"));
        }
    }
    call
}

fn other_call(protocol: Protocol, mut call: Value) -> Value {
    match protocol {
        Protocol::Mcp => call["params"]["arguments"]["city"] = json!("Bergen"),
        Protocol::A2a => call["params"]["message"]["parts"][0]["text"] = json!("weather in Bergen"),
    }
    call
}

fn lost(how: usize, call: &Value) -> Vec<u8> {
    let whole = document(&json!({ "jsonrpc": "2.0", "id": call["id"], "result": {} }));
    match how {
        0 => Vec::new(),
        1 => whole[..whole.len() - 5].to_vec(),
        2 => STREAM.into(),
        3 => format!("{STREAM}{}", chunk("event: message\ndata: {\"jsonrpc\":\"2.0\",")).into_bytes(),
        // A stream may end before its answer; the client may ask for it again on another one.
        4 => stream(&[json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": {} })]),
        // A server numbers its own requests as it likes.
        _ => stream(&[json!({ "jsonrpc": "2.0", "id": call["id"], "method": "ping" })]),
    }
}

#[tokio::test]
async fn a_call_whose_answer_is_lost_is_not_bought_again_whatever_clients_number_anew() {
    for protocol in Protocol::BOTH {
        for how in 0..6 {
            let stall = Stall::open(json!({}), move |_, call| lost(how, call)).await;
            let first = again(protocol, stall.paid(protocol, &Terms::default()), 0);
            stall.send("/rpc", &first).await;
            assert_eq!(stall.seen(), 1, "{protocol:?} {how}");
            for turn in 1..3 {
                let anew = again(protocol, stall.paid(protocol, &Terms::default()), turn);
                let answer = stall.send("/rpc", &anew).await;
                answer.assert_denied(403, "payment_unsettled");
            }
            // In another coding it is the same call.
            let text = packed(again(protocol, stall.paid(protocol, &Terms::default()), 3).to_string().as_bytes());
            let ask = Ask::get(stall.seller.port(), "/rpc")
                .method("POST")
                .header("content-type", "application/json")
                .header("content-encoding", "gzip");
            let ask = Ask { body: &text, ..ask };
            stall.gate.fetch(Via::TlsH1, &ask).await.assert_denied(403, "payment_unsettled");
            assert_eq!(
                (stall.seen(), stall.peer.questions().len()),
                (1, 1),
                "{protocol:?} {how}: nobody was asked"
            );
            let other = other_call(protocol, again(protocol, stall.paid(protocol, &Terms::default()), 4));
            stall.send("/rpc", &other).await;
            assert_eq!(stall.seen(), 2, "{protocol:?} {how}: another call is another purchase");
        }
    }
}

#[tokio::test]
async fn a_lost_call_may_be_bought_again_when_its_payment_has_expired() {
    let stall = Stall::open(json!({}), |number, call| match number {
        0 => Vec::new(),
        _ => document(&json!({ "jsonrpc": "2.0", "id": call["id"], "result": {} })),
    })
    .await;
    let terms = Terms {
        valid_before: now() + 4,
        ..Terms::default()
    };
    let first = again(Protocol::Mcp, stall.paid(Protocol::Mcp, &terms), 0);
    stall.send("/rpc", &first).await;
    let anew = again(Protocol::Mcp, stall.paid(Protocol::Mcp, &Terms::default()), 1);
    stall.send("/rpc", &anew).await.assert_denied(403, "payment_unsettled");
    let wait = terms.valid_before.saturating_sub(now());
    tokio::time::sleep(Duration::from_secs(wait + 1)).await;
    stall.send("/rpc", &anew).await.assert_allowed();
    assert_eq!(stall.seen(), 2);
}

/// What a seller says of a payment, in the words of its protocol.
fn said(protocol: Protocol, word: &str, id: &Value) -> Value {
    let receipt = match word {
        "settled" => json!({ "success": true, "transaction": TRANSACTION, "network": NETWORK, "payer": "0x1", "amount": CENT }),
        _ => json!({ "success": false, "errorReason": "insufficient_funds", "transaction": "", "network": NETWORK }),
    };
    let mut result = match protocol {
        Protocol::Mcp => json!({ "content": [{ "type": "text", "text": "sunny" }], "isError": false }),
        Protocol::A2a => json!({ "kind": "task", "id": "task-1", "contextId": "c-1", "status": { "state": "completed",
            "message": { "kind": "message", "role": "agent", "messageId": "m-9", "parts": [] } } }),
    };
    match (protocol, word) {
        (_, "nothing") => {}
        (_, "error") => return json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32000, "message": "no" } }),
        (Protocol::Mcp, _) => result["_meta"] = json!({ "x402/payment-response": receipt }),
        (Protocol::A2a, _) => {
            let before = json!({ "success": false, "errorReason": "nonce", "transaction": "" });
            let status = if word == "settled" { "payment-completed" } else { "payment-failed" };
            result["status"]["message"]["metadata"] = json!({ "x402.payment.status": status, "x402.payment.receipts": [before, receipt] });
        }
    }
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

/// The same in each way in which answers come.
fn shaped(shape: &str, protocol: Protocol, call: &Value, word: &str) -> Vec<u8> {
    let answer = said(protocol, word, &call["id"]);
    match shape {
        "document" => document(&answer),
        "packed" => {
            let body = packed(answer.to_string().as_bytes());
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
                body.len()
            );
            [head.as_bytes(), &body].concat()
        }
        _ => {
            let progress = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progressToken": 7, "progress": 1 } });
            let others = said(protocol, "failed", &json!("another's"));
            let mut events = vec![progress, others];
            if protocol == Protocol::A2a {
                let working = json!({ "kind": "task", "id": "task-1", "status": { "state": "working", "message": {
                    "metadata": { "x402.payment.status": "payment-verified" } } } });
                events.push(json!({ "jsonrpc": "2.0", "id": call["id"], "result": working }));
            }
            events.push(answer);
            stream(&events)
        }
    }
}

#[tokio::test]
async fn what_the_seller_says_in_its_answer_is_reported_once() {
    let rows: Vec<(&str, &str, Protocol)> = ["document", "packed", "stream"]
        .into_iter()
        .flat_map(|shape| ["settled", "failed", "nothing", "error"].map(|word| (shape, word)))
        .flat_map(|(shape, word)| Protocol::BOTH.map(|protocol| (shape, word, protocol)))
        .collect();
    for screened in [false, true] {
        let kept = rows.clone();
        let answer = move |number: usize, call: &Value| {
            let (shape, word, protocol) = kept[number];
            shaped(shape, protocol, call, word)
        };
        let stall = Stall::open(json!({ "screen_challenges": screened }), answer).await;
        for (number, (shape, word, protocol)) in rows.iter().copied().enumerate() {
            let case = format!("{protocol:?} {shape} {word}, screened: {screened}");
            // Each answer was one, so the same call may be bought again.
            let answer = stall.send("/rpc", &stall.paid(protocol, &Terms::default())).await;
            answer.assert_allowed();
            let reports = eventually("the report", || Some(stall.peer.reports()).filter(|reports| reports.len() > number)).await;
            let outcome = match word {
                "settled" => "settled",
                "nothing" => "delivered",
                _ => "abandoned",
            };
            assert_eq!(reports[number]["outcome"], outcome, "{case}");
            let transaction = (outcome == "settled").then_some(TRANSACTION);
            let amount = (outcome == "settled").then_some("0.01");
            assert_eq!(reports[number]["settlement_tx"].as_str(), transaction, "{case}");
            assert_eq!(reports[number]["observed_amount"].as_str(), amount, "{case}");
            let paid = || stall.gate.audit_events().into_iter().filter(|line| !line["payment"].is_null());
            let line = eventually("the line", || paid().nth(number)).await;
            assert_eq!(line["payment"]["outcome"], outcome, "{case}: {line}");
            assert_eq!(line["payment"]["transaction"].as_str(), transaction, "{case}: {line}");
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!((stall.seen(), stall.peer.reports().len()), (rows.len(), rows.len()));
    }
}

/// A seller that wants another payment has answered, also where the client is not shown what it asks for.
#[tokio::test]
async fn a_seller_that_asks_again_has_answered() {
    const STRANGER: &str = "0x00000000000000000000000000000000000000aa";
    for in_stream in [false, true] {
        for payee in [payment::PAYEE, STRANGER] {
            let answer = move |_: usize, call: &Value| {
                let mut asked = honest("mcp://tool/weather");
                asked["accepts"][0]["payTo"] = json!(payee);
                let answer = tool_result(&call["id"], &asked, &asked);
                if in_stream { stream(&[answer]) } else { document(&answer) }
            };
            let stall = Stall::open(json!({ "screen_challenges": true }), answer).await;
            let known = std::collections::HashMap::from([(payment::PAYEE.to_ascii_lowercase(), Says::Go)]);
            stall.peer.turn(Mood::Honest(known));
            for turn in 0..2 {
                let call = again(Protocol::Mcp, stall.paid(Protocol::Mcp, &Terms::default()), turn);
                stall.send("/rpc", &call).await;
                assert_eq!(stall.seen(), turn + 1, "in a stream: {in_stream}, {payee}");
                let reports = eventually("the report", || Some(stall.peer.reports()).filter(|all| all.len() > turn)).await;
                assert_eq!(reports[turn]["outcome"], "abandoned");
            }
        }
    }
}

#[tokio::test]
async fn an_answer_that_cannot_be_read_is_one_and_no_more() {
    let answer = |number: usize, call: &Value| match number {
        0 => b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{\"id\":7,]".to_vec(),
        1 => b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n".to_vec(),
        2 => {
            let mut answer = said(Protocol::Mcp, "settled", &call["id"]);
            answer["result"]["_meta"]["x402/payment-response"]["note"] = json!("x".repeat(9 << 10));
            document(&answer)
        }
        _ => {
            let mut answer = said(Protocol::Mcp, "settled", &call["id"]);
            answer["result"]["content"][0]["text"] = json!("x".repeat(300 << 10));
            stream(&[answer])
        }
    };
    let stall = Stall::open(json!({}), answer).await;
    for (number, outcome) in ["delivered", "delivered", "delivered", "settled"].into_iter().enumerate() {
        let wallet = Wallet::default();
        let call = Protocol::Mcp.paid(&wallet.v2("mcp://tool/weather", &Terms::default()));
        let answer = stall.send("/rpc", &call).await;
        assert_eq!(answer.reason(), None, "{number}: {answer:?}");
        let reports = eventually("the report", || Some(stall.peer.reports()).filter(|all| all.len() > number)).await;
        assert_eq!(reports[number]["outcome"], outcome, "{number}");
    }
}
