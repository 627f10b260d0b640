#![allow(clippy::unwrap_used)]
use std::io::Write;

use super::*;

/// A connected pair on `bind`, and the listener's address as the accepted socket shows it.
fn pair(bind: &str, connect: &str) -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind((bind, 0)).unwrap();
    let client = TcpStream::connect((connect, listener.local_addr().unwrap().port())).unwrap();
    let (accepted, _) = listener.accept().unwrap();
    (client, accepted)
}

/// The inode of a descriptor of our own.
fn inode(stream: &TcpStream) -> u64 {
    use std::os::fd::AsRawFd;
    let target = std::fs::read_link(format!("/proc/self/fd/{}", stream.as_raw_fd())).unwrap();
    target
        .to_str()
        .unwrap()
        .trim_start_matches("socket:[")
        .trim_end_matches(']')
        .parse()
        .unwrap()
}

type Lookup = fn(SocketAddr, SocketAddr) -> Option<ClientSocket>;
const LOOKUPS: [(&str, Lookup); 4] = [
    ("find", |client, listener| find(Network::Ours, client, listener)),
    ("our own tables", |client, listener| {
        find(Network::OfProcess(std::process::id()), client, listener)
    }),
    ("kernel", |client, listener| ask_kernel(canonical(client), canonical(listener)).ok()),
    ("tables", |client, listener| {
        read_tables("/proc/thread-self/net", canonical(client), canonical(listener))
    }),
];

#[test]
fn each_way_finds_the_clients_end_and_not_ours() {
    for (bind, connect) in [
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "::1"),
        ("::", "127.0.0.1"),
        ("::", "::1"),
        ("127.0.0.1", "::ffff:127.0.0.1"),
    ] {
        let (client, accepted) = pair(bind, connect);
        let (from, to) = (accepted.peer_addr().unwrap(), accepted.local_addr().unwrap());
        for (way, lookup) in LOOKUPS {
            let found = lookup(from, to).unwrap_or_else(|| panic!("{way}: {connect} to {bind} not found"));
            assert_eq!(found.inode, inode(&client), "{way}: {connect} to {bind}");
            assert_ne!(found.inode, inode(&accepted));
            // The other way round it is our own end.
            assert_eq!(lookup(to, from).unwrap().inode, inode(&accepted), "{way}");
        }
    }
}

#[test]
fn a_half_closed_client_is_still_found() {
    let (client, accepted) = pair("127.0.0.1", "127.0.0.1");
    (&client).write_all(b"GET").unwrap();
    client.shutdown(std::net::Shutdown::Write).unwrap();
    for (way, lookup) in LOOKUPS {
        let found = lookup(accepted.peer_addr().unwrap(), accepted.local_addr().unwrap());
        assert_eq!(found.map(|found| found.inode), Some(inode(&client)), "{way}");
    }
}

#[test]
fn a_connection_that_is_gone_has_no_socket() {
    let (client, accepted) = pair("127.0.0.1", "127.0.0.1");
    drop(client);
    for (way, lookup) in LOOKUPS {
        assert_eq!(lookup(accepted.peer_addr().unwrap(), accepted.local_addr().unwrap()), None, "{way}");
    }
}

/// The kernel falls back to a socket that listens at the client's address. Its owner is another process, perhaps one that
/// may do what the client may not.
#[test]
fn a_listener_at_the_clients_address_is_not_the_client() {
    let bystander = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let somebody: SocketAddr = "127.0.0.1:9".parse().unwrap();
    for (way, lookup) in LOOKUPS {
        assert_eq!(lookup(bystander.local_addr().unwrap(), somebody), None, "{way}");
    }
}

#[test]
fn this_kernel_answers() {
    assert!(kernel_answers(), "these tests want a kernel with CONFIG_INET_TCP_DIAG");
}

#[test]
#[cfg(target_endian = "little")]
fn rows_are_read_as_the_kernel_writes_them() {
    let row =
        "  12: 0100007F:8F4C 0200007F:0C38 01 00000000:00000000 00:00000000 00000000  1000        0 31337 1 0000000000000000 20 4 30 10 -1";
    let (client, listener) = ("127.0.0.1:36684".parse().unwrap(), "127.0.0.2:3128".parse().unwrap());
    assert_eq!(read_row(row, client, listener), Some(ClientSocket { inode: 31_337, uid: 1_000 }));
    assert_eq!(read_row(row, listener, client), None, "the other direction is the other end");
    assert_eq!(
        read_row(&row.replace("31337", "0"), client, listener),
        None,
        "TIME_WAIT belongs to nobody"
    );
    for broken in [
        "",
        "  sl  local_address rem_address   st",
        "12: 0100007F 0200007F:0C38 01",
        "12: zz00007F:8F4C 0200007F:0C38 01",
    ] {
        assert_eq!(read_row(broken, client, listener), None, "{broken}");
    }
    let cases = [
        ("00000000000000000000000001000000:0050", "[::1]:80"),
        ("B80D0120000000000000000001000000:01BB", "[2001:db8::1]:443"),
        ("0000000000000000FFFF00000100007F:0050", "127.0.0.1:80"),
    ];
    for (text, address) in cases {
        assert_eq!(read_address(text), Some(address.parse().unwrap()), "{text}");
    }
    assert_eq!(read_address("0100007F00:0050"), None);
}
