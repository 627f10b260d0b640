//! Taking a secret from where it is kept. Nothing of it is in an error.

use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use thiserror::Error;
use zeroize::Zeroizing;

use super::config::Source;
use super::secret::Secret;
use crate::settings::{PrivateFileError, read_private_file};

/// What a command may take; a start waits for it.
const COMMAND_TIME: Duration = Duration::from_secs(10);
/// No honest secret is longer.
const LARGEST: usize = 4_096;
/// How long its output may stay open after that.
const AFTER_ITS_END: Duration = Duration::from_secs(1);
/// How often a running command is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// Why there is no secret.
#[derive(Debug, Error)]
pub(super) enum SourceError {
    /// The variable.
    #[error("it is not set")]
    NotSet,
    /// The file.
    #[error(transparent)]
    File(#[from] PrivateFileError),
    /// What it holds.
    #[error("it is empty, or holds a line break or another control character")]
    Unusable,
    /// The program cannot be started, or its output not be read.
    #[error("it cannot be run: {0}")]
    NotRun(#[source] io::Error),
    /// It did not end.
    #[error("it did not end within {} s", COMMAND_TIME.as_secs())]
    Late,
    /// It says that something went wrong.
    #[error("it ended with {0}")]
    Failed(ExitStatus),
}

/// What tells one state of a file from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    inode: u64,
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    /// `None` for what is not there.
    pub(super) fn of(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().map(|metadata| Stamp {
            inode: metadata.ino(),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        })
    }
}

/// Takes it; a command is run, so this may take seconds.
pub(super) fn take(source: &Source, variable: impl Fn(&str) -> Option<OsString>) -> Result<Secret, SourceError> {
    let bytes = match source {
        Source::Env(name) => {
            let value = variable(name.as_str()).ok_or(SourceError::NotSet)?;
            Zeroizing::new(value.as_bytes().to_vec())
        }
        Source::File(path) => without_line_end(read_private_file(path)?),
        Source::Command { words, .. } => without_line_end(output_of(words)?),
    };
    Secret::new(bytes).ok_or(SourceError::Unusable)
}

/// Editors and `echo` end a file in one.
fn without_line_end(mut bytes: Zeroizing<Vec<u8>>) -> Zeroizing<Vec<u8>> {
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
    }
    bytes
}

fn output_of(words: &[String]) -> Result<Zeroizing<Vec<u8>>, SourceError> {
    let (program, arguments) = words.split_first().ok_or(SourceError::NotSet)?;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        // A group of its own, so that what it has started ends with it.
        .process_group(0)
        .spawn()
        .map_err(SourceError::NotRun)?;
    let output = child.stdout.take();
    let (tell, told) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let mut bytes = Zeroizing::new(Vec::with_capacity(LARGEST + 1));
        let read = output.map_or(Ok(0), |output| output.take(LARGEST as u64 + 1).read_to_end(&mut bytes));
        let _ = tell.send(read.map(|_| bytes));
    });
    let status = ended(&mut child)?;
    if !status.success() {
        return Err(SourceError::Failed(status));
    }
    // What it left running may hold its output open.
    let bytes = told
        .recv_timeout(AFTER_ITS_END)
        .map_err(|_| SourceError::Late)?
        .map_err(SourceError::NotRun)?;
    if bytes.len() > LARGEST {
        return Err(SourceError::Unusable);
    }
    Ok(bytes)
}

fn ended(child: &mut Child) -> Result<ExitStatus, SourceError> {
    let until = Instant::now() + COMMAND_TIME;
    loop {
        if let Some(status) = child.try_wait().map_err(SourceError::NotRun)? {
            return Ok(status);
        }
        if Instant::now() >= until {
            let group = rustix::process::Pid::from_child(child);
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            let _ = child.wait();
            return Err(SourceError::Late);
        }
        std::thread::sleep(LOOK);
    }
}
