//! The Machine Payments Protocol is another rail: `mppx` answers `WWW-Authenticate: Payment` with `Authorization: Payment`. It is not shown
//! such an offer, and what it would answer never leaves, whatever a verdict service says.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tollgate_tests::authority::{Alpn, Authority};
use tollgate_tests::origin::{Origin, Reply, Seen};
use tollgate_tests::payment::{self, ASSET, CENT, PAYEE, Wallet};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::real_clients::{answers, behind, program};
use tollgate_tests::tollgate::{Setup, Tollgate};
use tollgate_tests::verdict_peer::{Says, VerdictPeer};

/// A seller of MPP: a charge of one cent on Base Sepolia, by an authorisation of USDC. At `/both` it takes x402 as well, and at `/mcp` it
/// asks within the answer to a call.
fn sell(seen: &Seen) -> Reply {
    let response = http::Response::builder();
    if pays(seen) || seen.header("payment-signature").is_some() {
        let receipt = json!({ "method": "evm", "reference": "0x00", "status": "success", "timestamp": "2026-01-01T00:00:00Z" });
        let receipt = URL_SAFE_NO_PAD.encode(receipt.to_string());
        let sold = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#;
        return response
            .header("payment-receipt", receipt)
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(sold)).boxed())
            .unwrap();
    }
    // The keys are in the order of RFC 8785.
    let request = json!({
        "amount": CENT, "currency": ASSET, "methodDetails": {
            "chainId": 84532, "credentialTypes": ["authorization"], "decimals": 6,
            "permit2Address": "0x000000000022D473030F116dDEE9F6B43aC78BA3",
        }, "recipient": PAYEE,
    });
    let id = "x7Tg2pLqR9mKvNwY3hBcZa";
    if seen.target == "/mcp" {
        let challenge = json!({
            "id": id, "realm": HOST, "method": "evm", "intent": "charge", "expires": "2099-01-01T00:00:00Z", "request": request,
        });
        let error = json!({ "code": -32042, "message": "Payment Required", "data": { "httpStatus": 402, "challenges": [challenge] } });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "error": error }).to_string();
        return response
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body)).boxed())
            .unwrap();
    }
    let request = URL_SAFE_NO_PAD.encode(request.to_string());
    let asked = format!(
        "Payment id=\"{id}\", realm=\"{HOST}\", method=\"evm\", intent=\"charge\", expires=\"2099-01-01T00:00:00Z\", request=\"{request}\""
    );
    let mut response = response
        .status(402)
        .header("www-authenticate", asked)
        .header("content-type", "application/problem+json");
    if seen.target == "/both" {
        let url = format!("https://{}/both", seen.authority.as_deref().unwrap_or_default());
        response = response.header("payment-required", payment::challenge(&url));
    }
    let problem = r#"{"type":"https://paymentauth.org/problems/payment-required","title":"Payment Required","status":402}"#;
    response.body(Full::new(Bytes::from(problem)).boxed()).unwrap()
}

/// Whether a request carries a credential of MPP: in its head, or in its call.
fn pays(seen: &Seen) -> bool {
    let call: Value = serde_json::from_slice(&seen.body).unwrap_or_default();
    let in_head = seen.header("authorization").is_some_and(|value| value.starts_with("Payment "));
    in_head || call["params"]["_meta"]["org.paymentauth/credential"].is_object()
}

fn paid(seller: &Origin) -> usize {
    seller.requests().iter().filter(|seen| pays(seen)).count()
}

/// The seller, and what the proxy in front of it needs to be told.
struct Shop {
    authority: Authority,
    seller: Origin,
    peer: VerdictPeer,
}

impl Shop {
    async fn open() -> Self {
        let authority = Authority::default();
        Shop {
            seller: Origin::start(Some(authority.server(HOST, Alpn::H1)), sell).await,
            peer: VerdictPeer::says(Says::Go).await,
            authority,
        }
    }

    fn gate(&self, payments: &Value) -> Tollgate {
        Setup::new(policy::open(&[self.seller.port()]))
            .local_host()
            .trust(&self.authority)
            .config(payment::settings())
            .config(json!({ "payments": payments }))
            .config(self.peer.settings())
            .start()
    }

    async fn deal(&self, target: &str, gate: &Tollgate) -> Value {
        let mut command = program("agents/pay_mppx.mjs");
        behind(&mut command, gate);
        command.env("EVM_KEY", Wallet::default().key_hex());
        command.arg(format!("https://{HOST}:{}{target}", self.seller.port()));
        answers(command).await.remove(0)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_the_gate_mppx_pays_its_seller() {
    // Shows that the refusals below are the proxy's doing.
    let authority = Authority::default();
    let seller = Origin::start(Some(authority.server("localhost", Alpn::H1)), sell).await;
    let files = tempfile::TempDir::new().unwrap();
    let ca = files.path().join("ca.pem");
    std::fs::write(&ca, authority.pem()).unwrap();
    for (number, target) in (1..).zip(["/paid", "/mcp"]) {
        let mut command = program("agents/pay_mppx.mjs");
        command.env("EVM_KEY", Wallet::default().key_hex()).env("NODE_EXTRA_CA_CERTS", &ca);
        command.arg(format!("https://localhost:{}{target}", seller.port()));
        let answer = answers(command).await.remove(0);
        assert_eq!((&answer["status"], &answer["signed"]), (&json!(200), &json!(1)), "{answer}");
        assert!(answer["receipt"].is_string(), "{answer}");
        assert_eq!(paid(&seller), number);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_offer_of_mpp_is_never_signed_for() {
    let shop = Shop::open().await;
    let gate = shop.gate(&json!({ "screen_challenges": true }));
    for (number, target) in (1..).zip(["/paid", "/mcp"]) {
        let answer = shop.deal(target, &gate).await;
        assert_eq!(answer["reason"], "rail_payment_scheme", "{target}: {answer}\n{}", gate.stderr());
        assert_eq!(
            (&answer["status"], &answer["signed"]),
            (&json!(403), &json!(0)),
            "{target}: {answer}"
        );
        assert_eq!(shop.seller.requests().len(), number, "{target}: the one that asked");
    }
    assert_eq!(paid(&shop.seller), 0, "the seller saw a payment");
    assert!(shop.peer.questions().is_empty(), "a verdict cannot allow a rail");
    gate.audited(json!({ "decision": "deny", "reason_code": "rail_payment_scheme", "path": "/paid" }))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_mpp_and_x402_mppx_is_offered_what_may_be_paid() {
    let shop = Shop::open().await;
    let gate = shop.gate(&json!({ "require_challenge": true, "screen_challenges": true }));
    let answer = shop.deal("/both", &gate).await;
    assert_eq!(
        (&answer["status"], &answer["signed"]),
        (&json!(200), &json!(1)),
        "{answer}\n{}",
        gate.stderr()
    );
    assert_eq!(paid(&shop.seller), 0, "over the rail");
    assert!(shop.seller.last().header("payment-signature").is_some());
    gate.audited(json!({ "decision": "allow", "payment": { "scheme": "exact" } })).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_over_the_rail_of_mpp_that_was_signed_unscreened_never_reaches_its_seller() {
    let shop = Shop::open().await;
    let gate = shop.gate(&json!({ "screen_challenges": false }));
    for target in ["/paid", "/mcp"] {
        let answer = shop.deal(target, &gate).await;
        assert_eq!(answer["reason"], "rail_payment_scheme", "{target}: {answer}\n{}", gate.stderr());
        assert_eq!(
            (&answer["status"], &answer["signed"]),
            (&json!(403), &json!(1)),
            "{target}: {answer}"
        );
    }
    assert_eq!(paid(&shop.seller), 0, "the seller saw a payment");
    let event = gate
        .audited(json!({ "decision": "deny", "reason_code": "rail_payment_scheme" }))
        .await;
    assert!(!event.to_string().contains("Payment ey"), "{event}");
}
