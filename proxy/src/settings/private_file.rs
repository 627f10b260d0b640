//! A file with a secret in it, which only its owner may read.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use thiserror::Error;
use zeroize::Zeroizing;

/// No honest one is larger.
const LARGEST: usize = 4_096;
/// What it must not grant: anything to the group or to others.
const OTHERS: u32 = 0o077;

/// Why it is not read. Never says anything of what is in it.
#[derive(Debug, Error)]
pub enum PrivateFileError {
    /// It cannot be opened or read.
    #[error("the file {path} cannot be read: {source}")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// A directory, a pipe, a device.
    #[error("{0} is no regular file")]
    NoFile(String),
    /// Its mode.
    #[error("the file {path} may be read by others than its owner (mode {mode:04o}); write `chmod 600 {path}`")]
    Exposed {
        /// The file.
        path: String,
        /// Its permissions.
        mode: u32,
    },
}

/// Reads it. The open file is looked at, not its name: it could be exchanged in between.
pub fn read_private_file(path: &Path) -> Result<Zeroizing<Vec<u8>>, PrivateFileError> {
    let shown = || path.display().to_string();
    let unreadable = |source| PrivateFileError::Unreadable { path: shown(), source };
    let file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(PrivateFileError::NoFile(shown()));
    }
    if metadata.mode() & OTHERS != 0 {
        let mode = metadata.mode() & 0o7777;
        return Err(PrivateFileError::Exposed { path: shown(), mode });
    }
    let mut content = Zeroizing::new(Vec::with_capacity(LARGEST));
    file.take(LARGEST as u64).read_to_end(&mut content).map_err(unreadable)?;
    Ok(content)
}
