//! Tunnels whose bytes pass unread, guarded by their first flight.
//!
//! The origin's bytes flow at once, since the server may speak first. The client's first flight is held until it is known to be what
//! the endpoint allows: TLS through an opaque endpoint must name the CONNECT authority (domain fronting), and a client that kept
//! silent until its tunnel was taken for a server-first protocol may not turn to TLS or HTTP afterwards (a way around inspection).

use std::io;
use std::time::Duration;

use bytes::BytesMut;
use rustls::server::Acceptor;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tollgate_policy::{Authority, Host, Reason};

use super::sniff::{Speech, sniff};
use crate::egress::dial::Dialled;
use crate::flow::{Traffic, copy_both_ways};
use crate::gate::Denial;

/// A ClientHello is never larger than this (post-quantum key shares included).
const LONGEST_HELLO: usize = 32 << 10;

/// What the client's first bytes may be.
#[derive(Debug, Clone, Copy)]
pub(super) enum FirstFlight<'a> {
    /// TLS that names this authority, or anything that is not HTTP. For `tls: skip`.
    Named(&'a Authority),
    /// Neither TLS nor HTTP, which would have been read. For plain L4.
    Unreadable,
}

/// Joins both ends until one has ended, or nothing has moved for `idle`.
pub(super) async fn pass(
    client: &mut TcpStream,
    origin: &mut Dialled,
    mut flight: BytesMut,
    first: FirstFlight<'_>,
    idle: Duration,
) -> Result<Traffic, Denial> {
    let mut traffic = Traffic::default();
    match hold_first_flight(client, origin, &mut flight, first, idle, &mut traffic).await {
        Ok(()) => {}
        Err(Stopped::Denied(denial)) => return Err(denial),
        Err(Stopped::Ended) => return Ok(traffic),
    }
    traffic.bytes_up += flight.len() as u64;
    if origin.write_all(&flight).await.is_ok() {
        let _ = copy_both_ways(client, origin, idle, &mut traffic).await;
    }
    Ok(traffic)
}

enum Stopped {
    Denied(Denial),
    Ended,
}

impl From<io::Error> for Stopped {
    fn from(_: io::Error) -> Self {
        Stopped::Ended
    }
}

async fn hold_first_flight(
    client: &mut TcpStream,
    origin: &mut Dialled,
    flight: &mut BytesMut,
    first: FirstFlight<'_>,
    idle: Duration,
    traffic: &mut Traffic,
) -> Result<(), Stopped> {
    let mut from_origin = BytesMut::with_capacity(8 << 10);
    loop {
        match first.judge(flight) {
            Flight::Passes => return Ok(()),
            Flight::Refused(denial) => return Err(Stopped::Denied(denial)),
            Flight::Incomplete => {}
        }
        tokio::select! {
            read = client.read_buf(flight) => {
                if read? == 0 {
                    // The client has said all it will; what it said passes only if it was complete.
                    return if flight.is_empty() { Ok(()) } else { Err(Stopped::Ended) };
                }
            }
            read = origin.read_buf(&mut from_origin) => {
                if read? == 0 {
                    return Err(Stopped::Ended);
                }
                traffic.bytes_down += from_origin.len() as u64;
                client.write_all(&from_origin).await?;
                from_origin.clear();
            }
            () = tokio::time::sleep(idle) => return Err(Stopped::Ended),
        }
    }
}

enum Flight {
    Passes,
    Incomplete,
    Refused(Denial),
}

impl FirstFlight<'_> {
    fn judge(self, bytes: &[u8]) -> Flight {
        match (self, sniff(bytes)) {
            (_, _) if bytes.is_empty() => Flight::Incomplete,
            (FirstFlight::Named(authority), Speech::Tls) => server_name(bytes, &authority.host),
            (FirstFlight::Named(_) | FirstFlight::Unreadable, Speech::Other) => Flight::Passes,
            (FirstFlight::Named(_) | FirstFlight::Unreadable, Speech::Undecided) => Flight::Incomplete,
            (FirstFlight::Unreadable, Speech::Tls) | (_, Speech::Http1 | Speech::H2c) => Flight::Refused(Denial::new(
                Reason::UninspectableTraffic,
                "the client began to speak what is always read after its tunnel was taken for another protocol",
            )),
        }
    }
}

fn server_name(bytes: &[u8], host: &Host) -> Flight {
    let mut acceptor = Acceptor::default();
    let mut rest = bytes;
    while !rest.is_empty() {
        if acceptor.read_tls(&mut rest).is_err() {
            break;
        }
    }
    let mismatch = || Flight::Refused(Denial::new(Reason::SniMismatch, "the TLS server name is not the CONNECT authority"));
    match acceptor.accept() {
        Ok(None) if bytes.len() <= LONGEST_HELLO => Flight::Incomplete,
        Ok(None) => mismatch(),
        Ok(Some(hello)) => match hello.client_hello().server_name() {
            Some(named) if Host::parse(named).as_ref() != Ok(host) => mismatch(),
            _ => Flight::Passes,
        },
        Err(_) => Flight::Refused(Denial::new(Reason::UninspectableTraffic, "the TLS handshake cannot be read")),
    }
}
