//! The file: an embedded database that is locked while it is open, checked whenever it is opened, and synced with every write.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use redb::backends::FileBackend;
use redb::{
    Builder, CommitError, Database, DatabaseError, ReadableDatabase as _, ReadableTable as _, StorageBackend, StorageError,
    TableDefinition, TableError, TransactionError,
};

use super::StoreFault;
use super::entry::{Entry, SIZE};
use crate::x402::claim::NonceHash;

const SPENT: TableDefinition<'_, &[u8; 32], &[u8; SIZE]> = TableDefinition::new("spent");
/// The whole of a full store is some 20 MiB; most are a few pages.
const CACHE: usize = 4 << 20;

/// An open store.
pub(super) struct Spent {
    database: Database,
    /// What is in the file, by age.
    by_expiry: BTreeSet<(u64, NonceHash)>,
}

impl Spent {
    /// Opens the file or creates it, checks all of it, and reads what has not expired.
    pub(super) fn open(path: &Path, now: u64) -> Result<(Self, Vec<(NonceHash, Entry)>), StoreFault> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)?;
        let about = file.metadata()?;
        if !about.is_file() {
            return Err(StoreFault::NotAFile);
        }
        let opened = Self::over(FileBackend::new(file)?, now)?;
        if about.len() == 0 {
            // Else a crash could take the name of the new file away, and with it all that was synced into it.
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
        }
        Ok(opened)
    }

    fn over(storage: impl StorageBackend, now: u64) -> Result<(Self, Vec<(NonceHash, Entry)>), StoreFault> {
        let database = Builder::new()
            .set_cache_size(CACHE)
            .set_check_integrity_on_open(true)
            .create_with_backend(storage)?;
        let write = database.begin_write()?;
        write.open_table(SPENT)?;
        write.commit()?;
        let mut spent = Spent {
            database,
            by_expiry: BTreeSet::new(),
        };
        let mut entries = Vec::new();
        for row in spent.database.begin_read()?.open_table(SPENT)?.iter()? {
            let (nonce, entry) = row?;
            let nonce = NonceHash(*nonce.value());
            let entry = Entry::decode(entry.value()).ok_or(StoreFault::Corrupt)?;
            spent.by_expiry.insert((entry.expires, nonce));
            if entry.expires > now {
                entries.push((nonce, entry));
            }
        }
        Ok((spent, entries))
    }

    /// Writes entries and takes out what has expired, all of it or nothing; done when it would survive a crash.
    pub(super) fn write(&mut self, entries: &BTreeMap<NonceHash, Entry>, now: u64) -> Result<(), StoreFault> {
        let write = self.database.begin_write()?;
        let alive = self.by_expiry.split_off(&(now.saturating_add(1), NonceHash([0; 32])));
        let expired = std::mem::replace(&mut self.by_expiry, alive);
        {
            let mut table = write.open_table(SPENT)?;
            for (_, nonce) in &expired {
                table.remove(&nonce.0)?;
            }
            for (nonce, entry) in entries {
                table.insert(&nonce.0, &entry.encode())?;
                self.by_expiry.insert((entry.expires, *nonce));
            }
        }
        write.commit()?;
        Ok(())
    }
}

impl From<io::Error> for StoreFault {
    fn from(error: io::Error) -> Self {
        use io::ErrorKind::{FileTooLarge, InvalidData, PermissionDenied, QuotaExceeded, ReadOnlyFilesystem, StorageFull, UnexpectedEof};
        match error.kind() {
            PermissionDenied | ReadOnlyFilesystem => StoreFault::ReadOnly,
            StorageFull | QuotaExceeded | FileTooLarge => StoreFault::Full,
            InvalidData | UnexpectedEof => StoreFault::Corrupt,
            other => StoreFault::Io(other),
        }
    }
}

impl From<StorageError> for StoreFault {
    fn from(error: StorageError) -> Self {
        match error {
            StorageError::Io(error) => error.into(),
            StorageError::DatabaseClosed => StoreFault::Closed,
            StorageError::PreviousIo => StoreFault::Io(io::ErrorKind::Other),
            _ => StoreFault::Corrupt,
        }
    }
}

impl From<DatabaseError> for StoreFault {
    fn from(error: DatabaseError) -> Self {
        match error {
            DatabaseError::DatabaseAlreadyOpen => StoreFault::Locked,
            DatabaseError::Storage(error) => error.into(),
            _ => StoreFault::Corrupt,
        }
    }
}

impl From<TransactionError> for StoreFault {
    fn from(error: TransactionError) -> Self {
        match error {
            TransactionError::Storage(error) => error.into(),
            _ => StoreFault::Corrupt,
        }
    }
}

impl From<TableError> for StoreFault {
    fn from(error: TableError) -> Self {
        match error {
            TableError::Storage(error) => error.into(),
            _ => StoreFault::Corrupt,
        }
    }
}

impl From<CommitError> for StoreFault {
    fn from(error: CommitError) -> Self {
        match error {
            CommitError::Storage(error) => error.into(),
            _ => StoreFault::Corrupt,
        }
    }
}

#[cfg(test)]
mod tests;
