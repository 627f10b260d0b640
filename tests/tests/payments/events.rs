//! What MCP servers and A2A agents ask for in event streams: the event that asks is screened before it is passed on, every other one passes
//! at once; a stream that asks for what would be refused ends with a JSON-RPC error.

use std::collections::HashMap;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tollgate_tests::answer::{Answer, Ending};
use tollgate_tests::authority::{Alpn, Authority};
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::h2_client::H2;
use tollgate_tests::payment::{self, CENT, PAYEE, Terms};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::scripted::{Conversation, Scripted};
use tollgate_tests::tollgate::{Setup, Tollgate};
use tollgate_tests::verdict_peer::{Mood, Says, VerdictPeer};
use tollgate_tests::within;

use super::calls::{Protocol, TOOL, challenge, honest, option, task, tool_result};

/// Whom nobody knows.
const STRANGER: &str = "0x00000000000000000000000000000000000000aa";

/// An origin that answers its first request with a stream which the test writes, and a paid call with "sold"; and the gate before it.
struct Station {
    gate: Tollgate,
    origin: Scripted,
    peer: VerdictPeer,
    say: UnboundedSender<Vec<u8>>,
}

impl Station {
    async fn open(mood: Mood, more_fields: &str) -> Self {
        Self::with(mood, more_fields, json!({ "require_challenge": true, "screen_challenges": true })).await
    }

    async fn with(mood: Mood, more_fields: &str, payments: Value) -> Self {
        let peer = VerdictPeer::start(mood).await;
        let authority = Authority::default();
        let (say, said) = unbounded_channel();
        let said = Arc::new(Mutex::new(said));
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{more_fields}Transfer-Encoding: chunked\r\n\r\n");
        let script = move |peer: Conversation| converse(peer, head.clone(), Arc::clone(&said));
        let origin = Scripted::start(Some(authority.server(HOST, Alpn::H1)), script).await;
        let gate = Setup::new(policy::open(&[origin.port()])).local_host().trust(&authority);
        let gate = gate
            .config(payment::settings())
            .config(json!({ "payments": payments }))
            .config(peer.settings())
            .start();
        Self { gate, origin, peer, say }
    }

    fn say(&self, bytes: impl AsRef<[u8]>) {
        self.say.send(bytes.as_ref().to_vec()).unwrap();
    }

    /// Ends the stream.
    fn end(&self) {
        self.say(b"");
    }

    /// The stream that answers this call, or a GET.
    async fn listen(&self, call: Option<&Value>) -> Listener {
        let mut h2 = self.gate.tls_h2(self.origin.port()).await;
        let ask = Ask::get(self.origin.port(), "/mcp").header("accept", "application/json, text/event-stream");
        let text = call.map(Value::to_string).unwrap_or_default();
        let ask = if call.is_some() { ask.json(&text) } else { ask };
        let (response, mut body) = h2.open(H2::head(&ask), ask.body.is_empty()).await;
        if !ask.body.is_empty() {
            body.send_data(Bytes::copy_from_slice(ask.body), true).unwrap();
        }
        let response = within("head", response).await.unwrap();
        assert_eq!(
            (response.status(), response.headers().get("content-length")),
            (http::StatusCode::OK, None)
        );
        assert_eq!(response.headers().get("content-encoding"), None);
        Listener {
            stream: response.into_body(),
            so_far: BytesMut::new(),
            _h2: h2,
        }
    }

    async fn pay(&self, call: &Value) -> Answer {
        self.gate
            .fetch(Via::TlsH1, &Ask::get(self.origin.port(), "/mcp").json(&call.to_string()))
            .await
    }
}

async fn converse(mut peer: Conversation, head: String, said: Arc<Mutex<UnboundedReceiver<Vec<u8>>>>) {
    while let Some((_, body)) = peer.request().await {
        if String::from_utf8_lossy(&body).contains("\"signature\"") {
            peer.send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 6\r\n\r\n\"sold\"")
                .await;
            continue;
        }
        peer.send(&head).await;
        let mut said = said.lock().await;
        loop {
            tokio::select! {
                piece = said.recv() => {
                    let Some(piece) = piece else { return };
                    peer.send([format!("{:x}\r\n", piece.len()).as_bytes(), &piece, b"\r\n"].concat()).await;
                    if piece.is_empty() {
                        break;
                    }
                }
                _ = peer.peer.next_bytes() => return,
            }
        }
    }
}

struct Listener {
    stream: h2::RecvStream,
    so_far: BytesMut,
    _h2: H2,
}

impl Listener {
    /// Waits until exactly this has come since the last time.
    async fn hears(&mut self, expected: impl AsRef<[u8]>) {
        let expected = expected.as_ref();
        while self.so_far.len() < expected.len() {
            let piece = within("a piece of the stream", self.stream.data())
                .await
                .expect("more of the stream")
                .unwrap();
            let _ = self.stream.flow_control().release_capacity(piece.len());
            self.so_far.extend_from_slice(&piece);
        }
        assert_eq!(String::from_utf8_lossy(&self.so_far), String::from_utf8_lossy(expected));
        self.so_far.clear();
    }

    /// All that comes up to the end.
    async fn rest(mut self) -> String {
        while let Some(piece) = within("the end of the stream", self.stream.data()).await {
            let piece = piece.unwrap();
            let _ = self.stream.flow_control().release_capacity(piece.len());
            self.so_far.extend_from_slice(&piece);
        }
        String::from_utf8(self.so_far.to_vec()).unwrap()
    }

    async fn is_quiet(&mut self) -> bool {
        tokio::time::timeout(Duration::from_millis(300), self.stream.data()).await.is_err()
    }
}

fn event(document: &Value) -> String {
    format!("event: message\nid: 5\ndata: {document}\n\n")
}

/// The events of a stream's text, each as its data.
fn events(text: &str) -> Vec<Value> {
    text.split("\n\n")
        .filter_map(|event| event.lines().find_map(|line| line.strip_prefix("data: ")))
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

fn knows_the_payee() -> Mood {
    Mood::Honest(HashMap::from([(PAYEE.to_ascii_lowercase(), Says::Go)]))
}

const PROGRESS: &str = "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progress\":1}}\n\n";

#[tokio::test]
async fn other_events_pass_at_once_and_the_one_that_asks_passes_after_its_go() {
    let station = Station::open(knows_the_payee(), "").await;
    let call = Protocol::Mcp.unpaid();
    let mut listener = station.listen(Some(&call)).await;
    for piece in [": hello\n\n", PROGRESS, "retry: 100\n", ":\n\n"] {
        station.say(piece);
        listener.hears(piece).await;
    }
    let asks = event(&tool_result(&json!(7), &honest(TOOL), &honest(TOOL)));
    // However it is cut up, nothing of it comes before its end; what stands before its data may.
    let (start, rest) = asks.split_at(asks.find("data").unwrap());
    station.say(&asks[..start.len() + 2]);
    listener.hears(start).await;
    for piece in rest.as_bytes()[2..rest.len() - 1].chunks(400) {
        station.say(piece);
    }
    assert!(listener.is_quiet().await, "a piece of the event came before its end");
    assert!(station.peer.questions().is_empty());
    station.say("\n");
    listener.hears(rest).await;
    station.say(PROGRESS);
    listener.hears(PROGRESS).await;
    station.end();
    assert_eq!(listener.rest().await, "");
    assert_eq!(station.peer.questions()[0].claim["resource"], TOOL);

    let paid = Protocol::Mcp.paid(&Protocol::Mcp.payment("", &Terms::default()));
    let answer = station.pay(&paid).await;
    assert_eq!((answer.status, answer.text().as_str()), (200, "\"sold\""), "{answer:?}");
    let again = Protocol::Mcp.paid(&Protocol::Mcp.payment("", &Terms::default()));
    station.pay(&again).await.assert_denied(403, "payment_no_challenge");
}

#[tokio::test]
async fn a_stream_that_asks_for_what_would_be_refused_ends_with_an_error() {
    for (mood, reason) in [
        (Mood::Always(Says::Hold), "verdict_hold"),
        (Mood::Always(Says::Stop), "verdict_stop"),
        (Mood::Dead, "verdict_unavailable"),
    ] {
        let station = Station::open(mood, "").await;
        for (protocol, id) in [(Protocol::Mcp, json!(7)), (Protocol::A2a, json!("a-1"))] {
            let call = protocol.unpaid();
            let url = format!("https://{HOST}:{}/mcp", station.origin.port());
            let asks = match protocol {
                Protocol::Mcp => tool_result(&id, &honest(TOOL), &honest(TOOL)),
                Protocol::A2a => task(&id, &honest(&url)),
            };
            let mut listener = station.listen(Some(&call)).await;
            station.say(PROGRESS);
            listener.hears(PROGRESS).await;
            station.say(event(&asks) + PROGRESS);
            let text = listener.rest().await;
            assert!(!text.contains("accepts") && !text.contains("notifications"), "{text}");
            let told = events(&text).remove(0);
            assert_eq!((&told["jsonrpc"], &told["id"]), (&json!("2.0"), &id), "{told}");
            assert!(
                told["error"]["code"].as_i64().is_some_and(|code| code != 402),
                "no client may take it for a challenge"
            );
            let denial = &told["error"]["data"];
            assert_eq!(
                (&denial["reason_code"], &denial["error"]),
                (&json!(reason), &denial["error"]),
                "{told}"
            );
            assert!(denial["request_id"].is_string() && denial["payment"]["payee"].is_string(), "{told}");
            // Nor can it be paid all the same.
            let paid = protocol.paid(&protocol.payment(&url, &Terms::default()));
            station.pay(&paid).await.assert_denied(403, "payment_no_challenge");
            let line = station
                .gate
                .audited(json!({ "decision": "deny", "reason_code": reason, "status": 200 }))
                .await;
            assert_eq!(line["path"], "/mcp");
        }
    }
}

#[tokio::test]
async fn of_several_options_in_an_event_those_that_may_be_paid_remain() {
    let station = Station::open(knows_the_payee(), "").await;
    let listener = station.listen(Some(&Protocol::Mcp.unpaid())).await;
    let choice = challenge(TOOL, &[option(STRANGER, CENT), option(PAYEE, CENT)]);
    station.say(PROGRESS.to_owned() + &event(&tool_result(&json!(7), &choice, &choice)) + PROGRESS);
    station.end();
    let text = listener.rest().await;
    assert!(!text.contains(STRANGER) && text.contains("id: 5\n"), "{text}");
    let all = events(&text);
    assert_eq!((all.len(), &all[0]), (3, &all[2]));
    assert_eq!(all[1]["result"]["structuredContent"]["accepts"], json!([option(PAYEE, CENT)]));
}

#[tokio::test]
async fn a_stream_that_was_asked_for_by_itself_is_screened_as_well() {
    // The answer to a call may come over the server's own stream (the SSE transport, a resumed stream).
    let station = Station::open(knows_the_payee(), "").await;
    let mut listener = station.listen(None).await;
    let asks = event(&tool_result(&json!(1), &honest(TOOL), &honest(TOOL)));
    station.say(&asks);
    listener.hears(&asks).await;
    station.say(event(&tool_result(
        &json!(2),
        &challenge(TOOL, &[option(STRANGER, CENT)]),
        &json!("pay"),
    )));
    let told = events(&listener.rest().await).remove(0);
    assert_eq!(
        (&told["id"], &told["error"]["data"]["reason_code"]),
        (&json!(2), &json!("verdict_hold"))
    );
    let paid = Protocol::Mcp.paid(&Protocol::Mcp.payment("", &Terms::default()));
    assert_eq!(station.pay(&paid).await.text(), "\"sold\"");
}

#[tokio::test]
async fn an_event_that_clients_read_differently_is_not_passed_on() {
    let known = honest(TOOL);
    let result = tool_result(&json!(7), &known, &known);
    let dear = challenge(TOOL, &[option(PAYEE, "20000")]);
    let cases = [
        (
            "copies that disagree",
            event(&tool_result(&json!(7), &known, &dear)),
            "payment_conflicting",
            json!(7),
        ),
        (
            "a member twice",
            event(&result).replacen("\"isError\"", "\"isError\":false,\"isError\"", 1),
            "payment_malformed",
            json!(7),
        ),
        (
            "no JSON to us",
            event(&result).replacen("data: {", "data: {\"n\":NaN,", 1),
            "payment_malformed",
            json!(null),
        ),
        (
            "data in another case",
            event(&result).replace("data: ", "Data:"),
            "verdict_hold",
            json!(7),
        ),
        (
            "in a comment, to clients that split lines as Python does",
            event(&result).replace("data: ", ": ping\u{2028}data: "),
            "verdict_hold",
            json!(7),
        ),
        (
            "behind blanks",
            event(&result).replace("data: ", "  data: "),
            "verdict_hold",
            json!(7),
        ),
        ("lines that end in CR", event(&result).replace('\n', "\r"), "verdict_hold", json!(7)),
        (
            "an event that does not end",
            event(&result).trim_end().to_owned(),
            "verdict_hold",
            json!(7),
        ),
        (
            "for another tool",
            event(&tool_result(&json!(7), &honest("mcp://tool/other"), &json!(1))),
            "payment_mismatch",
            json!(7),
        ),
    ];
    let station = Station::open(Mood::Always(Says::Hold), "").await;
    for (name, text, reason, id) in cases {
        let listener = station.listen(Some(&Protocol::Mcp.unpaid())).await;
        station.say(text);
        station.end();
        let heard = listener.rest().await;
        let all = events(&heard);
        assert!(!heard.contains("accepts"), "{name}: {heard}");
        assert_eq!(
            (&all[0]["error"]["data"]["reason_code"], &all[0]["id"]),
            (&json!(reason), &id),
            "{name}: {heard}"
        );
    }
}

#[tokio::test]
async fn a_compressed_stream_is_read_event_by_event() {
    let station = Station::open(Mood::Always(Says::Hold), "Content-Encoding: gzip\r\n").await;
    let mut listener = station.listen(Some(&Protocol::Mcp.unpaid())).await;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(PROGRESS.as_bytes()).unwrap();
    encoder.flush().unwrap();
    station.say(std::mem::take(encoder.get_mut()));
    listener.hears(PROGRESS).await;
    let known = honest(TOOL);
    encoder
        .write_all(event(&tool_result(&json!(7), &known, &known)).as_bytes())
        .unwrap();
    encoder.flush().unwrap();
    station.say(std::mem::take(encoder.get_mut()));
    let told = events(&listener.rest().await).remove(0);
    assert_eq!(told["error"]["data"]["reason_code"], "verdict_hold");

    let station = Station::open(Mood::Always(Says::Hold), "Content-Encoding: compress\r\n").await;
    let ask = Ask::get(station.origin.port(), "/mcp").header("accept", "text/event-stream");
    let refused = station.gate.fetch(Via::TlsH2, &ask).await;
    refused.assert_denied(403, "uninspectable_traffic");
}

#[tokio::test]
async fn over_http_1_a_refused_stream_ends_properly_and_a_large_event_is_not_waited_for() {
    let station = Station::open(Mood::Always(Says::Stop), "").await;
    let mut h1 = station.gate.tls_h1(station.origin.port()).await;
    let ask = Ask::get(station.origin.port(), "/mcp").header("accept", "text/event-stream");
    let call = Protocol::Mcp.unpaid().to_string();
    h1.send(ask.clone().json(&call).h1(Via::TlsH1)).await;
    station.say(PROGRESS);
    let known = honest(TOOL);
    station.say(event(&tool_result(&json!(7), &known, &known)));
    let answer = h1.answer("POST").await;
    assert_eq!((answer.status, &answer.ending), (200, &Ending::Complete));
    let all = events(&answer.text());
    assert_eq!(
        (all.len(), &all[1]["error"]["data"]["reason_code"]),
        (2, &json!("verdict_stop")),
        "{}",
        answer.text()
    );

    let station = Station::with(Mood::Dead, "", json!({ "require_challenge": true, "screen_challenges": true })).await;
    let listener = station.listen(Some(&Protocol::Mcp.unpaid())).await;
    for _ in 0..18 {
        station.say(format!("data: {}\n", "p".repeat(1 << 20)));
    }
    let told = events(&listener.rest().await).remove(0);
    assert_eq!(
        (&told["id"], &told["error"]["data"]["reason_code"]),
        (&json!(null), &json!("body_too_large"))
    );
}

#[tokio::test]
async fn streams_pass_untouched_where_nothing_is_screened_or_remembered() {
    let off = json!({ "require_challenge": false, "screen_challenges": false });
    let station = Station::with(Mood::Dead, "Content-Encoding: compress\r\n", off).await;
    let mut h2 = station.gate.tls_h2(station.origin.port()).await;
    let ask = Ask::get(station.origin.port(), "/mcp").header("accept", "text/event-stream");
    station.say("\u{1}\u{2}");
    station.end();
    let answer = h2.ask(&ask).await;
    assert_eq!(
        (answer.status, answer.text().as_str(), answer.header("content-encoding")),
        (200, "\u{1}\u{2}", Some("compress"))
    );
}

#[tokio::test]
async fn where_nothing_is_screened_what_cannot_be_read_passes_all_the_same() {
    let remembered = json!({ "require_challenge": true, "screen_challenges": false });
    let station = Station::with(Mood::Dead, "", remembered).await;
    let listener = station.listen(Some(&Protocol::Mcp.unpaid())).await;
    let large = format!("data: {}\n\n", "p".repeat(17 << 20));
    for piece in large.as_bytes().chunks(1 << 20) {
        station.say(piece);
    }
    let dear = challenge(TOOL, &[option(PAYEE, "20000")]);
    let asks = event(&tool_result(&json!(7), &honest(TOOL), &honest(TOOL)));
    let disagrees = event(&tool_result(&json!(7), &honest(TOOL), &dear));
    station.say(asks.clone() + &disagrees);
    station.end();
    let text = listener.rest().await;
    assert!(text == format!("{large}{asks}{disagrees}"), "{} bytes", text.len());
    // The readable one is remembered.
    let paid = Protocol::Mcp.paid(&Protocol::Mcp.payment("", &Terms::default()));
    station.pay(&paid).await.assert_denied(403, "verdict_unavailable");
}
