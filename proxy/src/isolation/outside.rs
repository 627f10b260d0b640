//! Tollgate's side: starts the process, maps its users, takes the listener.

use std::ffi::OsString;
use std::io::{self, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::{Shutdown, TcpListener};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use tokio::net::UnixListener;
use tokio::process::{Child, Command};

use super::{IsolationError, Word};

/// How long the process inside may take for each step.
const PATIENCE: Duration = Duration::from_secs(10);

/// A process in namespaces of its own, that waits to become a command.
#[derive(Debug)]
pub struct Sandbox {
    child: Child,
    channel: UnixStream,
    pid: u32,
}

impl Sandbox {
    /// Starts it, without the environment variables `secrets`. The listener is on loopback *inside*, at `port`, or with 0 at any.
    pub async fn open(command: &[OsString], port: u16, secrets: &[String]) -> Result<(Self, TcpListener), IsolationError> {
        let folder = tempfile::tempdir().map_err(IsolationError::Broken)?;
        let path = folder.path().join("channel");
        let doors = UnixListener::bind(&path).map_err(IsolationError::Broken)?;
        let mut process = Command::new(PathBuf::from("/proc/self/exe"));
        process
            .arg("inside")
            .arg("--channel")
            .arg(&path)
            .arg("--port")
            .arg(port.to_string())
            .arg("--")
            .args(command);
        for secret in secrets {
            process.env_remove(secret);
        }
        let mut child = process.kill_on_drop(true).spawn().map_err(IsolationError::Broken)?;
        let pid = child.id().ok_or_else(|| IsolationError::Broken(io::ErrorKind::NotFound.into()))?;
        let accepted = tokio::time::timeout(PATIENCE, accept(doors, &mut child)).await;
        let channel = accepted.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        let channel = channel.map_err(IsolationError::Broken)?;
        let (channel, listener) = tokio::task::block_in_place(|| take_listener(channel, pid))?;
        Ok((Sandbox { child, channel, pid }, listener))
    }

    /// The process: the command's own, once it has become it.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Lets it become the command, with these variables besides those that it has.
    pub fn enter(mut self, environment: &[(&str, String)]) -> Result<Child, IsolationError> {
        let environment = serde_json::to_vec(environment).map_err(|error| IsolationError::Broken(error.into()))?;
        self.channel.write_all(&environment).map_err(IsolationError::Broken)?;
        self.channel.shutdown(Shutdown::Write).map_err(IsolationError::Broken)?;
        Ok(self.child)
    }
}

/// The connection of the process, also of one that has said why it cannot go on, and ended.
async fn accept(doors: UnixListener, child: &mut Child) -> io::Result<UnixStream> {
    tokio::select! {
        accepted = doors.accept() => return accepted?.0.into_std(),
        _ = child.wait() => {}
    }
    // It connected before it ended, if it did.
    match doors.into_std()?.accept() {
        Ok((channel, _)) => Ok(channel),
        Err(_) => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn take_listener(mut channel: UnixStream, pid: u32) -> Result<(UnixStream, TcpListener), IsolationError> {
    let prepare = || -> io::Result<()> {
        channel.set_nonblocking(false)?;
        channel.set_read_timeout(Some(PATIENCE))
    };
    prepare().map_err(IsolationError::Broken)?;
    let mut word = [0];
    channel.read_exact(&mut word).map_err(IsolationError::Broken)?;
    if word != [Word::Unshared as u8] {
        return Err(failure(&mut channel));
    }
    map_users(pid)?;
    channel.write_all(b"M").map_err(IsolationError::Broken)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    recvmsg(&channel, &mut [IoSliceMut::new(&mut word)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)
        .map_err(|error| IsolationError::Broken(error.into()))?;
    let descriptor = ancillary.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
        _ => None,
    });
    match descriptor {
        Some(descriptor) if word == [Word::Listening as u8] => Ok((channel, TcpListener::from(descriptor))),
        _ => Err(failure(&mut channel)),
    }
}

/// What the process inside says went wrong.
fn failure(channel: &mut UnixStream) -> IsolationError {
    let mut text = String::new();
    if let Err(error) = channel.read_to_string(&mut text) {
        return IsolationError::Broken(error);
    }
    match text.split_once('\n').map(|(number, step)| (number.parse(), step)) {
        Some((Ok(number), step)) => IsolationError::refused(step)(io::Error::from_raw_os_error(number)),
        _ => IsolationError::Broken(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Everybody is inside who they are outside, as far as the kernel lets us say so: all users with the right to, else the one user.
fn map_users(pid: u32) -> Result<(), IsolationError> {
    let write = |file: &str, text: &str| std::fs::write(format!("/proc/{pid}/{file}"), text);
    let own = |file: &str| -> io::Result<String> { Ok(identical(&std::fs::read_to_string(format!("/proc/self/{file}"))?)) };
    let all = own("gid_map")
        .and_then(|map| write("gid_map", &map))
        .and_then(|()| own("uid_map"))
        .and_then(|map| write("uid_map", &map));
    if all.is_ok() {
        return Ok(());
    }
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    write("setgroups", "deny")
        .and_then(|()| write("gid_map", &format!("{group} {group} 1\n")))
        .and_then(|()| write("uid_map", &format!("{user} {user} 1\n")))
        .map_err(IsolationError::refused("mapping users into the namespace"))
}

/// The map of our own namespace (`first inside, first outside, count` a line), as one of a child that changes nothing.
fn identical(map: &str) -> String {
    let lines = map.lines().filter_map(|line| {
        let mut numbers = line.split_ascii_whitespace();
        let (first, _, count) = (numbers.next()?, numbers.next()?, numbers.next()?);
        Some(format!("{first} {first} {count}\n"))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_of_ours_becomes_one_that_changes_nothing() {
        assert_eq!(identical("         0          0 4294967295\n"), "0 0 4294967295\n");
        assert_eq!(identical("0 100000 65536\n65536 1000 1\n"), "0 0 65536\n65536 65536 1\n");
    }
}
