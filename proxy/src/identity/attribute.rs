//! From connections to processes: which process holds each client's socket, and what it runs.
//!
//! Only `/proc` is read here, which never waits. The binaries themselves may lie on a file system that does (one a client
//! serves, say); they are looked at in [`Attributed::vouch`].

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use super::ledger::BinaryLedger;
use super::procfs::{self, Executable, Process};
use super::socket::{self, ClientSocket, Network};
use super::{ClientProcess, IdentityError};

/// How far up the tree a process may be vouched for.
const MAX_ANCESTORS: usize = 64;

/// The addresses of an accepted connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Connection {
    pub(super) client: SocketAddr,
    pub(super) listener: SocketAddr,
}

/// A connection's process and its ancestors, whose binaries nobody has compared yet.
#[derive(Debug)]
pub(super) struct Attributed {
    uid: u32,
    binary: PathBuf,
    process: Process,
    ancestors: Vec<(PathBuf, Process)>,
}

impl Attributed {
    /// Compares the binaries with the ledger. May take as long as reading them does.
    pub(super) fn vouch(self, ledger: &BinaryLedger) -> Result<ClientProcess, IdentityError> {
        ledger.check(&self.binary, &self.process)?;
        let known = |(binary, process): (PathBuf, Process)| ledger.check(&binary, &process).is_ok().then_some(binary);
        Ok(ClientProcess {
            pid: self.process.pid,
            uid: self.uid,
            binary: self.binary,
            ancestors: self.ancestors.into_iter().filter_map(known).collect(),
        })
    }
}

/// The process behind each of `connections`, in their order, with one look at all processes.
pub(super) fn attribute(network: Network, connections: &[Connection]) -> Vec<Result<Attributed, IdentityError>> {
    let sockets: Vec<Option<ClientSocket>> = connections.iter().map(|c| socket::find(network, c.client, c.listener)).collect();
    let wanted: HashSet<u64> = sockets.iter().flatten().map(|socket| socket.inode).collect();
    let owners = if wanted.is_empty() {
        Ok(HashMap::new())
    } else {
        procfs::owners(&wanted)
    };
    let one = |socket: Option<ClientSocket>| {
        let socket = socket.ok_or(IdentityError::NoSocket)?;
        match &owners {
            Ok(owners) => agree(socket, owners.get(&socket.inode).map_or(&[], Vec::as_slice)),
            Err(error) => Err(IdentityError::Proc(io::Error::new(error.kind(), error.to_string()))),
        }
    };
    sockets.into_iter().map(one).collect()
}

/// One answer for all owners of a socket, or none.
fn agree(socket: ClientSocket, owners: &[Process]) -> Result<Attributed, IdentityError> {
    let mut binaries = Vec::new();
    for owner in owners {
        let executable = owner.executable().map_err(|_| IdentityError::Vanished)?;
        if !binaries.contains(&executable) {
            binaries.push(executable);
        }
    }
    let binary = match (binaries.pop(), binaries.is_empty()) {
        (None, _) => return Err(IdentityError::NoProcess),
        (Some(Executable::Present(binary)), true) => binary,
        (Some(Executable::Deleted(binary)), true) => return Err(IdentityError::Changed { binary }),
        (Some(last), false) => {
            let path = |executable| match executable {
                Executable::Present(path) | Executable::Deleted(path) => path,
            };
            binaries.push(last);
            let binaries = binaries.into_iter().map(path).collect();
            return Err(IdentityError::Ambiguous { binaries });
        }
    };
    let mut shared: Option<Vec<(PathBuf, Process)>> = None;
    for owner in owners {
        let line = ancestors(owner);
        // A parent may vouch only for what all owners descend from.
        shared = Some(match shared {
            None => line,
            Some(kept) => kept
                .into_iter()
                .filter(|(binary, _)| line.iter().any(|(other, _)| other == binary))
                .collect(),
        });
    }
    // The owner may have become another program, or passed the socket on, since we began.
    let still =
        |owner: &Process| owner.holds(socket.inode) && owner.executable().is_ok_and(|now| now == Executable::Present(binary.clone()));
    if !owners.iter().all(still) {
        return Err(IdentityError::Vanished);
    }
    let process = owners.first().ok_or(IdentityError::NoProcess)?.clone();
    Ok(Attributed {
        uid: socket.uid,
        binary,
        process,
        ancestors: shared.unwrap_or_default(),
    })
}

/// The ancestors that run a binary which is still there, nearest first.
fn ancestors(process: &Process) -> Vec<(PathBuf, Process)> {
    let mut line = Vec::new();
    let mut next = process.parent();
    for _ in 0..MAX_ANCESTORS {
        let Some(ancestor) = next else { break };
        next = ancestor.parent();
        if let Ok(Executable::Present(binary)) = ancestor.executable() {
            line.push((binary, ancestor));
        }
    }
    line
}
