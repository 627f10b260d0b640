//! `tollgate check`: what people read, what machines read, and policies of several files.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use tollgate_tests::tollgate::binary;

use crate::{BAD, document, tollgate, write};

const GOOD: &str = "\
version: 1
network_policies:
  api:
    endpoints:
      - { host: api.example.test, port: 443, protocol: rest, enforcement: enforce, access: read-only }
    binaries: [ { path: \"/**\" } ]
";

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test]
async fn findings_show_the_line_the_part_and_a_hint() {
    let dir = TempDir::new().unwrap();
    write(&dir, "bad.yaml", BAD);
    let output = tollgate(dir.path(), &["check", "bad.yaml"]).await;
    let expected = "\
bad.yaml:5:9: error[unknown-key]: unknown key `hosst`
5 |       - hosst: a.example.test
  |         ^^^^^
hint: did you mean `host`?
";
    assert!(stderr(&output).starts_with(expected), "{}", stderr(&output));
    assert!(!stderr(&output).contains('\u{1b}'), "colour where there is no terminal");
}

/// `script` gives its command a terminal.
fn on_a_terminal(dir: &Path, variables: &[(&str, &str)]) -> String {
    let mut command = Command::new("script");
    command.args(["-qec", &format!("{} check bad.yaml", binary().display()), "/dev/null"]);
    command
        .env_remove("NO_COLOR")
        .env_remove("CI")
        .env("TERM", "xterm")
        .envs(variables.iter().copied());
    let output = command.current_dir(dir).stdin(Stdio::null()).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[tokio::test]
async fn colour_is_for_terminals_that_want_it() {
    let dir = TempDir::new().unwrap();
    write(&dir, "bad.yaml", BAD);
    let text = on_a_terminal(dir.path(), &[]);
    assert!(text.contains("\u{1b}[31merror[unknown-key]"), "{text:?}");
    for variable in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        // Build servers set `CI`, which is no wish for colour.
        for ci in [None, Some(("CI", "true"))] {
            let variables: Vec<_> = ci.into_iter().chain([variable]).collect();
            let text = on_a_terminal(dir.path(), &variables);
            assert!(
                text.contains("error[unknown-key]") && !text.contains('\u{1b}'),
                "{variables:?}: {text:?}"
            );
        }
    }
}

/// What the published schema of SARIF 2.1.0 requires of these objects, and the few closed sets that we use.
fn assert_sarif(log: &Value) {
    let required = |value: &Value, members: &[&str]| {
        for member in members {
            assert!(value.get(member).is_some(), "`{member}` is missing in {value}");
        }
    };
    required(log, &["version", "runs"]);
    assert_eq!(log["version"], "2.1.0");
    for run in log["runs"].as_array().unwrap() {
        required(run, &["tool"]);
        required(&run["tool"], &["driver"]);
        let driver = &run["tool"]["driver"];
        required(driver, &["name"]);
        assert!(["utf16CodeUnits", "unicodeCodePoints"].contains(&run["columnKind"].as_str().unwrap()));
        let rules = driver["rules"].as_array().unwrap();
        let mut ids = std::collections::BTreeSet::new();
        for rule in rules {
            required(rule, &["id"]);
            required(&rule["shortDescription"], &["text"]);
            assert!(ids.insert(rule["id"].as_str().unwrap()), "a rule twice: {rule}");
        }
        for result in run["results"].as_array().unwrap() {
            required(result, &["message"]);
            required(&result["message"], &["text"]);
            assert!(["none", "note", "warning", "error"].contains(&result["level"].as_str().unwrap()));
            let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(rules[index]["id"], result["ruleId"]);
            for location in result["locations"].as_array().unwrap() {
                let place = &location["physicalLocation"];
                let uri = place["artifactLocation"]["uri"].as_str().unwrap();
                assert!(!uri.contains(' '), "{uri} is no URI");
                for member in ["startLine", "startColumn", "endColumn"] {
                    assert!(place["region"][member].as_u64().unwrap() >= 1);
                }
                assert!(place["region"]["endColumn"].as_u64() > place["region"]["startColumn"].as_u64());
            }
        }
    }
}

#[tokio::test]
async fn sarif_is_what_code_hosts_take() {
    let dir = TempDir::new().unwrap();
    write(&dir, "bad policy.yaml", BAD);
    let absolute = write(&dir, "rail.yaml", &GOOD.replace("api.example.test", "facilitator.x402.org"));
    write(&dir, "tollgate.yaml", "limit: {}\n");
    write(&dir, "good.yaml", GOOD);
    let arguments = ["check", "bad policy.yaml", &absolute, "good.yaml", "--format", "sarif"];
    let output = tollgate(dir.path(), &arguments).await;
    assert_eq!(output.status.code(), Some(1));
    let log = document(&output);
    assert_sarif(&log);
    let results = log["runs"][0]["results"].as_array().unwrap();
    let place = |result: &Value| result["locations"][0]["physicalLocation"].clone();
    let of = |id: &str| {
        results
            .iter()
            .find(|result| result["ruleId"] == id)
            .unwrap_or_else(|| panic!("no {id} in {log:#}"))
    };
    let unknown = of("unknown-key");
    assert_eq!(unknown["level"], "error");
    assert_eq!(place(unknown)["artifactLocation"]["uri"], "bad%20policy.yaml");
    assert_eq!(
        place(unknown)["region"],
        json!({ "startLine": 5, "startColumn": 9, "endColumn": 14 })
    );
    assert_eq!(of("rail-listed")["level"], "warning");
    assert!(
        place(of("rail-listed"))["artifactLocation"]["uri"]
            .as_str()
            .unwrap()
            .starts_with("file:///")
    );

    let clean = tollgate(dir.path(), &["check", "good.yaml", "--format", "sarif"]).await;
    assert_eq!(clean.status.code(), Some(0));
    assert_sarif(&document(&clean));
    let operators = tollgate(dir.path(), &["check", "tollgate.yaml", "--format", "sarif"]).await;
    assert_sarif(&document(&operators));
    assert_eq!(document(&operators)["runs"][0]["results"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_folder_is_one_policy_and_a_clash_names_both_places() {
    let dir = TempDir::new().unwrap();
    std::fs::create_dir(dir.path().join("policy.d")).unwrap();
    write(&dir, "policy.d/10-base.yaml", GOOD);
    write(&dir, "policy.d/20-more.yaml", &GOOD.replace("  api:", "  other:"));
    let extra = write(&dir, "extra.yaml", &GOOD.replace("  api:", "  extra:"));
    for arguments in [&["check", "policy.d"][..], &["check", "--policy", "policy.d", "--policy", &extra]] {
        let output = tollgate(dir.path(), arguments).await;
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {output:?}");
    }
    // Each by itself is fine; joined, they are not.
    let base = "policy.d/10-base.yaml";
    let again = write(&dir, "again.yaml", GOOD);
    assert_eq!(tollgate(dir.path(), &["check", base, &again]).await.status.code(), Some(0));
    let arguments = ["check", "--policy", base, "--policy", "again.yaml", "--format", "json"];
    let output = tollgate(dir.path(), &arguments).await;
    assert_eq!(output.status.code(), Some(1));
    let found = document(&output);
    assert_eq!(found["files"][0]["diagnostics"], json!([]));
    assert_eq!(found["files"][1]["file"], "again.yaml");
    let clash = &found["files"][1]["diagnostics"][0];
    assert_eq!((&clash["code"], &clash["line"]), (&json!("fragment-clash"), &json!(3)));
    assert!(clash["message"].as_str().unwrap().contains("policy.d/10-base.yaml:3"), "{clash}");

    std::fs::create_dir(dir.path().join("empty")).unwrap();
    let output = tollgate(dir.path(), &["check", "empty"]).await;
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("no *.yaml"), "{output:?}");
}

#[tokio::test]
async fn explain_joins_files_and_names_the_one_that_decides() {
    let dir = TempDir::new().unwrap();
    write(&dir, "a.yaml", GOOD);
    write(
        &dir,
        "b.yaml",
        &GOOD
            .replace("  api:", "\n  other:")
            .replace("api.example.test", "other.example.test"),
    );
    let url = "https://other.example.test/x";
    let documents = ["--policy", "a.yaml", "--policy", "b.yaml"];
    let output = tollgate(dir.path(), &[&["explain"][..], &documents, &["GET", url]].concat()).await;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("b.yaml:6: policy 'other'"), "{text}");
    let output = tollgate(
        dir.path(),
        &[&["explain"][..], &documents, &["GET", url, "--format", "json"]].concat(),
    )
    .await;
    let trace = document(&output)["trace"].clone();
    assert_eq!(trace["files"], json!(["a.yaml", "b.yaml"]));
    assert_eq!(
        trace["policy"]["candidates"][0]["at"],
        json!({ "source": 1, "line": 6, "column": 9 })
    );
}

#[tokio::test]
async fn a_binary_that_is_a_link_here_is_pointed_out() {
    let dir = TempDir::new().unwrap();
    let file = write(&dir, "python3.13", "");
    let link = dir.path().join("python3");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    for (path, expected) in [(link.to_str().unwrap(), json!(["binary-is-link"])), (file.as_str(), json!([]))] {
        let policy = write(&dir, "policy.yaml", &GOOD.replace("/**", path));
        let output = tollgate(dir.path(), &["check", &policy, "--format", "json"]).await;
        let found = document(&output);
        let diagnostics = found["files"][0]["diagnostics"].as_array().unwrap();
        let codes: Vec<&Value> = diagnostics.iter().map(|diagnostic| &diagnostic["code"]).collect();
        assert_eq!(json!(codes), expected, "{found}");
        assert_eq!(output.status.code(), Some(0));
    }
}

#[tokio::test]
async fn bytes_that_are_no_text_have_a_place() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("latin.yaml");
    std::fs::write(&path, b"version: 1\nnetwork_policies: {} # caf\xe9\n").unwrap();
    let output = tollgate(dir.path(), &["check", "latin.yaml"]).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).starts_with("latin.yaml:2:27: error[not-unicode]"),
        "{}",
        stderr(&output)
    );
}

#[tokio::test]
async fn effective_shows_the_policy_that_the_gate_has_and_what_holds_besides() {
    let dir = TempDir::new().unwrap();
    write(&dir, "a.yaml", GOOD);
    write(&dir, "b.yaml", &GOOD.replace("  api:", "  other:"));
    write(
        &dir,
        "tollgate.yaml",
        "rails: { hosts: [pay.example.test] }\npayments: { max_amount: \"0.50\" }\n",
    );
    let arguments = ["check", "tollgate.yaml", "--policy", "a.yaml", "--policy", "b.yaml", "--effective"];
    let output = tollgate(dir.path(), &arguments).await;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (policy, besides) = text.split_once("---\n").unwrap();
    for (line, origin) in [
        ("  other:", "b.yaml:3"),
        ("tls: \"\"", "default"),
        ("- allow: { method: HEAD, path: \"**\" }", "access: read-only, a.yaml:5"),
    ] {
        let shown = policy
            .lines()
            .any(|shown| shown.contains(line) && shown.ends_with(&format!("# {origin}")));
        assert!(shown, "{line} # {origin} is not in\n{policy}");
    }
    for (line, origin) in [
        ("- facilitator.x402.org", "built in: a facilitator"),
        ("- pay.example.test", "tollgate.yaml"),
        ("max_amount: \"0.50\"", "tollgate.yaml"),
        ("clock_skew: 10s", "default"),
    ] {
        let shown = besides
            .lines()
            .any(|shown| shown.contains(line) && shown.contains(&format!("# {origin}")));
        assert!(shown, "{line} # {origin} is not in\n{besides}");
    }
    // Read back, it is a policy like any other.
    write(&dir, "effective.yaml", policy);
    let output = tollgate(dir.path(), &["check", "effective.yaml"]).await;
    assert_eq!(output.status.code(), Some(0), "{output:?}");

    write(&dir, "bad.yaml", BAD);
    let output = tollgate(dir.path(), &["check", "bad.yaml", "--effective"]).await;
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty() && stderr(&output).contains("hosst"), "{output:?}");
}

#[tokio::test]
async fn exec_joins_files_as_run_does() {
    let dir = TempDir::new().unwrap();
    write(&dir, "a.yaml", GOOD);
    let config = crate::config(&dir, None);
    let files = ["--policy", "a.yaml", "--policy", "a.yaml"];
    let run = ["exec", "--config", &config];
    let output = tollgate(dir.path(), &[&run[..], &files, &["--", "true"]].concat()).await;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(stderr(&output).contains("error[fragment-clash]"), "{output:?}");
}
