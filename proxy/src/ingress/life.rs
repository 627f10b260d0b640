//! What ends a client connection from our side: shutdown, and new rules that no longer list its destination.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tollgate_policy::Reason;

use crate::flow::{Connection, Engine};
use crate::gate::closure::Egress;

/// How long a first request may still come once the drain has begun.
const NEWCOMERS: Duration = Duration::from_secs(1);

/// Tells connections that Tollgate drains.
#[derive(Debug, Clone)]
pub(crate) struct Drain(watch::Receiver<bool>);

impl Drain {
    pub(crate) fn new(receiver: watch::Receiver<bool>) -> Self {
        Drain(receiver)
    }

    /// Whether it has begun.
    pub(crate) fn has_begun(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits for it.
    pub(crate) async fn begun(mut self) {
        // An error means that the sender is gone, and with it the listener.
        let _ = self.0.wait_for(|draining| *draining).await;
    }

    /// Waits for it as one does who has asked for nothing yet: who was accepted a moment before a hot restart would be refused otherwise.
    pub(crate) async fn begun_for_newcomers(self) {
        self.begun().await;
        tokio::time::sleep(NEWCOMERS).await;
    }
}

/// Waits until the rules in force forbid what the connection leads to, and says why. It is judged again, at the connection level, with every
/// change of them; first at once, since they may have changed between its own judgement and here.
pub(crate) async fn revoked(engine: Arc<Engine>, connection: Arc<Connection>) -> Reason {
    let mut changes = engine.gate.changes();
    loop {
        let rules = engine.gate.rules();
        if !engine.still_allowed(&rules, &connection).await {
            return match rules.egress {
                Egress::Open => Reason::PolicyStale,
                Egress::Closed => Reason::EgressClosed,
            };
        }
        if changes.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}
