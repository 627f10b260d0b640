//! The signals that a supervisor sends.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Tollgate;

/// SIGTERM and SIGINT drain; SIGHUP loads the policy and takes the credentials again; SIGUSR2 hands over to a
/// new process.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
    hand_over: Signal,
}

impl Signals {
    /// Starts to listen, so that a signal that comes during the start is not lost.
    pub fn listen() -> io::Result<Self> {
        Ok(Signals {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
            hand_over: signal(SignalKind::user_defined2())?,
        })
    }

    /// Serves until one of them says stop.
    pub async fn serve(mut self, tollgate: Tollgate) {
        let (policy, credentials) = (tollgate.policy().clone(), tollgate.credentials().clone());
        let succession = tollgate.succession().clone();
        let end = async {
            loop {
                tokio::select! {
                    _ = self.terminate.recv() => return,
                    _ = self.interrupt.recv() => return,
                    _ = self.hang_up.recv() => {
                        tokio::task::block_in_place(|| policy.load());
                        credentials.take_all().await;
                    }
                    _ = self.hand_over.recv() => match succession.hand_over().await {
                        Ok(()) => return,
                        Err(error) => tracing::error!("no restart, and this process goes on: {error}"),
                    }
                }
            }
        };
        tollgate.serve_until(end).await;
    }
}
