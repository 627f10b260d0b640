//! Canaries: values that must not be found in any output, whatever happens to the request that carries them.

use serde_json::json;
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::payment::{self, Terms, Wallet, encode};
use tollgate_tests::policy;
use tollgate_tests::tollgate::Setup;
use tollgate_tests::verdict_peer::{Says, VerdictPeer};
use tollgate_tests::world::World;

const CANARY: &str = "canary8d1f";
const CREDENTIAL: &str = "canary8d1f-real-credential";

#[tokio::test]
async fn secrets_show_in_no_output_at_the_usual_log_level() {
    secrets_show_in_no_output("info").await;
}

#[tokio::test]
async fn secrets_show_in_no_output_at_the_most_talkative_log_level() {
    secrets_show_in_no_output("trace").await;
}

async fn secrets_show_in_no_output(log: &str) {
    let peer = VerdictPeer::says(Says::Go).await;
    let settings = peer.settings();
    let rules = [
        "rules:",
        "  - allow: { method: \"*\", path: \"/ok/**\" }",
        "  - allow: { method: GET, path: \"/query\", query: { a: \"1\" } }",
    ];
    let add = |setup: Setup| {
        setup
            .config(payment::settings())
            .config(settings)
            .config(json!({ "credentials": [{ "placeholder": "KEY", "from_env": "REAL", "hosts": [policy::HOST] }] }))
            .env("REAL", CREDENTIAL)
            .env("TOLLGATE_LOG", log)
    };
    let world = World::start(|ports| policy::ruled(ports, &rules), add).await;
    let wallet = Wallet::default();
    let mut denials = String::new();
    let mut forbidden = vec![
        CANARY.to_owned(),
        CREDENTIAL.to_owned(),
        Says::Go.document()["report_token"].as_str().unwrap().to_owned(),
    ];
    for via in Via::ALL {
        let scheme = if via.is_tls() { "https" } else { "http" };
        for (target, says) in [
            ("/ok/paid", Says::Go),
            ("/ok/paid", Says::Stop),
            ("/denied", Says::Go),
            ("/query", Says::Go),
        ] {
            peer.turn(tollgate_tests::verdict_peer::Mood::Always(says));
            let terms = Terms::default();
            let payment = wallet.v2(&format!("{scheme}://{}:{}{target}", policy::HOST, world.port(via)), &terms);
            forbidden.extend([wallet.sign(&terms)[2..].to_owned(), encode(&payment), terms.nonce_hex()]);
            let with_query = format!("{target}?a={CANARY}");
            let ask = Ask::get(world.port(via), &with_query)
                .header("PAYMENT-SIGNATURE", encode(&payment))
                .header("Authorization", "Bearer openshell:resolve:env:KEY")
                .header("Cookie", format!("session={CANARY}"))
                .header("X-Api-Key", CANARY)
                .header("Referer", format!("https://example.test/?t={CANARY}"));
            let answer = world.gate.fetch(via, &ask).await;
            if answer.reason().is_some() {
                denials += &format!("{:?} {}\n", answer.headers, answer.text());
            }
        }
        // Malformed and refused in other ways, with secrets in them.
        let broken = format!("{{\"method\":\"eth_sendRawTransaction\",\"params\":[\"{CANARY}\"]}}");
        let others = [
            Ask::get(world.port(via), "/ok/rpc").json(&broken),
            Ask::get(world.port(via), "/ok/x").header("X-PAYMENT", format!("{CANARY}!!")),
            Ask::get(world.port(via), "/ok/x").header("Authorization", format!("Payment {CANARY}")),
            Ask::get(world.port(via), "/ok/x")
                .header("Authorization", format!("Bearer openshell:resolve:env:{}", "NOPE"))
                .header("Cookie", CANARY),
            Ask::get(9, "/ok/x?canary8d1f").header("Cookie", CANARY),
        ];
        for ask in others {
            let answer = world.gate.fetch(via, &ask).await;
            denials += &format!("{:?} {}\n", answer.headers, answer.text());
        }
    }
    let raw = format!(
        "GET http://user:{CANARY}@{}/ HTTP/1.1\r\nHost: x\r\nBad Name: {CANARY}\r\n\r\n",
        policy::HOST
    );
    let mut connection = world.gate.dial().await;
    connection.send(raw).await;
    if let Ok(answer) = connection.answer_or_end("GET").await {
        denials += &answer.text();
    }
    assert!(!denials.is_empty());
    // The secrets were real: the allowed requests carried them out.
    assert!(
        world
            .tls
            .last()
            .header("authorization")
            .is_some_and(|value| value.contains(CREDENTIAL))
    );

    let outputs = [
        ("a denial", denials),
        (
            "the audit log",
            std::fs::read_to_string(world.gate.dir().join("audit.jsonl")).unwrap(),
        ),
        ("the metrics", world.gate.metrics().await),
        ("readiness", world.gate.readyz().await.1),
        ("standard error", world.gate.stderr()),
    ];
    for (name, output) in outputs {
        for secret in &forbidden {
            if let Some(at) = output.find(secret.as_str()) {
                let start = (0..=at.saturating_sub(200))
                    .rev()
                    .find(|at| output.is_char_boundary(*at))
                    .unwrap_or(0);
                panic!("{name} holds {secret}: …{}", &output[start..at + secret.len()]);
            }
        }
    }
}
