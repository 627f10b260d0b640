//! The policy in force: loaded at start, watched, and loaded again when one of its files changes, comes or goes, or on SIGHUP.
//!
//! One that cannot be used keeps the last good policy, says why in the same words as `tollgate check`, and shows in `/readyz` and
//! the metrics. With no good one yet, everything is denied.

use std::convert::Infallible;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tollgate_policy::{Policy, Severity, Sources, Style};

use super::judged::Judged;
use super::policy_paths::{PolicyPaths, Stamp};
use crate::admin::{PolicyInForce, Readiness};
use crate::flow::Engine;
use crate::gate::payment::config::PaymentsConfig;
use crate::gate::stanzas::Stanzas;
use crate::identity::resolve_binary_alias;
use crate::metrics::ReloadResult;

/// How often the files are looked at. Looking, unlike being notified, also sees renames, swapped symbolic links (Kubernetes) and file
/// systems without notifications, at a handful of `stat` calls a second for each file.
const LOOK: Duration = Duration::from_millis(200);

/// See the module.
pub struct PolicyFile {
    paths: PolicyPaths,
    payments: PaymentsConfig,
    engine: Arc<Engine>,
    readiness: Arc<Readiness>,
    generation: AtomicU64,
    /// One load at a time, and what the files looked like at the last one.
    loaded: Mutex<Stamp>,
}

impl fmt::Debug for PolicyFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolicyFile").field("paths", &self.paths).finish_non_exhaustive()
    }
}

impl PolicyFile {
    pub(super) fn new(paths: PolicyPaths, payments: PaymentsConfig, engine: Arc<Engine>, readiness: Arc<Readiness>) -> Self {
        PolicyFile {
            paths,
            payments,
            engine,
            readiness,
            generation: AtomicU64::new(0),
            loaded: Mutex::default(),
        }
    }

    /// Loads the files now.
    pub fn load(&self) {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        *loaded = self.paths.stamp();
        match self.paths.read() {
            Ok(sources) => self.apply(&sources),
            Err(error) => self.reject(error.to_string()),
        }
    }

    /// Loads the files whenever they have changed and then rested for one look, so that one that is being written is not read halfway.
    pub(super) async fn watch(self: Arc<Self>) -> Infallible {
        let mut seen = Stamp::default();
        loop {
            tokio::time::sleep(LOOK).await;
            let now = self.paths.stamp();
            let settled = now == seen && now != *self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
            if settled {
                tokio::task::block_in_place(|| self.load());
            }
            seen = now;
        }
    }

    fn apply(&self, sources: &Sources) {
        let stanzas = Stanzas { operator: &self.payments };
        let judged = Judged::of(sources, stanzas, &self.engine.gate.standing().rails);
        let text = judged.rendered(sources);
        for warning in judged.findings_of(Severity::Warning).filter(|_| judged.policy.is_some()) {
            tracing::warn!("{}", sources.render(warning, Style::Plain));
        }
        let Some(policy) = judged.policy else { return self.reject(text) };
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
                source: self.paths.to_string(),
                files: sources.iter().map(|(_, source)| source.name().to_owned()).collect(),
                loaded,
            },
            text,
        );
        tracing::info!(generation, policy = %self.paths, "the policy is in force");
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
