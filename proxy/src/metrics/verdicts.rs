//! The verdict service: what it says, how long it takes, whether we still ask.

use std::time::Duration;

use prometheus::{Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry};

use super::{Metrics, Registered, buckets};
use crate::audit::vocabulary::Vocabulary;
use crate::audit::{VerdictBackend, VerdictOutcome};

/// Whether calls are made at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerState {
    /// Calls are made.
    Closed,
    /// Too many failed; payments are refused without a call.
    Open,
}

struct PerBackend {
    outcomes: Vec<IntCounter>,
    duration: Histogram,
    in_flight: IntGauge,
    breaker: IntGauge,
}

pub(super) struct Verdicts(Vec<PerBackend>);

impl Verdicts {
    pub(super) fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let total = Opts::new("tollgate_verdicts_total", "Verdicts asked for, by answer.");
        let total = IntCounterVec::new(total, &["backend", "verdict"])?.registered(registry)?;
        let duration = HistogramOpts::new("tollgate_verdict_duration_seconds", "Time to a verdict, queueing included.");
        let duration = HistogramVec::new(duration.buckets(buckets::VERDICT.to_vec()), &["backend"])?.registered(registry)?;
        let in_flight = Opts::new("tollgate_verdict_in_flight", "Verdicts being waited for now.");
        let in_flight = IntGaugeVec::new(in_flight, &["backend"])?.registered(registry)?;
        let breaker = Opts::new(
            "tollgate_verdict_breaker_open",
            "1 while the service is not asked because it failed too often.",
        );
        let breaker = IntGaugeVec::new(breaker, &["backend"])?.registered(registry)?;
        let of = |backend: &VerdictBackend| {
            let backend = backend.as_str();
            let outcome = |outcome: &VerdictOutcome| total.with_label_values(&[backend, outcome.as_str()]);
            PerBackend {
                outcomes: VerdictOutcome::ALL.iter().map(outcome).collect(),
                duration: duration.with_label_values(&[backend]),
                in_flight: in_flight.with_label_values(&[backend]),
                breaker: breaker.with_label_values(&[backend]),
            }
        };
        Ok(Verdicts(VerdictBackend::ALL.iter().map(of).collect()))
    }
}

/// Counts a call as in flight until it is dropped.
#[derive(Debug)]
#[must_use = "the call counts as in flight only while the guard lives"]
pub struct InFlightGuard(Option<IntGauge>);

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        if let Some(in_flight) = &self.0 {
            in_flight.dec();
        }
    }
}

impl Metrics {
    /// A verdict is being asked for; it ends when the guard is dropped.
    pub fn verdict_in_flight(&self, backend: VerdictBackend) -> InFlightGuard {
        InFlightGuard(self.verdicts.0.get(backend.index()).map(|backend| {
            backend.in_flight.inc();
            backend.in_flight.clone()
        }))
    }

    /// A verdict came, or did not.
    pub fn observe_verdict(&self, backend: VerdictBackend, outcome: VerdictOutcome, duration: Duration) {
        let Some(backend) = self.verdicts.0.get(backend.index()) else {
            return;
        };
        backend.duration.observe(duration.as_secs_f64());
        if let Some(count) = backend.outcomes.get(outcome.index()) {
            count.inc();
        }
    }

    /// The breaker of a backend opened or closed.
    pub fn set_breaker(&self, backend: VerdictBackend, state: BreakerState) {
        if let Some(backend) = self.verdicts.0.get(backend.index()) {
            backend.breaker.set(i64::from(state == BreakerState::Open));
        }
    }
}
