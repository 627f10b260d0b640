//! The successor's side: takes what stands in standard input, and says when it serves.

use std::io::{self, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use zeroize::Zeroizing;

use super::{HandoverError, LARGEST, LISTENERS, PATIENCE, SERVING, Standing};
use crate::settings::Closers;

/// What came from the process before.
#[derive(Debug)]
pub struct TakenOver {
    /// Where clients connect.
    pub proxy: TcpListener,
    /// Where the supervisor does.
    pub admin: TcpListener,
    /// Who holds all egress closed.
    pub closed_by: Closers,
    /// The authority, as [`tollgate_certs::CertificateAuthority::take_over`] reads it.
    pub authority: Option<Zeroizing<Vec<u8>>>,
}

/// The process before, which still serves.
#[derive(Debug)]
pub struct Predecessor(UnixStream);

impl TakenOver {
    /// Takes it from standard input, where the old process has put a socket.
    pub fn from_stdin() -> Result<(Self, Predecessor), HandoverError> {
        let mut channel = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        channel.set_read_timeout(Some(PATIENCE))?;
        let [proxy, admin] = listeners(&channel)?;
        let standing: Standing = serde_json::from_slice(&part(&mut channel)?).map_err(io::Error::from)?;
        let authority = part(&mut channel)?;
        let taken = TakenOver {
            proxy,
            admin,
            closed_by: standing.closed_by,
            authority: (!authority.is_empty()).then_some(authority),
        };
        Ok((taken, Predecessor(channel)))
    }
}

impl Predecessor {
    /// Tells it that it may go.
    pub fn may_go(mut self) -> io::Result<()> {
        self.0.write_all(&[SERVING])
    }
}

fn listeners(channel: &UnixStream) -> Result<[TcpListener; 2], HandoverError> {
    let mut word = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    recvmsg(channel, &mut [IoSliceMut::new(&mut word)], &mut ancillary, RecvFlags::CMSG_CLOEXEC).map_err(io::Error::from)?;
    let mut descriptors = ancillary.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(descriptors) => descriptors.collect::<Vec<_>>(),
        _ => Vec::new(),
    });
    match (word, descriptors.next(), descriptors.next()) {
        ([LISTENERS], Some(proxy), Some(admin)) => Ok([proxy.into(), admin.into()]),
        _ => Err(io::Error::new(io::ErrorKind::InvalidData, "standard input is not a Tollgate that hands over").into()),
    }
}

fn part(channel: &mut UnixStream) -> io::Result<Zeroizing<Vec<u8>>> {
    let mut length = [0; 4];
    channel.read_exact(&mut length)?;
    let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
    if length > LARGEST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = Zeroizing::new(vec![0; length]);
    channel.read_exact(&mut bytes)?;
    Ok(bytes)
}
