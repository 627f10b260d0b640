//! The `tollgate/x402` stanza of policy.yaml.

use tollgate_tests::client::{Ask, Via};
use tollgate_tests::payment::{self, Terms, Wallet, encode};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::tollgate::Setup;
use tollgate_tests::verdict_peer::{Says, VerdictPeer};
use tollgate_tests::world::World;

use super::{paying, url};

fn stanza(lines: &str, endpoints: &str) -> String {
    format!(
        "network_middlewares:\n  payments:\n    middleware: tollgate/x402\n    order: 10\n    on_error: fail_closed\n    config: {lines}\n    endpoints: {endpoints}\n"
    )
}

async fn world(stanza: String) -> (World, VerdictPeer) {
    let peer = VerdictPeer::says(Says::Go).await;
    let settings = peer.settings();
    let world = World::start(
        |ports| policy::open(ports) + &stanza,
        |setup| setup.config(payment::settings()).config(settings),
    )
    .await;
    (world, peer)
}

/// F13.
#[tokio::test]
async fn a_host_that_the_stanza_excludes_gets_no_payment_at_all() {
    let (world, peer) = world(stanza("{}", &format!("{{ include: [\"**\"], exclude: [\"{HOST}\"] }}"))).await;
    for via in Via::ALL {
        let answer = world.gate.fetch(via, &paying(&world, via)).await;
        assert!(answer.reason().is_some_and(|reason| reason.starts_with("payment_")), "{answer:?}");
        assert_eq!(answer.status, 403);
    }
    world.assert_untouched();
    assert!(peer.questions().is_empty());
    world.get(Via::TlsH1, "/free").await.assert_allowed();
}

#[tokio::test]
async fn the_authors_limit_can_only_narrow_the_operators() {
    for (limit, reason) in [("0.005", Some("payment_over_limit")), ("0.01", None), ("100.00", None)] {
        let (world, _peer) = world(stanza(&format!("{{ max_amount: \"{limit}\" }}"), "{ include: [\"**\"] }")).await;
        let answer = world.gate.fetch(Via::TlsH1, &paying(&world, Via::TlsH1)).await;
        assert_eq!(answer.reason(), reason, "{limit}");
        let dear = Wallet::default().v2(
            &url(&world, Via::TlsH1),
            &Terms {
                value: "2000000".into(),
                ..Terms::default()
            },
        );
        let ask = Ask::get(world.tls.port(), "/paid").header("PAYMENT-SIGNATURE", encode(&dear));
        world.gate.fetch(Via::TlsH1, &ask).await.assert_denied(403, "payment_over_limit");
    }
}

#[tokio::test]
async fn a_pinned_price_has_to_be_met_whole() {
    let world = {
        let peer = VerdictPeer::says(Says::Go).await;
        let settings = peer.settings();
        let world = World::start(
            |ports| {
                let url = format!("https://{HOST}:{}/paid", ports[1]);
                let pin = format!(
                    "{{ pins: [{{ method: GET, url: \"{url}\", payTo: \"{}\", amount: \"0.01\" }}] }}",
                    payment::PAYEE
                );
                policy::open(ports) + &stanza(&pin, "{ include: [\"**\"] }")
            },
            |setup| setup.config(payment::settings()).config(settings),
        )
        .await;
        (world, peer)
    };
    let (world, _peer) = world;
    let via = Via::TlsH1;
    world.gate.fetch(via, &paying(&world, via)).await.assert_allowed();
    for terms in [
        Terms {
            value: "9999".into(),
            ..Terms::default()
        },
        Terms::to("0x1111111111111111111111111111111111111111"),
    ] {
        let payment = Wallet::default().v2(&url(&world, via), &terms);
        let ask = Ask::get(world.tls.port(), "/paid").header("PAYMENT-SIGNATURE", encode(&payment));
        let answer = world.gate.fetch(via, &ask).await;
        assert!(answer.reason().is_some_and(|reason| reason.starts_with("payment_")), "{answer:?}");
    }
    assert_eq!(world.tls.requests().len(), 1);
}

#[tokio::test]
async fn enforcement_audit_does_not_soften_the_payment_rule() {
    let peer = VerdictPeer::says(Says::Stop).await;
    let settings = peer.settings();
    let lines = ["protocol: rest", "enforcement: audit", "access: full"];
    let document = |ports: &[u16]| {
        policy::document(&[policy::Entry {
            name: "api",
            host: HOST,
            ports,
            lines: &lines,
        }])
    };
    let world = World::start(document, |setup| setup.config(payment::settings()).config(settings)).await;
    for via in Via::ALL {
        world.gate.fetch(via, &paying(&world, via)).await.assert_denied(403, "verdict_stop");
    }
    world.assert_untouched();
}

#[tokio::test]
async fn stanzas_that_would_open_a_hole_do_not_load() {
    let skip = policy::document(&[policy::Entry {
        name: "raw",
        host: HOST,
        ports: &[443],
        lines: &["tls: skip"],
    }]);
    let open = policy::open(&[443]);
    let everywhere = "{ include: [\"**\"] }";
    let fail_open = stanza("{}", everywhere).replace("fail_closed", "fail_open");
    let more: Vec<String> = (2..=11)
        .map(|n| format!("  more{n}:\n    middleware: tollgate/x402\n    order: {n}00\n    endpoints: {everywhere}\n"))
        .collect();
    let eleven = stanza("{}", everywhere) + &more.concat();
    let table = [
        ("tls: skip under the stanza", skip.clone() + &stanza("{}", everywhere)),
        ("fail_open", open.clone() + &fail_open),
        ("an unknown member", open.clone() + &stanza("{ max_amuont: \"1\" }", everywhere)),
        ("a number as money", open.clone() + &stanza("{ max_amount: 1.5 }", everywhere)),
        ("no endpoints", open.clone() + &stanza("{}", "{ include: [] }")),
        (
            "F11: a middleware that nobody knows",
            open.clone() + &stanza("{}", everywhere).replace("tollgate/x402", "acme/gate"),
        ),
        ("F10: eleven of them", open.clone() + &eleven),
    ];
    for (name, policy) in table {
        let gate = Setup::new(policy).local_host().config(payment::settings()).start();
        assert_eq!(gate.readyz().await.0, 503, "{name} was loaded");
        gate.fetch(Via::PlainTunnel, &Ask::get(443, "/"))
            .await
            .assert_denied(403, "no_policy");
        let why = gate.logged("policy.yaml:").await;
        assert!(why.contains("error"), "{name}: {why}");
    }
}
