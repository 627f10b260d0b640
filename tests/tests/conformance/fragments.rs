//! A policy of several files: joined at start, watched as one, and every finding names the right file.

use serde_json::Value;
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::policy::{self, Entry, HOST};
use tollgate_tests::world::World;

const LINES: &[&str] = &["protocol: rest", "enforcement: enforce", "access: full"];

fn entry<'a>(name: &'a str, ports: &'a [u16]) -> String {
    policy::document(&[Entry {
        name,
        host: HOST,
        ports,
        lines: LINES,
    }])
}

/// `policy.yaml` lists nothing; the cleartext origin is in a fragment.
async fn world() -> World {
    World::start(
        |_| policy::document(&[]),
        |setup| setup.fragment("10-other.yaml", entry("other", &[9])),
    )
    .await
}

#[tokio::test]
async fn rules_of_all_files_count_and_files_may_come_and_go() {
    let world = world().await;
    let folder = world.gate.dir().join("policy.d");
    world.get(Via::AbsoluteForm, "/").await.assert_denied(403, "port_not_allowed");

    let fragment = folder.join("20-plain.yaml");
    world
        .gate
        .reloaded_after(|| std::fs::write(&fragment, entry("plain", &[world.plain.port()])).unwrap())
        .await;
    world.get(Via::AbsoluteForm, "/").await.assert_allowed();

    // A file beside it that is no policy changes nothing.
    let generation = world.gate.metric("tollgate_policy_generation", &[]).await;
    std::fs::write(folder.join("README.md"), "notes").unwrap();
    std::fs::write(folder.join(".20-plain.yaml.swp"), "half").unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(800)).await;
    assert!((world.gate.metric("tollgate_policy_generation", &[]).await - generation).abs() < f64::EPSILON);

    world.gate.reloaded_after(|| std::fs::remove_file(&fragment).unwrap()).await;
    world.get(Via::AbsoluteForm, "/").await.assert_denied(403, "port_not_allowed");
    world.gate.reload(&entry("main", &[world.plain.port()])).await;
    world.get(Via::AbsoluteForm, "/").await.assert_allowed();
}

/// Where the rule is that a denial is about, without telling the sandbox where the host keeps its policies.
#[tokio::test]
async fn a_denial_names_the_file_of_its_remedy_and_no_folder_of_the_host() {
    let world = world().await;
    let fragment = world.gate.dir().join("policy.d/20-plain.yaml");
    let rules = policy::ruled(&[world.plain.port()], &["access: read-only"]);
    world.gate.reloaded_after(|| std::fs::write(&fragment, rules).unwrap()).await;
    let answer = world
        .gate
        .fetch(Via::AbsoluteForm, &Ask::get(world.plain.port(), "/").method("POST"))
        .await;
    answer.assert_denied(403, "method_not_allowed");
    let body = answer.json();
    let steps = body["next_steps"].to_string();
    assert!(steps.contains("(20-plain.yaml:5), write `rules` instead of `access`"), "{steps}");
    let folder = world.gate.dir().to_str().unwrap();
    assert!(
        !body.to_string().contains(folder) && !body.to_string().contains("policy.d"),
        "{body}"
    );
}

#[tokio::test]
async fn a_clash_keeps_the_last_good_policy_and_names_both_places() {
    let world = world().await;
    let clash = world.gate.dir().join("policy.d/20-clash.yaml");
    world
        .gate
        .reloaded_after(|| std::fs::write(&clash, entry("other", &[world.plain.port()])).unwrap())
        .await;
    world.get(Via::AbsoluteForm, "/").await.assert_denied(403, "port_not_allowed");
    let (status, document) = world.gate.readyz().await;
    assert_eq!(status, 200, "the last good policy serves on");
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["policy"]["generation"], 1);
    assert_eq!(document["policy"]["files"].as_array().unwrap().len(), 2);
    assert_eq!(document["last_reload"]["result"], "rejected");
    assert!(document["last_reload"]["time"].as_str().unwrap().ends_with('Z'));
    let findings = document["last_reload"]["diagnostics"].as_str().unwrap();
    assert!(
        findings.contains("20-clash.yaml:3:3: error[fragment-clash]") && findings.contains("10-other.yaml:3"),
        "{findings}"
    );
    assert!((world.gate.metric("tollgate_policy_reloads_total", &[("result", "rejected")]).await - 1.0).abs() < f64::EPSILON);
}

/// The words of a reload are those of `check`, whole.
#[tokio::test]
async fn a_reload_that_fails_says_all_that_check_says() {
    let world = world().await;
    let dir = world.gate.dir();
    let bad = "version: 1\nnetwork_policies:\n  api:\n    endpoints:\n      - { hosst: a.example.test, port: 443, protocol: htttp }\n    binaris: []\n";
    world.gate.reload(bad).await;
    let mut check = std::process::Command::new(tollgate_tests::tollgate::binary());
    check.arg("check");
    for path in ["policy.yaml", "policy.d"] {
        check.arg("--policy").arg(dir.join(path));
    }
    let checked = check.arg(dir.join("tollgate.yaml")).output().unwrap();
    assert_eq!(checked.status.code(), Some(1));
    let said = String::from_utf8(checked.stderr).unwrap();
    assert_eq!(said.matches(": error[").count(), 3, "{said}");
    let log = world.gate.logged("binaris").await;
    let (_, document) = world.gate.readyz().await;
    let document: Value = serde_json::from_str(&document).unwrap();
    let findings = document["last_reload"]["diagnostics"].as_str().unwrap();
    assert_eq!(findings.trim_end(), said.trim_end());
    assert!(log.contains(findings), "{log}");
}
