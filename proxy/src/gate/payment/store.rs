//! The store of used authorisations on disk: what has left is known after a crash as well.
//!
//! In: one entry for each payment, before its first byte leaves for the origin. Out: its word that the entry is on the disk; or why not, and
//! then the payment may not leave. Hashes only, nothing that could be spent. A thread of its own does all that blocks; unpaid traffic never
//! gets here.
//!
//! A store that cannot be used (locked, read-only, full, corrupt) refuses every payment, says why, and is tried again every second.

mod entry;
mod file;
mod keeper;

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use thiserror::Error;
use tokio::sync::oneshot;

pub(super) use entry::{Entry, Settlement};

use crate::x402::claim::NonceHash;

/// Entries that may wait to be written; a disk that falls behind by more is not keeping up.
const QUEUE: usize = 1_024;
/// How long a payment waits for its entry to be on the disk.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long the start waits for the first attempt to open the file.
const FIRST_ATTEMPT: Duration = Duration::from_secs(10);

/// Why the store cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum StoreFault {
    /// The file has not been read yet.
    #[error("it is still being opened")]
    Opening,
    /// Another process has it open.
    #[error("another process is using it")]
    Locked,
    /// It may not be opened for writing.
    #[error("it may not be written")]
    ReadOnly,
    /// No space, quota or file size is left.
    #[error("no space is left for it")]
    Full,
    /// Not a store, or one that something else has changed.
    #[error("it is corrupt, or no store of payments")]
    Corrupt,
    /// A directory, device or pipe.
    #[error("it is not a regular file")]
    NotAFile,
    /// The disk is silent.
    #[error("it does not answer")]
    Stalled,
    /// Its thread has ended, by a mistake of ours or at shutdown.
    #[error("it is closed")]
    Closed,
    /// Anything else that the system said.
    #[error("{0}")]
    Io(io::ErrorKind),
}

/// How the memory of used payments stands, for readiness and metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreStatus {
    /// No file is configured: a restart forgets.
    InMemory,
    /// It is written.
    Ready,
    /// It is not, so no payment leaves.
    Unusable(StoreFault),
}

/// An entry to be written, and who waits for that.
#[derive(Debug)]
struct Order {
    nonce: NonceHash,
    entry: Entry,
    done: Option<oneshot::Sender<Result<(), StoreFault>>>,
}

#[derive(Debug)]
struct Shared {
    fault: Mutex<Option<StoreFault>>,
    failures: AtomicU64,
}

impl Shared {
    fn fault(&self) -> MutexGuard<'_, Option<StoreFault>> {
        // One value that is only ever replaced.
        self.fault.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, fault: StoreFault) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        *self.fault() = Some(fault);
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Store {
    shared: Arc<Shared>,
    /// `None` once it is closed.
    orders: Mutex<Option<SyncSender<Order>>>,
    keeper: Mutex<Option<JoinHandle<()>>>,
}

impl Store {
    /// Opens the file, or creates it, and waits for how that went. `adopt` takes in what it holds, each time that it is opened; an entry that
    /// has expired by then is no longer there.
    pub(super) fn open(path: &Path, adopt: impl FnMut(Vec<(NonceHash, Entry)>) + Send + 'static) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            fault: Mutex::new(Some(StoreFault::Opening)),
            failures: AtomicU64::new(0),
        });
        let (orders, taken) = sync_channel(QUEUE);
        let (tried, first_attempt): (_, Receiver<()>) = sync_channel(1);
        let keeper = keeper::Keeper::new(path.to_owned(), taken, shared.clone(), Box::new(adopt));
        let keeper = std::thread::Builder::new()
            .name("payments".into())
            .spawn(move || keeper.run(&tried))?;
        let _ = first_attempt.recv_timeout(FIRST_ATTEMPT);
        Ok(Store {
            shared,
            orders: Mutex::new(Some(orders)),
            keeper: Mutex::new(Some(keeper)),
        })
    }

    /// Whether it can be written now.
    pub(super) fn ready(&self) -> Result<(), StoreFault> {
        match *self.shared.fault() {
            None => Ok(()),
            Some(fault) => Err(fault),
        }
    }

    /// Attempts to open or write it that failed.
    pub(super) fn failures(&self) -> u64 {
        self.shared.failures.load(Ordering::Relaxed)
    }

    /// Writes an entry, and comes back when it would survive a crash. Given up, it may be written all the same.
    pub(super) async fn keep(&self, nonce: NonceHash, entry: Entry) -> Result<(), StoreFault> {
        let (done, kept) = oneshot::channel();
        let done = Some(done);
        self.order(Order { nonce, entry, done })?;
        match tokio::time::timeout(PATIENCE, kept).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Err(StoreFault::Closed),
            Err(_) => {
                self.shared.failed(StoreFault::Stalled);
                Err(StoreFault::Stalled)
            }
        }
    }

    /// Has an entry written some time soon. One that is lost leaves the older one, which is the stricter.
    pub(super) fn note(&self, nonce: NonceHash, entry: Entry) {
        let done = None;
        if let Err(fault) = self.order(Order { nonce, entry, done }) {
            tracing::debug!(%fault, "that a payment was answered is not written down");
        }
    }

    fn order(&self, order: Order) -> Result<(), StoreFault> {
        let orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        let orders = orders.as_ref().ok_or(StoreFault::Closed)?;
        orders.try_send(order).map_err(|error| match error {
            TrySendError::Full(_) => StoreFault::Stalled,
            TrySendError::Disconnected(_) => StoreFault::Closed,
        })
    }

    /// Writes what is left and closes the file. Blocks the thread.
    pub(super) fn close(&self) {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner).take();
        let keeper = self.keeper.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(keeper) = keeper
            && keeper.join().is_err()
        {
            tracing::error!("the thread that keeps the payment store had panicked");
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests;
