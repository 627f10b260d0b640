//! WebSocket clients over `wss`, with compression and fragments: what is allowed comes back, what is refused never arrived.

use serde_json::{Value, json};
use tollgate_tests::authority::Authority;
use tollgate_tests::policy::{self, Entry, HOST};
use tollgate_tests::real_clients::{Server, answers, behind, program};
use tollgate_tests::tollgate::{Setup, Tollgate};

const AGENTS: [&str; 2] = ["agents/socket_websockets.py", "agents/socket_ws.mjs"];
const BROADCAST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction","params":["0x02f8"]}"#;
const LARGE: usize = 300_000;

struct Sockets {
    gate: Tollgate,
    server: Server,
    _files: tempfile::TempDir,
}

impl Sockets {
    fn start(extension: &str) -> Self {
        let files = tempfile::TempDir::new().unwrap();
        let authority = Authority::default();
        let (leaf, key) = authority.leaf_pem(&[HOST]);
        let (leaf_file, key_file) = (files.path().join("leaf.pem"), files.path().join("key.pem"));
        std::fs::write(&leaf_file, leaf).unwrap();
        std::fs::write(&key_file, key).unwrap();
        let arguments = [leaf_file.to_str().unwrap(), key_file.to_str().unwrap(), extension];
        let server = Server::start("sellers/websocket_echo.py", &arguments);
        let lines = [
            "protocol: websocket",
            "enforcement: enforce",
            "rules: [ { allow: { method: GET, path: \"/v1/**\" } }, { allow: { method: WEBSOCKET_TEXT, path: \"/v1/chat\" } } ]",
        ];
        let entry = Entry {
            name: "chat",
            host: HOST,
            ports: &[server.port],
            lines: &lines,
        };
        let gate = Setup::new(policy::document(&[entry])).local_host().trust(&authority).start();
        Self {
            gate,
            server,
            _files: files,
        }
    }

    async fn run(&self, agent: &str, path: &str, messages: &[&str]) -> Vec<Value> {
        let mut command = program(agent);
        behind(&mut command, &self.gate);
        command.arg(format!("wss://{HOST}:{}{path}", self.server.port)).args(messages);
        answers(command).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn allowed_messages_come_back_with_and_without_compression() {
    for (extension, agreed) in [
        ("deflate", "permessage-deflate"),
        ("alone", "client_no_context_takeover"),
        ("plain", ""),
    ] {
        let sockets = Sockets::start(extension);
        for agent in AGENTS {
            let large = format!("large:{LARGE}");
            let sent = [
                "text:hello",
                "fragments:one |two |three",
                "text:hello",
                "text:zażółć",
                "binary:00ff10",
                &large,
            ];
            let lines = sockets.run(agent, "/v1/chat", &sent).await;
            assert_eq!(lines.len(), 7, "{agent}, {extension}: {lines:?}");
            let extensions = lines[0]["extensions"].as_str().unwrap_or_default();
            assert!(
                extensions.contains(agreed) && extensions.is_empty() == agreed.is_empty(),
                "{agent}: {extensions}"
            );
            for (line, expected) in lines[1..6].iter().zip(["hello", "one two three", "hello", "zażółć", "00ff10"]) {
                assert_eq!(line["answer"], expected, "{agent}, {extension}");
            }
            assert_eq!(lines[6]["answer"].as_str().map(str::len), Some(LARGE), "{agent}, {extension}");
            sockets
                .gate
                .audited(json!({ "protocol": "websocket", "method": "GET", "path": "/v1/chat", "reason_code": null }))
                .await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refused_messages_never_arrive_and_the_client_is_told_why() {
    let (plain, in_pieces) = (
        format!("text:{BROADCAST}"),
        format!("fragments:{}", BROADCAST.replacen("send", "send|", 1)),
    );
    for extension in ["deflate", "plain"] {
        let sockets = Sockets::start(extension);
        for agent in AGENTS {
            for message in [&plain, &in_pieces] {
                let lines = sockets.run(agent, "/v1/chat", &["text:before", message, "text:after"]).await;
                let expected = json!({ "code": 1008, "reason": "rail_broadcast" });
                assert_eq!(
                    (lines.len(), &lines[1]["answer"], &lines[2]),
                    (3, &json!("before"), &expected),
                    "{agent}: {lines:?}"
                );
            }
            let lines = sockets.run(agent, "/v1/feed", &["text:subscribe"]).await;
            assert_eq!(
                lines[1],
                json!({ "code": 1008, "reason": "method_not_allowed" }),
                "{agent}: {lines:?}"
            );
            let lines = sockets.run(agent, "/admin", &["text:hello"]).await;
            assert_eq!(lines, [json!({ "status": 403, "reason": "path_not_allowed" })], "{agent}");
        }
        let lines = sockets.run(AGENTS[0], "/v1/chat", &["text:heard?"]).await;
        let heard: Vec<String> = serde_json::from_str(lines[1]["answer"].as_str().unwrap()).unwrap();
        assert_eq!(heard, ["before"; 4], "{extension}");
    }
}
