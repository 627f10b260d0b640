//! What happens around a sale, for every SDK that pays over HTTP: the proxy restarts between challenge and payment, two sales at once, the
//! same bytes again, and a seller that sends its customer on to somebody else. The seller records, and the agents count what they sign.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tollgate_tests::authority::{Alpn, Authority};
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::origin::{Origin, Reply, Seen, standard};
use tollgate_tests::payment::{self, ASSET, CENT, PAYEE, Wallet};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::real_clients::{answers, behind, program};
use tollgate_tests::tollgate::{Setup, Tollgate};
use tollgate_tests::verdict_peer::{Says, VerdictPeer};

/// The SDKs, and the page that each of them buys: those of x402 v2 are asked to pay by a field, the legacy one by the body.
const AGENTS: [(&str, &str); 6] = [
    ("agents/pay_requests.py", "/v2/requests"),
    ("agents/pay_httpx.py", "/v2/httpx"),
    ("agents/pay_fetch_v2.mjs", "/v2/fetch"),
    ("agents/pay_axios.mjs", "/v2/axios"),
    ("agents/pay_mppx.mjs", "/v2/mppx"),
    ("agents/pay_fetch_v1.mjs", "/v1/fetch"),
];

/// The other origin, to which [`sell`] may send who has paid.
const ELSEWHERE: &str = "other.example.test";

fn payment_of(seen: &Seen) -> Option<(&'static str, &str)> {
    ["payment-signature", "x-payment"]
        .into_iter()
        .find_map(|name| Some((name, seen.header(name)?)))
}

/// Sells every page at a cent, and knows nothing of what it has sold; who has paid is sent on to that port, if there is one. `scheme` is its
/// own.
fn sell(scheme: &str, moved_to: Option<u16>, seen: &Seen) -> Reply {
    let response = http::Response::builder().header("content-type", "application/json");
    let text = |body: String| Full::new(Bytes::from(body)).boxed();
    let url = format!("{scheme}://{}{}", seen.authority.as_deref().unwrap_or_default(), seen.target);
    let sold = response.header("payment-response", "e30=").header("x-payment-response", "e30=");
    match (payment_of(seen), moved_to) {
        (Some(_), None) => sold.body(text(r#"{"ok":true}"#.to_owned())),
        (Some(_), Some(port)) => {
            let there = format!("https://{ELSEWHERE}:{port}{}", seen.target);
            sold.status(302).header("location", there).body(text(String::new()))
        }
        (None, _) if seen.target.starts_with("/v1") => {
            let body = json!({ "x402Version": 1, "error": "X-PAYMENT header is required", "accepts": [{
                "scheme": "exact", "network": "base-sepolia", "maxAmountRequired": CENT, "resource": url, "description": "one cent",
                "mimeType": "application/json", "payTo": PAYEE, "maxTimeoutSeconds": 60, "asset": ASSET,
                "extra": { "name": "USDC", "version": "2" },
            }]});
            http::Response::builder()
                .status(402)
                .header("content-type", "application/json")
                .body(text(body.to_string()))
        }
        (None, _) => http::Response::builder()
            .status(402)
            .header("payment-required", payment::challenge(&url))
            .body(text("{}".to_owned())),
    }
    .unwrap()
}

fn setup(ports: &[u16], peer: &VerdictPeer) -> Setup {
    let asked = json!({ "payments": { "require_challenge": true, "screen_challenges": true } });
    Setup::new(policy::open_with(ELSEWHERE, ports))
        .local_host()
        .host(ELSEWHERE, "127.0.0.1")
        .config(payment::settings())
        .config(asked)
        .config(peer.settings())
}

/// Has every agent buy its page at `base`, as often as said and all at once, each with a wallet of its own. `sign_after` is a folder for files
/// by the agents' numbers, for which they wait.
fn everybody(base: &str, times: usize, gate: &Tollgate, sign_after: Option<&TempDir>) -> Vec<JoinHandle<Vec<Value>>> {
    let start = |(number, (agent, target)): (usize, (&str, &str))| {
        let mut command = program(agent);
        behind(&mut command, gate);
        command.env("EVM_KEY", Wallet::default().key_hex());
        if let Some(folder) = sign_after {
            command.env("SIGN_AFTER", folder.path().join(number.to_string()));
        }
        command.args(std::iter::repeat_n(format!("{base}{target}"), times));
        tokio::spawn(answers(command))
    };
    AGENTS.into_iter().enumerate().map(start).collect()
}

/// The paid requests for a page.
fn paid(seller: &Origin, target: &str) -> Vec<Seen> {
    let requests = seller.requests().into_iter();
    requests
        .filter(|seen| seen.target == target && payment_of(seen).is_some())
        .collect()
}

/// Sends the payment of this request once more, byte for byte.
async fn again(gate: &Tollgate, via: Via, seller: &Origin, first: &Seen) -> tollgate_tests::answer::Answer {
    let (name, value) = payment_of(first).unwrap();
    gate.fetch(via, &Ask::get(seller.port(), &first.target).header(name, value)).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_at_once_are_both_delivered_and_the_same_bytes_are_not() {
    let authority = Authority::default();
    let tls = authority.server(HOST, Alpn::H1);
    let seller = Origin::start(Some(tls), |seen| sell("https", None, seen)).await;
    let peer = VerdictPeer::says(Says::Go).await;
    let gate = setup(&[seller.port()], &peer).trust(&authority).start();
    let base = format!("https://{HOST}:{}", seller.port());
    for ((agent, target), told) in AGENTS.into_iter().zip(everybody(&base, 2, &gate, None)) {
        let told = told.await.unwrap();
        for answer in &told {
            assert_eq!(answer["status"], 200, "{agent}: {answer}\n{}", gate.stderr());
            assert_eq!(answer["signed"], 2, "{agent}: {answer}");
        }
        let sold = paid(&seller, target);
        assert_eq!(sold.len(), 2, "{agent}: each delivered once");
        assert_ne!(payment_of(&sold[0]), payment_of(&sold[1]), "{agent}");
        again(&gate, Via::TlsH1, &seller, &sold[0])
            .await
            .assert_denied(403, "payment_replayed");
        assert_eq!(paid(&seller, target).len(), 2, "{agent}: the same bytes reached the seller again");
    }
    assert_eq!(peer.questions().len(), AGENTS.len() * 4, "about two offers and two payments each");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_between_challenge_and_payment_has_it_asked_for_anew_and_forgets_no_payment() {
    let seller = Origin::start(None, |seen| sell("http", None, seen)).await;
    let (peer, files) = (VerdictPeer::says(Says::Go).await, TempDir::new().unwrap());
    let start = |proxy: String| {
        let kept = json!({ "payments": { "store": files.path().join("payments.redb") }, "listen": { "proxy": proxy } });
        setup(&[seller.port()], &peer).config(kept).start()
    };
    let restart = async |gate: &mut Tollgate| {
        gate.signal(rustix::process::Signal::TERM);
        gate.ended().await;
        start(gate.proxy.to_string())
    };
    let base = format!("http://{HOST}:{}", seller.port());

    let (mut gate, go_on) = (start("127.0.0.1:0".to_owned()), TempDir::new().unwrap());
    let running = everybody(&base, 1, &gate, Some(&go_on));
    for (number, (agent, _)) in AGENTS.iter().enumerate() {
        let asked = go_on.path().join(format!("{number}.asked"));
        // Six interpreters start at once, which takes a busy machine a while.
        let end = Instant::now() + Duration::from_secs(45);
        while !asked.exists() {
            assert!(Instant::now() < end, "{agent} was not asked to sign\n{}", gate.stderr());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    let mut next = restart(&mut gate).await;
    for (number, ((agent, target), told)) in AGENTS.into_iter().zip(running).enumerate() {
        std::fs::write(go_on.path().join(number.to_string()), "").unwrap();
        let told = told.await.unwrap();
        assert_eq!(told[0]["reason"], "payment_no_challenge", "{agent}: {told:?}\n{}", next.stderr());
        assert_eq!(told[0]["signed"], 1, "{agent}: {told:?}");
        assert_eq!(paid(&seller, target).len(), 0, "{agent}: paid without a challenge");
    }
    for ((agent, target), told) in AGENTS.into_iter().zip(everybody(&base, 1, &next, None)) {
        let told = told.await.unwrap();
        assert_eq!(told[0]["status"], 200, "{agent}: {told:?}\n{}", next.stderr());
        assert_eq!(told[0]["signed"], 1, "{agent}: {told:?}");
        assert_eq!(paid(&seller, target).len(), 1, "{agent}");
    }
    let last = restart(&mut next).await;
    for (agent, target) in AGENTS {
        again(&last, Via::AbsoluteForm, &seller, &paid(&seller, target)[0])
            .await
            .assert_denied(403, "payment_replayed");
        assert_eq!(
            paid(&seller, target).len(),
            1,
            "{agent}: a used payment reached the seller after the restart"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redirect_takes_the_payment_to_nobody_else() {
    let authority = Authority::default();
    let other = Origin::start(Some(authority.server(ELSEWHERE, Alpn::H1)), standard).await;
    let there = other.port();
    let tls = authority.server(HOST, Alpn::H1);
    let seller = Origin::start(Some(tls), move |seen| sell("https", Some(there), seen)).await;
    let peer = VerdictPeer::says(Says::Go).await;
    let gate = setup(&[seller.port(), there], &peer).trust(&authority).start();
    let base = format!("https://{HOST}:{}", seller.port());
    for ((agent, target), told) in AGENTS.into_iter().zip(everybody(&base, 1, &gate, None)) {
        let told = told.await.unwrap();
        // The two SDKs over Python follow without the payment; the others take it along, and it stops here.
        let expected = match agent {
            "agents/pay_requests.py" | "agents/pay_httpx.py" => Value::Null,
            "agents/pay_fetch_v1.mjs" => json!("payment_replayed"),
            _ => json!("payment_mismatch"),
        };
        assert_eq!(told[0]["reason"], expected, "{agent}: {told:?}");
        assert_eq!(told[0]["signed"], 1, "{agent}: {told:?}");
        assert_eq!(paid(&seller, target).len(), 1, "{agent}: {told:?}");
        assert_eq!(paid(&other, target).len(), 0, "{agent}: the other origin was paid: {told:?}");
    }
    assert_eq!(other.requests().len(), 2, "those that came without it");
}
