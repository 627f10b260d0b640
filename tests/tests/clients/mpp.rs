//! The Machine Payments Protocol is another rail: `mppx` answers `WWW-Authenticate: Payment` with `Authorization: Payment`, and that never
//! leaves, whatever a verdict service says.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use serde_json::json;
use tollgate_tests::authority::{Alpn, Authority};
use tollgate_tests::origin::{Origin, Reply, Seen};
use tollgate_tests::payment::{self, ASSET, CENT, PAYEE, Wallet};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::real_clients::{answers, behind, program};
use tollgate_tests::tollgate::Setup;
use tollgate_tests::verdict_peer::{Says, VerdictPeer};

/// A seller of MPP: a charge of one cent on Base Sepolia, by an authorisation of USDC.
fn sell(seen: &Seen) -> Reply {
    let response = http::Response::builder();
    if pays(seen) {
        let receipt = json!({ "method": "evm", "reference": "0x00", "status": "success", "timestamp": "2026-01-01T00:00:00Z" });
        let receipt = URL_SAFE_NO_PAD.encode(receipt.to_string());
        return response
            .header("payment-receipt", receipt)
            .body(Full::new(Bytes::from("sold")).boxed())
            .unwrap();
    }
    // The keys are in the order of RFC 8785.
    let request = json!({
        "amount": CENT, "currency": ASSET, "methodDetails": {
            "chainId": 84532, "credentialTypes": ["authorization"], "decimals": 6,
            "permit2Address": "0x000000000022D473030F116dDEE9F6B43aC78BA3",
        }, "recipient": PAYEE,
    });
    let request = URL_SAFE_NO_PAD.encode(request.to_string());
    let asked = format!(
        "Payment id=\"x7Tg2pLqR9mKvNwY3hBcZa\", realm=\"{HOST}\", method=\"evm\", intent=\"charge\", expires=\"2099-01-01T00:00:00Z\", request=\"{request}\""
    );
    let problem = r#"{"type":"https://paymentauth.org/problems/payment-required","title":"Payment Required","status":402}"#;
    response
        .status(402)
        .header("www-authenticate", asked)
        .header("content-type", "application/problem+json")
        .body(Full::new(Bytes::from(problem)).boxed())
        .unwrap()
}

fn pays(seen: &Seen) -> bool {
    seen.header("authorization").is_some_and(|value| value.starts_with("Payment "))
}

fn paid(seller: &Origin) -> usize {
    seller.requests().iter().filter(|seen| pays(seen)).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payment_over_the_rail_of_mpp_never_reaches_its_seller() {
    let authority = Authority::default();
    let seller = Origin::start(Some(authority.server("localhost", Alpn::H1)), sell).await;
    let wallet = Wallet::default();
    let files = tempfile::TempDir::new().unwrap();
    let ca = files.path().join("ca.pem");
    std::fs::write(&ca, authority.pem()).unwrap();
    // Shows that the refusal below is the proxy's doing.
    let mut command = program("agents/pay_mppx.mjs");
    command.env("EVM_KEY", wallet.key_hex()).env("NODE_EXTRA_CA_CERTS", &ca);
    command.arg(format!("https://localhost:{}/paid", seller.port()));
    let answer = answers(command).await.remove(0);
    assert_eq!((&answer["status"], &answer["signed"]), (&json!(200), &json!(1)), "{answer}");
    assert!(answer["receipt"].is_string(), "{answer}");
    assert_eq!(paid(&seller), 1);

    let seller = Origin::start(Some(authority.server(HOST, Alpn::H1)), sell).await;
    let peer = VerdictPeer::says(Says::Go).await;
    let gate = Setup::new(policy::open(&[seller.port()]))
        .local_host()
        .trust(&authority)
        .config(payment::settings())
        .config(json!({ "payments": { "screen_challenges": true } }))
        .config(peer.settings())
        .start();
    let mut command = program("agents/pay_mppx.mjs");
    behind(&mut command, &gate);
    command.env("EVM_KEY", wallet.key_hex());
    command.arg(format!("https://{HOST}:{}/paid", seller.port()));
    let answer = answers(command).await.remove(0);
    assert_eq!(answer["reason"], "rail_payment_scheme", "{answer}\n{}", gate.stderr());
    assert_eq!(answer["status"], 403, "{answer}");
    assert_eq!(paid(&seller), 0, "the seller saw a payment");
    assert_eq!(seller.requests().len(), 1, "the one that asked for the page");
    assert!(peer.questions().is_empty(), "a verdict cannot allow a rail");
    let event = gate
        .audited(json!({ "decision": "deny", "reason_code": "rail_payment_scheme" }))
        .await;
    assert!(!event.to_string().contains("Payment ey"), "{event}");
}
