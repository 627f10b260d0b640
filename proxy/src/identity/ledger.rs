//! Trust on first use: the digest of each binary, as it was when it first connected.
//!
//! A binary that a policy allows by its path must not be replaced by another under the same path. The file that is *running*
//! is hashed, not the one at the path: in another mount namespace these differ.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::{Stat, fstat};
use sha2::{Digest, Sha256};

use super::IdentityError;
use super::procfs::Process;

/// Paths remembered. A client that runs copies of itself under ever new names must not grow our memory, nor make us forget.
const CAPACITY: usize = 16_384;

/// The largest binary that is hashed. A sparse file of terabytes costs its owner nothing and would keep us busy for hours.
const MAX_BYTES: u64 = 4 << 30;

/// What the file system says about a file; equal fingerprints mean an unchanged file (the change time cannot be set back).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Fingerprint {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl From<&Stat> for Fingerprint {
    fn from(stat: &Stat) -> Self {
        // The fields' types differ between architectures.
        #[allow(clippy::unnecessary_cast, clippy::cast_possible_wrap)]
        Self {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            length: stat.st_size.cast_unsigned(),
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        }
    }
}

struct Entry {
    fingerprint: Fingerprint,
    digest: [u8; 32],
}

/// Whether a binary is what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Its content is the one first seen, or this is the first time.
    Same,
    /// Its content differs.
    Different,
}

/// The place of one path. Whoever holds its lock reads the binary; whoever wants the same one waits for that, nobody else.
type Slot = Arc<Mutex<Option<Entry>>>;

/// The binaries seen so far, by path. Shared by all connections.
#[derive(Default)]
pub struct BinaryLedger {
    slots: Mutex<HashMap<PathBuf, Slot>>,
}

impl BinaryLedger {
    /// An empty ledger: everything is trusted on its first use.
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes the content of the file at `path` now, so that its first use is the operator's and not a client's. For binaries
    /// that a policy names, at its load; one that was noted or seen before stays as it was.
    pub fn note(&self, path: &Path) -> Result<Change, IdentityError> {
        let unreadable = |source| unreadable(path, source);
        let file = File::open(path).map_err(unreadable)?;
        let slot = self.slot(path)?;
        compare(&mut lock(&slot), path, &file)
    }

    /// Compares the file that `process` runs with what was first seen at `path`.
    pub(super) fn check(&self, path: &Path, process: &Process) -> Result<(), IdentityError> {
        let now = process.stat_executable().map_err(|source| unreadable(path, source))?;
        let slot = self.slot(path)?;
        let mut entry = lock(&slot);
        if entry.as_ref().is_some_and(|entry| entry.fingerprint == Fingerprint::from(&now)) {
            return Ok(());
        }
        let file = process.open_executable().map_err(|source| unreadable(path, source))?;
        match compare(&mut entry, path, &file)? {
            Change::Same => Ok(()),
            Change::Different => Err(IdentityError::Changed { binary: path.into() }),
        }
    }

    /// Paths remembered.
    pub fn len(&self) -> usize {
        lock(&self.slots).len()
    }

    /// Whether none was seen yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn slot(&self, path: &Path) -> Result<Slot, IdentityError> {
        let mut slots = lock(&self.slots);
        if let Some(slot) = slots.get(path) {
            return Ok(slot.clone());
        }
        if slots.len() >= CAPACITY {
            return Err(IdentityError::LedgerFull);
        }
        Ok(slots.entry(path.into()).or_default().clone())
    }
}

fn compare(entry: &mut Option<Entry>, path: &Path, file: &File) -> Result<Change, IdentityError> {
    // Taken before the content: a file that changes under the reading does not match it next time, and is read again.
    let fingerprint = Fingerprint::from(&fstat(file).map_err(|error| unreadable(path, error.into()))?);
    if fingerprint.length > MAX_BYTES {
        return Err(IdentityError::TooLarge { binary: path.into() });
    }
    let digest = digest(file).map_err(|source| unreadable(path, source))?;
    if entry.as_ref().is_some_and(|entry| entry.digest != digest) {
        return Ok(Change::Different);
    }
    *entry = Some(Entry { fingerprint, digest });
    Ok(Change::Same)
}

/// What a panic elsewhere left behind is either no entry or a whole one.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for BinaryLedger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BinaryLedger").field("binaries", &self.len()).finish()
    }
}

fn unreadable(path: &Path, source: io::Error) -> IdentityError {
    IdentityError::Unreadable {
        binary: path.into(),
        source,
    }
}

/// SHA-256 of at most [`MAX_BYTES`] of a file.
fn digest(file: &File) -> io::Result<[u8; 32]> {
    let mut content = file.take(MAX_BYTES);
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match content.read(&mut buffer)? {
            0 => return Ok(hash.finalize().into()),
            length => hash.update(buffer.get(..length).unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests;
