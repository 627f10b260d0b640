//! A dry run says what a running proxy does: the same requests through both.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::tests_outside_test_module)]

use std::path::Path;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tollgate::config::Config;
use tollgate::flow::DryRequest;
use tollgate::gate::Caller;
use tollgate::serve::{Rehearsal, Settings, Tollgate};

fn policy(port: u16) -> String {
    format!(
        r#"version: 1
network_policies:
  api:
    endpoints:
      - host: api.example.test
        port: {port}
        protocol: rest
        enforcement: enforce
        rules:
          - allow: {{ method: GET, path: "/v1/**", query: {{ page: "[0-9]" }} }}
          - allow: {{ method: GET, path: "/v1/plain" }}
          - allow: {{ method: POST, path: "/rpc" }}
          - allow: {{ method: POST, path: "/settle" }}
        deny_rules:
          - {{ method: GET, path: "/v1/secret" }}
    binaries: [ {{ path: "/**" }} ]
  watched:
    endpoints:
      - {{ host: watched.example.test, port: {port}, protocol: rest, enforcement: audit, access: read-only }}
    binaries: [ {{ path: "/**" }} ]
  bodies:
    endpoints:
      - host: body.example.test
        port: {port}
        path: /graphql
        protocol: graphql
        enforcement: enforce
        graphql_max_body_bytes: 500
        rules: [ {{ allow: {{ operation_type: query, fields: [viewer] }} }} ]
      - host: body.example.test
        port: {port}
        path: /mcp
        protocol: mcp
        enforcement: enforce
        rules: [ {{ allow: {{ method: tools/list }} }}, {{ allow: {{ method: tools/call, tool: read }} }} ]
      - host: body.example.test
        port: {port}
        path: /rpc
        protocol: json-rpc
        enforcement: audit
        rules: [ {{ allow: {{ method: status }} }} ]
    binaries: [ {{ path: "/**" }} ]
  rail:
    endpoints:
      - {{ host: rail.example.test, port: {port}, protocol: rest, enforcement: enforce, access: full }}
      - {{ host: mirror.example.test, port: {port}, protocol: rest, enforcement: enforce, access: full }}
      - {{ host: meta.example.test, port: {port}, protocol: rest, enforcement: enforce, access: full }}
      - {{ host: other.example.test, port: {port}, protocol: rest, enforcement: enforce, access: full }}
    binaries: [ {{ path: "/**" }} ]
  nobody:
    endpoints:
      - {{ host: nobody.example.test, port: {port}, protocol: rest, enforcement: enforce, access: full }}
    binaries: []
network_middlewares:
  payments:
    middleware: tollgate/x402
    endpoints: {{ include: [ api.example.test ] }}
"#
    )
}

const CONFIG: &str = r#"
listen: { proxy: "127.0.0.1:0", admin: "127.0.0.1:0" }
audit: { path: audit.jsonl }
insecure: { allow_loopback: true }
limits: { body_held: 4KiB, header_bytes: 8KiB, drain: 1s }
rails: { hosts: [ rail.example.test ], addresses: [ 127.0.0.3/32 ] }
upstream:
  hosts:
    api.example.test: [ 127.0.0.1 ]
    watched.example.test: [ 127.0.0.1 ]
    rail.example.test: [ 127.0.0.1 ]
    mirror.example.test: [ 127.0.0.3 ]
    meta.example.test: [ 169.254.169.254 ]
    other.example.test: [ 127.0.0.1 ]
    body.example.test: [ 127.0.0.1 ]
    unlisted.example.test: [ 127.0.0.1 ]
    nobody.example.test: [ 127.0.0.1 ]
"#;

const BROADCAST: &str = r#"{"jsonrpc":"2.0","method":"eth_sendRawTransaction","params":["0x"],"id":1}"#;
const FACILITATOR: &str = r#"{"paymentPayload":{},"paymentRequirements":{}}"#;

/// Method, URL without scheme and port, fields, body.
type Case = (&'static str, &'static str, &'static str, Fields, String);
type Fields = &'static [(&'static str, &'static str)];

fn cases() -> Vec<Case> {
    let plain = |method, host, target| (method, host, target, &[] as Fields, String::new());
    let with = |method, host, target, fields: Fields, content: &str| (method, host, target, fields, content.to_owned());
    let api = "api.example.test";
    vec![
        plain("GET", api, "/v1/plain"),
        plain("GET", api, "/v1/a?page=3"),
        plain("GET", api, "/v1/a?page=x"),
        plain("GET", api, "/v1/secret"),
        plain("GET", api, "/v1/./secret"),
        plain("GET", api, "/v1/%73ecret"),
        plain("GET", api, "/v1/..%2fadmin"),
        plain("GET", api, "/v1/%2e%2e/admin"),
        plain("GET", api, "/v1/%zz"),
        plain("GET", api, "/admin"),
        plain("DELETE", api, "/v1/plain"),
        plain("GET", "API.example.TEST", "/v1/plain"),
        plain("GET", "unlisted.example.test", "/"),
        plain("GET", "user@api.example.test", "/v1/plain"),
        plain("GET", "watched.example.test", "/"),
        plain("DELETE", "watched.example.test", "/"),
        plain("GET", "rail.example.test", "/"),
        plain("GET", "mirror.example.test", "/"),
        plain("GET", "meta.example.test", "/"),
        plain("POST", "other.example.test", "/v2/x402/settle"),
        plain("GET", "nobody.example.test", "/"),
        with("GET", api, "/v1/plain", &[("host", "evil.example.test")], ""),
        with("GET", api, "/v1/plain", &[("connection", "host")], ""),
        with("GET", api, "/v1/plain", &[("upgrade", "h2c"), ("connection", "upgrade")], ""),
        with("GET", api, "/v1/plain", &[("upgrade", "websocket"), ("connection", "upgrade")], ""),
        with("GET", api, "/v1/plain", &[("authorization", "Payment abc")], ""),
        with("GET", api, "/v1/plain", &[("authorization", "Bearer abc")], ""),
        with("GET", api, "/v1/plain", &[("x-payment", "e30=")], ""),
        with("GET", api, "/v1/plain", &[("payment-signature", "e30=")], ""),
        with("GET", api, "/v1/plain", &[("x-payment", "e30="), ("payment-signature", "e30=")], ""),
        with("GET", api, "/v1/plain", &[("x_payment", "e30=")], ""),
        with("GET", "other.example.test", "/", &[("x-payment", "e30=")], ""),
        with("POST", api, "/rpc", &[], BROADCAST),
        with("POST", api, "/rpc", &[("content-type", "text/plain")], BROADCAST),
        with("POST", api, "/rpc", &[], r#"{"jsonrpc":"2.0","method":"eth_chainId","id":1}"#),
        with(
            "POST",
            api,
            "/rpc",
            &[],
            r#"{"method":"eth_chainId","method":"eth_sendRawTransaction"}"#,
        ),
        with("POST", api, "/rpc", &[], "not json at all"),
        with("POST", api, "/rpc", &[("content-encoding", "compress")], "not json at all"),
        with("POST", api, "/rpc", &[("content-encoding", "gzip")], BROADCAST),
        with("POST", api, "/settle", &[], FACILITATOR),
        ("POST", api, "/rpc", &[], format!("[{}1]", "1,".repeat(4 << 10))),
        ("POST", api, "/rpc", &[], "x".repeat(64 << 10)),
    ]
}

/// Endpoints whose rules are about bodies.
fn body_cases() -> Vec<Case> {
    let plain = |method, host, target| (method, host, target, &[] as Fields, String::new());
    let with = |method, host, target, fields: Fields, content: &str| (method, host, target, fields, content.to_owned());
    let body = "body.example.test";
    vec![
        plain("GET", body, "/graphql"),
        plain("GET", body, "/graphql?query=%7Bviewer%7D"),
        plain("GET", body, "/graphql?query=%7Bother%7D"),
        plain("PUT", body, "/graphql"),
        plain("GET", body, "/mcp"),
        plain("DELETE", body, "/mcp"),
        plain("GET", body, "/rpc"),
        plain("POST", body, "/rpc"),
        with("GET", body, "/mcp", &[("upgrade", "websocket"), ("connection", "upgrade")], ""),
        with("POST", body, "/graphql", &[], r#"{"query":"{viewer}"}"#),
        with("POST", body, "/graphql", &[], r#"{"query":"{viewer other}"}"#),
        with("POST", body, "/graphql", &[], r#"{"query":"{viewer}","query":"{other}"}"#),
        with("POST", body, "/graphql", &[("content-type", "application/graphql")], "{viewer}"),
        with(
            "POST",
            body,
            "/graphql",
            &[("content-type", "application/json; charset=utf-16")],
            r#"{"query":"{viewer}"}"#,
        ),
        with(
            "POST",
            body,
            "/mcp",
            &[],
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read"}}"#,
        ),
        with(
            "POST",
            body,
            "/mcp",
            &[],
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"drop"}}"#,
        ),
        with(
            "POST",
            body,
            "/mcp",
            &[],
            r#"[{"jsonrpc":"2.0","id":1,"method":"tools/list"},{"jsonrpc":"2.0","id":2,"method":"x"}]"#,
        ),
        with("POST", body, "/rpc", &[], r#"{"jsonrpc":"2.0","id":1,"method":"stop"}"#),
        with("POST", body, "/rpc", &[], r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
        with("POST", body, "/rpc", &[], BROADCAST),
        with("POST", body, "/rpc", &[], "{"),
        (
            "POST",
            body,
            "/graphql",
            &[],
            format!(r#"{{"query":"{{viewer}}{}"}}"#, " ".repeat(500)),
        ),
    ]
}

/// Every method with every host and target: nobody chose these pairs.
fn combinations() -> Vec<Case> {
    const HOSTS: [&str; 7] = [
        "api.example.test",
        "watched.example.test",
        "rail.example.test",
        "meta.example.test",
        "other.example.test",
        "nobody.example.test",
        "unlisted.example.test",
    ];
    const TARGETS: [&str; 7] = [
        "/",
        "/v1/plain",
        "/v1/a?page=3",
        "/v1/a?page=x",
        "/v1/x/../secret",
        "/rpc",
        "/v1/a%2fb",
    ];
    let mut all = Vec::new();
    for method in ["GET", "POST", "DELETE", "OPTIONS"] {
        for host in HOSTS {
            all.extend(TARGETS.map(|target| (method, host, target, &[] as Fields, String::new())));
        }
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_agrees_with_the_running_proxy() {
    let folder = tempfile::tempdir().unwrap();
    let port = origin().await;
    let settings = settings(folder.path(), port);
    let rehearsal = Rehearsal::new(&settings).unwrap();
    let tollgate = Tollgate::start(settings).await.unwrap();
    let (mut denied, mut wrong) = (0, Vec::new());
    for (method, host, target, fields, body) in cases().into_iter().chain(body_cases()).chain(combinations()) {
        for scheme in ["http", "https"] {
            let url = format!("{scheme}://{host}:{port}{target}");
            let headers: Vec<_> = fields
                .iter()
                .map(|(n, v)| (HeaderName::from_static(n), HeaderValue::from_static(v)))
                .collect();
            let method: Method = method.parse().unwrap();
            let request = DryRequest {
                method: &method,
                url: &url,
                headers: &headers,
                body: Bytes::from(body.clone()),
                caller: &Caller::NotEnforced,
                at: None,
            };
            let run = rehearsal.engine.judge(&request).await.unwrap();
            let dry = run.outcome.err().map(|denial| denial.reason.to_string());
            let authority = format!("{host}:{port}");
            let mut tcp = TcpStream::connect(tollgate.proxy()).await.unwrap();
            let wet = match scheme {
                "http" => ask(&mut tcp, &head(&method, &url, &authority, fields, &body)).await,
                // Inside the tunnel it makes no difference to these rules whether TLS is around the request.
                _ => match ask(&mut tcp, &format!("CONNECT {authority} HTTP/1.1\r\n\r\n")).await {
                    None => ask(&mut tcp, &head(&method, target, &authority, fields, &body)).await,
                    refused => refused,
                },
            };
            if dry != wet {
                wrong.push(format!("{method} {url} {fields:?} {body:.60}: dry {dry:?}, wet {wet:?}"));
            }
            denied += usize::from(dry.is_some());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(denied > 30, "the table is about denials");
    tollgate.serve_until(async {}).await;
}

/// No rule asks which binary calls, so nobody is identified; that must not be taken for binaries being ignored.
#[tokio::test(flavor = "multi_thread")]
async fn a_rule_without_binaries_is_not_opened_by_not_asking_who_calls() {
    let folder = tempfile::tempdir().unwrap();
    let port = origin().await;
    let settings = settings(folder.path(), port);
    let tollgate = Tollgate::start(settings).await.unwrap();
    let authority = format!("nobody.example.test:{port}");
    for request in [
        head(&Method::GET, &format!("http://{authority}/"), &authority, &[], ""),
        format!("CONNECT {authority} HTTP/1.1\r\n\r\n"),
    ] {
        let mut tcp = TcpStream::connect(tollgate.proxy()).await.unwrap();
        assert_eq!(ask(&mut tcp, &request).await.as_deref(), Some("binary_not_allowed"), "{request}");
    }
    tollgate.serve_until(async {}).await;
}

fn settings(folder: &Path, port: u16) -> Settings {
    let (policy_file, config_file) = (folder.join("policy.yaml"), folder.join("tollgate.yaml"));
    std::fs::write(&policy_file, policy(port)).unwrap();
    std::fs::write(&config_file, CONFIG).unwrap();
    Settings {
        policy: policy_file.into(),
        config: Config::load(Some(&config_file)).unwrap(),
        directory: folder.to_owned(),
    }
}

/// Answers every request with 200 and closes.
async fn origin() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut tcp, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut read = vec![0; 128 << 10];
                let mut all = 0;
                // The head and the body come in one go or nearly so; the rest does not matter.
                while let Ok(Ok(n @ 1..)) = tokio::time::timeout(std::time::Duration::from_millis(100), tcp.read(&mut read[all..])).await {
                    all += n;
                    if !read[..all].starts_with(b"POST") && read[..all].ends_with(b"\r\n\r\n") {
                        break;
                    }
                }
                let _ = tcp
                    .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                    .await;
            });
        }
    });
    port
}

fn head(method: &Method, target: &str, authority: &str, fields: &[(&str, &str)], body: &str) -> String {
    let length = body.len().to_string();
    let mut all = fields.to_vec();
    if !fields.iter().any(|(name, _)| *name == "host") {
        all.push(("host", authority));
    }
    if !body.is_empty() {
        all.push(("content-length", &length));
    }
    let lines: Vec<String> = all.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("{method} {target} HTTP/1.1\r\n{}\r\n{body}", lines.concat())
}

/// The reason of a refusal; `None` for 200.
async fn ask(tcp: &mut TcpStream, request: &str) -> Option<String> {
    tcp.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let mut buffer = [0; 4 << 10];
    while !answer.windows(4).any(|w| w == b"\r\n\r\n") {
        let n = tcp.read(&mut buffer).await.unwrap();
        assert!(n > 0, "no answer to {request:.200}");
        answer.extend_from_slice(&buffer[..n]);
    }
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let reason = answer
        .lines()
        .find_map(|line| line.to_ascii_lowercase().strip_prefix("x-tollgate-reason: ").map(str::to_owned));
    assert!(reason.is_some() || answer.starts_with("HTTP/1.1 200"), "{request:.200}\n{answer}");
    reason
}
