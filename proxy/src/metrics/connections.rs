//! Client connections.

use prometheus::{IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts, Registry};

use super::{Metrics, Registered};
use crate::audit::Adapter;
use crate::audit::vocabulary::Vocabulary;

pub(super) struct Connections(Vec<(IntCounter, IntGauge)>);

impl Connections {
    pub(super) fn register(registry: &Registry) -> Result<Self, prometheus::Error> {
        let total = Opts::new("tollgate_connections_total", "Connections and tunnels begun.");
        let total = IntCounterVec::new(total, &["adapter"])?.registered(registry)?;
        let active = Opts::new("tollgate_connections_active", "Connections and tunnels open now.");
        let active = IntGaugeVec::new(active, &["adapter"])?.registered(registry)?;
        let of = |adapter: &Adapter| {
            (
                total.with_label_values(&[adapter.as_str()]),
                active.with_label_values(&[adapter.as_str()]),
            )
        };
        Ok(Connections(Adapter::ALL.iter().map(of).collect()))
    }
}

/// Counts a connection as active until it is dropped.
#[derive(Debug)]
#[must_use = "the connection counts as active only while the guard lives"]
pub struct ConnectionGuard(Option<IntGauge>);

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        if let Some(active) = &self.0 {
            active.dec();
        }
    }
}

impl Metrics {
    /// A connection (or a tunnel on it) begins; it ends when the guard is dropped.
    pub fn connection(&self, adapter: Adapter) -> ConnectionGuard {
        ConnectionGuard(self.connections.0.get(adapter.index()).map(|(total, active)| {
            total.inc();
            active.inc();
            active.clone()
        }))
    }
}
