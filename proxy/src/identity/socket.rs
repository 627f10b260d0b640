//! From the addresses of a connection to the client's socket.
//!
//! The kernel is asked by `NETLINK_SOCK_DIAG` for exactly this connection (2 µs however many there are). Where it was built
//! without, its tables in `/proc/net` are read (milliseconds).

use std::io::{self, BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::LazyLock;

use netlink_packet_core::{NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_sock_diag::SockDiagMessage;
use netlink_packet_sock_diag::constants::{AF_INET, AF_INET6, IPPROTO_TCP};
use netlink_packet_sock_diag::inet::{ExtensionFlags, InetRequest, SocketId, StateFlags};
use netlink_sys::protocols::NETLINK_SOCK_DIAG;
use netlink_sys::{Socket, SocketAddr as NetlinkAddr};

/// One end of a TCP connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ClientSocket {
    /// Its inode in sockfs, unique among the sockets of the system.
    pub(super) inode: u64,
    /// The user who made it.
    pub(super) uid: u32,
}

/// Whose sockets clients have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Network {
    /// Those of our own network namespace.
    #[default]
    Ours,
    /// Those of the namespace that this process is in. Its tables are read: the kernel answers for the namespace of the asking socket only.
    OfProcess(u32),
}

/// The client's end of the connection from `client` to `listener`, if it is a socket of that network namespace.
pub(super) fn find(network: Network, client: SocketAddr, listener: SocketAddr) -> Option<ClientSocket> {
    static KERNEL_ANSWERS: LazyLock<bool> = LazyLock::new(kernel_answers);
    let (client, listener) = (canonical(client), canonical(listener));
    match network {
        Network::Ours if *KERNEL_ANSWERS => ask_kernel(client, listener).ok(),
        Network::Ours => read_tables("/proc/thread-self/net", client, listener),
        Network::OfProcess(pid) => read_tables(&format!("/proc/{pid}/net"), client, listener),
    }
}

/// Whether the kernel knows a connection that is there. A kernel that cannot answer says "not found" as well; tried once,
/// remote clients do not cost a reading of the tables each.
fn kernel_answers() -> bool {
    let known = || -> io::Result<ClientSocket> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let client = TcpStream::connect(listener.local_addr()?)?;
        ask_kernel(client.local_addr()?, client.peer_addr()?)
    };
    known().is_ok()
}

/// A dual-stack listener shows IPv4 clients as IPv6 (`::ffff:a.b.c.d`); the kernel wants them plain.
fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        IpAddr::V4(ip) => SocketAddr::new(ip.into(), address.port()),
        IpAddr::V6(_) => address,
    }
}

fn ask_kernel(client: SocketAddr, listener: SocketAddr) -> io::Result<ClientSocket> {
    let mut socket = Socket::new(NETLINK_SOCK_DIAG)?;
    socket.bind_auto()?;
    socket.connect(&NetlinkAddr::new(0, 0))?;
    // The kernel answers within the call; without an answer we must not wait for one.
    socket.set_non_blocking(true)?;

    let mut header = NetlinkHeader::default();
    header.flags = NLM_F_REQUEST;
    header.sequence_number = 1;
    let request = InetRequest {
        family: if client.is_ipv4() { AF_INET } else { AF_INET6 },
        protocol: IPPROTO_TCP,
        extensions: ExtensionFlags::empty(),
        states: StateFlags::all(),
        socket_id: SocketId {
            source_port: client.port(),
            destination_port: listener.port(),
            source_address: client.ip(),
            destination_address: listener.ip(),
            interface_id: match client {
                SocketAddr::V6(v6) => v6.scope_id(),
                SocketAddr::V4(_) => 0,
            },
            cookie: [0xff; 8],
        },
    };
    let mut message = NetlinkMessage::new(header, SockDiagMessage::InetRequest(request).into());
    message.finalize();
    let mut out = vec![0; message.buffer_len()];
    message.serialize(&mut out);
    socket.send(&out, 0)?;

    let mut answer = [0_u8; 1024];
    let length = socket.recv(&mut answer.as_mut_slice(), 0)?;
    let answer = answer.get(..length).unwrap_or_default();
    let answer = NetlinkMessage::<SockDiagMessage>::deserialize(answer).map_err(io::Error::other)?;
    let NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(found)) = answer.payload else {
        return Err(io::ErrorKind::NotFound.into());
    };
    // When the connection is gone the kernel offers a socket that *listens* at the client's address: another one, and
    // perhaps another process.
    let id = &found.header.socket_id;
    let same = SocketAddr::new(id.source_address.to_canonical(), id.source_port) == plain(client)
        && SocketAddr::new(id.destination_address.to_canonical(), id.destination_port) == plain(listener);
    if !same || found.header.inode == 0 {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(ClientSocket {
        inode: found.header.inode.into(),
        uid: found.header.uid,
    })
}

/// Without flow label and scope, which do not tell sockets of one address apart.
fn plain(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip(), address.port())
}

fn read_tables(folder: &str, client: SocketAddr, listener: SocketAddr) -> Option<ClientSocket> {
    // An IPv6 socket may carry an IPv4 connection, so both tables are read for both kinds.
    ["tcp", "tcp6"].iter().find_map(|table| {
        let lines = BufReader::new(std::fs::File::open(format!("{folder}/{table}")).ok()?).lines();
        lines
            .map_while(Result::ok)
            .find_map(|line| read_row(&line, plain(client), plain(listener)))
    })
}

/// One row of `/proc/net/tcp` or `tcp6` (Linux, `Documentation/networking/proc_net_tcp.rst`), if it is this connection's.
fn read_row(line: &str, client: SocketAddr, listener: SocketAddr) -> Option<ClientSocket> {
    let mut fields = line.split_ascii_whitespace();
    let local = read_address(fields.nth(1)?)?;
    let remote = read_address(fields.next()?)?;
    // st, queues, timer, retransmits, uid, timeout, inode
    let uid = fields.nth(4)?.parse().ok()?;
    let inode = fields.nth(1)?.parse().ok()?;
    (local == client && remote == listener && inode != 0).then_some(ClientSocket { inode, uid })
}

/// `0100007F:0C38`: 32-bit words as the host stores them, the port as a number.
fn read_address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| Some(u32::from_str_radix(ip.get(at..at + 8)?, 16).ok()?.to_ne_bytes());
    let ip = match ip.len() {
        8 => Ipv4Addr::from(word(0)?).into(),
        32 => {
            let words = [word(0)?, word(8)?, word(16)?, word(24)?];
            let octets: [u8; 16] = words.concat().try_into().ok()?;
            IpAddr::from(Ipv6Addr::from(octets)).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests;
