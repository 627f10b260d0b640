//! An ordinary API: it answers everything, so that whatever does not come through was stopped by the gate.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use rustls::ServerConfig;

use super::server::Server;

/// See the module.
pub(super) struct Origin {
    pub(super) server: Server,
    requests: Arc<AtomicUsize>,
}

impl Origin {
    pub(super) async fn start(tls: &ServerConfig) -> io::Result<Self> {
        let requests = Arc::new(AtomicUsize::new(0));
        let counted = requests.clone();
        let router = Router::new().fallback(move || {
            counted.fetch_add(1, Ordering::SeqCst);
            async { "hello from the origin\n" }
        });
        Ok(Origin {
            server: Server::start(router, tls).await?,
            requests,
        })
    }

    /// Answered so far.
    pub(super) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}
