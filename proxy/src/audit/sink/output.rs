//! The places that audit lines can go to.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::AuditError;

/// A place for audit lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// Standard output.
    Stdout,
    /// Standard error, where standard output belongs to somebody else.
    Stderr,
    /// A file that is appended to.
    File(PathBuf),
}

impl Output {
    pub(super) fn open(&self) -> Result<Box<dyn Write + Send>, AuditError> {
        match self {
            Output::Stdout => unbuffered(io::stdout().as_fd()),
            Output::Stderr => unbuffered(io::stderr().as_fd()),
            Output::File(path) => open_file(path),
        }
        .map(|file| Box::new(file) as Box<dyn Write + Send>)
        .map_err(|source| AuditError::Open {
            output: self.clone(),
            source,
        })
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Output::Stdout => f.write_str("standard output"),
            Output::Stderr => f.write_str("standard error"),
            Output::File(path) => write!(f, "the file {}", path.display()),
        }
    }
}

/// Without std's own buffer, so that a write that succeeded is out and one that failed can be tried again.
fn unbuffered(descriptor: BorrowedFd<'_>) -> io::Result<File> {
    descriptor.try_clone_to_owned().map(File::from)
}

/// Only the owner may read who talked to whom and paid what.
fn open_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(0o600);
    let mut file = options.open(path)?;
    if ends_within_a_line(path) {
        file.write_all(b"\n")?;
    }
    Ok(file)
}

/// A process that was killed may have left half a line; the next line must not be glued to it.
fn ends_within_a_line(path: &Path) -> bool {
    let mut last = [0_u8];
    // A pipe or device can't seek, and an empty file has no last byte: nothing to repair then.
    let read = File::open(path)
        .ok()
        .filter(|file| file.metadata().is_ok_and(|metadata| metadata.is_file()))
        .and_then(|mut file| {
            file.seek(SeekFrom::End(-1)).ok()?;
            file.read_exact(&mut last).ok()
        });
    read.is_some() && last != *b"\n"
}
