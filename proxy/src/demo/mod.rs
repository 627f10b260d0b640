//! The three rules at work on one machine: an origin, an x402 seller, a payment rail, two running Tollgates and one agent, all on
//! loopback.
//!
//! In: nothing. Out: a [`Report`] of what was tried, what came back, and what the other side saw of it. The Tollgates are started as
//! `run` starts them, from a policy.yaml and a tollgate.yaml; only the world around them is a model.

mod cases;
mod client;
mod files;
mod origin;
mod payer;
mod rail;
mod seller;
mod server;
mod table;
mod world;

#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use thiserror::Error;

pub use cases::{Row, Seen};
pub use table::Paint;

use crate::serve::StartError;
use world::World;

pub(crate) use payer::Payer;

/// Why the demo could not be set up. What goes wrong after that is a row of the report.
#[derive(Debug, Error)]
pub enum DemoError {
    /// A file or a port on this machine.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The demo's own certificates.
    #[error("certificates: {0}")]
    Certificates(String),
    /// A Tollgate did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// A Tollgate started without its policy or settings.
    #[error("the demo's own files: {0}")]
    Files(String),
}

/// What happened.
#[derive(Debug)]
pub struct Report {
    /// In the order in which it was tried.
    pub rows: Vec<Row>,
    /// From nothing to the last answer.
    pub elapsed: Duration,
}

impl Report {
    /// Whether everything was as it should be.
    pub fn is_as_expected(&self) -> bool {
        self.rows.iter().all(Row::is_as_expected)
    }

    /// A table for a terminal.
    pub fn table(&self, paint: Paint) -> String {
        table::render(self, paint)
    }
}

/// Sets the world up, tries everything, and takes it down again.
pub async fn run() -> Result<Report, DemoError> {
    let started = Instant::now();
    let world = World::start().await?;
    let rows = cases::all(&world).await;
    let elapsed = started.elapsed();
    world.stop().await;
    Ok(Report { rows, elapsed })
}
