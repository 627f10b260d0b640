//! `tollgate exec`: two origins, and the command line that runs something behind a proxy in front of them.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::authority::{Alpn, Authority};
use crate::origin::{Origin, Reply, Seen};
use crate::policy::HOST;
use crate::tollgate::binary;

/// What `tollgate exec` is run with, and what it leads to.
pub struct Exec {
    folder: TempDir,
    /// A cleartext origin for [`HOST`].
    pub plain: Origin,
    /// A TLS origin for it.
    pub tls: Origin,
}

impl Exec {
    /// Starts both origins, which answer with `reply`; `policy` gets their ports.
    pub async fn start(policy: impl FnOnce(&[u16]) -> String, reply: fn(&Seen) -> Reply) -> Self {
        let authority = Authority::default();
        let plain = Origin::start(None, reply).await;
        let tls = Origin::start(Some(authority.server(HOST, Alpn::H2)), reply).await;
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("policy.yaml", &policy(&[plain.port(), tls.port()]));
        write("origins.pem", &authority.pem());
        let config = json!({
            "tls": { "extra_upstream_roots": ["origins.pem"] },
            "upstream": { "hosts": { HOST: ["127.0.0.1"] } },
            "insecure": { "allow_loopback": true },
            "audit": { "path": "audit.jsonl" },
        });
        write("tollgate.yaml", &config.to_string());
        Self { folder, plain, tls }
    }

    /// The folder of its files; more may be put there.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// `tollgate exec FLAGS -- COMMAND`, to be run.
    pub fn command(&self, flags: &[&str], command: &[&str]) -> Command {
        let mut exec = Command::new(binary());
        exec.arg("exec").arg("--policy").arg(self.folder().join("policy.yaml"));
        exec.arg("--config").arg(self.folder().join("tollgate.yaml"));
        exec.args(flags).arg("--").args(command);
        exec
    }

    /// The reason codes of what was denied so far, in order.
    pub fn denied(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder().join("audit.jsonl")).unwrap_or_default();
        let events = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let denied = events.filter(|event| event["decision"] == "deny");
        denied.map(|event| event["reason_code"].as_str().unwrap().to_owned()).collect()
    }
}
