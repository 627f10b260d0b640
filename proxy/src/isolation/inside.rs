//! The process that becomes the command: single-threaded, because a process with threads may not leave its user namespace.

use std::ffi::OsString;
use std::io::{self, IoSlice, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use netlink_packet_core::{NLM_F_ACK, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkFlags, LinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use nix::sched::{CloneFlags, unshare};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use super::{IsolationError, Word};

/// The index of loopback in every new namespace.
const LOOPBACK: u32 = 1;

/// Makes the namespaces, hands the listener out over the socket at `channel`, and becomes `program`. Comes back with what went wrong.
pub fn enter(channel: &Path, port: u16, program: &OsString, arguments: &[OsString]) -> Result<io::Error, IsolationError> {
    let mut channel = UnixStream::connect(channel).map_err(IsolationError::Broken)?;
    let environment = match set_up(&mut channel, port) {
        Ok(environment) => environment,
        Err(error) => {
            if let IsolationError::Refused { step, source } = &error {
                let _ = channel.write_all(&[Word::Failed as u8]);
                let _ = write!(channel, "{}\n{step}", source.raw_os_error().unwrap_or_default());
            }
            return Err(error);
        }
    };
    // `exec` also takes back that Rust's runtime ignores SIGPIPE.
    Ok(Command::new(program).args(arguments).envs(environment).exec())
}

fn set_up(channel: &mut UnixStream, port: u16) -> Result<Vec<(String, String)>, IsolationError> {
    let namespaces = CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET;
    unshare(namespaces)
        .map_err(io::Error::from)
        .map_err(IsolationError::refused("making user and network namespaces"))?;
    channel.write_all(&[Word::Unshared as u8]).map_err(IsolationError::Broken)?;
    let mut mapped = [0];
    channel.read_exact(&mut mapped).map_err(IsolationError::Broken)?;
    raise_loopback().map_err(IsolationError::refused("bringing up loopback"))?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(IsolationError::refused("listening on loopback"))?;
    hand_out(channel, &listener).map_err(IsolationError::Broken)?;
    let mut environment = Vec::new();
    channel.read_to_end(&mut environment).map_err(IsolationError::Broken)?;
    serde_json::from_slice(&environment).map_err(|error| IsolationError::Broken(error.into()))
}

fn hand_out(channel: &UnixStream, listener: &TcpListener) -> io::Result<()> {
    let descriptors = [listener.as_fd()];
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    sendmsg(
        channel,
        &[IoSlice::new(&[Word::Listening as u8])],
        &mut ancillary,
        SendFlags::NOSIGNAL,
    )?;
    Ok(())
}

/// `RTM_NEWLINK` with `IFF_UP` (`rtnetlink(7)`): a new namespace has its loopback down.
fn raise_loopback() -> io::Result<()> {
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let mut link = LinkMessage::default();
    link.header.index = LOOPBACK;
    link.header.flags = LinkFlags::Up;
    link.header.change_mask = LinkFlags::Up;
    let mut message = NetlinkMessage::from(RouteNetlinkMessage::SetLink(link));
    message.header.flags = NLM_F_REQUEST | NLM_F_ACK;
    message.finalize();
    let mut out = vec![0; message.buffer_len()];
    message.serialize(&mut out);
    socket.send(&out, 0)?;
    let mut answer = [0_u8; 4096];
    let length = socket.recv(&mut answer.as_mut_slice(), 0)?;
    let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(answer.get(..length).unwrap_or_default()).map_err(io::Error::other)?;
    match answer.payload {
        NetlinkPayload::Error(error) if error.code.is_none() => Ok(()),
        NetlinkPayload::Error(error) => Err(error.to_io()),
        _ => Err(io::Error::other("the kernel's answer is not understood")),
    }
}
