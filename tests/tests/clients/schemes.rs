//! Payments of the schemes that are off by default, by the SDKs that make them: Permit2 from `@x402/fetch` (also with either allowance for
//! it), `upto` from the Python SDK, and Solana from `@x402/svm` and the legacy `x402-fetch`. The chains that they ask are a double on loopback.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tollgate_tests::authority::{Alpn, Authority};
use tollgate_tests::origin::{Origin, Reply, Seen};
use tollgate_tests::payment::permit2::Permit;
use tollgate_tests::payment::solana::{self, DEVNET, Keypair, MINT, Transfer};
use tollgate_tests::payment::{self, ASSET, NETWORK, Wallet, encode};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::real_clients::{answers, behind, program};
use tollgate_tests::tollgate::{Setup, Tollgate};
use tollgate_tests::verdict_peer::{Mood, Says, VerdictPeer};

/// An agent, what it asks for, and how its payment is called.
type Deal = (&'static str, &'static str, &'static str);

const DEALS: [Deal; 4] = [
    ("agents/pay_fetch_v2.mjs", "/permit2", "exact-permit2"),
    ("agents/pay_upto.py", "/upto", "upto"),
    ("agents/pay_svm_v2.mjs", "/svm", "exact-svm"),
    ("agents/pay_svm_v1.mjs", "/svm-v1", "exact-svm"),
];

/// Payments with an allowance for Permit2, which the SDK signs beside them: EIP-2612 typed data, or a transaction.
const SPONSORED: [Deal; 2] = [
    ("agents/pay_sponsored.mjs", "/sponsored", "exact-permit2"),
    ("agents/pay_sponsored.mjs", "/approved", "exact-permit2"),
];

fn reply(status: u16, challenge: Option<String>, body: String) -> Reply {
    let mut response = http::Response::builder().status(status).header("content-type", "application/json");
    if let Some(challenge) = challenge {
        response = response.header("payment-required", challenge);
    }
    response.body(Full::new(Bytes::from(body)).boxed()).unwrap()
}

fn sell(seen: &Seen) -> Reply {
    if seen.header("payment-signature").or(seen.header("x-payment")).is_some() {
        return reply(200, None, r#"{"ok":true}"#.to_owned());
    }
    let url = format!("https://{}{}", seen.authority.as_deref().unwrap_or_default(), seen.target);
    let offer = match seen.target.as_str() {
        "/permit2" | "/sponsored" | "/approved" => Permit::exact().offer(),
        "/upto" => Permit::upto().offer(),
        "/svm" => Transfer::default().offer(),
        _ => return reply(402, None, solana::v1_body(&url).to_string()),
    };
    let mut challenge = json!({
        "x402Version": 2, "error": "Payment required", "resource": { "url": url, "description": "demo", "mimeType": "application/json" },
        "accepts": [offer],
    });
    let allowance = json!({ "info": { "description": "one allowance", "version": "1" } });
    match seen.target.as_str() {
        "/sponsored" => challenge["extensions"] = json!({ "eip2612GasSponsoring": allowance }),
        "/approved" => challenge["extensions"] = json!({ "erc20ApprovalGasSponsoring": allowance }),
        _ => {}
    }
    reply(402, Some(encode(&challenge)), "{}".to_owned())
}

/// As much of a Solana node, and of an EVM one, as the SDKs ask before they sign. Nobody has allowed Permit2 anything yet.
fn node(seen: &Seen) -> Reply {
    let question: Value = serde_json::from_slice(&seen.body).unwrap_or_default();
    let context = json!({ "slot": 1, "apiVersion": "2.0.0" });
    let mut mint = [0_u8; 82];
    (mint[44], mint[45]) = (6, 1);
    let result = match question["method"].as_str() {
        Some("getAccountInfo") => json!({ "context": context, "value": {
            "data": [STANDARD.encode(mint), "base64"], "executable": false, "lamports": 1_461_600, "rentEpoch": 0, "space": 82,
            "owner": "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA",
        }}),
        Some("simulateTransaction") => json!({ "context": context, "value": {
            "err": null, "logs": [], "accounts": null, "unitsConsumed": 6_200, "returnData": null,
        }}),
        Some("eth_getTransactionCount") => json!("0x7"),
        Some("eth_call") => json!(format!("0x{}", "0".repeat(64))),
        Some("getLatestBlockhash") => json!({ "context": context, "value": {
            "blockhash": "9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM", "lastValidBlockHeight": 100,
        }}),
        _ => Value::Null,
    };
    reply(
        200,
        None,
        json!({ "jsonrpc": "2.0", "id": question["id"], "result": result }).to_string(),
    )
}

struct Shop {
    seller: Origin,
    node: Origin,
    authority: Authority,
}

impl Shop {
    async fn open() -> Self {
        let authority = Authority::default();
        Shop {
            seller: Origin::start(Some(authority.server(HOST, Alpn::H1)), sell).await,
            node: Origin::start(None, node).await,
            authority,
        }
    }

    async fn gate(&self, says: Says, schemes: Value) -> (Tollgate, VerdictPeer) {
        let peer = VerdictPeer::start(Mood::Always(says)).await;
        let setup = Setup::new(policy::open(&[self.seller.port()])).local_host().trust(&self.authority);
        let mut payments = json!({ "require_challenge": true });
        payments.as_object_mut().unwrap().extend(schemes.as_object().unwrap().clone());
        let gate = setup
            .config(payment::settings())
            .config(json!({ "payments": payments }))
            .config(peer.settings());
        (gate.start(), peer)
    }

    async fn deal(&self, (agent, target, _): Deal, gate: &Tollgate) -> Value {
        let mut command = program(agent);
        behind(&mut command, gate);
        command.env("EVM_KEY", Wallet::default().key_hex());
        command.env("SVM_KEY", Keypair::default().key_base58());
        for node in ["SVM_RPC", "EVM_RPC"] {
            command.env(node, format!("http://127.0.0.1:{}", self.node.port()));
        }
        command.env("NO_PROXY", "127.0.0.1").env("no_proxy", "127.0.0.1");
        command.arg(format!("https://{HOST}:{}{target}", self.seller.port()));
        answers(command).await.remove(0)
    }

    fn paid(&self) -> usize {
        self.paid_requests().len()
    }

    fn paid_requests(&self) -> Vec<Seen> {
        let pays = |seen: &Seen| seen.header("payment-signature").or(seen.header("x-payment")).is_some();
        self.seller.requests().into_iter().filter(pays).collect()
    }
}

fn all() -> Value {
    json!({
        "schemes": ["exact-permit2", "upto", "exact-svm"], "networks": [NETWORK, DEVNET],
        "assets": [format!("{NETWORK}/{ASSET}"), format!("{DEVNET}/{MINT}")],
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_sdks_sign_is_judged_and_delivered_on_go() {
    let shop = Shop::open().await;
    let (gate, peer) = shop.gate(Says::Go, all()).await;
    for (number, deal) in DEALS.into_iter().enumerate() {
        let answer = shop.deal(deal, &gate).await;
        assert_eq!(answer["status"], 200, "{deal:?}: {answer}\n{}", gate.stderr());
        assert_eq!(answer["signed"], 1, "{deal:?}: {answer}");
        assert_eq!(shop.paid(), number + 1, "{deal:?}");
        assert_eq!(peer.questions().len(), number + 1, "{deal:?}");
        gate.audited(json!({ "decision": "allow", "payment": { "scheme": deal.2 } })).await;
    }
    let amounts: Vec<Value> = peer.questions().iter().map(|question| question.claim["amount"].clone()).collect();
    assert_eq!(amounts, ["0.01", "0.5", "0.01", "0.01"], "the ceiling of `upto`");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_sdks_sign_stays_here_on_hold_and_with_the_scheme_off() {
    let shop = Shop::open().await;
    for (says, payments, reason) in [
        (Says::Hold, all(), "verdict_hold"),
        (Says::Go, json!({}), "payment_scheme_not_allowed"),
    ] {
        let (gate, _peer) = shop.gate(says, payments).await;
        for deal in DEALS {
            let answer = shop.deal(deal, &gate).await;
            assert_eq!(answer["reason"], reason, "{deal:?}: {answer}\n{}", gate.stderr());
            assert_eq!(shop.paid(), 0, "{deal:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_allowance_that_an_sdk_adds_for_the_gas_leaves_only_where_it_is_allowed() {
    let shop = Shop::open().await;
    let deal = ("agents/pay_sponsored.mjs", "/sponsored", "exact-permit2");
    let with = |extensions: Value| {
        let mut payments = all();
        payments["allow_extensions"] = extensions;
        payments
    };
    for (says, extensions, reason, paid) in [
        (Says::Go, json!([]), json!("payment_scheme_not_allowed"), 0),
        (Says::Hold, json!(["eip2612GasSponsoring"]), json!("verdict_hold"), 0),
        (Says::Go, json!(["eip2612GasSponsoring"]), Value::Null, 1),
    ] {
        let (gate, _peer) = shop.gate(says, with(extensions.clone())).await;
        let answer = shop.deal(deal, &gate).await;
        assert_eq!(answer["reason"], reason, "{extensions}: {answer}\n{}", gate.stderr());
        assert_eq!(answer["signed"], 2, "{extensions}: the payment and the allowance: {answer}");
        assert_eq!(shop.paid(), paid, "{extensions}");
    }
    let seen = shop.seller.last();
    let payment: Value = serde_json::from_str(&payment::decode(seen.header("payment-signature").unwrap())).unwrap();
    assert!(payment["extensions"]["eip2612GasSponsoring"]["info"]["signature"].is_string());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn screened_each_sdk_signs_for_one_payment_on_go_and_for_nothing_on_hold_and_stop() {
    let shop = Shop::open().await;
    let mut payments = all();
    payments["screen_challenges"] = json!(true);
    payments["allow_extensions"] = json!(["eip2612GasSponsoring", "erc20ApprovalGasSponsoring"]);
    for (says, reason) in [
        (Says::Hold, json!("verdict_hold")),
        (Says::Stop, json!("verdict_stop")),
        (Says::Go, Value::Null),
    ] {
        let (gate, peer) = shop.gate(says, payments.clone()).await;
        for (deal, signatures) in DEALS.into_iter().map(|deal| (deal, 1)).chain(SPONSORED.map(|deal| (deal, 2))) {
            let answer = shop.deal(deal, &gate).await;
            assert_eq!(answer["reason"], reason, "{deal:?}: {answer}\n{}", gate.stderr());
            let go = usize::from(reason.is_null());
            assert_eq!(answer["signed"], json!(go * signatures), "{deal:?} {reason}: {answer}");
            let sold = shop.paid_requests().iter().filter(|seen| seen.target == deal.1).count();
            assert_eq!(sold, go, "{deal:?} {reason}: what the seller saw");
        }
        let deals = DEALS.len() + SPONSORED.len();
        let asked = if reason.is_null() { deals * 2 } else { deals };
        assert_eq!(peer.questions().len(), asked, "{reason}: about each offer, and each payment");
    }
}
