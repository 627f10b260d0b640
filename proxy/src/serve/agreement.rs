//! 100,000 generated (policy, request) pairs, of each of which the dry run and the proxy say the same: decision, reason, policy and rule.
//!
//! The proxy is the assembled one: CONNECT as it parses and judges it, the HTTP/1 loop, `exchange`, a real origin on loopback, the
//! denials that clients read and the audit lines. Only the client's socket and TLS are left out, for speed; `proxy/tests/explain.rs` has
//! a table that is asked over them.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod audited;
mod generate;
mod origin;
mod proxy;

use std::collections::HashMap;
use std::sync::Arc;

use http::Method;
use rand::SeedableRng;
use rand::rngs::StdRng;
use serde_json::Value;
use tollgate_policy::{Policy, WEBSOCKET_TEXT};

use super::{Rehearsal, Settings};
use crate::audit::Process;
use crate::config::Config;
use crate::flow::{DryRequest, Stage};
use crate::gate::Caller;
use crate::gate::stanzas::Stanzas;
use audited::Audited;
use generate::{Asked, Shape};
use proxy::{Answer, Proxy, Told};

const POLICIES: usize = 500;
const REQUESTS: usize = 200;

const CONFIG: &str = r"
audit: { path: audit.jsonl }
insecure: { allow_loopback: true }
limits: { body_held: 4KiB, websocket_message: 1KiB, header_bytes: 8KiB, pool_connections: 1024, audit_unwritten: 256MiB }
rails: { hosts: [ rail.example.com ], addresses: [ 127.0.0.3/32 ] }
credentials: [ { placeholder: PATH, from_env: PATH, hosts: [ api.example.com ] } ]
upstream:
  hosts:
    example.com: [ 127.0.0.1 ]
    api.example.com: [ 127.0.0.1 ]
    a.api.example.com: [ 127.0.0.1 ]
    www.example.com: [ 127.0.0.1 ]
    rail.example.com: [ 127.0.0.1 ]
    mirror.example.com: [ 127.0.0.3 ]
    meta.example.com: [ 169.254.169.254 ]
";

/// What was found about one pair: `allow`, `deny` or `would_deny`, the reason, and who decided.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Found {
    decision: String,
    reason: Option<String>,
    policy: Option<String>,
    rule: Option<String>,
}

impl Found {
    fn of(decision: &str, members: &Value) -> Self {
        let text = |name: &str| members[name].as_str().map(str::to_owned);
        Found {
            decision: decision.to_owned(),
            reason: text("reason_code"),
            policy: text("policy"),
            rule: text("rule"),
        }
    }

    /// `allow`, or `deny:REASON`.
    fn kind(&self) -> String {
        match &self.reason {
            None => self.decision.clone(),
            Some(reason) => format!("{}:{reason}", self.decision),
        }
    }

    /// The answer to HEAD has no body to say who decided, and a message that passed leaves no line.
    fn without_rule(&self) -> Self {
        Found {
            policy: None,
            rule: None,
            ..self.clone()
        }
    }
}

/// A pair, and what the dry run and the client found.
struct Pair {
    source: Arc<str>,
    asked: Asked,
    dry: Dry,
    told: Told,
}

/// What the dry run found.
struct Dry {
    found: Found,
    /// The step that decided.
    stage: Stage,
}

#[test]
fn the_dry_run_and_the_proxy_agree_on_100_000_pairs() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(agree(POLICIES, REQUESTS));
}

async fn agree(policies: usize, requests: usize) {
    let folder = tempfile::tempdir().unwrap();
    let proxy = Proxy::start(&settings(folder.path())).await;
    let rehearsal = Rehearsal::new(&settings(folder.path())).unwrap();
    let mut rng = StdRng::seed_from_u64(402);
    let (mut pairs, mut generation) = (Vec::new(), 0);
    while pairs.len() < policies * requests {
        let source: Arc<str> = generate::policy(&mut rng, proxy.ports).into();
        // Policies that contradict themselves don't load.
        let Some(policy) = load(&source) else { continue };
        generation += 1;
        let operator = &Config::default().payments;
        let rules = Stanzas { operator }.ruleset(generation, policy);
        rehearsal.engine.gate.replace(rules.clone());
        proxy.replace(rules);
        let askeds: Vec<Asked> = (0..requests).map(|_| generate::request(&mut rng, proxy.ports)).collect();
        // The proxy's threads are at it while the dry runs are made here.
        let asking = proxy.ask_all(&askeds);
        let mut found = Vec::with_capacity(requests);
        for asked in &askeds {
            found.push(dry(&rehearsal, asked).await);
        }
        for ((asked, dry), asking) in askeds.into_iter().zip(found).zip(asking) {
            let (source, told) = (source.clone(), asking.await.unwrap());
            pairs.push(Pair { source, asked, dry, told });
        }
    }
    let audited = proxy.stop(&folder.path().join("audit.jsonl"));
    compare(&pairs, &audited);
}

fn settings(folder: &std::path::Path) -> Settings {
    let policy = folder.join("policy.yaml");
    std::fs::write(&policy, "version: 1\n").unwrap();
    Settings {
        policy: policy.into(),
        config: Config::parse(CONFIG, &folder.join("tollgate.yaml")).unwrap(),
        directory: folder.to_owned(),
    }
}

fn load(source: &str) -> Option<Policy> {
    let operator = &Config::default().payments;
    let loaded = tollgate_policy::load(source, &Stanzas { operator });
    let expected = ["ambiguous-endpoints", "uninspectable-selection"];
    for diagnostic in loaded.diagnostics.iter().filter(|_| loaded.policy.is_none()) {
        let known = diagnostic.severity != tollgate_policy::Severity::Error || expected.contains(&diagnostic.code.as_str());
        assert!(known, "{}", diagnostic.message);
    }
    loaded.policy
}

async fn dry(rehearsal: &Rehearsal, asked: &Asked) -> Dry {
    let caller = caller(asked);
    let headers = asked.headers();
    let message = Method::from_bytes(WEBSOCKET_TEXT.as_bytes()).unwrap();
    let request = DryRequest {
        method: if asked.shape == Shape::Message { &message } else { &asked.method },
        url: &asked.url(),
        headers: &headers,
        body: asked.body.clone(),
        caller: &caller,
        at: None,
    };
    let run = rehearsal.engine.judge(&request).await.unwrap();
    let answer = run.answer();
    Dry {
        found: Found {
            decision: answer.decision.to_owned(),
            reason: answer.reason.map(|reason| reason.to_string()),
            policy: answer.policy.map(str::to_owned),
            rule: answer.rule.map(str::to_owned),
        },
        stage: run.steps.last().unwrap().stage,
    }
}

fn caller(asked: &Asked) -> Caller {
    match asked.binary {
        None => Caller::Unidentified(tollgate_policy::Reason::BinaryNotAllowed),
        Some(binary) => Caller::identified(Process {
            binary: binary.to_owned(),
            pid: 1,
            ancestors: asked.ancestor.iter().map(|ancestor| (*ancestor).to_owned()).collect(),
        }),
    }
}

fn compare(pairs: &[Pair], audited: &Audited) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut wrong = Vec::new();
    for pair in pairs {
        let Pair { source, asked, dry, told } = pair;
        let line = audited.of(&told.connection, asked.shape);
        if !agrees(pair, line.as_ref()) {
            wrong.push(format!(
                "{asked:?}\n{source}\ndry {:?}\ntold {:?}\naudited {line:?}",
                dry.found, told.answer
            ));
        }
        let kind = dry.found.kind();
        if matches!(dry.stage, Stage::Body | Stage::Message) {
            *seen.entry(format!("{} {kind}", asked.shape.as_str())).or_default() += 1;
        }
        *seen.entry(kind).or_default() += 1;
    }
    let shown: Vec<_> = wrong.iter().take(3).cloned().collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), pairs.len(), shown.join("\n\n"));
    // A property that holds because everything is refused for one reason shows nothing.
    for kind in generate::KINDS {
        assert!(
            seen.get(*kind).is_some_and(|count| *count >= pairs.len() / 10_000),
            "{kind}: {seen:?}"
        );
    }
}

fn agrees(Pair { asked, dry, told, .. }: &Pair, line: Option<&Found>) -> bool {
    let dry = &dry.found;
    let bare = dry.without_rule();
    let Some(line) = line else {
        return matches!(told.answer, Answer::Passed) && bare.kind() == "allow";
    };
    let line_agrees = (&line.decision, &line.reason) == (&dry.decision, &dry.reason);
    line_agrees
        && match &told.answer {
            Answer::Passed => dry == line,
            Answer::Denied(found) => dry == found || (asked.method == Method::HEAD && dry.decision == "deny" && bare == *found),
            Answer::Closed(reason) => dry == line && line.reason.as_ref() == Some(reason),
        }
}
