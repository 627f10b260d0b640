//! Closes all egress at once: by SIGUSR1, by `POST /kill` at the admin listener, or while a file is there.
//!
//! Signal and admin listener only close: who gets to them from a sandbox can stop its own traffic, and nothing more. A file that cannot be
//! looked for counts as there.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Mutex;

use crate::admin::Readiness;
use crate::flow::Engine;
use crate::settings::{Closer, Closers};

/// How often the file is looked for.
const LOOK: Duration = Duration::from_millis(100);

/// See the module.
pub(super) struct KillSwitch {
    engine: Arc<Engine>,
    readiness: Arc<Readiness>,
    file: Option<PathBuf>,
    signal: Mutex<Signal>,
}

impl fmt::Debug for KillSwitch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KillSwitch").field("file", &self.file).finish_non_exhaustive()
    }
}

impl KillSwitch {
    /// Listens for the signal from here on: without that, it would end the process.
    pub(super) fn new(engine: Arc<Engine>, readiness: Arc<Readiness>, file: Option<PathBuf>) -> io::Result<Self> {
        Ok(KillSwitch {
            engine,
            readiness,
            file,
            signal: Mutex::new(signal(SignalKind::user_defined1())?),
        })
    }

    /// Lets nothing leave any more.
    pub(super) fn close(&self, by: Closer) {
        tracing::warn!(?by, "all egress is closed");
        self.tell(self.engine.gate.close(by));
    }

    /// Looks for the file once, so that one that is there at the start is obeyed before the first connection.
    pub(super) fn look(&self) {
        let Some(file) = &self.file else { return };
        let held = self.readiness.egress_held_by(Closer::File);
        match (is_there(file), held) {
            (true, false) => self.close(Closer::File),
            (false, true) => {
                tracing::warn!("the kill switch's file is gone");
                self.tell(self.engine.gate.open(Closer::File));
            }
            (true, true) | (false, false) => {}
        }
    }

    /// Waits for the signal, and looks for the file again and again.
    pub(super) async fn watch(&self) -> Infallible {
        let mut signal = self.signal.lock().await;
        loop {
            tokio::select! {
                _ = signal.recv() => self.close(Closer::Signal),
                () = tokio::time::sleep(LOOK) => self.look(),
            }
        }
    }

    fn tell(&self, closers: Closers) {
        self.engine.metrics.set_egress_closers(closers.len());
        self.readiness.egress_held(closers);
    }
}

fn is_there(file: &Path) -> bool {
    !matches!(std::fs::symlink_metadata(file), Err(error) if error.kind() == io::ErrorKind::NotFound)
}
