//! Files that fail: no room for audit lines, no folder for the CA, a policy that is replaced in every way there is, or halfway.

use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::payment::{self, Terms, Wallet, encode};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::tollgate::Setup;
use tollgate_tests::verdict_peer::{Says, VerdictPeer};
use tollgate_tests::world::World;

#[tokio::test]
async fn a_disk_that_is_full_lets_nothing_out_unwritten_and_no_line_is_lost() {
    let peer = VerdictPeer::says(Says::Go).await;
    let settings = peer.settings();
    let world = World::start(policy::open, |setup| {
        let limits = json!({ "limits": { "audit_unwritten": "8KiB" } });
        setup.config(payment::settings()).config(settings).config(limits).file_limit()
    })
    .await;
    world.get(Via::TlsH1, "/before").await.assert_allowed();
    world.gate.audited(json!({ "path": "/before" })).await;
    world.gate.largest_file(Some(1));

    let mut passed = 0;
    let refused = loop {
        let answer = world.get(Via::AbsoluteForm, "/meanwhile").await;
        if answer.status != 200 {
            break answer;
        }
        passed += 1;
        assert!(passed < 100, "it lets out what it cannot write down");
    };
    refused.assert_denied(503, "over_capacity");
    assert_eq!(world.plain.requests().len(), passed);
    let payment = Wallet::default().v2(&format!("https://{HOST}:{}/paid", world.tls.port()), &Terms::default());
    let paying = Ask::get(world.tls.port(), "/paid").header("PAYMENT-SIGNATURE", encode(&payment));
    world.gate.fetch(Via::TlsH1, &paying).await.assert_denied(503, "over_capacity");
    assert!(world.tls.requests().iter().all(|seen| seen.target == "/before"));

    let (status, document) = world.gate.readyz().await;
    let document: Value = serde_json::from_str(&document).unwrap();
    assert_eq!((status, &document["reasons"]), (503, &json!(["audit_unwritable"])), "{document}");
    assert!(world.gate.metric("tollgate_audit_ready", &[]).await < 0.5);
    assert!(world.gate.metric("tollgate_audit_write_errors_total", &[]).await >= 1.0);

    world.gate.largest_file(None);
    let end = Instant::now() + Duration::from_secs(10);
    while world.gate.readyz().await.0 != 200 {
        assert!(Instant::now() < end, "{:?}", world.gate.readyz().await);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    world.get(Via::AbsoluteForm, "/after").await.assert_allowed();
    world.gate.audited(json!({ "path": "/after" })).await;
    let lines = world.gate.audit_events();
    let meanwhile = |decision: &str| {
        lines
            .iter()
            .filter(|line| line["path"] == "/meanwhile" && line["decision"] == decision)
            .count()
    };
    assert_eq!((meanwhile("allow"), meanwhile("deny")), (passed, 1));
}

#[tokio::test]
async fn an_audit_trail_or_ca_that_cannot_be_written_is_an_error_at_the_start() {
    for (settings, expected) in [
        (json!({ "tls": { "ca_dir": "/proc/tollgate" } }), "/proc/tollgate"),
        (json!({ "tls": { "ca_dir": "/dev/null" } }), "/dev/null"),
        (json!({ "audit": { "path": "/proc/tollgate.jsonl" } }), "/proc/tollgate.jsonl"),
        (json!({ "audit": { "path": "/" } }), "audit"),
    ] {
        let started = Setup::new(policy::open(&[1])).config(settings.clone()).try_start();
        let why = started.err().unwrap_or_else(|| panic!("it starts with {settings}"));
        assert!(why.contains(expected) && !why.contains("panicked"), "{settings}: {why}");
    }
}

/// Kubernetes mounts a ConfigMap as links to a folder that a link points to.
#[tokio::test]
async fn a_policy_behind_a_link_is_taken_when_the_link_is_moved() {
    let world = World::open().await;
    let ports = [world.plain.port(), world.tls.port()];
    let dir = world.gate.dir();
    for (name, text) in [("..one", policy::document(&[])), ("..two", policy::open(&ports))] {
        std::fs::create_dir(dir.join(name)).unwrap();
        std::fs::write(dir.join(name).join("policy.yaml"), text).unwrap();
    }
    let point_to = |target: &str, link: &str| {
        symlink(target, dir.join("..new")).unwrap();
        std::fs::rename(dir.join("..new"), dir.join(link)).unwrap();
    };
    point_to("..one", "..data");
    world.gate.reloaded_after(|| point_to("..data/policy.yaml", "policy.yaml")).await;
    world.get(Via::TlsH1, "/").await.assert_denied(403, "no_policy");
    world.gate.reloaded_after(|| point_to("..two", "..data")).await;
    world.get(Via::TlsH1, "/").await.assert_allowed();
    // A link to nowhere is no policy, and takes nothing away.
    world.gate.reloaded_after(|| point_to("..gone", "..data")).await;
    world.get(Via::TlsH1, "/").await.assert_allowed();
    let (_, document) = world.gate.readyz().await;
    assert!(document.contains("rejected"), "{document}");
}

#[tokio::test]
async fn a_policy_that_is_cut_short_or_emptied_opens_nothing() {
    let deny = ["access: full", "deny_rules: [ { method: \"*\", path: \"/secret\" } ]"];
    let world = World::start(|ports| policy::ruled(ports, &deny), |setup| setup).await;
    let whole = policy::ruled(&[world.plain.port(), world.tls.port()], &deny);
    let file = world.gate.dir().join("policy.yaml");
    for cut in [whole.len() * 9 / 10, whole.len() / 2, 20] {
        world.gate.reloaded_after(|| std::fs::write(&file, &whole[..cut]).unwrap()).await;
        world.get(Via::TlsH1, "/secret").await.assert_denied(403, "denied_by_rule");
        world.get(Via::TlsH1, "/").await.assert_allowed();
    }
    for empty in ["", "\n", "---\n", "null\n"] {
        world.gate.reloaded_after(|| std::fs::write(&file, empty).unwrap()).await;
        assert_ne!(world.get(Via::TlsH1, "/secret").await.status, 200, "{empty:?}");
    }
    world.gate.reloaded_after(|| std::fs::remove_file(&file).unwrap()).await;
    assert_ne!(world.get(Via::TlsH1, "/secret").await.status, 200);
    world.gate.reload(&whole).await;
    world.get(Via::TlsH1, "/").await.assert_allowed();
    world.tls.requests().iter().for_each(|seen| assert_ne!(seen.target, "/secret"));
}

/// Without its last lines a policy may allow more. Written in pieces, it is read when it has rested.
#[tokio::test]
async fn a_policy_that_is_being_written_is_not_read_halfway() {
    let world = World::open().await;
    let ports = [world.plain.port(), world.tls.port()];
    let whole = policy::ruled(&ports, &["access: full", "deny_rules: [ { method: \"*\", path: \"/secret\" } ]"]);
    world.gate.reload(&whole).await;
    world.get(Via::TlsH1, "/secret").await.assert_denied(403, "denied_by_rule");
    let file = world.gate.dir().join("policy.yaml");
    // Valid without the line on what is denied.
    let valid = whole.replace("        deny_rules: [ { method: \"*\", path: \"/secret\" } ]\n", "");
    assert!(valid.len() < whole.len());
    let mut judged = 0;
    for _ in 0..20 {
        let mut paused = Instant::now();
        let mut longest = Duration::ZERO;
        for text in [
            valid.as_str(),
            &format!("{valid}# more\n"),
            &format!("{valid}# more to come\n"),
            whole.as_str(),
        ] {
            longest = longest.max(paused.elapsed());
            std::fs::write(&file, text).unwrap();
            paused = Instant::now();
            let answer = world.get(Via::TlsH1, "/secret").await;
            tokio::time::sleep(Duration::from_millis(60)).await;
            // A machine that was too slow to write in time has shown nothing.
            if longest.max(paused.elapsed()) < Duration::from_millis(190) {
                answer.assert_denied(403, "denied_by_rule");
                judged += 1;
            }
        }
        tokio::time::sleep(Duration::from_millis(450)).await;
        if judged >= 12 {
            return;
        }
    }
    panic!("the machine is too slow to tell: {judged} answers");
}
