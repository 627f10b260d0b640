//! Credentials that change: their files and commands are read again when they are due, and on SIGHUP.

use std::convert::Infallible;
use std::fmt;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use crate::credentials::{Keeping, Kept};
use crate::metrics::{Metrics, ReloadResult};

/// How often files are looked at.
const LOOK: Duration = Duration::from_millis(500);

/// See the module.
pub struct CredentialSources {
    keeping: Arc<Keeping>,
    metrics: Arc<Metrics>,
}

impl fmt::Debug for CredentialSources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CredentialSources").finish_non_exhaustive()
    }
}

impl CredentialSources {
    pub(super) fn new(keeping: Keeping, metrics: Arc<Metrics>) -> Self {
        CredentialSources {
            keeping: Arc::new(keeping),
            metrics,
        }
    }

    /// Takes all of them again now.
    pub async fn take_all(&self) {
        self.take(Keeping::take_all).await;
    }

    pub(super) async fn watch(&self) -> Infallible {
        if !self.keeping.may_change() {
            return pending().await;
        }
        loop {
            tokio::time::sleep(LOOK).await;
            self.take(Keeping::look).await;
        }
    }

    /// A command may take seconds, in which the rest goes on.
    async fn take(&self, again: fn(&Keeping) -> Kept) {
        let keeping = self.keeping.clone();
        let Ok(Kept { taken, failed }) = tokio::task::spawn_blocking(move || again(&keeping)).await else {
            return;
        };
        for _ in 0..taken {
            self.metrics.credential_reloaded(ReloadResult::Applied);
        }
        for error in failed {
            tracing::error!("{error}; the last good value stays in use");
            self.metrics.credential_reloaded(ReloadResult::Rejected);
        }
        if taken > 0 {
            tracing::info!(taken, "credentials were taken again");
        }
    }
}
