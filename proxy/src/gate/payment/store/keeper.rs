//! The thread that owns the file: opens it, writes what has come since the last write in one go, and tries again when it could not.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::file::Spent;
use super::{Entry, Order, Shared, StoreFault};
use crate::x402::claim::NonceHash;

/// How long a file that cannot be used is left alone. A predecessor that drains has it locked for that time and more.
const REST: Duration = Duration::from_secs(1);
/// Entries of one write; all of them are synced at once.
const BATCH: usize = 256;

type Adopt = Box<dyn FnMut(Vec<(NonceHash, Entry)>) + Send>;

pub(super) struct Keeper {
    path: PathBuf,
    orders: Receiver<Order>,
    shared: Arc<Shared>,
    adopt: Adopt,
}

/// Why serving ended.
enum End {
    /// Nobody can order any more.
    Closed,
    Failed(StoreFault),
}

impl Keeper {
    pub(super) fn new(path: PathBuf, orders: Receiver<Order>, shared: Arc<Shared>, adopt: Adopt) -> Self {
        Keeper {
            path,
            orders,
            shared,
            adopt,
        }
    }

    /// Until nobody can order any more. `tried` hears of every attempt to open the file.
    pub(super) fn run(mut self, tried: &SyncSender<()>) {
        let mut told = None;
        loop {
            // A file that something else has written can break assumptions of the library; that must cost payments, not the thread.
            let opened = catch_unwind(AssertUnwindSafe(|| Spent::open(&self.path, now()))).unwrap_or(Err(StoreFault::Corrupt));
            let end = match opened {
                Ok((spent, entries)) => {
                    tracing::info!(store = %self.path.display(), remembered = entries.len(), "payments are remembered on disk");
                    told = None;
                    (self.adopt)(entries);
                    *self.shared.fault() = None;
                    let _ = tried.try_send(());
                    self.serve(spent)
                }
                Err(fault) => End::Failed(fault),
            };
            let fault = match end {
                End::Closed => break,
                End::Failed(fault) => fault,
            };
            self.shared.failed(fault);
            let _ = tried.try_send(());
            if told.replace(fault) != Some(fault) {
                tracing::error!(store = %self.path.display(), %fault, "the payment store cannot be used, so no payment leaves until it can");
            }
            if self.refuse(fault) == Rested::Closed {
                break;
            }
        }
        *self.shared.fault() = Some(StoreFault::Closed);
    }

    fn serve(&self, mut spent: Spent) -> End {
        while let Ok(first) = self.orders.recv() {
            let mut entries = BTreeMap::new();
            let mut waiting = Vec::new();
            for Order { nonce, entry, done } in std::iter::once(first).chain(self.orders.try_iter().take(BATCH - 1)) {
                entries.insert(nonce, entry);
                waiting.extend(done);
            }
            let written = catch_unwind(AssertUnwindSafe(|| spent.write(&entries, now()))).unwrap_or(Err(StoreFault::Corrupt));
            if written.is_ok() {
                // One that was slow is back.
                *self.shared.fault() = None;
            }
            for done in waiting {
                let _ = done.send(written);
            }
            if let Err(fault) = written {
                return End::Failed(fault);
            }
        }
        End::Closed
    }

    /// Turns down what comes while the file is left alone.
    fn refuse(&self, fault: StoreFault) -> Rested {
        let until = Instant::now() + REST;
        loop {
            match self.orders.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Order { done, .. }) => {
                    if let Some(done) = done {
                        let _ = done.send(Err(fault));
                    }
                }
                Err(RecvTimeoutError::Timeout) => return Rested::Enough,
                Err(RecvTimeoutError::Disconnected) => return Rested::Closed,
            }
        }
    }
}

#[derive(PartialEq, Eq)]
enum Rested {
    Enough,
    Closed,
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
