//! Requests: how many, how they were decided, how long they and we took.

use std::time::Duration;

use prometheus::{Histogram, HistogramOpts, HistogramVec, IntCounterVec, Opts, Registry};
use tollgate_policy::{Group, Reason};

use super::by_reason::{ByReason, reasons_of};
use super::{Metrics, Registered, buckets};
use crate::audit::vocabulary::Vocabulary;
use crate::audit::{Adapter, Decision};

struct PerDecision {
    count: ByReason,
    duration: Histogram,
}

struct PerAdapter {
    decisions: Vec<PerDecision>,
    overhead: Histogram,
}

pub(super) struct Requests(Vec<PerAdapter>);

impl Requests {
    pub(super) fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let total = Opts::new("tollgate_requests_total", "Requests decided on.");
        let total = IntCounterVec::new(total, &["decision", "reason_code", "adapter"])?.registered(registry)?;
        let duration = HistogramOpts::new(
            "tollgate_request_duration_seconds",
            "From a request's head to the end of its answer.",
        );
        let duration = HistogramVec::new(duration.buckets(buckets::REQUEST.to_vec()), &["adapter", "decision"])?.registered(registry)?;
        let overhead = HistogramOpts::new(
            "tollgate_overhead_seconds",
            "Tollgate's own share of a request, without waiting for the origin, the client or the verdict service.",
        );
        let overhead = HistogramVec::new(overhead.buckets(buckets::OVERHEAD.to_vec()), &["adapter"])?.registered(registry)?;
        let per_decision = |adapter: Adapter, decision: Decision| PerDecision {
            count: ByReason::new(total.clone(), vec![decision.as_str(), "", adapter.as_str()], 1).prime(possible(decision)),
            duration: duration.with_label_values(&[adapter.as_str(), decision.as_str()]),
        };
        let per_adapter = |adapter: &Adapter| PerAdapter {
            decisions: Decision::ALL.iter().map(|decision| per_decision(*adapter, *decision)).collect(),
            overhead: overhead.with_label_values(&[adapter.as_str()]),
        };
        Ok(Requests(Adapter::ALL.iter().map(per_adapter).collect()))
    }
}

/// The reasons that can stand beside a decision.
fn possible(decision: Decision) -> Vec<Option<Reason>> {
    match decision {
        Decision::Allow => vec![None],
        Decision::Deny => Reason::ALL.iter().copied().map(Some).collect(),
        // Audit mode softens route decisions only.
        Decision::WouldDeny => reasons_of(&[Group::Route]).collect(),
    }
}

impl Metrics {
    /// One request is done. `overhead` is `duration` without the waits for the origin, the client and the verdict service.
    pub fn observe_request(&self, adapter: Adapter, decision: Decision, reason: Option<Reason>, duration: Duration, overhead: Duration) {
        let Some(adapter) = self.requests.0.get(adapter.index()) else {
            return;
        };
        adapter.overhead.observe(overhead.as_secs_f64());
        let Some(decision) = adapter.decisions.get(decision.index()) else {
            return;
        };
        decision.duration.observe(duration.as_secs_f64());
        decision.count.increment(reason);
    }
}
