//! `gql` and `graphql-request` against graphql-core: a query that is allowed, a mutation that is not.

use serde_json::json;
use tollgate_tests::policy::{self, Entry, HOST};
use tollgate_tests::real_clients::{answers, behind, program};

use super::served::Served;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listed_query_answers_and_other_operations_do_not_leave() {
    let served = Served::start("sellers/graphql_server.py");
    let port = served.server.port;
    let gate = served.gate(&policy::document(&[Entry {
        name: "ql",
        host: HOST,
        ports: &[port],
        lines: &[
            "path: /graphql",
            "protocol: graphql",
            "enforcement: enforce",
            "rules:",
            "  - allow: { operation_type: query, fields: [viewer] }",
            "  - allow: { operation_type: mutation, fields: [rename] }",
        ],
    }]));
    let queries = [
        "query Me { viewer { login } }",
        "mutation { rename(name: \"new\") { login } }",
        "{ viewer { login } organization { login } }",
        "mutation { drop { login } }",
    ];
    for agent in ["agents/graphql_gql.py", "agents/graphql_request.mjs"] {
        let mut command = program(agent);
        behind(&mut command, &gate);
        command.arg(format!("https://{HOST}:{port}/graphql")).args(queries);
        let lines = answers(command).await;
        assert_eq!(lines[0], json!({ "data": { "viewer": { "login": "somebody" } } }), "{agent}");
        assert_eq!(lines[1], json!({ "data": { "rename": { "login": "new" } } }), "{agent}");
        for denied in &lines[2..] {
            assert!(denied.get("data").is_none(), "{agent}: {denied}");
        }
    }
    let events = gate.audit_events();
    let denied = events.iter().filter(|event| event["reason_code"] == "operation_not_allowed");
    assert_eq!(denied.count(), 4, "{events:?}");
}
