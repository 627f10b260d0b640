//! Credentials on the wire: only the origin sees the secret, in the field, the path or the query; and it is the one that its source has now.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::within;
use tollgate_tests::world::World;

const SECRET: &str = "4711:sk_real";

async fn with(source: serde_json::Value, hosts: &[&str]) -> World {
    let mut credential = json!({ "placeholder": "KEY", "hosts": hosts });
    for (key, value) in source.as_object().unwrap() {
        credential[key] = value.clone();
    }
    World::start(policy::open, |setup| {
        setup.config(json!({ "credentials": [credential] })).env("REAL", SECRET)
    })
    .await
}

fn written(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
}

/// What the origin gets for the placeholder once that is `expected`.
async fn becomes(world: &World, expected: &str) {
    within("the origin gets the new secret", async {
        loop {
            let ask = Ask::get(world.port(Via::TlsH1), "/").header("X-Key", "openshell:resolve:env:KEY");
            world.gate.fetch(Via::TlsH1, &ask).await.assert_allowed();
            if world.origin(Via::TlsH1).last().header("x-key") == Some(expected) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_secret_in_the_target_reaches_the_origin_and_nothing_else() {
    let world = with(json!({ "from_env": "REAL" }), &[&format!("{HOST}/bot/**"), &format!("{HOST}/q")]).await;
    for via in Via::ALL {
        for (target, expected) in [
            ("/bot/openshell:resolve:env:KEY/send?a=%20b", format!("/bot/{SECRET}/send?a=%20b")),
            ("/bot/openshell%3Aresolve%3Aenv%3AKEY/x", format!("/bot/{SECRET}/x")),
            ("/q?key=openshell:resolve:env:KEY&b=1", "/q?key=4711%3Ask_real&b=1".to_owned()),
            ("/q?key=sk-OPENSHELL-RESOLVE-ENV-KEY-00", "/q?key=4711%3Ask_real".to_owned()),
        ] {
            world.get(via, target).await.assert_allowed();
            assert_eq!(world.origin(via).last().target, expected, "{via:?}");
        }
        let seen = world.origin(via).requests().len();
        world
            .get(via, "/other?key=openshell:resolve:env:KEY")
            .await
            .assert_denied(403, "credential_mismatch");
        world
            .get(via, "/bot/openshell:resolve:env:NONE/x")
            .await
            .assert_refused(&[500], "credential_unavailable");
        assert_eq!(world.origin(via).requests().len(), seen, "{via:?}");
    }
    let told = format!(
        "{}\n{:?}\n{}",
        world.gate.stderr(),
        world.gate.audit_events(),
        world.gate.metrics().await
    );
    assert!(!told.contains("4711") && told.contains("openshell:resolve:env:KEY"), "{told}");
}

#[tokio::test]
async fn a_file_that_is_exchanged_is_the_secret_from_then_on() {
    let folder = tempfile::tempdir().unwrap();
    let (path, next) = (folder.path().join("key"), folder.path().join("next"));
    written(&path, "first\n");
    let world = with(json!({ "from_file": path }), &[HOST]).await;
    becomes(&world, "first").await;
    written(&next, "second\n");
    fs::rename(&next, &path).unwrap();
    becomes(&world, "second").await;
    written(&path, "");
    let rejected = "tollgate_credential_reloads_total{result=\"rejected\"} 1";
    within("the failure is counted", async {
        while !world.gate.metrics().await.contains(rejected) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    becomes(&world, "second").await;
    assert!(!world.gate.stderr().contains("second"));
}

#[tokio::test]
async fn a_hang_up_runs_the_command_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("now");
    written(&path, "before");
    let world = with(json!({ "from_command": ["cat", path] }), &[HOST]).await;
    becomes(&world, "before").await;
    written(&path, "after");
    becomes(&world, "before").await;
    world.gate.signal(Signal::HUP);
    becomes(&world, "after").await;
}

#[tokio::test]
async fn a_source_without_a_secret_stops_the_start() {
    let credential = json!({ "placeholder": "KEY", "from_file": "/no/such/file", "hosts": [HOST] });
    let setup = tollgate_tests::tollgate::Setup::new(policy::open(&[80, 443])).config(json!({ "credentials": [credential] }));
    let why = setup.try_start().map(|_| ()).unwrap_err();
    assert!(
        why.contains("the credential `KEY` cannot be taken from the file /no/such/file"),
        "{why}"
    );
}
