//! The policy file: loaded at start, watched, and loaded again when it changes or on SIGHUP.
//!
//! A file that cannot be used keeps the last good policy, says why in the same words as `tollgate check`, and shows in `/readyz` and
//! the metrics. With no good one yet, everything is denied.

use std::convert::Infallible;
use std::fmt;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tollgate_policy::{Diagnostic, Loaded, Policy, Severity};

use crate::admin::{PolicyInForce, Readiness};
use crate::flow::Engine;
use crate::gate::payment::config::PaymentsConfig;
use crate::gate::rail::Rails;
use crate::gate::stanzas::Stanzas;
use crate::identity::resolve_binary_alias;
use crate::metrics::ReloadResult;

/// How often the file is looked at. Looking, unlike being notified, also sees renames, swapped symbolic links (Kubernetes) and file
/// systems without notifications, at four `stat` calls a second.
const LOOK: Duration = Duration::from_millis(200);
/// No honest policy is larger.
const LARGEST: u64 = 1 << 20;

/// See the module.
pub struct PolicyFile {
    path: PathBuf,
    payments: PaymentsConfig,
    engine: Arc<Engine>,
    readiness: Arc<Readiness>,
    generation: AtomicU64,
    /// One load at a time, and what the file looked like at the last one.
    loaded: Mutex<Option<Stamp>>,
}

/// What changes when the file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// A policy and all that there is to say about it.
pub(super) struct Judged {
    /// `None` if a finding is an error.
    pub(super) policy: Option<Policy>,
    pub(super) findings: Vec<Diagnostic>,
}

/// Loads a policy's text, and has every rule look at it.
pub(super) fn judge(source: &str, stanzas: Stanzas<'_>, rails: &Rails) -> Judged {
    let Loaded {
        policy,
        diagnostics: mut findings,
    } = tollgate_policy::load(source, &stanzas);
    findings.extend(policy.iter().flat_map(|policy| crate::gate::lints::findings(policy, rails)));
    Judged { policy, findings }
}

/// Findings in the words of `tollgate check`.
pub(super) fn rendered(findings: &[Diagnostic], path: &Path, source: &str) -> String {
    let file = path.display().to_string();
    findings
        .iter()
        .map(|finding| finding.render(&file, source))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Reads a policy's text.
pub(super) fn read(path: &Path) -> Result<String, std::io::Error> {
    // Opening a pipe would wait for a writer, and reading a device might never end.
    if !std::fs::metadata(path)?.is_file() {
        return Err(std::io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    String::from_utf8(bytes).map_err(|_| std::io::Error::other("the file is not UTF-8"))
}

impl fmt::Debug for PolicyFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolicyFile").field("path", &self.path).finish_non_exhaustive()
    }
}

impl PolicyFile {
    pub(super) fn new(path: PathBuf, payments: PaymentsConfig, engine: Arc<Engine>, readiness: Arc<Readiness>) -> Self {
        PolicyFile {
            path,
            payments,
            engine,
            readiness,
            generation: AtomicU64::new(0),
            loaded: Mutex::new(None),
        }
    }

    /// Loads the file now.
    pub fn load(&self) {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        *loaded = self.stamp();
        match read(&self.path) {
            Ok(source) => self.apply(&source),
            Err(error) => self.reject(format!("{}: error[unreadable]: {error}", self.path.display())),
        }
    }

    /// Loads the file whenever it has changed and then rested for one look, so that one that is being written is not read halfway.
    pub(super) async fn watch(self: Arc<Self>) -> Infallible {
        let mut seen = None;
        loop {
            tokio::time::sleep(LOOK).await;
            let now = self.stamp();
            let known = *self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
            if now != known && now == seen {
                tokio::task::block_in_place(|| self.load());
            }
            seen = now;
        }
    }

    fn stamp(&self) -> Option<Stamp> {
        let metadata = std::fs::metadata(&self.path).ok()?;
        Some(Stamp {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }

    fn apply(&self, source: &str) {
        let stanzas = Stanzas { operator: &self.payments };
        let Judged { policy, findings } = judge(source, stanzas, &self.engine.gate.standing().rails);
        let text = rendered(&findings, &self.path, source);
        let Some(policy) = policy else { return self.reject(text) };
        for warning in findings.iter().filter(|finding| finding.severity == Severity::Warning) {
            tracing::warn!("{}", rendered(std::slice::from_ref(warning), &self.path, source));
        }
        let policy = self.with_resolved_binaries(policy);
        let generation = self.generation.fetch_add(1, Ordering::Relaxed) + 1;
        let rules = stanzas.ruleset(generation, policy);
        let loaded = rules.loaded;
        self.engine.gate.replace(rules);
        self.engine.metrics.set_policy(generation, loaded);
        self.engine.metrics.policy_reloaded(ReloadResult::Applied);
        self.readiness.policy_applied(
            PolicyInForce {
                generation,
                source: self.path.clone(),
                loaded,
            },
            text,
        );
        tracing::info!(generation, policy = %self.path.display(), "the policy is in force");
    }

    /// Running processes are known by the resolved path of their executable (`/usr/bin/python3` is a symbolic link). What lies there now
    /// is noted, so that its first use is the operator's and not a client's; large files take a while, so not before the policy stands.
    fn with_resolved_binaries(&self, policy: Policy) -> Policy {
        let named = std::cell::RefCell::new(Vec::new());
        let policy = policy.with_binary_aliases(|path| {
            let resolved = resolve_binary_alias(Path::new(path));
            let alias = (resolved != Path::new(path)).then(|| resolved.display().to_string());
            named.borrow_mut().push(resolved);
            alias
        });
        let identities = self.engine.identities.clone();
        std::thread::spawn(move || {
            for binary in named.into_inner() {
                if let Err(error) = identities.ledger().note(&binary) {
                    tracing::debug!(binary = %binary.display(), %error, "a binary that the policy names cannot be noted");
                }
            }
        });
        policy
    }

    fn reject(&self, text: String) {
        tracing::error!("the policy cannot be used, so the last good one stays in force (with none, everything is denied)\n{text}");
        self.engine.metrics.policy_reloaded(ReloadResult::Rejected);
        self.readiness.policy_rejected(SystemTime::now(), text);
    }
}
