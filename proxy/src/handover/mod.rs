//! Hot restart: a running Tollgate starts its successor and hands it the listening sockets, so that no connection is ever refused.
//!
//! The successor is the program at the path that this one was started from, with the same arguments, and finds a socket as its standard input:
//! over it come the two listeners (`SCM_RIGHTS`, `unix(7)`), who holds all egress closed, and, where the operator asked for that, the
//! certificate authority, whose key still touches no file. Only when the successor says that it serves does the old process stop to accept,
//! and drain. A successor that does not get there is ended, and nothing has changed.

mod incoming;
mod outgoing;

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::settings::Closers;
pub use incoming::{Predecessor, TakenOver};
pub use outgoing::HandingOver;

/// The argument by which a successor knows that it is one.
pub const SUCCESSOR: &str = "--successor";
/// How long a successor may take to serve: it reads policy and configuration, and commands for credentials may take seconds each.
const PATIENCE: Duration = Duration::from_secs(60);
/// Comes with the listeners.
const LISTENERS: u8 = b'L';
/// The successor serves.
const SERVING: u8 = b'S';
/// The largest thing that is handed over beside them.
const LARGEST: usize = 64 << 10;

/// Why there was no restart.
#[derive(Debug, Error)]
pub enum HandoverError {
    /// The program is not there, or the system has no more processes.
    #[error("the new process cannot be started: {0}")]
    NotStarted(#[source] io::Error),
    /// It ended, mostly because its configuration cannot be used; it has said so itself.
    #[error("the new process ended before it served ({0}); its own messages say why")]
    Ended(ExitStatus),
    /// It took too long.
    #[error("the new process did not serve within {} s", PATIENCE.as_secs())]
    Late,
    /// The sockets cannot be passed.
    #[error("the listeners cannot be handed over: {0}")]
    Broken(#[from] io::Error),
    /// Its end would be the container's.
    #[error("process 1 of a container cannot be replaced while that runs; start a new container beside this one")]
    Init,
    /// This process is ending already.
    #[error("this process is ending")]
    Ending,
}

/// What goes with the listeners, but for the authority.
#[derive(Debug, Serialize, Deserialize)]
struct Standing {
    /// A kill switch that was used stays in force.
    closed_by: Closers,
}
