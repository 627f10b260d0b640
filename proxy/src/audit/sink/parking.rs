//! The buffer between requests and the writer thread.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::Status;

/// How long a line may lie unwritten while more come in.
const FLUSH_AFTER: Duration = Duration::from_millis(20);
/// How many bytes are worth a write of their own.
const FLUSH_AT: usize = 64 * 1024;

const FULL: u8 = 1;
const FAILED: u8 = 2;
const ENDED: u8 = 4;

/// Whether a line may wait for company.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Urgency {
    Batched,
    AtOnce,
}

/// The second bound is reached.
#[derive(Debug)]
pub(super) struct NoRoom;

#[derive(Debug, Default)]
struct State {
    pending: Vec<u8>,
    /// Bytes the writer has taken and not yet written.
    taken: usize,
    urgent: bool,
    closing: bool,
    events: u64,
    write_errors: u64,
    failure: Option<String>,
}

#[derive(Debug)]
pub(super) struct Shared {
    state: Mutex<State>,
    /// Zero when something may leave; read without the lock on every request.
    trouble: AtomicU8,
    work: Condvar,
    room: Notify,
    bound: usize,
}

impl Shared {
    pub(super) fn new(bound: usize) -> Self {
        Shared {
            state: Mutex::default(),
            trouble: AtomicU8::new(0),
            work: Condvar::new(),
            room: Notify::new(),
            bound,
        }
    }

    pub(super) fn ready(&self) -> bool {
        self.trouble.load(Ordering::Acquire) == 0
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The second bound is twice the first.
    pub(super) fn push(&self, line: &[u8], urgency: Urgency) -> Result<(), NoRoom> {
        let mut state = self.lock();
        let unwritten = state.pending.len() + state.taken;
        // An empty buffer takes any line, else one longer than the bound would wait for ever.
        if unwritten > 0 && unwritten + line.len() > self.bound.saturating_mul(2) {
            return Err(NoRoom);
        }
        let was_idle = state.pending.is_empty();
        state.pending.extend_from_slice(line);
        state.events += 1;
        let rouse = was_idle || (urgency == Urgency::AtOnce && !state.urgent) || state.pending.len() >= FLUSH_AT;
        state.urgent |= urgency == Urgency::AtOnce;
        if unwritten + line.len() > self.bound {
            self.trouble.fetch_or(FULL, Ordering::AcqRel);
        }
        drop(state);
        if rouse {
            self.work.notify_one();
        }
        Ok(())
    }

    pub(super) async fn push_when_room(&self, line: &[u8], urgency: Urgency) {
        loop {
            // Registered before the look, so that room made in between is not missed.
            let mut room = std::pin::pin!(self.room.notified());
            room.as_mut().enable();
            if self.push(line, urgency).is_ok() {
                return;
            }
            room.await;
        }
    }

    pub(super) fn status(&self) -> Status {
        let state = self.lock();
        Status {
            ready: self.ready(),
            unwritten: state.pending.len() + state.taken,
            events: state.events,
            write_errors: state.write_errors,
            failure: state.failure.clone(),
        }
    }

    pub(super) fn close(&self) {
        self.lock().closing = true;
        self.work.notify_one();
    }

    /// For the writer: waits until there is something worth writing and swaps it into `batch`, which must be empty.
    /// `false` when closed and empty.
    pub(super) fn take(&self, batch: &mut Vec<u8>) -> bool {
        let mut state = self.lock();
        while state.pending.is_empty() {
            if state.closing {
                return false;
            }
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let deadline = Instant::now() + FLUSH_AFTER;
        while !state.urgent && !state.closing && state.pending.len() < FLUSH_AT {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.work.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.urgent = false;
        std::mem::swap(&mut state.pending, batch);
        state.taken = batch.len();
        true
    }

    /// For the writer: `written` more bytes are out.
    pub(super) fn wrote(&self, written: usize) {
        let mut state = self.lock();
        state.taken = state.taken.saturating_sub(written);
        state.failure = None;
        let mut over = FAILED;
        if state.pending.len() + state.taken <= self.bound {
            over |= FULL;
        }
        self.trouble.fetch_and(!over, Ordering::AcqRel);
        drop(state);
        self.room.notify_waiters();
    }

    /// For the writer: an attempt failed. Waits before the next one; `false` when closing, and there is no next one.
    pub(super) fn failed(&self, failure: &std::io::Error, pause: Duration) -> bool {
        let mut state = self.lock();
        self.trouble.fetch_or(FAILED, Ordering::AcqRel);
        state.write_errors += 1;
        state.failure = Some(failure.to_string());
        let deadline = Instant::now() + pause;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if state.closing {
                return false;
            }
            if left.is_zero() {
                return true;
            }
            state = self.work.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// For the writer: it ends, for whatever reason, and nothing may leave any more.
    pub(super) fn ended(&self) {
        self.trouble.fetch_or(ENDED, Ordering::AcqRel);
    }
}
