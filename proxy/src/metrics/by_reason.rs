//! Counters with a `reason_code` label, found by index.

use std::sync::OnceLock;

use prometheus::{IntCounter, IntCounterVec, Opts, Registry};
use tollgate_policy::{Group, Reason};

use super::Registered;

/// One counter for "no reason" and one for each reason; a series appears when it is first used or primed.
pub(super) struct ByReason {
    family: IntCounterVec,
    /// The values of the other labels, with an empty place for the reason.
    labels: Vec<&'static str>,
    place: usize,
    none: OnceLock<IntCounter>,
    reasons: Box<[OnceLock<IntCounter>]>,
}

impl ByReason {
    /// `labels` are all label values in the family's order; the one at `place` is the reason's.
    pub(super) fn new(family: IntCounterVec, labels: Vec<&'static str>, place: usize) -> Self {
        ByReason {
            family,
            labels,
            place,
            none: OnceLock::new(),
            reasons: Reason::ALL.iter().map(|_| OnceLock::new()).collect(),
        }
    }

    /// Shows the series at 0 from the start, without which Prometheus misses the first increase.
    pub(super) fn prime(self, reasons: impl IntoIterator<Item = Option<Reason>>) -> Self {
        for reason in reasons {
            self.counter(reason);
        }
        self
    }

    pub(super) fn increment(&self, reason: Option<Reason>) {
        if let Some(counter) = self.counter(reason) {
            counter.inc();
        }
    }

    fn counter(&self, reason: Option<Reason>) -> Option<&IntCounter> {
        let slot = match reason {
            None => &self.none,
            Some(reason) => self.reasons.get(reason as usize)?,
        };
        Some(slot.get_or_init(|| {
            let mut labels = self.labels.clone();
            if let Some(place) = labels.get_mut(self.place) {
                *place = reason.map_or("", Reason::as_str);
            }
            self.family.with_label_values(&labels)
        }))
    }
}

/// The reasons of some groups.
pub(super) fn reasons_of(groups: &[Group]) -> impl Iterator<Item = Option<Reason>> {
    Reason::ALL
        .iter()
        .copied()
        .filter(|reason| groups.contains(&reason.group()))
        .map(Some)
}

pub(super) fn rail_denied(registry: &Registry) -> Result<ByReason, prometheus::Error> {
    let opts = Opts::new("tollgate_rail_denied_total", "Requests refused because they touch a payment rail.");
    let family = IntCounterVec::new(opts, &["reason_code"])?.registered(registry)?;
    Ok(ByReason::new(family, vec![""], 0).prime(reasons_of(&[Group::Rail])))
}

pub(super) fn upstream_errors(registry: &Registry) -> Result<ByReason, prometheus::Error> {
    let opts = Opts::new(
        "tollgate_upstream_errors_total",
        "Requests that were let out and failed at the origin.",
    );
    let family = IntCounterVec::new(opts, &["reason_code"])?.registered(registry)?;
    Ok(ByReason::new(family, vec![""], 0).prime(reasons_of(&[Group::Upstream])))
}
