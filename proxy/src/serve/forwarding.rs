//! Thousands of signed payments, bent on their way: the origin gets the very bytes that were judged, or nothing at all.
//!
//! The proxy is the assembled one, its origin listens on loopback. Each case signs a payment anew, in one of its four vessels, and does up
//! to three things to it. What arrived is held against what was sent, against the hash of what was judged, and against what a seller who
//! reads leniently makes of it.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod bent;
mod seller;
mod vessel;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use futures::future::join_all;
use rand::SeedableRng;
use rand::rngs::StdRng;
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tollgate_policy::Reason;

use super::{Settings, assemble};
use crate::config::Config;
use crate::flow::Client;
use crate::gate::Caller;
use crate::gate::stanzas::Stanzas;
use crate::identity::Network;
use crate::ingress::{Ingress, Workers};
use crate::x402::base64;
use bent::Bent;
use seller::{Money, Seen, Seller};
use vessel::Vessel;

const CASES: usize = 2_000;

const CONFIG: &str = r#"
audit: { path: audit.jsonl }
insecure: { allow_loopback: true }
upstream: { hosts: { shop.example.com: [ 127.0.0.1 ] } }
verdict: { backend: local, payees: PAYEES }
payments:
  networks: [ "eip155:84532" ]
  assets: [ "eip155:84532/0x036CbD53842c5426634e7929541eC2318f3dCF7e" ]
  require_challenge: false
  screen_challenges: false
  rate: { per_payee: 65536 }
"#;

const POLICY: &str = r#"
version: 1
network_policies:
  shop:
    endpoints: [ { host: shop.example.com, port: PORT, protocol: rest, enforcement: enforce, access: full } ]
    binaries: [ { path: "/**" } ]
"#;

#[test]
fn what_was_judged_is_forwarded_byte_for_byte_or_nothing_is() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(all_cases());
}

async fn all_cases() {
    let folder = tempfile::tempdir().unwrap();
    let seller = Seller::open().await;
    let ingress = proxy(folder.path(), seller.port);
    let mut rng = StdRng::seed_from_u64(402);
    let cases: Vec<Bent> = (0..CASES).map(|number| Bent::new(&mut rng, number, seller.port)).collect();
    let mut statuses = Vec::with_capacity(CASES);
    // As many at once as a few agents would have.
    for some in cases.chunks(32) {
        let asking = some.iter().map(|case| tokio::spawn(ask(ingress.clone(), case.bytes.clone())));
        statuses.extend(join_all(asking).await.into_iter().map(Result::unwrap));
    }
    ingress.engine.audit.shut_down();
    let judged = judged(&folder.path().join("audit.jsonl"));
    let mut seen = seller.seen();
    let mut outcomes: HashMap<String, usize> = HashMap::new();
    for (case, status) in cases.iter().zip(statuses) {
        let seen = seen.remove(&case.path).unwrap_or_default();
        let outcome = hold_against(case, status, &seen, judged.get(&case.path));
        *outcomes.entry(format!("{:?} {outcome}", case.vessel)).or_default() += 1;
    }
    assert!(seen.is_empty(), "requests that nobody made: {:?}", seen.keys());
    // A property that holds because everything is refused shows nothing.
    for vessel in Vessel::ALL {
        for outcome in ["paid untouched", "paid bent", "payment_malformed", "payment_mismatch"] {
            let count = outcomes.get(&format!("{vessel:?} {outcome}")).copied().unwrap_or_default();
            assert!(count >= CASES / 400, "{vessel:?} {outcome}: {outcomes:#?}");
        }
    }
}

/// What became of a case, once it is what it may become.
fn hold_against(case: &Bent, status: u16, seen: &[Seen], line: Option<&Value>) -> String {
    let [seen] = seen else {
        assert!(seen.is_empty(), "sent more than once: {case}");
        assert_ne!(status, 200, "nothing arrived: {case}");
        return line.and_then(|line| line["reason_code"].as_str()).unwrap_or("refused").to_owned();
    };
    assert_eq!(status, 200, "refused, and it arrived: {case}");
    assert_eq!(seen.body, case.body, "another body arrived: {case}");
    let moved = seen.money();
    let judged = line.and_then(|line| line["payment"]["payment_hash"].as_str());
    let Some(judged) = judged else {
        assert_eq!(moved, [], "a payment arrived that nobody has judged: {case}");
        return "passed without a payment".to_owned();
    };
    assert_eq!(line.unwrap()["verdict"]["verdict"], "go", "{case}");
    let payment = match case.vessel {
        Vessel::V1 | Vessel::V2 => {
            let [payment] = seen.payments.as_slice() else {
                panic!("not one payment header: {case}")
            };
            assert_eq!(Some(payment), case.header.as_ref(), "another header arrived: {case}");
            payment.clone()
        }
        Vessel::Mcp | Vessel::A2a => {
            assert_eq!(seen.payments, Vec::<Vec<u8>>::new(), "{case}");
            case.vessel
                .slice_of(&seen.body)
                .unwrap_or_else(|| panic!("no payment in its place: {case}"))
        }
    };
    assert_eq!(hex::encode(Sha256::digest(&payment)), judged, "other bytes were judged: {case}");
    let signed = case.signed;
    assert!(moved.iter().all(|money: &Money| *money == signed), "other money would move: {case}");
    let untouched = case.done.is_empty();
    assert!(!untouched || moved == [signed], "the honest payment is worth nothing: {case}");
    if untouched { "paid untouched" } else { "paid bent" }.to_owned()
}

fn proxy(folder: &Path, port: u16) -> Arc<Ingress> {
    std::fs::write(folder.join("policy.yaml"), "version: 1\n").unwrap();
    let payees = folder.join("payees.yaml");
    std::fs::write(&payees, format!("- payee: \"{}\"\n  price: \"0.01\"\n", vessel::PAYEE)).unwrap();
    let config = CONFIG.replace("PAYEES", payees.to_str().unwrap());
    let config = Config::parse(&config, &folder.join("tollgate.yaml")).unwrap();
    let settings = Settings {
        policy: folder.join("policy.yaml").into(),
        config: config.clone(),
        directory: folder.to_owned(),
    };
    let assembled = assemble::assemble(&settings, Network::Ours, None).unwrap();
    let stanzas = Stanzas {
        operator: &config.payments,
    };
    let loaded = tollgate_policy::load(&POLICY.replace("PORT", &port.to_string()), &stanzas);
    assembled.engine.gate.replace(stanzas.ruleset(1, loaded.policy.unwrap()));
    Arc::new(Ingress {
        engine: assembled.engine,
        leaves: assembled.leaves,
        workers: Workers::start().unwrap(),
    })
}

/// The status of the answer.
async fn ask(ingress: Arc<Ingress>, bytes: Vec<u8>) -> u16 {
    let nobody = SocketAddr::from(([127, 0, 0, 1], 1));
    let client = Client::new(nobody, nobody);
    client.caller.set(Caller::Unidentified(Reason::BinaryNotAllowed)).unwrap();
    let (mut ours, theirs) = tokio::io::duplex(64 << 10);
    let served = tokio::spawn(async move { ingress.serve_in_memory(client, None, theirs).await });
    ours.write_all(&bytes).await.unwrap();
    let mut answer = Vec::new();
    ours.read_to_end(&mut answer).await.unwrap();
    served.await.unwrap();
    let line = String::from_utf8_lossy(&answer);
    line.split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .unwrap_or_else(|| panic!("{line}"))
}

/// The audit lines, by path.
fn judged(file: &Path) -> HashMap<String, Value> {
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter_map(|line| Some((line["path"].as_str()?.to_owned(), line))).collect()
}
