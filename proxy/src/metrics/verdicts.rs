//! The verdict service: what it says, how long it takes, whether we still ask.

use std::time::Duration;

use prometheus::{Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry};

use super::{Metrics, Registered, buckets, catch_up};
use crate::audit::vocabulary::Vocabulary;
use crate::audit::{PaymentOutcome, ReportFate, VerdictBackend, VerdictOutcome};

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

pub(super) struct Verdicts {
    backends: Vec<PerBackend>,
    /// By outcome and fate.
    reports: Vec<Vec<IntCounter>>,
}

impl Verdicts {
    pub(super) fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let total = Opts::new("tollgate_verdicts_total", "Verdicts asked for, by answer.");
        let total = IntCounterVec::new(total, &["backend", "verdict"])?.registered(registry)?;
        let duration = HistogramOpts::new("tollgate_verdict_duration_seconds", "Time to a verdict, queueing included.");
        let duration = HistogramVec::new(duration.buckets(buckets::VERDICT.to_vec()), &["backend"])?.registered(registry)?;
        let in_flight = Opts::new("tollgate_verdict_in_flight", "Calls to the verdict service now.");
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
        let reports = Opts::new(
            "tollgate_verdict_reports_total",
            "Reports to the verdict service on what became of payments.",
        );
        let reports = IntCounterVec::new(reports, &["outcome", "result"])?.registered(registry)?;
        let fates = |outcome: &PaymentOutcome| {
            let fate = |fate: &ReportFate| reports.with_label_values(&[outcome.as_str(), fate.as_str()]);
            ReportFate::ALL.iter().map(fate).collect()
        };
        Ok(Verdicts {
            backends: VerdictBackend::ALL.iter().map(of).collect(),
            reports: PaymentOutcome::ALL.iter().map(fates).collect(),
        })
    }
}

impl Metrics {
    /// A verdict came, or did not.
    pub fn count_verdict(&self, backend: VerdictBackend, outcome: VerdictOutcome) {
        let backend = self.verdicts.backends.get(backend.index());
        if let Some(count) = backend.and_then(|backend| backend.outcomes.get(outcome.index())) {
            count.inc();
        }
    }

    /// So long it took to get one, or not to; where the service was asked at all.
    pub fn observe_verdict_time(&self, backend: VerdictBackend, duration: Duration) {
        if let Some(backend) = self.verdicts.backends.get(backend.index()) {
            backend.duration.observe(duration.as_secs_f64());
        }
    }

    /// How many reports there were since the start.
    pub fn set_reports(&self, count: impl Fn(PaymentOutcome, ReportFate) -> u64) {
        for (outcome, fates) in PaymentOutcome::ALL.iter().zip(&self.verdicts.reports) {
            for (fate, counter) in ReportFate::ALL.iter().zip(fates) {
                catch_up(counter, count(*outcome, *fate));
            }
        }
    }

    /// How many calls are under way, and whether any are made.
    pub fn set_verdict_service(&self, backend: VerdictBackend, in_flight: usize, breaker: BreakerState) {
        if let Some(backend) = self.verdicts.backends.get(backend.index()) {
            backend.in_flight.set(i64::try_from(in_flight).unwrap_or(i64::MAX));
            backend.breaker.set(i64::from(breaker == BreakerState::Open));
        }
    }
}
