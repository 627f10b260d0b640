//! Which local process is behind a TCP connection.
//!
//! In come the two addresses of an accepted connection; out goes the binary of the process that opened it, and the binaries of
//! that process's ancestors, each known to be what it was when first seen. Anything else is an error, and so a denial.
//!
//! The way: addresses to socket inode ([`socket`]), inode to owning processes ([`procfs`]), binary to its first-use digest
//! ([`ledger`]). [`Identities`] does this for all connections on one thread, with one look at `/proc` for all who wait.
//!
//! This is attribution, not authentication. A process may hand its socket on after we looked, and whoever may write into a
//! process (debugger, preloaded library) acts in its name. It works for clients in our own network namespace whose
//! `/proc/PID/fd` we may read: the same user, or `CAP_SYS_PTRACE`. Command lines are never looked at: anyone can choose
//! their own, and they hold secrets.

mod attribute;
mod ledger;
mod procfs;
mod service;
mod socket;

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use tollgate_policy::Reason;

pub use ledger::{BinaryLedger, Change};
pub use service::Identities;
pub use socket::Network;

/// The process behind a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientProcess {
    /// Its number; the lowest one where several processes of one binary share the socket.
    pub pid: u32,
    /// The user who made the socket.
    pub uid: u32,
    /// Its executable.
    pub binary: PathBuf,
    /// The executables of its parent, grandparent and so on, at most 64, process 1 included. Those that could not be read or
    /// have changed are left out: they cannot vouch for anybody.
    pub ancestors: Vec<PathBuf>,
}

/// Why a connection has no identity.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// The other end is not a socket of this network namespace: a remote client, or one that is gone.
    #[error("no local socket belongs to this connection")]
    NoSocket,
    /// No process whose descriptors we may read holds the socket.
    #[error("no process we can see holds the client's socket; Tollgate needs to run as the same user or with CAP_SYS_PTRACE")]
    NoProcess,
    /// Processes of different binaries hold the socket; either may be speaking.
    #[error("the client's socket is shared by different binaries: {}", display(binaries))]
    Ambiguous {
        /// The binaries, each once.
        binaries: Vec<PathBuf>,
    },
    /// The process ended, or became another program, while we looked.
    #[error("the client process changed while it was looked at")]
    Vanished,
    /// The binary is not what it was when first seen, or was removed under the running process.
    #[error("{} is not the binary it was", binary.display())]
    Changed {
        /// Where the binary is, or was.
        binary: PathBuf,
    },
    /// The binary cannot be read and so not be told from another one.
    #[error("cannot read {}: {source}", binary.display())]
    Unreadable {
        /// The binary.
        binary: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The binary is larger than is ever hashed.
    #[error("{} is too large to be hashed", binary.display())]
    TooLarge {
        /// The binary.
        binary: PathBuf,
    },
    /// More different binaries than are remembered.
    #[error("too many different binaries have connected")]
    LedgerFull,
    /// Too many connections wait for their identity, or this one waited too long.
    #[error("identifying clients takes too long")]
    Overloaded,
    /// `/proc` itself cannot be read.
    #[error("cannot read /proc: {0}")]
    Proc(#[source] io::Error),
}

impl IdentityError {
    /// The reason to deny with, where a rule asks for a binary.
    pub fn reason(&self) -> Reason {
        match self {
            Self::Changed { .. } => Reason::BinaryChanged,
            Self::LedgerFull | Self::Overloaded => Reason::OverCapacity,
            Self::Proc(_) => Reason::InternalError,
            Self::NoSocket
            | Self::NoProcess
            | Self::Ambiguous { .. }
            | Self::Vanished
            | Self::Unreadable { .. }
            | Self::TooLarge { .. } => Reason::BinaryNotAllowed,
        }
    }
}

/// The process that opened the connection from `client` to `listener` (the local address of the accepted socket).
///
/// Blocks: a look at every process, and the first time a binary is seen, the reading of it. On a runtime use [`Identities`].
pub fn identify(client: SocketAddr, listener: SocketAddr, ledger: &BinaryLedger) -> Result<ClientProcess, IdentityError> {
    let connection = attribute::Connection { client, listener };
    let mut answers = attribute::attribute(Network::Ours, &[connection]);
    answers.pop().unwrap_or(Err(IdentityError::NoSocket))?.vouch(ledger)
}

/// The path that `/proc` will show for a binary that a policy names: symbolic links are followed, so that a rule for
/// `/usr/bin/python3` matches `/usr/bin/python3.13`. A path that leads nowhere stays as it is.
pub fn resolve_binary_alias(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.into())
}

fn display(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests;
