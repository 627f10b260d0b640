//! What happens around a sale to the x402 SDK's MCP client: the same bytes again, and a server that sends its customer on to somebody else.
//! The server is one that records, and the agent counts what it signs.

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tollgate_tests::authority::{Alpn, Authority};
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::origin::{Origin, Reply, Seen, standard};
use tollgate_tests::payment::{self, ASSET, CENT, NETWORK, PAYEE, Wallet};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::real_clients::{answers, behind, program};
use tollgate_tests::tollgate::{Setup, Tollgate};
use tollgate_tests::verdict_peer::{Says, VerdictPeer};

/// Where the server answers with JSON, and where with event streams.
const ENDPOINTS: [&str; 2] = ["/mcp/json", "/mcp/events"];

/// The other origin, to which a server may send who has paid.
const ELSEWHERE: &str = "other.example.test";

fn call_of(seen: &Seen) -> Value {
    serde_json::from_slice(&seen.body).unwrap_or_default()
}

fn is_paid(seen: &Seen) -> bool {
    call_of(seen)["params"]["_meta"]["x402/payment"].is_object()
}

/// As much of an MCP server as the client needs, with one tool at a cent; who has paid is sent on to the same path below that URL, if there
/// is one.
fn serve(moved_to: Option<&str>, seen: &Seen) -> Reply {
    let response = http::Response::builder();
    let empty = |response: http::response::Builder| response.body(Full::new(Bytes::new()).boxed()).unwrap();
    let call = call_of(seen);
    let result = match call["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": call["params"]["protocolVersion"], "capabilities": { "tools": {} },
            "serverInfo": { "name": "weather", "version": "1" },
        }),
        Some("tools/list") => json!({ "tools": [{ "name": "weather", "inputSchema": { "type": "object" } }] }),
        Some("tools/call") => match moved_to.filter(|_| is_paid(seen)) {
            Some(url) => {
                return empty(response.status(307).header("location", format!("{url}{}", seen.target)));
            }
            None => called(is_paid(seen)),
        },
        Some(_) if call["id"].is_null() => return empty(response.status(202)),
        _ => return empty(response.status(405)),
    };
    let answer = json!({ "jsonrpc": "2.0", "id": call["id"], "result": result });
    let (kind, body) = if seen.target.ends_with("/json") {
        ("application/json", answer.to_string())
    } else {
        ("text/event-stream", format!("event: message\ndata: {answer}\n\n"))
    };
    response
        .header("content-type", kind)
        .body(Full::new(Bytes::from(body)).boxed())
        .unwrap()
}

fn called(paid: bool) -> Value {
    if paid {
        let receipt = json!({ "success": true, "transaction": "0x00", "network": NETWORK, "payer": PAYEE });
        return json!({ "content": [{ "type": "text", "text": "sunny in Oslo" }], "_meta": { "x402/payment-response": receipt } });
    }
    let challenge = json!({
        "x402Version": 2, "error": "Payment required", "resource": { "url": "mcp://tool/weather", "description": "one cent", "mimeType": "text/plain" },
        "accepts": [{
            "scheme": "exact", "network": NETWORK, "amount": CENT, "asset": ASSET, "payTo": PAYEE, "maxTimeoutSeconds": 60,
            "extra": { "name": "USDC", "version": "2" },
        }],
    });
    json!({ "isError": true, "structuredContent": challenge, "content": [{ "type": "text", "text": challenge.to_string() }] })
}

/// The paid calls of an endpoint.
fn paid(server: &Origin, endpoint: &str) -> Vec<Seen> {
    let requests = server.requests().into_iter();
    requests.filter(|seen| seen.target == endpoint && is_paid(seen)).collect()
}

fn gate(ports: &[u16], authority: &Authority, peer: &VerdictPeer) -> Tollgate {
    Setup::new(policy::open_with(ELSEWHERE, ports))
        .local_host()
        .host(ELSEWHERE, "127.0.0.1")
        .trust(authority)
        .config(payment::settings())
        .config(json!({ "payments": { "require_challenge": true, "screen_challenges": true } }))
        .config(peer.settings())
        .start()
}

async fn buy(gate: &Tollgate, server: &Origin, endpoint: &str) -> Value {
    let mut command = program("agents/pay_mcp.py");
    behind(&mut command, gate);
    command.env("EVM_KEY", Wallet::default().key_hex());
    command.arg(format!("https://{HOST}:{}{endpoint}", server.port()));
    answers(command).await.remove(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_bytes_of_a_paid_call_do_not_reach_the_server_again() {
    let authority = Authority::default();
    let server = Origin::start(Some(authority.server(HOST, Alpn::H1)), |seen| serve(None, seen)).await;
    let peer = VerdictPeer::says(Says::Go).await;
    let gate = gate(&[server.port()], &authority, &peer);
    for endpoint in ENDPOINTS {
        let answer = buy(&gate, &server, endpoint).await;
        let bought = json!({ "text": "sunny in Oslo", "error": false, "paid": true, "settled": true, "signed": 1 });
        assert_eq!(answer, bought, "{endpoint}\n{}", gate.stderr());
        let sold = paid(&server, endpoint);
        assert_eq!(sold.len(), 1, "{endpoint}");
        let before = server.requests().len();
        let bytes = String::from_utf8(sold[0].body.to_vec()).unwrap();
        for via in [Via::TlsH1, Via::TlsH2] {
            let mut again = Ask::get(server.port(), endpoint).json(&bytes);
            for name in ["accept", "mcp-protocol-version", "mcp-session-id"] {
                if let Some(value) = sold[0].header(name) {
                    again = again.header(name, value);
                }
            }
            gate.fetch(via, &again).await.assert_denied(403, "payment_replayed");
        }
        assert_eq!(
            server.requests().len(),
            before,
            "{endpoint}: the same bytes reached the server again"
        );
    }
    assert_eq!(peer.questions().len(), ENDPOINTS.len() * 2, "about each offer and each payment");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redirect_takes_a_paid_call_nowhere() {
    let authority = Authority::default();
    let other = Origin::start(Some(authority.server(ELSEWHERE, Alpn::H1)), standard).await;
    let elsewhere = format!("https://{ELSEWHERE}:{}", other.port());
    let peer = VerdictPeer::says(Says::Go).await;
    // The MCP SDK follows within an origin only; a client that follows anywhere would send the same call.
    for (moved_to, host) in [("/moved".to_owned(), HOST), (elsewhere, ELSEWHERE)] {
        let serve_moved = move |seen: &Seen| serve(Some(&moved_to), seen);
        let server = Origin::start(Some(authority.server(HOST, Alpn::H1)), serve_moved).await;
        let gate = gate(&[server.port(), other.port()], &authority, &peer);
        for endpoint in ENDPOINTS {
            let answer = buy(&gate, &server, endpoint).await;
            assert_eq!(answer["signed"], 1, "{endpoint}: {answer}\n{}", gate.stderr());
            assert!(answer["exception"].is_string(), "{endpoint}: {answer}");
            let sold = paid(&server, endpoint);
            assert_eq!(sold.len(), 1, "{endpoint}: {answer}");
            if host == HOST {
                let line = json!({ "decision": "deny", "reason_code": "payment_replayed", "path": format!("/moved{endpoint}") });
                gate.audited(line).await;
            } else {
                let call = String::from_utf8(sold[0].body.to_vec()).unwrap();
                let followed = Ask::get(other.port(), endpoint).host(ELSEWHERE).json(&call);
                gate.fetch(Via::TlsH1, &followed).await.assert_denied(403, "payment_replayed");
            }
            assert!(paid(&server, &format!("/moved{endpoint}")).is_empty(), "{endpoint}: paid twice");
        }
    }
    other.assert_no_request();
}
