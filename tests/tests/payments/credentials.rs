//! Credentials are attached last: after every rule, and to their own hosts only.

use serde_json::json;
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::payment;
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::verdict_peer::{Says, VerdictPeer};
use tollgate_tests::world::World;

use super::paying;

const SECRET: &str = "sk-real-7f3a9c";
const PLACEHOLDER: &str = "openshell:resolve:env:API_KEY";
const OTHER: &str = "other.example.test";

async fn with_credential(says: Says) -> (World, VerdictPeer) {
    with_secret(says, SECRET).await
}

async fn with_secret(says: Says, secret: &str) -> (World, VerdictPeer) {
    let peer = VerdictPeer::says(says).await;
    let settings = peer.settings();
    let world = World::start(
        |ports| policy::open_with(OTHER, ports),
        |setup| {
            setup
                .host(OTHER, "127.0.0.1")
                .config(payment::settings())
                .config(settings)
                .config(json!({ "credentials": [{ "placeholder": "API_KEY", "from_env": "REAL_API_KEY", "hosts": [HOST] }] }))
                .env("REAL_API_KEY", secret)
        },
    )
    .await;
    (world, peer)
}

#[tokio::test]
async fn a_placeholder_is_replaced_on_its_own_host() {
    let (world, _peer) = with_credential(Says::Go).await;
    for via in Via::ALL {
        let ask = Ask::get(world.port(via), "/v1")
            .header("Authorization", format!("Bearer {PLACEHOLDER}"))
            .header("X-Api-Key", PLACEHOLDER);
        world.gate.fetch(via, &ask).await.assert_allowed();
        let seen = world.origin(via).last();
        assert_eq!(seen.header("authorization"), Some(format!("Bearer {SECRET}").as_str()), "{via:?}");
        assert_eq!(seen.header("x-api-key"), Some(SECRET), "{via:?}");
    }
}

#[tokio::test]
async fn a_placeholder_for_another_host_is_refused_and_nothing_leaves() {
    let (world, _peer) = with_credential(Says::Go).await;
    for via in [Via::AbsoluteForm, Via::PlainTunnel] {
        let ask = Ask::get(world.port(via), "/v1")
            .host(OTHER)
            .header("Authorization", format!("Bearer {PLACEHOLDER}"));
        world.gate.fetch(via, &ask).await.assert_denied(403, "credential_mismatch");
        let unknown = Ask::get(world.port(via), "/v1").header("Authorization", "Bearer openshell:resolve:env:NOPE");
        world
            .gate
            .fetch(via, &unknown)
            .await
            .assert_refused(&[403, 500, 503], "credential_unavailable");
    }
    world.plain.assert_no_request();
}

#[tokio::test]
async fn a_refused_payment_resolves_no_credential() {
    let (world, _peer) = with_credential(Says::Stop).await;
    for via in Via::ALL {
        let ask = paying(&world, via).header("Authorization", format!("Bearer {PLACEHOLDER}"));
        let answer = world.gate.fetch(via, &ask).await;
        answer.assert_denied(403, "verdict_stop");
        // The placeholder of another host would be refused by name, had the credentials' turn come.
        let ask = paying(&world, via).header("Authorization", "Bearer openshell:resolve:env:NOPE");
        world.gate.fetch(via, &ask).await.assert_denied(403, "verdict_stop");
    }
    world.assert_untouched();
    let everything = format!(
        "{}\n{:?}\n{}",
        world.gate.stderr(),
        world.gate.audit_events(),
        world.gate.metrics().await
    );
    assert!(!everything.contains(SECRET));
}

#[tokio::test]
async fn a_payment_that_a_secret_completes_does_not_leave() {
    let header = payment::encode(&payment::Wallet::default().v2("http://api.example.test/v1", &payment::Terms::default()));
    let (left, right) = header.split_at(header.len() / 2);
    let (world, peer) = with_secret(Says::Go, right).await;
    for via in Via::ALL {
        let ask = Ask::get(world.port(via), "/v1").header("Foo", format!("{left}{PLACEHOLDER}"));
        world.gate.fetch(via, &ask).await.assert_refused(&[403], "payment_malformed");
        let target = format!("/v1?p={left}{PLACEHOLDER}");
        world.get(via, &target).await.assert_refused(&[403], "payment_malformed");
    }
    world.assert_untouched();
    drop(peer);
}
