//! The MCP SDKs' clients against the Python SDK's server: a tool that is allowed, one that is not.

use serde_json::json;
use tollgate_tests::policy::{self, Entry, HOST};
use tollgate_tests::real_clients::{answers, behind, program};

use super::served::Served;

const LINES: &[&str] = &[
    "path: /mcp",
    "protocol: mcp",
    "enforcement: enforce",
    "rules:",
    "  - allow: { method: initialize }",
    "  - allow: { method: notifications/initialized }",
    "  - allow: { method: server/discover }",
    "  - allow: { method: tools/list }",
    "  - allow: { method: tools/call, tool: add }",
];

/// What is run, with what stands between the URL and the tools.
const AGENTS: [(&str, &[&str]); 3] = [
    ("agents/mcp_python.py", &["legacy"]),
    ("agents/mcp_python.py", &["auto"]),
    ("agents/mcp_typescript.mjs", &[]),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_allowed_tool_answers_and_another_is_never_called() {
    let served = Served::start("sellers/mcp_server.py");
    let port = served.server.port;
    let gate = served.gate(&policy::document(&[Entry {
        name: "tools",
        host: HOST,
        ports: &[port],
        lines: LINES,
    }]));
    for (agent, mode) in AGENTS {
        let mut command = program(agent);
        behind(&mut command, &gate);
        command
            .arg(format!("https://{HOST}:{port}/mcp"))
            .args(mode)
            .args(["add", "drop", "add"]);
        let lines = answers(command).await;
        assert_eq!(lines[0], json!({ "tools": ["add", "drop"] }), "{agent} {mode:?}");
        assert_eq!(lines[1], json!({ "tool": "add", "text": "42" }), "{agent} {mode:?}");
        assert!(lines[2]["exception"].is_string(), "{agent} {mode:?}: {}", lines[2]);
        // One refused call ends neither session nor connection.
        assert_eq!(lines[3], json!({ "tool": "add", "text": "42" }), "{agent} {mode:?}");
    }
    let refused = json!({ "decision": "deny", "reason_code": "operation_not_allowed", "operation": "tools/call drop" });
    gate.audited(refused).await;
    let events = gate.audit_events();
    let denied: Vec<_> = events.iter().filter(|event| event["decision"] == "deny").collect();
    assert_eq!(denied.len(), AGENTS.len(), "{denied:?}");
    let stderr = served.server.stderr();
    assert!(!stderr.contains("dropped"), "the tool was called:\n{stderr}");
    assert!(!format!("{events:?}").contains("users"), "an argument was written down");
}
