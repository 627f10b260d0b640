//! An Action Safety service beside the backend: it can only object, and whatever is not "no objection" to exactly this payment is an objection.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::payment::{self, ASSET, NETWORK, PAYEE, Terms, Wallet, encode};
use tollgate_tests::policy;
use tollgate_tests::scripted::{Conversation, Scripted};
use tollgate_tests::verdict_peer::{Mood, Says, VerdictPeer};
use tollgate_tests::world::World;

use super::{paying, url};

const KEY: &str = "as-key-91c04f7d";
const RUN: &str = "/api/agent-services/action-safety/run";
const SCORE: &str = "/api/agent-services/destructguard/score";

/// What the service does with a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Thinks {
    NoObjection,
    NeedsApproval,
    Risk(&'static str, &'static str),
    OfAnotherAction,
    WantsMoney,
    TooManyQuestions,
    Elsewhere,
    Html,
    HangsUp,
    Slow,
    Dead,
}

/// One question: its head, and its document.
type Asked = Arc<Mutex<Vec<(String, Value)>>>;

struct Service {
    scripted: Option<Scripted>,
    port: u16,
    asked: Asked,
}

impl Service {
    async fn start(thinks: Thinks) -> Self {
        let asked = Asked::default();
        if thinks == Thinks::Dead {
            let free = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            let port = free.local_addr().unwrap().port();
            return Service {
                scripted: None,
                port,
                asked,
            };
        }
        let kept = Arc::clone(&asked);
        let script = move |mut client: Conversation| {
            let kept = Arc::clone(&kept);
            async move {
                while let Some((head, body)) = client.request().await {
                    let question: Value = serde_json::from_slice(&body).unwrap();
                    let fields: Vec<String> = head.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
                    let told = format!("{}\n{}", head.first_line, fields.join("\n"));
                    kept.lock().unwrap().push((told, question.clone()));
                    match thinks {
                        Thinks::HangsUp => return,
                        Thinks::Slow => tokio::time::sleep(Duration::from_secs(3)).await,
                        _ => {}
                    }
                    client.send(answer(thinks, &question)).await;
                }
            }
        };
        let scripted = Scripted::start(None, script).await;
        let port = scripted.port();
        let scripted = Some(scripted);
        Service { scripted, port, asked }
    }

    fn settings(&self) -> Value {
        let share_with = format!("http://127.0.0.1:{}", self.port);
        json!({ "verdict": { "action_safety": { "share_with": share_with, "api_key_from_env": "ACTION_SAFETY_KEY", "environment": "tests" } } })
    }

    fn asked(&self) -> Vec<(String, Value)> {
        self.asked.lock().unwrap().clone()
    }
}

/// The contract's hash: compact JSON of its sorted members, the missing ones `null`.
fn hash(question: &Value) -> String {
    let names = [
        "actor",
        "branch",
        "command",
        "commit",
        "cwd",
        "diffHash",
        "diffStat",
        "environment",
        "intent",
        "repo",
        "target",
    ];
    let mut binding: Vec<String> = names.iter().map(|name| format!("\"{name}\":{}", question[*name])).collect();
    binding.push("\"version\":\"hermes-action-v1\"".to_owned());
    hex::encode(Sha256::digest(format!("{{{}}}", binding.join(","))))
}

fn answer(thinks: Thinks, question: &Value) -> String {
    let mut document = json!({
        "status": "scored", "service": "action-safety-quick-gate", "actionBindingVersion": "hermes-action-v1",
        "actionHash": hash(question), "risk": "low", "requiresApproval": false, "matchedRuleIds": [], "nextRecommendedCall": null,
    });
    let mut status = "200 OK";
    match thinks {
        Thinks::NeedsApproval => document["requiresApproval"] = json!(true),
        Thinks::Risk(risk, next) => {
            document["risk"] = json!(risk);
            document["nextRecommendedCall"] = json!({ "method": "POST", "url": next });
        }
        Thinks::OfAnotherAction => {
            let mut other = Map::from_iter([("command".to_owned(), question["command"].clone())]);
            other["command"] = json!("x402 pay amount=1");
            document["actionHash"] = json!(hash(&Value::Object(other)));
        }
        Thinks::WantsMoney => status = "402 Payment Required",
        Thinks::TooManyQuestions => status = "429 Too Many Requests",
        Thinks::Elsewhere => status = "307 Temporary Redirect\r\nLocation: http://127.0.0.1:9/",
        Thinks::Html => return "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>".to_owned(),
        Thinks::NoObjection | Thinks::HangsUp | Thinks::Slow | Thinks::Dead => {}
    }
    let body = document.to_string();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Two origins, a backend in this mood, the service, and the gate that asks both.
async fn shop(mood: Mood, thinks: Thinks) -> (World, VerdictPeer, Service) {
    let peer = VerdictPeer::start(mood).await;
    let service = Service::start(thinks).await;
    let (backend, second) = (peer.settings_with("1s"), service.settings());
    let world = World::start(policy::open, |setup| {
        setup
            .config(payment::settings())
            .config(backend)
            .config(second)
            .env("ACTION_SAFETY_KEY", KEY)
    })
    .await;
    (world, peer, service)
}

#[tokio::test]
async fn without_an_objection_a_go_delivers() {
    let (world, peer, service) = shop(Mood::Always(Says::Go), Thinks::NoObjection).await;
    for (number, via) in Via::ALL.into_iter().enumerate() {
        world.gate.fetch(via, &paying(&world, via)).await.assert_allowed();
        assert!(world.origin(via).last().header("payment-signature").is_some());
        assert_eq!(
            (peer.questions().len(), service.asked().len()),
            (number + 1, number + 1),
            "both, once"
        );
    }
    let line = json!({ "decision": "allow", "verdict": { "backend": "blackwall", "verdict": "go" } });
    world.gate.audited(line).await;
}

#[tokio::test]
async fn anything_but_no_objection_to_this_payment_keeps_it_in() {
    let go = || Mood::Always(Says::Go);
    let table = [
        (go(), Thinks::NeedsApproval, "verdict_hold"),
        (go(), Thinks::Risk("medium", SCORE), "verdict_hold"),
        (go(), Thinks::Risk("high", RUN), "verdict_hold"),
        (go(), Thinks::Risk("critical", RUN), "verdict_hold"),
        (go(), Thinks::Risk("high", "http://127.0.0.1:9/pay"), "verdict_invalid"),
        (go(), Thinks::OfAnotherAction, "verdict_invalid"),
        (go(), Thinks::Dead, "verdict_unavailable"),
        (go(), Thinks::Slow, "verdict_unavailable"),
        (go(), Thinks::HangsUp, "verdict_unavailable"),
        (go(), Thinks::WantsMoney, "verdict_unavailable"),
        (go(), Thinks::TooManyQuestions, "verdict_unavailable"),
        (go(), Thinks::Elsewhere, "verdict_unavailable"),
        (go(), Thinks::Html, "verdict_unavailable"),
        // It has no GO to give.
        (Mood::Always(Says::Hold), Thinks::NoObjection, "verdict_hold"),
        (Mood::Always(Says::Stop), Thinks::NoObjection, "verdict_stop"),
        (Mood::Always(Says::Stop), Thinks::Dead, "verdict_stop"),
        (Mood::Dead, Thinks::NoObjection, "verdict_unavailable"),
    ];
    for (mood, thinks, reason) in table {
        let name = format!("{mood:?} {thinks:?}");
        let (world, _peer, service) = shop(mood, thinks).await;
        for via in [Via::PlainTunnel, Via::TlsH2] {
            let started = Instant::now();
            let answer = world.gate.fetch(via, &paying(&world, via)).await;
            assert_eq!((answer.status, answer.reason()), (403, Some(reason)), "{name} {via:?}: {answer:?}");
            assert!(
                started.elapsed() < Duration::from_millis(2_500),
                "{name} took {:?}",
                started.elapsed()
            );
        }
        world.assert_untouched();
        if let Some(scripted) = &service.scripted {
            let quick = "POST /api/agent-services/action-safety/quick HTTP/1.1";
            assert!(
                scripted.heads().iter().all(|head| head == quick),
                "{name}: what it recommends is never called"
            );
            assert_eq!(service.asked().len(), 2, "{name}: asked once for each payment");
        }
    }
}

#[tokio::test]
async fn the_service_is_told_one_line_and_no_secret() {
    let (world, _peer, service) = shop(Mood::Always(Says::Go), Thinks::NoObjection).await;
    let (wallet, terms) = (Wallet::default(), Terms::default());
    let payment = wallet.v2(&url(&world, Via::TlsH1), &terms);
    let ask = Ask::get(world.tls.port(), "/paid?api_key=hushhush")
        .header("PAYMENT-SIGNATURE", encode(&payment))
        .header("Authorization", "Bearer hushhush");
    world.gate.fetch(Via::TlsH1, &ask).await.assert_allowed();
    let (head, question) = service.asked().remove(0);
    assert!(head.to_ascii_lowercase().contains(&format!("x-api-key: {KEY}")), "{head}");
    let line = format!(
        "x402 pay scheme=exact network={NETWORK} asset={} amount=10000 payTo={} method=GET resource={}",
        ASSET.to_ascii_lowercase(),
        PAYEE.to_ascii_lowercase(),
        url(&world, Via::TlsH1)
    );
    assert_eq!((&question["command"], &question["environment"]), (&json!(line), &json!("tests")));
    let told = format!("{head}\n{question}");
    for secret in [
        "hushhush",
        "api_key",
        &wallet.sign(&terms)[2..],
        &terms.nonce_hex(),
        &encode(&payment),
    ] {
        assert!(!told.contains(secret), "{secret} was told:\n{told}");
    }
    let everything = format!(
        "{}{:?}{}{}",
        world.gate.stderr(),
        world.gate.audit_events(),
        world.gate.metrics().await,
        world.gate.readyz().await.1
    );
    assert!(!everything.contains(KEY), "the key is written down");
}
