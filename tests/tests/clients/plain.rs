//! `requests`, `httpx` and undici: allowed, denied, over both ways in.

use serde_json::Value;
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::real_clients::{answers, behind, program};
use tollgate_tests::world::World;

const AGENTS: [&str; 3] = ["agents/plain_requests.py", "agents/plain_httpx.py", "agents/plain_undici.mjs"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn they_reach_what_is_listed_and_are_told_why_not() {
    let rules = ["rules:", "  - allow: { method: GET, path: \"/v1/**\" }"];
    let world = World::start(|ports| policy::ruled(ports, &rules), |setup| setup).await;
    for agent in AGENTS {
        let mut command = program(agent);
        behind(&mut command, &world.gate);
        let (tls, plain) = (world.tls.port(), world.plain.port());
        command.args([
            format!("https://{HOST}:{tls}/v1/a?x=1"),
            format!("http://{HOST}:{plain}/v1/a"),
            format!("https://{HOST}:{tls}/v1/b"),
            format!("https://{HOST}:{tls}/admin"),
            format!("http://{HOST}:{plain}/admin"),
            format!("http://evil.example.test:{plain}/v1/a"),
        ]);
        let found = answers(command).await;
        let expected = [
            Value::Null,
            Value::Null,
            Value::Null,
            "path_not_allowed".into(),
            "path_not_allowed".into(),
            "host_not_allowed".into(),
        ];
        for (number, (answer, reason)) in found.iter().zip(expected).enumerate() {
            // undici opens a tunnel for cleartext too and throws when CONNECT is refused; then the reason stays with the proxy.
            if answer.get("exception").is_some() && number == 5 {
                continue;
            }
            let status = if reason.is_null() { 200 } else { 403 };
            assert_eq!(
                (&answer["status"], &answer["reason"]),
                (&status.into(), &reason),
                "{agent}: URL {number}: {answer}"
            );
        }
        world
            .gate
            .audited(serde_json::json!({ "decision": "deny", "host": "evil.example.test", "reason_code": "host_not_allowed" }))
            .await;
    }
    for (origin, count) in [(&world.tls, 6), (&world.plain, 3)] {
        assert_eq!(origin.requests().len(), count);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn audit_lines_name_the_interpreter() {
    // The calling binary is looked for only where a rule asks for it.
    let python = |ports: &[u16]| policy::for_binary(&policy::open(ports), "/**/python*");
    let world = World::start(python, |setup| setup).await;
    let mut command = program(AGENTS[0]);
    behind(&mut command, &world.gate);
    command.arg(format!("https://{HOST}:{}/", world.tls.port()));
    answers(command).await;
    let event = world
        .gate
        .audited(serde_json::json!({ "decision": "allow", "adapter": "tunnel" }))
        .await;
    assert!(
        event["process"]["binary"].as_str().is_some_and(|binary| binary.contains("python")),
        "{event}"
    );
}
