//! The real binary as a child process. Goes in: policy and config texts. Comes out: its addresses, and all that it tells the world
//! (denials aside): audit lines, metrics, readiness, standard error.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::answer::Answer;
use crate::authority::Authority;
use crate::wire::H1;
use crate::{eventually, schemas};

/// What to start.
pub struct Setup {
    policy: String,
    fragments: Vec<(String, String)>,
    config: Value,
    roots: Vec<String>,
    environment: Vec<(String, String)>,
    limits: Vec<String>,
}

impl Setup {
    /// The binary under this `policy.yaml`, able to reach loopback origins.
    pub fn new(policy: impl Into<String>) -> Self {
        Self {
            policy: policy.into(),
            fragments: Vec::new(),
            config: json!({
                "listen": { "proxy": "127.0.0.1:0", "admin": "127.0.0.1:0" },
                "insecure": { "allow_loopback": true },
            }),
            roots: Vec::new(),
            environment: vec![("TOLLGATE_LOG".to_owned(), "info".to_owned())],
            limits: Vec::new(),
        }
    }

    /// Adds a file to the folder `policy.d`, which is then read besides `policy.yaml`.
    #[must_use]
    pub fn fragment(mut self, name: &str, policy: impl Into<String>) -> Self {
        self.fragments.push((name.to_owned(), policy.into()));
        self
    }

    /// Resolves `name` to `address`.
    #[must_use]
    pub fn host(self, name: &str, address: &str) -> Self {
        self.config(json!({ "upstream": { "hosts": { name: [address] } } }))
    }

    /// Resolves [`crate::policy::HOST`] to loopback.
    #[must_use]
    pub fn local_host(self) -> Self {
        self.host(crate::policy::HOST, "127.0.0.1")
    }

    /// Trusts origins that `authority` has certified.
    #[must_use]
    pub fn trust(mut self, authority: &Authority) -> Self {
        self.roots.push(authority.pem());
        self
    }

    /// Merges `settings` into `tollgate.yaml`, member by member.
    #[must_use]
    pub fn config(mut self, settings: Value) -> Self {
        merge(&mut self.config, settings);
        self
    }

    /// Sets an environment variable of the process.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Limits the process to so many descriptors.
    #[must_use]
    pub fn descriptors(mut self, most: u64) -> Self {
        self.limits.push(format!("ulimit -n {most}"));
        self
    }

    /// Has the process survive [`Tollgate::largest_file`].
    #[must_use]
    pub fn file_limit(mut self) -> Self {
        self.limits.push("trap '' XFSZ".to_owned());
        self
    }

    /// Starts it and waits until it says it is ready.
    #[track_caller]
    pub fn start(self) -> Tollgate {
        self.try_start().unwrap_or_else(|why| panic!("tollgate did not get ready: {why}"))
    }

    /// Starts it, or says how it ended and what it wrote.
    pub fn try_start(mut self) -> Result<Tollgate, String> {
        let dir = TempDir::new().unwrap();
        let policy = dir.path().join("policy.yaml");
        std::fs::write(&policy, &self.policy).unwrap();
        let roots = dir.path().join("origins.pem");
        std::fs::write(&roots, self.roots.concat()).unwrap();
        let audit = dir.path().join("audit.jsonl");
        let mut defaults = json!({ "tls": { "ca_dir": dir.path().join("ca") }, "audit": { "path": audit } });
        if !self.roots.is_empty() {
            merge(&mut defaults, json!({ "tls": { "extra_upstream_roots": [roots] } }));
        }
        merge(&mut defaults, self.config.take());
        let config = dir.path().join("tollgate.yaml");
        std::fs::write(&config, serde_json::to_string_pretty(&defaults).unwrap()).unwrap();

        let folder = dir.path().join("policy.d");
        let mut arguments = vec!["run", "--policy", policy.to_str().unwrap(), "--config", config.to_str().unwrap()];
        if !self.fragments.is_empty() {
            std::fs::create_dir(&folder).unwrap();
            arguments.extend(["--policy", folder.to_str().unwrap()]);
        }
        for (name, text) in &self.fragments {
            std::fs::write(folder.join(name), text).unwrap();
        }
        let mut command = if self.limits.is_empty() {
            Command::new(binary())
        } else {
            let mut shell = Command::new("sh");
            let limits = self.limits.join(" && ");
            shell.args(["-c", &format!("{limits} && exec \"$0\" \"$@\"")]).arg(binary());
            shell
        };
        command.args(arguments).envs(self.environment);
        for name in ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"] {
            command.env_remove(name);
        }
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = collect(child.stderr.take().unwrap());
        let (send, ready) = mpsc::channel();
        let stdout = child.stdout.take().unwrap();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _ = send.send(line);
            }
        });
        let started = Instant::now();
        let line = loop {
            match ready.recv_timeout(Duration::from_millis(50)) {
                Ok(line) if line.starts_with("tollgate ready") => break line,
                Ok(_) => {}
                Err(_) if started.elapsed() > Duration::from_secs(20) || child.try_wait().unwrap().is_some() => {
                    let _ = child.kill();
                    let status = child.wait().unwrap();
                    // What it wrote is read by another thread.
                    for _ in 0..100 {
                        std::thread::sleep(Duration::from_millis(20));
                        if !stderr.lock().unwrap().is_empty() {
                            break;
                        }
                    }
                    return Err(format!("{status}, standard error:\n{}", stderr.lock().unwrap()));
                }
                Err(_) => {}
            }
        };
        let refused = schemas::against_config(&defaults);
        assert!(
            refused.is_empty(),
            "tollgate.yaml is taken, and is not valid by its schema: {refused:#?}"
        );
        let value = |name: &str| {
            let found = line.split_whitespace().find_map(|word| word.strip_prefix(name));
            found.unwrap_or_else(|| panic!("no {name} in {line}")).to_owned()
        };
        Ok(Tollgate {
            proxy: value("proxy=").parse().unwrap(),
            admin: value("admin=").parse().unwrap(),
            ca: PathBuf::from(value("ca=")),
            child,
            policy,
            audit,
            stderr,
            dir,
        })
    }
}

/// A running proxy; ends with this value.
pub struct Tollgate {
    /// Where clients connect.
    pub proxy: SocketAddr,
    /// Where health and metrics are.
    pub admin: SocketAddr,
    /// The CA that clients have to trust.
    pub ca: PathBuf,
    child: Child,
    policy: PathBuf,
    audit: PathBuf,
    stderr: Arc<Mutex<String>>,
    dir: TempDir,
}

impl Tollgate {
    /// The process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The directory that holds its files; more may be put there.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// The CA certificate.
    pub fn ca_pem(&self) -> String {
        std::fs::read_to_string(&self.ca).unwrap()
    }

    /// The proxy as clients are told of it.
    pub fn url(&self) -> String {
        format!("http://{}", self.proxy)
    }

    /// What it has written to standard error so far.
    pub fn stderr(&self) -> String {
        self.stderr.lock().unwrap().clone()
    }

    /// Waits until standard error holds `text`, and gives back all of it.
    pub async fn logged(&self, text: &str) -> String {
        eventually(&format!("{text:?} on standard error"), || {
            Some(self.stderr()).filter(|log| log.contains(text))
        })
        .await
    }

    /// All audit lines so far.
    pub fn audit_events(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.audit).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
            .collect()
    }

    /// Waits for an audit line that has all members of `pattern`.
    #[track_caller]
    pub fn audited(&self, pattern: Value) -> impl Future<Output = Value> + '_ {
        let caller = std::panic::Location::caller();
        async move {
            let found = tokio::time::timeout(Duration::from_secs(5), async {
                eventually("audit line", || self.audit_events().into_iter().find(|event| has(event, &pattern))).await
            });
            match found.await {
                Ok(event) => event,
                Err(_) => panic!("no audit line with {pattern} (asked at {caller}) in {:#?}", self.audit_events()),
            }
        }
    }

    /// A resource of the admin listener.
    pub async fn admin(&self, path: &str) -> Answer {
        self.ask_admin("GET", path).await
    }

    /// A bare POST to the admin listener.
    pub async fn admin_post(&self, path: &str) -> Answer {
        self.ask_admin("POST", path).await
    }

    async fn ask_admin(&self, method: &str, path: &str) -> Answer {
        let mut connection = H1::dial(self.admin).await;
        connection
            .request(format!(
                "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
                self.admin
            ))
            .await
    }

    /// The readiness answer: status and document.
    pub async fn readyz(&self) -> (u16, String) {
        let answer = self.admin("/readyz").await;
        (answer.status, answer.text())
    }

    /// The metrics in Prometheus' text form.
    pub async fn metrics(&self) -> String {
        self.admin("/metrics").await.text()
    }

    /// The sum over the series of `name` that carry all these labels.
    pub async fn metric(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let text = self.metrics().await;
        let wanted: Vec<String> = labels.iter().map(|(key, value)| format!("{key}=\"{value}\"")).collect();
        text.lines()
            .filter(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' '])))
            .filter(|line| wanted.iter().all(|label| line.contains(label)))
            .filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
            .sum()
    }

    /// Replaces `policy.yaml` the way editors do: a new file, renamed over the old one.
    pub fn write_policy(&self, policy: &str) {
        let fresh = self.policy.with_extension("new");
        std::fs::write(&fresh, policy).unwrap();
        std::fs::rename(fresh, &self.policy).unwrap();
    }

    /// Replaces the policy and waits until the process has taken it or turned it down.
    pub async fn reload(&self, policy: &str) {
        self.reloaded_after(|| self.write_policy(policy)).await;
    }

    /// Does something to the policy's files and waits until the process has taken it or turned it down.
    pub async fn reloaded_after(&self, change: impl FnOnce()) {
        let before = self.metric("tollgate_policy_reloads_total", &[]).await;
        change();
        let end = Instant::now() + Duration::from_secs(5);
        while self.metric("tollgate_policy_reloads_total", &[]).await <= before {
            assert!(Instant::now() < end, "the changed policy was not noticed:\n{}", self.stderr());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Sends a signal.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Lets no file of the process grow beyond this: a write there fails like one to a full disk. `None` gives it room again. To be asked for
    /// by [`Setup::file_limit`].
    pub fn largest_file(&self, bytes: Option<u64>) {
        let pid = rustix::process::Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        let limit = rustix::process::Rlimit {
            current: bytes,
            maximum: None,
        };
        rustix::process::prlimit(pid, rustix::process::Resource::Fsize, limit).unwrap();
    }

    /// Waits for the end of the process.
    pub async fn ended(&mut self) -> ExitStatus {
        let child = &mut self.child;
        eventually("end of the process", || child.try_wait().unwrap()).await
    }

    /// Whether the process still runs.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Resident memory in bytes.
    pub fn resident(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
    }
}

/// More lines of one run than this are not held against the schema.
const LINES_VALIDATED: usize = 2_000;

impl Drop for Tollgate {
    fn drop(&mut self) {
        self.end();
        if !std::thread::panicking() {
            for line in self.audit_events().iter().take(LINES_VALIDATED) {
                let refused = schemas::against_audit_line(line);
                assert!(
                    refused.is_empty(),
                    "an audit line that is not valid by its schema: {refused:#?} {line}"
                );
            }
        }
    }
}

impl Tollgate {
    fn end(&mut self) {
        if std::thread::panicking() {
            let log = self.stderr();
            let start = log.len().saturating_sub(4000);
            let start = (start..log.len()).find(|at| log.is_char_boundary(*at)).unwrap_or(log.len());
            #[allow(clippy::print_stderr, reason = "what a failed test needs most")]
            {
                eprintln!("--- tollgate's standard error (end)\n{}", &log[start..]);
            }
        }
        if self.child.try_wait().is_ok_and(|status| status.is_some()) {
            return;
        }
        self.signal(rustix::process::Signal::TERM);
        let end = Instant::now() + Duration::from_millis(300);
        while Instant::now() < end {
            if self.child.try_wait().is_ok_and(|status| status.is_some()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The binary under test: `TOLLGATE_BIN`, or the one built beside this test.
pub fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("TOLLGATE_BIN") {
        let path = PathBuf::from(path);
        assert!(path.is_file(), "TOLLGATE_BIN names no file: {}", path.display());
        return path;
    }
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).expect("a test lies in target/PROFILE/deps");
    let target = profile.parent().expect("a profile lies in target");
    [
        profile.to_owned(),
        target.join("debug"),
        target.join("quick"),
        target.join("release"),
    ]
    .into_iter()
    .map(|dir| dir.join("tollgate"))
    .find(|path| path.is_file())
    .unwrap_or_else(|| {
        panic!(
            "no tollgate binary in {}; run `cargo build -p tollgate` first, or set TOLLGATE_BIN",
            target.display()
        )
    })
}

/// Whether `value` has every member of `pattern`, at any depth.
pub fn has(value: &Value, pattern: &Value) -> bool {
    match (value, pattern) {
        (Value::Object(value), Value::Object(pattern)) => pattern.iter().all(|(key, part)| value.get(key).is_some_and(|v| has(v, part))),
        (value, pattern) => value == pattern,
    }
}

fn merge(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                merge(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over,
    }
}

fn collect(mut source: impl std::io::Read + Send + 'static) -> Arc<Mutex<String>> {
    let text = Arc::new(Mutex::new(String::new()));
    let sink = Arc::clone(&text);
    std::thread::spawn(move || {
        let mut piece = [0; 4096];
        while let Ok(count @ 1..) = source.read(&mut piece) {
            sink.lock().unwrap().push_str(&String::from_utf8_lossy(&piece[..count]));
        }
    });
    text
}
