//! Where audit lines go: a short lock and a copy for the request, a thread of its own for the disk.
//!
//! Lines gather in one buffer while the writer thread writes the other. It flushes at least every 20 ms, at 64 KiB, and at once
//! after a denial. Two bounds keep memory flat when the disk can't follow. Above the first [`Sink::ready`] fails, and the flow,
//! which asks it before anything leaves, denies with `over_capacity`. Exchanges that are under way then still have room up to the
//! second, where [`Sink::record`] waits. Nothing is ever dropped. A failed write is tried again until it works.

mod output;
mod parking;
mod writer;

use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use thiserror::Error;

pub use output::Output;

use super::event::Event;
use super::vocabulary::Decision;
use parking::{NoRoom, Shared, Urgency};

/// The audit trail can't be started.
#[derive(Debug, Error)]
pub enum AuditError {
    /// It can't be opened for appending.
    #[error("cannot write the audit trail to {output}: {source}")]
    Open {
        /// The place.
        output: Output,
        /// Why.
        source: io::Error,
    },
    /// No thread for the writer.
    #[error("cannot start the audit writer: {0}")]
    Thread(io::Error),
}

/// Lines can't be written as fast as they come, or not at all: nothing may leave until they can.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("audit lines cannot be written")]
pub struct AuditFull;

/// How the audit trail stands, for readiness and metrics.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Status {
    /// Whether something may leave.
    pub ready: bool,
    /// Bytes that wait to be written.
    pub unwritten: usize,
    /// Lines taken in since the start.
    pub events: u64,
    /// Write attempts that failed since the start.
    pub write_errors: u64,
    /// What the last write said, if it failed.
    pub failure: Option<String>,
}

/// The audit trail. Cheap to share in an [`Arc`]; what is unwritten is written when it is shut down or dropped.
#[derive(Debug)]
pub struct Sink {
    shared: Arc<Shared>,
    writer: std::sync::Mutex<Option<JoinHandle<()>>>,
}

thread_local! {
    static LINE: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Sink {
    /// Opens `output` and starts its writer. `bound` is the number of unwritten bytes above which [`Self::ready`] fails.
    pub fn start(output: &Output, bound: usize) -> Result<Self, AuditError> {
        Self::over(output.open()?, bound)
    }

    fn over(destination: Box<dyn io::Write + Send>, bound: usize) -> Result<Self, AuditError> {
        let shared = Arc::new(Shared::new(bound));
        let theirs = Arc::clone(&shared);
        let writer = std::thread::Builder::new()
            .name("audit".into())
            .spawn(move || writer::run(&theirs, destination))
            .map_err(AuditError::Thread)?;
        Ok(Sink {
            shared,
            writer: std::sync::Mutex::new(Some(writer)),
        })
    }

    /// Whether a request may leave: to be asked before anything of it does.
    pub fn ready(&self) -> Result<(), AuditFull> {
        if self.shared.ready() { Ok(()) } else { Err(AuditFull) }
    }

    /// Takes in one event. Waits, without blocking the thread, only when the second bound is reached; the line is written even if the
    /// waiting is given up.
    pub async fn record(&self, event: &Event<'_>) {
        let urgency = match event.decision {
            Decision::Deny => Urgency::AtOnce,
            Decision::Allow | Decision::WouldDeny => Urgency::Batched,
        };
        if let Err(line) = self.take_in(event, urgency) {
            // In a task of its own, so that a client that goes away does not take its line with it.
            let shared = Arc::clone(&self.shared);
            let waiting = tokio::spawn(async move { shared.push_when_room(&line, urgency).await });
            if waiting.await.is_err() {
                tracing::error!("an audit line is lost: the runtime ended while it waited for room");
            }
        }
    }

    /// Takes in the event of an exchange that was dropped, where nothing can be awaited. Where there is no room, a task waits for it.
    pub fn record_detached(&self, event: &Event<'_>) {
        let urgency = Urgency::Batched;
        if let Err(line) = self.take_in(event, urgency) {
            let shared = Arc::clone(&self.shared);
            if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                runtime.spawn(async move { shared.push_when_room(&line, urgency).await });
            } else {
                tracing::error!("an audit line is lost: there is neither room for it nor a runtime in which to wait");
            }
        }
    }

    /// Hands the line back where there is no room.
    fn take_in(&self, event: &Event<'_>, urgency: Urgency) -> Result<(), Vec<u8>> {
        LINE.with_borrow_mut(|line| {
            line.clear();
            // Writing into a Vec can't fail, and no field of an event can refuse to be serialized.
            if serde_json::to_writer(&mut *line, event).is_err() {
                tracing::error!("an audit event could not be serialized");
            }
            line.push(b'\n');
            self.shared.push(line, urgency).map_err(|NoRoom| line.clone())
        })
    }

    /// How it stands.
    pub fn status(&self) -> Status {
        self.shared.status()
    }

    /// Writes what is left and ends the writer; waits at most as long as the writer's last attempts take. Blocks the thread.
    pub fn shut_down(&self) {
        self.shared.close();
        let writer = self.writer.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        if let Some(writer) = writer
            && writer.join().is_err()
        {
            tracing::error!("the audit writer had panicked");
        }
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.shut_down();
    }
}

#[cfg(test)]
mod tests;
