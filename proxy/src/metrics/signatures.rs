//! Payments that were to be signed here.

use prometheus::{IntCounter, IntCounterVec, Opts, Registry};

use super::{Metrics, Registered, catch_up};
use crate::audit::SignatureOutcome;
use crate::audit::vocabulary::Vocabulary;

/// By outcome.
pub(super) struct Signatures(Vec<IntCounter>);

impl Signatures {
    pub(super) fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let total = Opts::new("tollgate_signatures_total", "Payments that were to be signed here, by outcome.");
        let total = IntCounterVec::new(total, &["outcome"])?.registered(registry)?;
        let of = |outcome: &SignatureOutcome| total.with_label_values(&[outcome.as_str()]);
        Ok(Signatures(SignatureOutcome::ALL.iter().map(of).collect()))
    }
}

impl Metrics {
    /// How often that was the outcome since the start.
    pub fn set_signatures(&self, outcome: SignatureOutcome, count: u64) {
        if let Some(counter) = self.signatures.0.get(outcome.index()) {
            catch_up(counter, count);
        }
    }
}
