//! The other subcommands of the real binary: exit codes, and the documents that machines read.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod check;
mod diff;
mod schema;
mod suggest;

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};
use tempfile::TempDir;
use tollgate_tests::authority::{Alpn, Authority};
use tollgate_tests::origin::Origin;
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::real_clients::{clean, run};
use tollgate_tests::tollgate::{Setup, binary};

const BAD: &str = "version: 1\nnetwork_policies:\n  api:\n    endpoints:\n      - hosst: a.example.test\n        port: 443\n";

fn write(dir: &TempDir, name: &str, text: &str) -> String {
    let path = dir.path().join(name);
    std::fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

async fn tollgate(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(binary());
    clean(&mut command);
    command.current_dir(dir).args(arguments);
    run(command).await
}

fn document(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!(
            "not one JSON document ({error}): {text}\n{}",
            String::from_utf8_lossy(&output.stderr)
        )
    })
}

/// An operator's file that reaches loopback and leaves nothing behind.
fn config(dir: &TempDir, authority: Option<&Authority>) -> String {
    let mut config = json!({
        "tls": { "ca_dir": dir.path().join("ca") },
        "insecure": { "allow_loopback": true },
        "upstream": { "hosts": { HOST: ["127.0.0.1"] } },
        "audit": { "path": dir.path().join("audit.jsonl") },
    });
    if let Some(authority) = authority {
        config["tls"]["extra_upstream_roots"] = json!([write(dir, "origins.pem", &authority.pem())]);
    }
    write(dir, "tollgate.yaml", &config.to_string())
}

#[tokio::test]
async fn check_tells_clean_wrong_and_unusable_apart() {
    let dir = TempDir::new().unwrap();
    let good = write(&dir, "good.yaml", &policy::open(&[443]));
    let bad = write(&dir, "bad.yaml", BAD);
    for (arguments, code) in [
        (vec!["check", &good], 0),
        (vec!["check", &bad], 1),
        (vec!["check", &good, &bad], 1),
        (vec!["check", "nowhere.yaml"], 2),
    ] {
        let output = tollgate(dir.path(), &arguments).await;
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {output:?}");
    }
    let output = tollgate(dir.path(), &["check", &bad]).await;
    let text = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("bad.yaml:5:9: error[") && text.contains("hosst"), "{text}");

    let output = tollgate(dir.path(), &["check", &good, &bad, "--format", "json"]).await;
    assert_eq!(output.status.code(), Some(1));
    let found = document(&output);
    let files = found["files"].as_array().unwrap();
    assert_eq!(files.len(), 2, "{found}");
    let diagnostic = &files[1]["diagnostics"][0];
    for member in ["severity", "code", "line", "column", "message", "hint"] {
        assert!(diagnostic.get(member).is_some(), "{member} is missing in {diagnostic}");
    }
    assert_eq!(
        (&diagnostic["severity"], &diagnostic["line"]),
        (&json!("error"), &json!(5)),
        "{diagnostic}"
    );
}

#[tokio::test]
async fn check_warns_of_a_rail_that_a_policy_lists() {
    let dir = TempDir::new().unwrap();
    let rail = policy::open(&[443]).replace(HOST, "facilitator.x402.org");
    let output = tollgate(dir.path(), &["check", &write(&dir, "rail.yaml", &rail), "--format", "json"]).await;
    assert!(
        document(&output)["files"][0]["diagnostics"].to_string().contains("rail"),
        "{output:?}"
    );
}

#[tokio::test]
async fn explain_answers_as_a_denial_would() {
    let dir = TempDir::new().unwrap();
    let policy = write(
        &dir,
        "policy.yaml",
        &policy::ruled(&[443], &["rules:", "  - allow: { method: GET, path: \"/v1/**\" }"]),
    );
    let config = config(&dir, None);
    let url = |path: &str| format!("https://{HOST}{path}");
    for (method, url, decision, reason, code) in [
        ("GET", url("/v1/a"), "allow", Value::Null, 0),
        ("GET", url("/admin"), "deny", json!("path_not_allowed"), 1),
        ("POST", url("/v1/a"), "deny", json!("method_not_allowed"), 1),
        ("GET", "https://evil.example.test/".to_owned(), "deny", json!("host_not_allowed"), 1),
        ("GET", "https://x402.org/".to_owned(), "deny", json!("rail_destination"), 1),
    ] {
        let arguments = [
            "explain", "--policy", &policy, "--config", &config, method, &url, "--format", "json",
        ];
        let output = tollgate(dir.path(), &arguments).await;
        let found = document(&output);
        assert_eq!(
            (&found["decision"], &found["reason_code"]),
            (&json!(decision), &reason),
            "{method} {url}: {found}"
        );
        assert_eq!(output.status.code(), Some(code), "{method} {url}");
    }
    let bad = write(&dir, "bad.yaml", BAD);
    for arguments in [
        vec!["explain", "--policy", &bad, "GET", "https://a.example.test/"],
        vec!["explain", "--policy", &policy, "GET", "not a url"],
        vec!["explain", "--policy", "nowhere.yaml", "GET", "https://a.example.test/"],
    ] {
        assert_eq!(tollgate(dir.path(), &arguments).await.status.code(), Some(2), "{arguments:?}");
    }
}

#[tokio::test]
async fn env_names_what_clients_read() {
    let dir = TempDir::new().unwrap();
    let missing = tollgate(
        dir.path(),
        &["env", "--ca-dir", dir.path().to_str().unwrap(), "--proxy", "http://127.0.0.1:3128"],
    )
    .await;
    assert_eq!(missing.status.code(), Some(2), "variables that name no file: {missing:?}");

    let gate = Setup::new(policy::open(&[443])).start();
    let ca_dir = gate.ca.parent().unwrap().to_str().unwrap();
    let arguments = ["env", "--format", "json", "--ca-dir", ca_dir, "--proxy", "http://127.0.0.1:3128"];
    let output = tollgate(dir.path(), &arguments).await;
    let found = document(&output);
    let text = found.to_string();
    for name in [
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "https_proxy",
        "NO_PROXY",
        "SSL_CERT_FILE",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
        "GIT_SSL_CAINFO",
        "NODE_EXTRA_CA_CERTS",
    ] {
        assert!(text.contains(&format!("\"{name}\"")), "{name} is missing in {text}");
    }
    let output = tollgate(dir.path(), &[&arguments[..1], &["--format", "sh"], &arguments[3..]].concat()).await;
    let mut shell = Command::new("sh");
    clean(&mut shell);
    shell.args([
        "-c",
        &format!("{}\nprintf %s \"$HTTPS_PROXY\"", String::from_utf8_lossy(&output.stdout)),
    ]);
    assert_eq!(run(shell).await.stdout, b"http://127.0.0.1:3128");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn exec_gives_its_child_the_proxy_and_ends_with_its_code() {
    let authority = Authority::default();
    let origin = Origin::tls(&authority, Alpn::H2).await;
    let dir = TempDir::new().unwrap();
    let rules = ["rules:", "  - allow: { method: GET, path: \"/v1/**\" }"];
    let policy = write(&dir, "policy.yaml", &policy::ruled(&[origin.port()], &rules));
    let config = config(&dir, Some(&authority));
    let script = format!(
        "curl -sS https://{HOST}:{0}/v1/a && curl -sS -o /dev/null -w ' %{{http_code}}' https://{HOST}:{0}/admin; exit 7",
        origin.port()
    );
    let output = tollgate(
        dir.path(),
        &["exec", "--policy", &policy, "--config", &config, "--", "sh", "-c", &script],
    )
    .await;
    assert_eq!(output.status.code(), Some(7), "{output:?}");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "GET /v1/a 403",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(origin.requests().len(), 1);
    let audit = std::fs::read_to_string(dir.path().join("audit.jsonl")).unwrap();
    assert!(audit.contains("path_not_allowed"), "{audit}");

    let missing = tollgate(
        dir.path(),
        &["exec", "--policy", &policy, "--config", &config, "--", "/nowhere/program"],
    )
    .await;
    assert!(missing.status.code().is_some_and(|code| code != 0), "{missing:?}");
    let killed = tollgate(
        dir.path(),
        &["exec", "--policy", &policy, "--config", &config, "--", "sh", "-c", "kill -TERM $$"],
    )
    .await;
    assert_eq!(killed.status.code(), Some(143), "a child that a signal ended: {killed:?}");
}

#[tokio::test]
async fn exec_keeps_the_signers_secrets_from_its_child() {
    let dir = TempDir::new().unwrap();
    let policy = write(&dir, "policy.yaml", &policy::open(&[443]));
    let wallet = tollgate_tests::payment::Wallet::default();
    let signer = json!({ "wallet": wallet.address, "key_env": "PAYER_KEY" });
    let settings = json!({
        "tls": { "ca_dir": dir.path().join("ca") }, "audit": { "path": dir.path().join("audit.jsonl") }, "payments": { "signer": signer },
    });
    let config = write(&dir, "tollgate.yaml", &settings.to_string());
    let mut command = Command::new(binary());
    clean(&mut command);
    let arguments = ["exec", "--policy", &policy, "--config", &config, "--", "env"];
    command
        .current_dir(dir.path())
        .args(arguments)
        .env("PAYER_KEY", wallet.key_hex())
        .env("HARMLESS", "1");
    let output = run(command).await;
    let seen = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && seen.contains("HARMLESS=1"), "{output:?}");
    assert!(!seen.contains("PAYER_KEY"));
    let everything = format!("{seen}{}", String::from_utf8_lossy(&output.stderr));
    assert!(!everything.contains(&wallet.key_hex()[2..]));
}

#[tokio::test]
async fn the_demo_shows_every_outcome_and_is_quick() {
    let dir = TempDir::new().unwrap();
    let started = std::time::Instant::now();
    let output = tollgate(dir.path(), &["demo"]).await;
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    for reason in [
        "path_not_allowed",
        "host_not_allowed",
        "verdict_hold",
        "verdict_stop",
        "verdict_unavailable",
        "rail_destination",
    ] {
        assert!(text.contains(reason), "{reason} is not shown:\n{text}");
    }
    assert!(started.elapsed() < std::time::Duration::from_secs(15), "{:?}", started.elapsed());
}

#[tokio::test]
async fn usage_errors_end_with_2_and_say_why() {
    let dir = TempDir::new().unwrap();
    for arguments in [&["run"][..], &["frobnicate"], &["run", "--policy"], &["check"]] {
        let output = tollgate(dir.path(), arguments).await;
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(!output.stderr.is_empty(), "{arguments:?}");
    }
}
