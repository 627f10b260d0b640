//! Programs of the real world as child processes: sellers, a facilitator, a git server, and the clients that go through the proxy.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::Value;

use crate::tollgate::Tollgate;
use crate::wire::H1;

/// The folder with the clients, their `.venv` and `node_modules`.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("clients")
}

/// A program of the clients' folder, run by the interpreter that its name asks for.
pub fn program(name: &str) -> Command {
    let folder = folder();
    let mut command = if Path::new(name).extension().is_some_and(|extension| extension == "py") {
        let python = folder.join(".venv/bin/python");
        assert!(
            python.exists(),
            "{} is missing: run tests/run once, it installs the clients",
            python.display()
        );
        Command::new(python)
    } else {
        assert!(
            folder.join("node_modules").exists(),
            "{} is missing: run tests/run once, it installs the clients",
            folder.join("node_modules").display()
        );
        let mut node = Command::new("node");
        if name.starts_with("agents/pay") {
            node.arg("--import").arg(folder.join("agents/env_proxy.mjs"));
        }
        node
    };
    command.arg(folder.join(name));
    clean(&mut command);
    command
}

/// Takes away what a developer's shell might say about proxies and certificates.
pub fn clean(command: &mut Command) {
    for name in ["http_proxy", "https_proxy", "all_proxy", "no_proxy", "ftp_proxy"] {
        command.env_remove(name).env_remove(name.to_ascii_uppercase());
    }
    for name in [
        "SSL_CERT_FILE",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
        "GIT_SSL_CAINFO",
        "NODE_EXTRA_CA_CERTS",
    ] {
        command.env_remove(name);
    }
}

/// Points a client at the proxy, by the variables that agents' tools read.
pub fn behind(command: &mut Command, gate: &Tollgate) {
    for name in ["http_proxy", "https_proxy"] {
        command.env(name, gate.url()).env(name.to_ascii_uppercase(), gate.url());
    }
    for name in [
        "SSL_CERT_FILE",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
        "GIT_SSL_CAINFO",
        "NODE_EXTRA_CA_CERTS",
    ] {
        command.env(name, &gate.ca);
    }
}

/// Runs a client to its end, away from the test's own thread.
pub async fn run(mut command: Command) -> Output {
    let work = tokio::task::spawn_blocking(move || command.stdin(Stdio::null()).output().unwrap());
    match tokio::time::timeout(std::time::Duration::from_secs(90), work).await {
        Ok(output) => output.unwrap(),
        Err(_) => panic!("a client did not end in 90 s"),
    }
}

/// Runs a client and reads the JSON lines that it prints.
pub async fn answers(command: Command) -> Vec<Value> {
    let output = run(command).await;
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{}\n{text}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// A server of the clients' folder; ends with this value.
pub struct Server {
    /// Where it listens on loopback.
    pub port: u16,
    child: Child,
    stderr: Arc<Mutex<String>>,
}

impl Server {
    /// Starts a program that prints its port on its first line.
    pub fn start(name: &str, arguments: &[&str]) -> Self {
        let mut command = program(name);
        let mut child = command
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = Arc::new(Mutex::new(String::new()));
        let (source, sink) = (child.stderr.take().unwrap(), Arc::clone(&stderr));
        std::thread::spawn(move || {
            for line in BufReader::new(source).lines().map_while(Result::ok) {
                sink.lock().unwrap().push_str(&(line + "\n"));
            }
        });
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let Ok(port) = line.trim().parse() else {
            let _ = child.kill();
            let _ = child.wait();
            std::thread::sleep(std::time::Duration::from_millis(50));
            panic!("{name} did not start: {line}\n{}", stderr.lock().unwrap());
        };
        Self { port, child, stderr }
    }

    /// A JSON document of this server, over cleartext.
    pub async fn document(&self, path: &str) -> Value {
        let mut connection = H1::dial(([127, 0, 0, 1], self.port).into()).await;
        connection
            .request(format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"))
            .await
            .json()
    }

    /// What it complained about.
    pub fn stderr(&self) -> String {
        self.stderr.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
