//! The policy in force, and attempts to replace it and the credentials.

use std::time::{SystemTime, UNIX_EPOCH};

use prometheus::{Gauge, IntCounter, IntCounterVec, IntGauge, Opts, Registry};

use super::{Metrics, Registered};

/// How an attempt to load something again ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReloadResult {
    /// It is in force.
    Applied,
    /// It has errors; the last good one stays.
    Rejected,
}

pub(super) struct Policy {
    applied: IntCounter,
    rejected: IntCounter,
    generation: IntGauge,
    loaded: Gauge,
    credentials_applied: IntCounter,
    credentials_rejected: IntCounter,
    closers: IntGauge,
}

impl Policy {
    pub(super) fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let reloads = Opts::new("tollgate_policy_reloads_total", "Attempts to load the policy.");
        let reloads = IntCounterVec::new(reloads, &["result"])?.registered(registry)?;
        let credentials = Opts::new(
            "tollgate_credential_reloads_total",
            "Attempts to take a credential from its file or command again.",
        );
        let credentials = IntCounterVec::new(credentials, &["result"])?.registered(registry)?;
        Ok(Policy {
            credentials_applied: credentials.with_label_values(&["applied"]),
            credentials_rejected: credentials.with_label_values(&["rejected"]),
            applied: reloads.with_label_values(&["applied"]),
            rejected: reloads.with_label_values(&["rejected"]),
            generation: IntGauge::new(
                "tollgate_policy_generation",
                "The policy in force: 1 at the start, one more with each change.",
            )?
            .registered(registry)?,
            loaded: Gauge::new(
                "tollgate_policy_loaded_timestamp_seconds",
                "When the policy in force was loaded, in Unix time.",
            )?
            .registered(registry)?,
            closers: IntGauge::new(
                "tollgate_egress_closers",
                "How many of signal, admin listener and file hold all egress closed; 0: it is open.",
            )?
            .registered(registry)?,
        })
    }
}

impl Metrics {
    /// The policy was loaded, or could not be.
    pub fn policy_reloaded(&self, result: ReloadResult) {
        match result {
            ReloadResult::Applied => self.policy.applied.inc(),
            ReloadResult::Rejected => self.policy.rejected.inc(),
        }
    }

    /// A credential was taken again, or could not be.
    pub fn credential_reloaded(&self, result: ReloadResult) {
        match result {
            ReloadResult::Applied => self.policy.credentials_applied.inc(),
            ReloadResult::Rejected => self.policy.credentials_rejected.inc(),
        }
    }

    /// The policy that is in force from now on.
    pub fn set_policy(&self, generation: u64, loaded: SystemTime) {
        self.policy.generation.set(i64::try_from(generation).unwrap_or(i64::MAX));
        let seconds = loaded.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64());
        self.policy.loaded.set(seconds);
    }

    /// How many hold all egress closed.
    pub fn set_egress_closers(&self, count: usize) {
        self.policy.closers.set(i64::try_from(count).unwrap_or(i64::MAX));
    }
}
