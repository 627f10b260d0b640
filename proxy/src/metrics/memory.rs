//! The memory of used payments: whether it can be written, and how full it is.

use prometheus::{IntCounter, IntGauge, Registry};

use super::{Metrics, Registered, catch_up};

/// Whether used payments can be remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryState {
    /// They can.
    Usable,
    /// They cannot, so no payment leaves.
    Unusable,
}

pub(super) struct Memory {
    ready: IntGauge,
    remembered: IntGauge,
    errors: IntCounter,
}

impl Memory {
    pub(super) fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let ready = IntGauge::new(
            "tollgate_payment_store_ready",
            "Whether used payments can be remembered; while not, no payment leaves.",
        )?;
        let remembered = IntGauge::new("tollgate_payments_remembered", "Used payments that are remembered now.")?;
        let errors = IntCounter::new(
            "tollgate_payment_store_errors_total",
            "Attempts to open or write the payment store that failed.",
        )?;
        Ok(Memory {
            ready: ready.registered(registry)?,
            remembered: remembered.registered(registry)?,
            errors: errors.registered(registry)?,
        })
    }
}

impl Metrics {
    /// How the memory of used payments stands: how many it holds, and how often its store failed since the start.
    pub fn set_payment_memory(&self, state: MemoryState, remembered: usize, errors: u64) {
        let Memory {
            ready,
            remembered: held,
            errors: failed,
        } = &self.memory;
        ready.set(i64::from(state == MemoryState::Usable));
        held.set(i64::try_from(remembered).unwrap_or(i64::MAX));
        catch_up(failed, errors);
    }
}
