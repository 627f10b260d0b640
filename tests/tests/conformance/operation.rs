//! What operators see and do: health, readiness, metrics, start-up errors, graceful end.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::tollgate::Setup;
use tollgate_tests::world::World;

#[tokio::test]
async fn health_and_readiness_answer_and_name_the_addresses() {
    let world = World::open().await;
    assert_eq!(world.gate.admin("/healthz").await.status, 200);
    let (status, document) = world.gate.readyz().await;
    assert_eq!(status, 200, "{document}");
    assert!(
        document.contains(&world.gate.proxy.to_string()) && document.contains(&world.gate.admin.to_string()),
        "{document}"
    );
    assert_eq!(world.gate.admin("/nothing-here").await.status, 404);
}

#[tokio::test]
async fn the_admin_listener_is_no_proxy() {
    let world = World::open().await;
    let mut connection = tollgate_tests::wire::H1::dial(world.gate.admin).await;
    let answer = connection.request(Ask::get(world.plain.port(), "/").h1(Via::AbsoluteForm)).await;
    assert!(answer.status >= 400, "{answer:?}");
    world.assert_untouched();
}

#[tokio::test]
async fn every_decision_is_counted_once() {
    let world = World::start(|ports| policy::ruled(ports, &["access: read-only"]), |setup| setup).await;
    for via in Via::ALL {
        world.get(via, "/").await.assert_allowed();
        world
            .gate
            .fetch(via, &Ask::get(world.port(via), "/").method("POST"))
            .await
            .assert_denied(403, "method_not_allowed");
    }
    let gate = &world.gate;
    let denied = gate
        .metric(
            "tollgate_requests_total",
            &[("decision", "deny"), ("reason_code", "method_not_allowed")],
        )
        .await;
    assert!((denied - 4.0).abs() < f64::EPSILON, "{denied}\n{}", gate.metrics().await);
    let allowed = gate
        .metric("tollgate_requests_total", &[("decision", "allow"), ("adapter", "forward")])
        .await;
    assert!((allowed - 1.0).abs() < f64::EPSILON, "{allowed}");
    let text = gate.metrics().await;
    for name in [
        "tollgate_request_duration_seconds_bucket",
        "tollgate_overhead_seconds_bucket",
        "tollgate_connections_total",
        "tollgate_connections_active",
        "tollgate_policy_generation",
        "tollgate_policy_loaded_timestamp_seconds",
        "tollgate_certificates_minted_total",
        "tollgate_certificate_cache_entries",
        "tollgate_build_info",
    ] {
        assert!(text.contains(name), "{name} is missing in\n{text}");
    }
    assert!(!text.contains(HOST), "a label holds a client's word:\n{text}");
}

#[tokio::test]
async fn audit_lines_follow_the_published_members() {
    let own = |ports: &[u16]| policy::for_binary(&policy::open(ports), &policy::own_binary());
    let world = World::start(own, |setup| setup).await;
    world.get(Via::TlsH2, "/x?q=1").await.assert_allowed();
    let event = world
        .gate
        .audited(json!({ "decision": "allow", "host": HOST, "adapter": "tunnel" }))
        .await;
    for member in [
        "time",
        "request_id",
        "connection",
        "process",
        "adapter",
        "protocol",
        "method",
        "scheme",
        "host",
        "port",
        "path",
        "decision",
        "policy",
        "status",
    ] {
        assert!(
            event.get(member).is_some_and(|value| !value.is_null()),
            "{member} is missing in {event}"
        );
    }
    assert_eq!(event["scheme"], "https");
    assert!(event["process"]["pid"].as_u64() == Some(u64::from(std::process::id())), "{event}");
}

#[tokio::test]
async fn a_policy_that_cannot_be_read_denies_everything_and_says_where_it_is_wrong() {
    for (policy, hint) in [
        (
            "version: 1\nnetwork_policies:\n  api:\n    endpoints:\n      - hosst: a.example.test\n        port: 443\n",
            "hosst",
        ),
        (
            "version: 1\nnetwork_policies:\n  api:\n    endpoints:\n      - host: \"*.test\"\n        port: 443\n",
            "*.test",
        ),
        ("version: 1\nnetwork_policies:\n  a: {}\n  a: {}\n", "a"),
        ("version: 1\nnetwork_policies: [\n", "policy.yaml"),
    ] {
        let gate = Setup::new(policy).local_host().start();
        assert_eq!(gate.readyz().await.0, 503, "loaded: {policy}");
        gate.fetch(Via::PlainTunnel, &Ask::get(443, "/"))
            .await
            .assert_denied(403, "no_policy");
        let why = gate.logged("policy.yaml:").await;
        assert!(why.contains("policy.yaml:") && why.contains("error") && why.contains(hint), "{why}");
        let located = why.split("policy.yaml:").nth(1).unwrap_or_default();
        let mut numbers = located.split(':');
        assert!(numbers.next().is_some_and(|line| line.parse::<u32>().is_ok()), "{why}");
        assert!(numbers.next().is_some_and(|column| column.trim().parse::<u32>().is_ok()), "{why}");
    }
}

#[tokio::test]
async fn protocols_that_are_not_built_yet_are_not_taken_for_something_else() {
    for protocol in ["tcp", "sql"] {
        let line = format!("protocol: {protocol}");
        let lines = [line.as_str(), "enforcement: audit", "access: full"];
        let policy = policy::document(&[policy::Entry {
            name: "api",
            host: HOST,
            ports: &[443],
            lines: &lines,
        }]);
        let gate = Setup::new(policy).local_host().start();
        assert_eq!(gate.readyz().await.0, 503, "{protocol} was loaded");
        gate.fetch(Via::PlainTunnel, &Ask::get(443, "/"))
            .await
            .assert_denied(403, "no_policy");
        gate.logged("policy.yaml:").await;
    }
}

#[tokio::test]
async fn unknown_members_of_the_operators_file_stop_the_start() {
    let setup = Setup::new(policy::open(&[443])).config(json!({ "railz": {} }));
    let Err(why) = setup.try_start() else { panic!("loaded") };
    assert!(why.contains("railz"), "{why}");
}

#[tokio::test]
async fn weakening_switches_are_logged_at_start() {
    let world = World::open().await;
    world.gate.logged("allow_loopback").await;
    assert!(world.gate.readyz().await.1.contains("allow_loopback"), "readiness does not tell");
}

#[tokio::test]
async fn ready_comes_within_a_moment() {
    let started = Instant::now();
    let gate = Setup::new(policy::open(&[443])).start();
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    drop(gate);
}

#[tokio::test]
async fn termination_lets_running_requests_finish_and_takes_no_new_ones() {
    let mut world = World::open().await;
    let mut idle_h1 = world.gate.tls_h1(world.tls.port()).await;
    idle_h1
        .request(Ask::get(world.tls.port(), "/").h1(Via::TlsH1))
        .await
        .assert_allowed();
    let idle_h2 = world.gate.tls_h2(world.tls.port()).await;
    let mut busy = world.gate.tls_h1(world.tls.port()).await;
    busy.send(Ask::get(world.tls.port(), "/slow/700").h1(Via::TlsH1)).await;
    let mut busy_h2 = world.gate.tls_h2(world.tls.port()).await;
    let (h2_answer, _) = busy_h2
        .open(tollgate_tests::h2_client::H2::head(&Ask::get(world.tls.port(), "/slow/701")), true)
        .await;
    tollgate_tests::eventually("both at the origin", || (world.tls.requests().len() == 3).then_some(())).await;

    let started = Instant::now();
    world.gate.signal(Signal::TERM);
    busy.answer("GET").await.assert_allowed();
    let answer = tollgate_tests::within("answer", tollgate_tests::h2_client::collect(h2_answer))
        .await
        .unwrap();
    answer.assert_allowed();
    let proxy = world.gate.proxy;
    let status = world.gate.ended().await;
    assert!(status.success(), "{status}");
    // An idle HTTP/2 client that ignores GOAWAY must not hold the process.
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    assert!(tokio::net::TcpStream::connect(proxy).await.is_err());
    drop(idle_h2);
    assert!(idle_h1.ends_within(Duration::from_secs(1)).await);
    let last: Vec<Value> = world.gate.audit_events();
    assert!(
        last.iter().filter(|event| event["decision"] == "allow").count() >= 3,
        "an audit line was lost at the end: {last:#?}"
    );
}

#[tokio::test]
async fn a_head_that_cannot_be_read_leaves_its_destination_in_the_trail() {
    let world = World::open().await;
    for (via, lines) in [(Via::TlsH1, 1), (Via::TlsH2, 2)] {
        let ask = Ask::get(world.port(via), "/").header("X-HTTP-Method-Override", "DELETE");
        world.gate.fetch(via, &ask).await.assert_denied(403, "method_not_allowed");
        let line = json!({ "decision": "deny", "reason_code": "method_not_allowed", "host": HOST, "port": world.port(via) });
        let written = || {
            let events = world.gate.audit_events();
            let own = events.iter().filter(|event| tollgate_tests::tollgate::has(event, &line)).count();
            (own == lines).then_some(())
        };
        tollgate_tests::eventually("a line for each", written).await;
    }
    world.tls.assert_no_request();
}
