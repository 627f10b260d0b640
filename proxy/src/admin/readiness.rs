//! Whether Tollgate is serving, and if not, why.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;

use serde::Serialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::audit;
use crate::settings::{Closer, Closers, Weakening};

/// A cause for not being ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NotReady {
    /// The listeners are not bound yet.
    NotListening,
    /// No policy is in force: everything is denied.
    NoPolicy,
    /// Audit lines can't be written: nothing leaves.
    AuditUnwritable,
    /// The memory of used payments can't be used: no payment leaves. Everything else does.
    PaymentStoreUnusable,
    /// The process has no file descriptors left for new connections.
    DescriptorsExhausted,
    /// The operator has closed all egress.
    EgressClosed,
    /// It is shutting down.
    Draining,
}

/// Where this Tollgate can be reached, and the certificate its clients must trust.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Addresses {
    /// For the sandbox.
    pub proxy: SocketAddr,
    /// For the supervisor.
    pub admin: SocketAddr,
    /// The CA certificate's file.
    pub ca: PathBuf,
}

/// The policy that decides now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PolicyInForce {
    /// 1 at the start, one more with each change.
    pub generation: u64,
    /// Where it is read from, as the command line has it.
    pub source: String,
    /// The files that it was read from.
    pub files: Vec<String>,
    /// When it was loaded.
    #[serde(serialize_with = "rfc3339")]
    pub loaded: SystemTime,
}

/// How an attempt to load the policy ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ReloadOutcome {
    /// It is in force.
    Applied,
    /// It has errors; the last good one stays.
    Rejected,
}

/// The last attempt to load the policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reload {
    /// How it ended.
    pub result: ReloadOutcome,
    /// When.
    #[serde(serialize_with = "rfc3339")]
    pub time: SystemTime,
    /// The diagnostics, as `tollgate check` prints them; empty when there are none.
    pub diagnostics: String,
}

/// Whether new connections can be accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Descriptors {
    /// They can.
    #[default]
    Available,
    /// The last `accept` failed for want of file descriptors.
    Exhausted,
}

/// Where used payments are remembered, and whether they can be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PaymentMemory {
    /// Where.
    pub kept: Kept,
    /// Whether payments may leave, as far as this goes.
    pub usable: bool,
    /// Why not.
    pub fault: Option<String>,
}

/// Where something is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kept {
    /// Until the process ends.
    InMemory,
    /// In a file.
    OnDisk,
}

impl PaymentMemory {
    /// No file is configured.
    pub const fn in_memory() -> Self {
        PaymentMemory {
            kept: Kept::InMemory,
            usable: true,
            fault: None,
        }
    }

    /// The file is written.
    pub const fn on_disk() -> Self {
        PaymentMemory {
            kept: Kept::OnDisk,
            usable: true,
            fault: None,
        }
    }

    /// The file cannot be used.
    pub const fn unusable(fault: String) -> Self {
        PaymentMemory {
            kept: Kept::OnDisk,
            usable: false,
            fault: Some(fault),
        }
    }
}

/// The body of `/readyz`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Whether requests are served.
    pub ready: bool,
    /// Why not; empty when they are.
    pub reasons: Vec<NotReady>,
    /// Who holds all egress closed; nobody in general.
    pub closed_by: Closers,
    /// Whether it is shutting down.
    pub draining: bool,
    /// The policy that decides.
    pub policy: Option<PolicyInForce>,
    /// The last attempt to load one.
    pub last_reload: Option<Reload>,
    /// Where it listens.
    pub addresses: Option<Addresses>,
    /// How the audit trail stands.
    pub audit: audit::Status,
    /// How the memory of used payments stands.
    pub payments: PaymentMemory,
    /// The weakening switches that are on.
    pub weakened: Vec<&'static str>,
    /// The version of Tollgate.
    pub version: &'static str,
}

#[derive(Debug, Default)]
struct State {
    addresses: Option<Addresses>,
    policy: Option<PolicyInForce>,
    last_reload: Option<Reload>,
    descriptors: Descriptors,
    closed_by: Closers,
    draining: bool,
    weakened: Vec<&'static str>,
}

type Sampler<T> = Box<dyn Fn() -> T + Send + Sync>;

/// The state behind `/readyz`: written by those who know, read by the admin listener.
#[derive(Default)]
pub struct Readiness {
    state: Mutex<State>,
    payments: OnceLock<Sampler<PaymentMemory>>,
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Readiness").field("state", &self.state).finish_non_exhaustive()
    }
}

impl Readiness {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whom to ask for the memory of used payments.
    pub fn watch_payments(&self, sampler: impl Fn() -> PaymentMemory + Send + Sync + 'static) {
        let _ = self.payments.set(Box::new(sampler));
    }

    /// The listeners are bound.
    pub fn listening(&self, addresses: Addresses) {
        self.state().addresses = Some(addresses);
    }

    /// A policy is in force.
    pub fn policy_applied(&self, policy: PolicyInForce, diagnostics: String) {
        let mut state = self.state();
        state.last_reload = Some(Reload {
            result: ReloadOutcome::Applied,
            time: policy.loaded,
            diagnostics,
        });
        state.policy = Some(policy);
    }

    /// A policy was refused; the one in force, if there is one, stays.
    pub fn policy_rejected(&self, time: SystemTime, diagnostics: String) {
        self.state().last_reload = Some(Reload {
            result: ReloadOutcome::Rejected,
            time,
            diagnostics,
        });
    }

    /// `accept` failed for want of descriptors, or works again.
    pub fn set_descriptors(&self, descriptors: Descriptors) {
        self.state().descriptors = descriptors;
    }

    /// These hold all egress closed.
    pub fn egress_held(&self, by: Closers) {
        self.state().closed_by = by;
    }

    /// Whether this one does.
    pub fn egress_held_by(&self, closer: Closer) -> bool {
        self.state().closed_by.contains(&closer)
    }

    /// Who holds egress closed.
    pub fn closed_by(&self) -> Closers {
        self.state().closed_by.clone()
    }

    /// The shutdown has begun.
    pub fn start_draining(&self) {
        self.state().draining = true;
    }

    /// These switches are on.
    pub fn weakened(&self, weakenings: &[Weakening]) {
        self.state().weakened = weakenings.iter().map(|weakening| weakening.switch).collect();
    }

    /// How things stand.
    pub fn report(&self, audit: audit::Status) -> Report {
        let payments = self.payments.get().map_or_else(PaymentMemory::in_memory, |sample| sample());
        let state = self.state();
        let causes = [
            (state.addresses.is_none(), NotReady::NotListening),
            (state.policy.is_none(), NotReady::NoPolicy),
            (!audit.ready, NotReady::AuditUnwritable),
            (!payments.usable, NotReady::PaymentStoreUnusable),
            (state.descriptors == Descriptors::Exhausted, NotReady::DescriptorsExhausted),
            (!state.closed_by.is_empty(), NotReady::EgressClosed),
            (state.draining, NotReady::Draining),
        ];
        let reasons: Vec<NotReady> = causes.into_iter().filter_map(|(holds, cause)| holds.then_some(cause)).collect();
        Report {
            ready: reasons.is_empty(),
            reasons,
            closed_by: state.closed_by.clone(),
            draining: state.draining,
            policy: state.policy.clone(),
            last_reload: state.last_reload.clone(),
            addresses: state.addresses.clone(),
            audit,
            payments,
            weakened: state.weakened.clone(),
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

fn rfc3339<S: serde::Serializer>(time: &SystemTime, serializer: S) -> Result<S::Ok, S::Error> {
    let text = OffsetDateTime::from(*time).format(&Rfc3339).unwrap_or_default();
    serializer.serialize_str(&text)
}
