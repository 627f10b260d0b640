//! Counters and histograms for Prometheus.
//!
//! In: closed enums, durations, amounts. Out: the text of `/metrics`. No function here takes a text that a client chose, so no
//! label can: a name, path, payee or tool in a label lets a client grow the series without bound. Where a request passes, counters
//! are found by index, without a lookup.

mod buckets;
mod by_reason;
mod connections;
mod memory;
mod payments;
mod policy;
mod requests;
mod signatures;
mod verdicts;

use std::fmt;
use std::sync::Mutex;

use prometheus::core::Collector;
use prometheus::{Encoder, IntCounter, IntGauge, Opts, Registry, TextEncoder};
use thiserror::Error;
use tollgate_policy::Reason;

use crate::audit;
use by_reason::ByReason;

pub use connections::ConnectionGuard;
pub use memory::MemoryState;
pub use payments::AssetLabel;
pub use policy::ReloadResult;
pub use verdicts::BreakerState;

/// A metric that the library refused, which only a mistake in this module can cause.
#[derive(Debug, Error)]
#[error("cannot set up metrics: {0}")]
pub struct MetricsError(#[from] prometheus::Error);

type Sampler = Box<dyn Fn(&Metrics) + Send + Sync>;

/// All metrics of one Tollgate.
pub struct Metrics {
    registry: Registry,
    samplers: Mutex<Vec<Sampler>>,
    requests: requests::Requests,
    connections: connections::Connections,
    payments: payments::Payments,
    memory: memory::Memory,
    verdicts: verdicts::Verdicts,
    signatures: signatures::Signatures,
    policy: policy::Policy,
    rail_denied: ByReason,
    upstream_errors: ByReason,
    certificates_minted: IntCounter,
    certificate_cache_entries: IntGauge,
    audit_ready: IntGauge,
    audit_unwritten: IntGauge,
    audit_events: IntCounter,
    audit_write_errors: IntCounter,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

/// Registers with a registry and hands back the metric.
trait Registered: Collector + Clone + Sized + 'static {
    fn registered(self, registry: &Registry) -> Result<Self, prometheus::Error> {
        registry.register(Box::new(self.clone()))?;
        Ok(self)
    }
}

impl<C: Collector + Clone + 'static> Registered for C {}

impl Metrics {
    /// `assets` are the operator's assets: the only ones with a label of their own.
    pub fn new<A: Into<String>>(assets: impl IntoIterator<Item = A>) -> Result<Self, MetricsError> {
        let registry = Registry::new();
        let build =
            Opts::new("tollgate_build_info", "Always 1; the version is in the label.").const_label("version", env!("CARGO_PKG_VERSION"));
        IntGauge::with_opts(build)?.registered(&registry)?.set(1);
        let counter = |name: &str, help: &str| IntCounter::new(name, help)?.registered(&registry);
        let gauge = |name: &str, help: &str| IntGauge::new(name, help)?.registered(&registry);
        Ok(Metrics {
            requests: requests::Requests::register(&registry)?,
            connections: connections::Connections::register(&registry)?,
            payments: payments::Payments::register(&registry, assets.into_iter().map(Into::into))?,
            memory: memory::Memory::register(&registry)?,
            verdicts: verdicts::Verdicts::register(&registry)?,
            signatures: signatures::Signatures::register(&registry)?,
            policy: policy::Policy::register(&registry)?,
            rail_denied: by_reason::rail_denied(&registry)?,
            upstream_errors: by_reason::upstream_errors(&registry)?,
            certificates_minted: counter("tollgate_certificates_minted_total", "Leaf certificates minted.")?,
            certificate_cache_entries: gauge("tollgate_certificate_cache_entries", "Leaf certificates held in the cache.")?,
            audit_ready: gauge(
                "tollgate_audit_ready",
                "Whether audit lines can be written; while not, nothing leaves.",
            )?,
            audit_unwritten: gauge("tollgate_audit_unwritten_bytes", "Audit bytes that wait to be written.")?,
            audit_events: counter("tollgate_audit_events_total", "Audit events taken in.")?,
            audit_write_errors: counter("tollgate_audit_write_errors_total", "Attempts to write audit lines that failed.")?,
            samplers: Mutex::default(),
            registry,
        })
    }

    /// Has `sampler` set gauges each time the metrics are read, for values that are kept elsewhere.
    pub fn on_scrape(&self, sampler: impl Fn(&Metrics) + Send + Sync + 'static) {
        self.samplers
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .push(Box::new(sampler));
    }

    /// The text exposition format, version 0.0.4.
    pub fn render(&self) -> String {
        for sampler in self.samplers.lock().unwrap_or_else(std::sync::PoisonError::into_inner).iter() {
            sampler(self);
        }
        let mut text = Vec::new();
        if let Err(error) = TextEncoder::new().encode(&self.registry.gather(), &mut text) {
            tracing::error!(%error, "metrics could not be encoded");
        }
        String::from_utf8(text).unwrap_or_default()
    }

    /// A rail was touched and the request refused.
    pub fn rail_denied(&self, reason: Reason) {
        self.rail_denied.increment(Some(reason));
    }

    /// The origin failed.
    pub fn upstream_error(&self, reason: Reason) {
        self.upstream_errors.increment(Some(reason));
    }

    /// A leaf was minted.
    pub fn certificate_minted(&self) {
        self.certificates_minted.inc();
    }

    /// The leaves in the cache now, and those minted since the start.
    pub fn set_certificates(&self, cached: usize, minted: u64) {
        self.certificate_cache_entries.set(i64::try_from(cached).unwrap_or(i64::MAX));
        catch_up(&self.certificates_minted, minted);
    }

    /// How the audit trail stands.
    pub fn set_audit(&self, status: &audit::Status) {
        self.audit_ready.set(i64::from(status.ready));
        self.audit_unwritten.set(i64::try_from(status.unwritten).unwrap_or(i64::MAX));
        catch_up(&self.audit_events, status.events);
        catch_up(&self.audit_write_errors, status.write_errors);
    }
}

/// Brings a counter up to a count that is kept elsewhere.
fn catch_up(counter: &IntCounter, count: u64) {
    counter.inc_by(count.saturating_sub(counter.get()));
}

#[cfg(test)]
mod tests;
