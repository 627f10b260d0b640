//! `tollgate suggest`: traffic through the real binary, learned from, and played again under what was suggested.

mod bodies;

use serde_json::{Value, json};
use tempfile::TempDir;
use tollgate_tests::authority::{Alpn, Authority};
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::origin::Origin;
use tollgate_tests::policy::{self, Entry, HOST, own_binary};
use tollgate_tests::tollgate::{Setup, Tollgate};

use crate::{tollgate, write};

/// The traffic of a run: two ways in, ids and words, a host that nobody listed, and a rail.
const REQUESTS: [(&str, &str); 8] = [
    ("GET", "/v1/items/1?key=sk-secret"),
    ("GET", "/v1/items/2"),
    ("HEAD", "/v1/items/3"),
    ("POST", "/v1/items"),
    ("DELETE", "/v1/items/7"),
    ("GET", "/repos/alpha"),
    ("GET", "/repos/beta"),
    ("GET", "/odd/[x]*"),
];

struct Origins {
    authority: Authority,
    tls: Origin,
    plain: Origin,
}

impl Origins {
    async fn start() -> Self {
        let authority = Authority::default();
        Origins {
            tls: Origin::tls(&authority, Alpn::H2).await,
            plain: Origin::plain().await,
            authority,
        }
    }

    fn gate(&self, policy: impl Into<String>) -> Tollgate {
        Setup::new(policy)
            .local_host()
            .host("other.example.test", "127.0.0.1")
            .trust(&self.authority)
            .start()
    }

    async fn play(&self, gate: &Tollgate) {
        for (method, target) in REQUESTS {
            for (via, origin) in [(Via::TlsH2, &self.tls), (Via::AbsoluteForm, &self.plain)] {
                let _ = gate.fetch(via, &Ask::get(origin.port(), target).method(method)).await;
            }
        }
        let other = Ask::get(self.plain.port(), "/hello").host("other.example.test");
        let _ = gate.fetch(Via::AbsoluteForm, &other).await;
        let rail = Ask::get(443, "/").host("facilitator.x402.org");
        let _ = gate.fetch(Via::AbsoluteForm, &rail).await;
        gate.audited(json!({ "host": "facilitator.x402.org" })).await;
    }
}

fn denials(gate: &Tollgate) -> Vec<Value> {
    let denied = |event: &Value| event["decision"] != "allow" && event["reason_code"] != "rail_destination";
    gate.audit_events().into_iter().filter(denied).collect()
}

fn audit_file(gate: &Tollgate) -> String {
    gate.dir().join("audit.jsonl").to_str().unwrap().to_owned()
}

/// An endpoint that lists the host and only audits: the start of learning.
fn audits(ports: &[u16]) -> String {
    let lines = &[
        "protocol: rest",
        "enforcement: audit",
        "rules: [ { allow: { method: GET, path: /nothing } } ]",
    ];
    policy::document(&[Entry {
        name: "learn",
        host: HOST,
        ports,
        lines,
    }])
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_traffic_passes_under_the_suggestion_and_its_neighbours_do_not() {
    let origins = Origins::start().await;
    let ports = [origins.plain.port(), origins.tls.port()];
    let dir = TempDir::new().unwrap();
    // With and without processes in the audit lines, in audit mode and enforced from the start, once more under a policy to join.
    let any = audits(&ports);
    let own = policy::for_binary(&any, &own_binary());
    for (first, joins) in [(any.clone(), false), (own.clone(), false), (own.clone(), true)] {
        let gate = origins.gate(first.clone());
        origins.play(&gate).await;
        assert!(!denials(&gate).is_empty(), "nothing to learn from");
        let (audit, standing) = (audit_file(&gate), write(&dir, "standing.yaml", &first));
        let mut arguments = vec!["suggest", audit.as_str()];
        if joins {
            arguments.extend(["--policy", &standing]);
        }
        let output = tollgate(dir.path(), &arguments).await;
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let suggestion = String::from_utf8(output.stdout).unwrap();
        assert!(
            !suggestion.contains("sk-secret") && !suggestion.contains("facilitator"),
            "{suggestion}"
        );
        assert!(suggestion.contains("rail_destination"), "{suggestion}");
        assert!(!suggestion.contains("HEAD"), "GET covers it: {suggestion}");
        assert!(
            suggestion.contains("/v1/items/*") && suggestion.contains("/repos/alpha"),
            "{suggestion}"
        );
        assert_eq!(suggestion.contains(&own_binary()), first == own, "{suggestion}");
        let checked = tollgate(dir.path(), &["check", &write(&dir, "suggested.yaml", &suggestion)]).await;
        assert_eq!(checked.status.code(), Some(0), "{suggestion}\n{checked:?}");

        let gate = origins.gate(suggestion.clone());
        origins.play(&gate).await;
        assert_eq!(denials(&gate), Vec::<Value>::new(), "{suggestion}");
        for (method, target) in [
            ("GET", "/v1/items"),
            ("DELETE", "/v1/items/8"),
            ("GET", "/repos/gamma"),
            ("GET", "/v1/items/1/2"),
            ("GET", "/odd/xy"),
        ] {
            let answer = gate.fetch(Via::TlsH2, &Ask::get(ports[1], target).method(method)).await;
            let event = gate.audited(json!({ "method": method, "path": target })).await;
            // Joined to endpoints that only audit, a neighbour is forwarded and said to be denied.
            let expected = if joins { ("would_deny", 200) } else { ("deny", 403) };
            let found = (event["decision"].as_str().unwrap(), answer.status);
            assert_eq!(found, expected, "{method} {target}: {answer:?}\n{suggestion}");
        }
        let output = tollgate(dir.path(), &["suggest", &audit, "--policy", &write(&dir, "s.yaml", &suggestion)]).await;
        assert!(output.status.success(), "{output:?}");
        let again = String::from_utf8(output.stdout).unwrap();
        assert!(
            again.starts_with(&suggestion),
            "what is allowed already is suggested again:\n{again}"
        );
        assert!(!again[suggestion.len()..].contains("endpoints"), "{again}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_connection_is_learned_and_narrows_at_the_next_run() {
    let origins = Origins::start().await;
    let dir = TempDir::new().unwrap();
    let port = origins.tls.port();
    let ask = Ask::get(port, "/v1/a");
    let mut policy = "version: 1\nnetwork_policies: {}\n".to_owned();
    let mut suggestions = Vec::new();
    for _ in 0..2 {
        let gate = origins.gate(policy.clone());
        let _ = gate.fetch(Via::TlsH2, &ask).await;
        gate.audited(json!({ "host": HOST })).await;
        tollgate_tests::eventually("the audit line of the answer", || {
            let events = gate.audit_events();
            (events.len() > 1 || events.iter().any(|event| event["decision"] == "deny")).then_some(())
        })
        .await;
        let output = tollgate(dir.path(), &["suggest", &audit_file(&gate)]).await;
        policy = String::from_utf8(output.stdout).unwrap();
        suggestions.push(policy.clone());
    }
    assert!(
        suggestions[0].contains("only the connection was seen") && !suggestions[0].contains("rules:"),
        "{}",
        suggestions[0]
    );
    assert!(
        suggestions[1].contains("path: /v1/a") && !suggestions[1].contains("only the connection"),
        "{}",
        suggestions[1]
    );
    let gate = origins.gate(policy);
    gate.fetch(Via::TlsH2, &ask).await.assert_allowed();
    gate.fetch(Via::TlsH2, &Ask::get(port, "/v1/b"))
        .await
        .assert_denied(403, "path_not_allowed");
}

#[tokio::test]
async fn broken_lines_end_it_or_are_passed_over_and_counted() {
    let dir = TempDir::new().unwrap();
    let good = json!({ "process": null, "adapter": "forward", "protocol": "http/1.1", "method": "GET", "host": "a.example.test",
        "port": 80, "path": "/a", "decision": "deny", "reason_code": "host_not_allowed" });
    let audit = write(&dir, "audit.jsonl", &format!("{good}\n{{\"message\":\"hello\"}}\n{good}\n{{\"adap"));
    let output = tollgate(dir.path(), &["suggest", &audit]).await;
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(2), true), "{output:?}");
    assert!(
        error.contains("audit.jsonl:2: error[broken-line]: ") && error.contains("--skip-broken"),
        "{error}"
    );

    let output = tollgate(dir.path(), &["suggest", "--skip-broken", &audit]).await;
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(
        error.contains("audit.jsonl:4: warning[broken-line]: the file ends within the line") && error.contains("2 lines"),
        "{error}"
    );
    assert!(String::from_utf8_lossy(&output.stdout).contains("from 2 audit lines"), "{output:?}");

    let missing = tollgate(dir.path(), &["suggest", "nowhere.jsonl"]).await;
    assert_eq!(missing.status.code(), Some(2), "{missing:?}");
}

/// A file that is as large as a log of weeks is read line by line.
#[tokio::test]
async fn a_large_file_takes_little_memory() {
    use std::io::Write as _;
    let dir = TempDir::new().unwrap();
    let audit = dir.path().join("audit.jsonl");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&audit).unwrap());
    for number in 0..150_000_u32 {
        writeln!(file, "{{\"process\":null,\"adapter\":\"forward\",\"protocol\":\"http/1.1\",\"method\":\"GET\",\"host\":\"a.example.test\",\"port\":80,\"path\":\"/items/{number}/{}\",\"decision\":\"allow\",\"reason_code\":null,\"padding\":\"{:0>400}\"}}", number % 7, "").unwrap();
    }
    drop(file);
    let bytes = std::fs::metadata(&audit).unwrap().len();
    // Of data; code and libraries are mapped as well.
    let limit_kib = 32 * 1024;
    assert!(bytes > 2 * limit_kib * 1024);
    let mut shell = std::process::Command::new("sh");
    tollgate_tests::real_clients::clean(&mut shell);
    shell
        .args(["-c", &format!("ulimit -d {limit_kib} && exec \"$0\" suggest \"$1\"")])
        .arg(tollgate_tests::tollgate::binary())
        .arg(&audit);
    let output = tollgate_tests::real_clients::run(shell).await;
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("/items/*/*"), "{output:?}");
}
