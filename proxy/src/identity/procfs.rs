//! Processes as `/proc` shows them.
//!
//! A process is held by its open directory, not by its number: when it ends, reads fail, and never tell about another process
//! that got the same number.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RawDir, Stat, openat, readlinkat, readlinkat_raw, statat};
use rustix::path::{Arg, DecInt};

/// What the kernel appends to the name of a file that was removed.
const DELETED: &[u8] = b" (deleted)";

/// The executable of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Executable {
    /// Still where it was.
    Present(PathBuf),
    /// Removed or replaced since the process started.
    Deleted(PathBuf),
}

/// One process.
#[derive(Debug, Clone)]
pub(super) struct Process {
    pub(super) pid: u32,
    directory: Arc<OwnedFd>,
}

impl Process {
    pub(super) fn open(pid: u32) -> io::Result<Self> {
        Self::open_at(&proc_directory(OFlags::PATH)?, pid)
    }

    fn open_at(proc: impl AsFd, pid: u32) -> io::Result<Self> {
        let directory = openat(
            proc,
            DecInt::new(pid),
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        Ok(Self {
            pid,
            directory: Arc::new(directory),
        })
    }

    pub(super) fn executable(&self) -> io::Result<Executable> {
        let target = readlinkat(&*self.directory, c"exe", Vec::new())?.into_bytes();
        Ok(match target.strip_suffix(DELETED) {
            Some(path) => Executable::Deleted(OsString::from_vec(path.to_vec()).into()),
            None => Executable::Present(OsString::from_vec(target).into()),
        })
    }

    /// The file that is running, even where its path leads to another one by now or in another mount namespace.
    pub(super) fn open_executable(&self) -> io::Result<File> {
        Ok(openat(
            &self.directory,
            c"exe",
            OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK,
            Mode::empty(),
        )?
        .into())
    }

    pub(super) fn stat_executable(&self) -> io::Result<Stat> {
        Ok(statat(&*self.directory, c"exe", AtFlags::empty())?)
    }

    /// The parent, unless there is none (process 1).
    pub(super) fn parent(&self) -> Option<Process> {
        let pid = self.parent_pid()?;
        let parent = Process::open(pid).ok()?;
        // Had the parent ended before we opened it, this process would have another one by now.
        (self.parent_pid() == Some(pid)).then_some(parent)
    }

    fn parent_pid(&self) -> Option<u32> {
        let mut stat: File = openat(&*self.directory, c"stat", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .ok()?
            .into();
        let mut buffer = [0; 512];
        let length = io::Read::read(&mut stat, &mut buffer).ok()?;
        parse_parent(buffer.get(..length)?)
    }

    pub(super) fn holds(&self, socket: u64) -> bool {
        let mut held = false;
        let descriptors = open_directory(&*self.directory, c"fd");
        let _ = descriptors.and_then(|descriptors| Scan::default().sockets_in(&descriptors, &HashSet::from([socket]), |_| held = true));
        held
    }
}

/// The parent in a line of `/proc/PID/stat`: `pid (name) state ppid …`. The name may hold spaces and parentheses, and its
/// owner chooses it; the last parenthesis is the kernel's.
fn parse_parent(stat: &[u8]) -> Option<u32> {
    let end = stat.iter().rposition(|&byte| byte == b')')?;
    let rest = std::str::from_utf8(stat.get(end + 1..)?).ok()?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok().filter(|&pid| pid != 0)
}

/// One look at the descriptors of all processes.
#[derive(Default)]
struct Scan {
    descriptors: Vec<u32>,
}

/// The processes that hold each of `sockets`, in ascending order of their numbers.
///
/// Every process is looked at, or a socket shared by two would pass for the first one's. Those whose descriptors we may not
/// read are passed over. Our own process holds the other end of every connection; it is asked only for sockets that nobody
/// else holds.
pub(super) fn owners(sockets: &HashSet<u64>) -> io::Result<HashMap<u64, Vec<Process>>> {
    let proc = proc_directory(OFlags::RDONLY)?;
    let (own, mut scan) = (std::process::id(), Scan::default());
    let mut owners: HashMap<u64, Vec<Process>> = HashMap::new();
    let mut pids = numbers_in(&proc)?;
    pids.retain(|&pid| pid != own);
    pids.sort_unstable();
    for pid in pids {
        collect(&proc, pid, sockets, &mut scan, &mut owners);
    }
    let unclaimed: HashSet<u64> = sockets.iter().copied().filter(|socket| !owners.contains_key(socket)).collect();
    if !unclaimed.is_empty() {
        collect(&proc, own, &unclaimed, &mut scan, &mut owners);
    }
    Ok(owners)
}

fn collect(proc: &OwnedFd, pid: u32, sockets: &HashSet<u64>, scan: &mut Scan, owners: &mut HashMap<u64, Vec<Process>>) {
    // Not readable is not ours to judge: nobody's, unless somebody else holds it.
    let Ok(descriptors) = open_directory(proc, format!("{pid}/fd")) else {
        return;
    };
    let mut held = Vec::new();
    let _ = scan.sockets_in(&descriptors, sockets, |socket| held.push(socket));
    if held.is_empty() {
        return;
    }
    // Should the number have passed to another process by now, that one is found not to hold the socket.
    let Ok(process) = Process::open_at(proc, pid) else { return };
    for socket in held {
        owners.entry(socket).or_default().push(process.clone());
    }
}

impl Scan {
    /// Calls `found` once for each of `wanted` among a process's descriptors. Newest first: a client's latest connection is
    /// among its highest ones.
    fn sockets_in(&mut self, directory: &OwnedFd, wanted: &HashSet<u64>, mut found: impl FnMut(u64)) -> io::Result<()> {
        self.descriptors.clear();
        each_number_in(directory, |descriptor| self.descriptors.push(descriptor))?;
        let mut seen: Vec<u64> = Vec::new();
        for &descriptor in self.descriptors.iter().rev() {
            let mut buffer = [MaybeUninit::uninit(); 64];
            let Ok((target, _)) = readlinkat_raw(directory, DecInt::new(descriptor), &mut buffer[..]) else {
                continue;
            };
            let Some(socket) = parse_socket(target).filter(|socket| wanted.contains(socket) && !seen.contains(socket)) else {
                continue;
            };
            seen.push(socket);
            found(socket);
            if seen.len() == wanted.len() {
                break;
            }
        }
        Ok(())
    }
}

/// The inode in `socket:[12345]`.
fn parse_socket(target: &[u8]) -> Option<u64> {
    let digits = target.strip_prefix(b"socket:[")?.strip_suffix(b"]")?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn open_directory(at: impl AsFd, path: impl Arg) -> io::Result<OwnedFd> {
    Ok(openat(
        at,
        path,
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
    )?)
}

fn proc_directory(access: OFlags) -> io::Result<OwnedFd> {
    Ok(openat(CWD, c"/proc", access | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

fn numbers_in(directory: impl AsFd) -> io::Result<Vec<u32>> {
    let mut numbers = Vec::new();
    each_number_in(directory, |number| numbers.push(number))?;
    Ok(numbers)
}

fn each_number_in(directory: impl AsFd, mut each: impl FnMut(u32)) -> io::Result<()> {
    let mut buffer = [MaybeUninit::uninit(); 8192];
    let mut entries = RawDir::new(directory, &mut buffer);
    while let Some(entry) = entries.next() {
        let entry = entry?;
        if let Some(number) = std::str::from_utf8(entry.file_name().to_bytes())
            .ok()
            .and_then(|name| name.parse().ok())
        {
            each(number);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
