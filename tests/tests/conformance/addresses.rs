//! The address guard: a listed name is not yet a reachable one.

use serde_json::json;
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::policy::{self, Entry, HOST};
use tollgate_tests::tollgate::{Setup, Tollgate};
use tollgate_tests::world::World;

const FULL: [&str; 3] = ["protocol: rest", "enforcement: enforce", "access: full"];

/// The reason that a GET over each cleartext way in is refused with; no dial may take place, so the answer has to be quick.
async fn reasons(gate: &Tollgate, host: &str, port: u16) -> Vec<String> {
    let mut reasons = Vec::new();
    for via in [Via::AbsoluteForm, Via::PlainTunnel] {
        let started = std::time::Instant::now();
        let answer = gate.fetch(via, &Ask::get(port, "/").host(host)).await;
        assert!(
            started.elapsed() < std::time::Duration::from_secs(1),
            "{host} took {:?}",
            started.elapsed()
        );
        if answer.reason().is_some_and(|reason| reason.starts_with("address_")) {
            assert_eq!(answer.json()["error"], "ssrf_denied");
            answer.assert_denied(403, answer.reason().unwrap());
        }
        reasons.push(answer.reason().unwrap_or("none").to_owned());
    }
    reasons
}

#[tokio::test]
async fn loopback_is_not_dialled_without_the_switch() {
    let world = World::start(policy::open, |setup| {
        setup.config(json!({ "insecure": { "allow_loopback": false } }))
    })
    .await;
    for via in Via::ALL {
        let answer = world.get(via, "/").await;
        let body = answer.assert_denied(403, "address_not_allowed");
        assert_eq!(body["error"], "ssrf_denied");
    }
    world.assert_untouched();
    world.gate.audited(json!({ "decision": "deny", "host": HOST })).await;
}

/// Never dialled, whatever the policy and the switch say.
const NEVER: &[&str] = &[
    "169.254.169.254",
    "169.254.1.1",
    "::ffff:169.254.169.254",
    "64:ff9b::a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    "fe80::1",
    "0.0.0.0",
    "::",
    "::ffff:0.0.0.0",
];

/// Loopback in other clothes: not without the switch.
const LOOPBACK: &[&str] = &[
    "127.0.0.1",
    "127.255.255.254",
    "::1",
    "::ffff:127.0.0.1",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "::127.0.0.1",
];

/// Not public: reachable by exact name only.
const PRIVATE: &[&str] = &[
    "10.0.0.1",
    "172.16.0.1",
    "172.31.255.254",
    "192.168.1.105",
    "100.64.0.1",
    "192.0.0.8",
    "192.0.2.1",
    "198.51.100.1",
    "203.0.113.1",
    "198.18.0.1",
    "255.255.255.255",
    "fc00::1",
    "::ffff:10.0.0.1",
    "::ffff:100.64.0.1",
    "64:ff9b::a00:1",
    "2002:a00:1::",
];

fn named(addresses: &[&str], allow_loopback: bool) -> Setup {
    let policy = policy::document(&[
        Entry {
            name: "exact",
            host: "exact.example.test",
            ports: &[80],
            lines: &FULL,
        },
        Entry {
            name: "wild",
            host: "*.wild.example.test",
            ports: &[80],
            lines: &FULL,
        },
    ]);
    let mut setup = Setup::new(policy).config(json!({ "insecure": { "allow_loopback": allow_loopback } }));
    for (number, address) in addresses.iter().enumerate() {
        setup = setup.host(&format!("n{number}.wild.example.test"), address);
    }
    setup.config(json!({ "upstream": { "connect_timeout": "200ms" } }))
}

#[tokio::test]
async fn metadata_link_local_and_unspecified_addresses_are_never_dialled() {
    let gate = named(NEVER, true).start();
    for (number, address) in NEVER.iter().enumerate() {
        for reason in reasons(&gate, &format!("n{number}.wild.example.test"), 80).await {
            assert_eq!(reason, "address_not_allowed", "{address}");
        }
    }
}

#[tokio::test]
async fn loopback_embedded_in_other_addresses_is_loopback() {
    let gate = named(LOOPBACK, false).start();
    for (number, address) in LOOPBACK.iter().enumerate() {
        for reason in reasons(&gate, &format!("n{number}.wild.example.test"), 80).await {
            assert_eq!(reason, "address_not_allowed", "{address}");
        }
    }
}

#[tokio::test]
async fn a_wildcard_does_not_reach_private_addresses() {
    let gate = named(PRIVATE, true).start();
    for (number, address) in PRIVATE.iter().enumerate() {
        for reason in reasons(&gate, &format!("n{number}.wild.example.test"), 80).await {
            let broadcast = *address == "255.255.255.255";
            let expected = if broadcast { "address_not_allowed" } else { "address_not_public" };
            assert_eq!(reason, expected, "{address}");
        }
    }
}

#[tokio::test]
async fn an_exact_name_reaches_a_private_address_but_no_metadata() {
    for (address, denied) in [("10.255.255.1", false), ("169.254.169.254", true), ("fe80::1", true)] {
        let setup = named(&[], true).host("exact.example.test", address);
        let gate = setup.start();
        let answer = gate.fetch(Via::AbsoluteForm, &Ask::get(80, "/").host("exact.example.test")).await;
        let refused = answer.reason().is_some_and(|reason| reason.starts_with("address_"));
        assert_eq!(refused, denied, "{address}: {answer:?}");
    }
}

#[tokio::test]
async fn one_forbidden_address_among_several_is_enough() {
    let gate = named(&[], true)
        .config(json!({ "upstream": { "hosts": { "mixed.wild.example.test": ["203.0.113.7", "10.0.0.1"] } } }))
        .start();
    for reason in reasons(&gate, "mixed.wild.example.test", 80).await {
        assert!(reason.starts_with("address_"), "{reason}");
    }
}

#[tokio::test]
async fn allowed_ips_narrow_and_widen() {
    let lines = [
        "protocol: rest",
        "enforcement: enforce",
        "access: full",
        "allowed_ips: [\"10.0.5.0/24\"]",
    ];
    let policy = policy::document(&[Entry {
        name: "wild",
        host: "*.wild.example.test",
        ports: &[80, 6443, 2379, 10250],
        lines: &lines,
    }]);
    let gate = Setup::new(policy)
        .host("in.wild.example.test", "10.0.5.20")
        .host("out.wild.example.test", "10.0.6.1")
        .config(json!({ "upstream": { "connect_timeout": "200ms" } }))
        .start();
    let inside = gate.fetch(Via::AbsoluteForm, &Ask::get(80, "/").host("in.wild.example.test")).await;
    // Some networks answer for such addresses; all that matters is that the guard let it pass.
    assert!(inside.reason().is_none_or(|reason| reason.starts_with("upstream_")), "{inside:?}");
    let outside = gate
        .fetch(Via::AbsoluteForm, &Ask::get(80, "/").host("out.wild.example.test"))
        .await;
    outside.assert_denied(403, "address_not_allowed");
    for port in [6443, 2379, 10250] {
        let answer = gate
            .fetch(Via::AbsoluteForm, &Ask::get(port, "/").host("in.wild.example.test"))
            .await;
        answer.assert_denied(403, "control_plane_port");
    }
}

#[tokio::test]
async fn a_policy_cannot_list_what_is_never_dialled() {
    for address in [
        "127.0.0.0/8",
        "127.0.0.1",
        "169.254.0.0/16",
        "169.254.169.254",
        "0.0.0.0",
        "0.0.0.0/0",
        "::/0",
        "not-an-ip",
    ] {
        let line = format!("allowed_ips: [\"{address}\"]");
        let lines = ["protocol: rest", "enforcement: enforce", "access: full", line.as_str()];
        let policy = policy::document(&[Entry {
            name: "api",
            host: HOST,
            ports: &[80],
            lines: &lines,
        }]);
        let setup = Setup::new(policy).config(json!({ "insecure": { "allow_loopback": false } }));
        let gate = setup.start();
        assert_eq!(gate.readyz().await.0, 503, "{address} was loaded");
        gate.fetch(Via::PlainTunnel, &Ask::get(80, "/"))
            .await
            .assert_denied(403, "no_policy");
        gate.logged("policy.yaml:").await;
    }
}

#[tokio::test]
async fn a_name_that_does_not_resolve_is_a_typed_answer() {
    let policy = policy::document(&[Entry {
        name: "none",
        host: "nowhere.invalid",
        ports: &[80],
        lines: &FULL,
    }]);
    let gate = Setup::new(policy).start();
    for via in [Via::AbsoluteForm, Via::PlainTunnel] {
        let answer = gate.fetch(via, &Ask::get(80, "/").host("nowhere.invalid")).await;
        answer.assert_refused(&[403, 502, 504], "name_not_resolved");
    }
}

/// C17.
#[tokio::test]
async fn the_address_that_was_checked_is_the_address_that_is_dialled() {
    // Two loopback addresses with one port: only the pinned one may see a connection.
    let world = World::start(policy::open, |setup| setup).await;
    let decoy =
        tollgate_tests::origin::Origin::start_at(&format!("127.0.0.2:{}", world.plain.port()), None, tollgate_tests::origin::standard)
            .await;
    world.get(Via::AbsoluteForm, "/").await.assert_allowed();
    decoy.assert_untouched();
    assert_eq!(world.plain.connections(), 1);
}
