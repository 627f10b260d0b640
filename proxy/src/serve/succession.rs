//! What a hot restart takes with it from a Tollgate that serves.

use std::fmt;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tollgate_certs::LeafCache;
use zeroize::Zeroizing;

use crate::admin::Readiness;
use crate::flow::Engine;
use crate::handover::{HandingOver, HandoverError};

/// See the module.
pub struct Succession {
    pub(super) handing: HandingOver,
    pub(super) engine: Arc<Engine>,
    pub(super) readiness: Arc<Readiness>,
    pub(super) leaves: Arc<LeafCache>,
    pub(super) with_authority: WithAuthority,
    pub(super) admin_stop: CancellationToken,
}

impl fmt::Debug for Succession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Succession").finish_non_exhaustive()
    }
}

/// Whether the successor goes on as the same certificate authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WithAuthority {
    Kept,
    MadeAnew,
}

impl Succession {
    /// Starts the successor and returns when it serves; from then on this process only has to drain.
    pub async fn hand_over(self: &Arc<Self>) -> Result<(), HandoverError> {
        let ours = self.clone();
        let handed = tokio::task::spawn_blocking(move || {
            let authority: Option<Zeroizing<Vec<u8>>> =
                (ours.with_authority == WithAuthority::Kept).then(|| ours.leaves.authority().hand_over());
            ours.handing.hand_over(ours.readiness.closed_by(), authority)
        });
        handed.await.map_err(|error| std::io::Error::other(error).into()).flatten()?;
        tracing::info!("a new process serves; this one drains");
        // It answers the supervisor, and needs the memory of used payments: what this one still has under way is refused.
        self.admin_stop.cancel();
        let engine = self.engine.clone();
        let _ = tokio::task::spawn_blocking(move || engine.gate.replay().close()).await;
        Ok(())
    }
}
