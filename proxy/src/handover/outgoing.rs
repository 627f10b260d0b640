//! The old process's side: starts the successor, hands over, waits for its word.

use std::ffi::OsString;
use std::io::{self, IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use zeroize::Zeroizing;

use super::{HandoverError, LISTENERS, PATIENCE, SERVING, SUCCESSOR, Standing};
use crate::settings::Closers;

/// What a successor needs, kept ready.
#[derive(Debug)]
pub struct HandingOver {
    /// Where this program was started from: an upgrade puts another file there.
    program: io::Result<PathBuf>,
    /// Proxy and admin; gone when this process begins to end, or they would stay open and unserved.
    listeners: Mutex<Option<[OwnedFd; 2]>>,
}

impl HandingOver {
    /// With a descriptor of each listener's own.
    pub fn of(proxy: impl AsFd, admin: impl AsFd) -> io::Result<Self> {
        Ok(HandingOver {
            program: std::env::current_exe(),
            listeners: Mutex::new(Some([proxy.as_fd().try_clone_to_owned()?, admin.as_fd().try_clone_to_owned()?])),
        })
    }

    /// Lets go of the listeners.
    pub fn end(&self) {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Starts the successor and waits until it serves. This takes as long as a start does.
    pub fn hand_over(&self, closed_by: Closers, authority: Option<Zeroizing<Vec<u8>>>) -> Result<(), HandoverError> {
        if std::process::id() == 1 {
            return Err(HandoverError::Init);
        }
        let program = self
            .program
            .as_ref()
            .map_err(|error| HandoverError::NotStarted(error.kind().into()))?;
        let (ours, theirs) = UnixStream::pair()?;
        let mut successor = Command::new(program)
            .args(arguments())
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .spawn()
            .map_err(HandoverError::NotStarted)?;
        let handed = self.pass(ours, &mut successor, &Standing { closed_by }, authority);
        if handed.is_err() {
            let _ = successor.kill();
            let _ = successor.wait();
        }
        handed
    }

    fn pass(
        &self,
        mut channel: UnixStream,
        successor: &mut Child,
        standing: &Standing,
        authority: Option<Zeroizing<Vec<u8>>>,
    ) -> Result<(), HandoverError> {
        let until = Instant::now() + PATIENCE;
        {
            let listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
            let [proxy, admin] = listeners.as_ref().ok_or(HandoverError::Ending)?;
            let descriptors = [proxy.as_fd(), admin.as_fd()];
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
            let mut ancillary = SendAncillaryBuffer::new(&mut space);
            ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
            sendmsg(&channel, &[IoSlice::new(&[LISTENERS])], &mut ancillary, SendFlags::NOSIGNAL).map_err(io::Error::from)?;
        }
        let standing = serde_json::to_vec(standing).map_err(io::Error::from)?;
        for part in [&standing, &*authority.unwrap_or_default()] {
            let length = u32::try_from(part.len()).map_err(io::Error::other)?;
            channel.write_all(&length.to_be_bytes())?;
            channel.write_all(part)?;
        }
        channel.set_read_timeout(Some(until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))))?;
        let mut word = [0];
        match channel.read_exact(&mut word) {
            Ok(()) if word == [SERVING] => Ok(()),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => Err(HandoverError::Late),
            // Its end of the channel closes a moment before it can be waited for.
            Ok(()) | Err(_) => Err(HandoverError::Ended(successor.wait()?)),
        }
    }
}

fn arguments() -> impl Iterator<Item = OsString> {
    let ours = std::env::args_os().skip(1).filter(|argument| argument != SUCCESSOR);
    ours.chain([OsString::from(SUCCESSOR)])
}
