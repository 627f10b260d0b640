//! A CONNECT tunnel: refused, or answered with 200 and then served as what the client turns out to speak.
//!
//! The order: rail by name, route, addresses; then 200; then the first bytes. A refusal costs no dial. What can be read is read as
//! requests; bytes pass unread only where the endpoint is opaque (`tls: skip`) or plain L4 and no payment rule covers the host. Opaque
//! is TLS that is not terminated; HTTP in cleartext is read there too, or a rail could be called through it.

use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tollgate_policy::{Authority, Inspection, Reason};

use super::connect::ConnectHead;
use super::life::{Drain, revoked};
use super::raw::{self, FirstFlight};
use super::sniff::{Speech, sniff};
use super::tls::{self, TlsError};
use super::{Ingress, h1, h2};
use crate::audit::{Adapter, Protocol};
use crate::egress::dial::{self, DialError, Dialled};
use crate::egress::wire::{Pace, Rewind, Transport, Wire};
use crate::egress::{ClientProtocol, Destination, Security};
use crate::flow::{Client, Connection, Record, last_words};
use crate::gate::{Caller, Denial, Route, Ruleset};

/// How long a client of a plain L4 endpoint may stay silent before it is taken for one whose server speaks first.
const SERVER_FIRST: Duration = Duration::from_millis(500);

const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection Established\r\n\r\n";

/// A tunnel that may be opened.
pub(super) struct Tunnel {
    authority: Authority,
    addresses: Arc<[IpAddr]>,
    pub(super) inspection: Inspection,
    /// Whether bytes that are neither TLS nor HTTP may pass.
    unreadable: Unreadable,
    /// Dialled where bytes may pass unread, before the 200, so that a failure has a status.
    upstream: Option<Dialled>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unreadable {
    Passes,
    IsRefused,
}

/// Serves a CONNECT request to the end of its tunnel.
pub(super) async fn serve(ingress: &Ingress, client: Arc<Client>, mut tcp: TcpStream, head: ConnectHead, early: BytesMut, drain: Drain) {
    let engine = &ingress.engine;
    let rules = engine.gate.rules();
    let mut record = Record::begin(engine, &client, rules.generation, Adapter::Connect, Protocol::Http1);
    record.connect(&head.authority);
    let tunnel = match open(ingress, &client, &rules, head, &mut record).await {
        Ok(tunnel) => tunnel,
        Err(denial) => return engine.refuse_raw(record, &denial, &mut tcp).await,
    };
    record.status = Some(200);
    let answered = tcp.write_all(ESTABLISHED).await.is_ok();
    record.finish().await;
    if answered {
        tunnel.read(ingress, client, &rules, tcp, early, drain).await;
    }
}

/// Everything that is decided before the answer.
pub(super) async fn open(
    ingress: &Ingress,
    client: &Client,
    rules: &Ruleset,
    head: ConnectHead,
    record: &mut Record<'_>,
) -> Result<Tunnel, Denial> {
    let engine = &ingress.engine;
    let ConnectHead { authority, headers } = head;
    engine.gate.judge_stray_fields(&headers, "on a CONNECT request")?;
    let caller = engine.caller(client, rules, &authority).await;
    let route: Route<'_> = engine.gate.judge_connection(rules, &authority, caller)?;
    record.routed(&route);
    let addresses = record.wait(engine.resolve(&route, &authority)).await?;
    record.addresses = addresses.clone();
    engine
        .audit
        .ready()
        .map_err(|_| Denial::new(Reason::OverCapacity, "the audit trail cannot be written, so nothing may leave"))?;
    let inspection = route.inspection();
    let covered = rules.must_be_readable(&authority.host);
    let passes = match inspection {
        Inspection::Opaque => true,
        Inspection::Transport => !covered,
        Inspection::Http => false,
    };
    let unreadable = if passes { Unreadable::Passes } else { Unreadable::IsRefused };
    let upstream = match unreadable {
        Unreadable::Passes => {
            let dialling = dial::dial(&engine.connector, &authority, &addresses, engine.limits.connect);
            Some(record.wait(dialling).await.map_err(|error| not_dialled(&authority, &error))?)
        }
        Unreadable::IsRefused => None,
    };
    Ok(Tunnel {
        authority,
        addresses,
        inspection,
        unreadable,
        upstream,
    })
}

fn not_dialled(authority: &Authority, error: &DialError) -> Denial {
    match error {
        DialError::Timeout => Denial::new(Reason::UpstreamTimeout, format!("{authority} could not be connected to in time")),
        DialError::Chain(error) => Denial::new(Reason::UpstreamUnreachable, format!("{authority}: {error}")),
        DialError::Refused(_) => Denial::new(Reason::UpstreamUnreachable, format!("{authority} could not be connected to")),
    }
}

impl Tunnel {
    /// Finds out what is spoken, and serves that.
    async fn read(self, ingress: &Ingress, client: Arc<Client>, rules: &Ruleset, mut tcp: TcpStream, mut early: BytesMut, drain: Drain) {
        let limits = &ingress.engine.limits;
        let patience = if self.unreadable == Unreadable::Passes {
            SERVER_FIRST
        } else {
            limits.first_byte
        };
        let silent = Connection::unread(client.clone(), self.authority.clone(), self.addresses.clone());
        let speech = tokio::select! { biased;
            speech = first_speech(&mut tcp, &mut early, patience, limits.header_read) => speech,
            () = drain.clone().begun_for_newcomers() => return,
            _ = revoked(ingress.engine.clone(), silent) => return,
        };
        let refused = match speech {
            Spoken::Gone => return,
            Spoken::Is(Speech::Tls) if self.inspection != Inspection::Opaque => {
                return self.terminate(ingress, client, tcp, early, drain).await;
            }
            Spoken::Is(Speech::Http1) => {
                let fd = tcp.as_raw_fd();
                let connection = self.into_connection(ingress, client, Security::Plain, ClientProtocol::Http1);
                let wire = Wire::new(Transport::Plain(Rewind::new(early, tcp)), fd, Pace::Lazy);
                return h1::serve(&ingress.engine, connection, Box::new(wire), limits.first_byte, drain).await;
            }
            Spoken::Is(Speech::Tls | Speech::Other | Speech::Undecided) | Spoken::Nothing if self.unreadable == Unreadable::Passes => {
                let mut record = Record::begin(&ingress.engine, &client, rules.generation, Adapter::Tunnel, Protocol::Opaque);
                record.towards(&self.authority);
                record.addresses = self.addresses.clone();
                return self.pass(ingress, client, record, tcp, early).await;
            }
            Spoken::Is(Speech::H2c) => Denial::new(Reason::H2cNotAllowed, "HTTP/2 in cleartext is not read; use TLS"),
            Spoken::Is(_) => Denial::new(
                Reason::UninspectableTraffic,
                "the bytes in the tunnel are neither TLS nor HTTP, and this endpoint's traffic must be readable",
            ),
            Spoken::Nothing => Denial::new(Reason::MalformedRequest, "nothing was sent through the tunnel in time"),
        };
        ingress.engine.refuse_bytes(&client, &self.authority, &refused, &mut tcp).await;
    }

    async fn terminate(self, ingress: &Ingress, client: Arc<Client>, tcp: TcpStream, early: BytesMut, drain: Drain) {
        let engine = &ingress.engine;
        let fd = tcp.as_raw_fd();
        let io = Rewind::new(early, tcp);
        // Boxed: the state of a handshake would be part of every idle tunnel's.
        let handshake = Box::pin(tls::terminate(
            &ingress.leaves,
            &self.authority.host,
            io,
            engine.limits.tls_handshake,
        ));
        let tls = match handshake.await {
            Ok(tls) => tls,
            Err(error) => return self.untrusted(ingress, &client, &error).await,
        };
        let speaks_h2 = tls.get_ref().1.alpn_protocol() == Some(b"h2");
        let protocol = if speaks_h2 { ClientProtocol::Http2 } else { ClientProtocol::Http1 };
        let first = engine.limits.first_byte;
        let connection = self.into_connection(ingress, client, Security::Tls, protocol);
        let pace = if speaks_h2 { Pace::Eager } else { Pace::Lazy };
        let wire = Box::new(Wire::new(Transport::Tls(tls), fd, pace));
        if speaks_h2 {
            h2::serve(engine, connection, wire, drain).await;
        } else {
            h1::serve(engine, connection, wire, first, drain).await;
        }
    }

    /// A handshake that failed: the client has its TLS alert; the audit trail gets the reason.
    async fn untrusted(self, ingress: &Ingress, client: &Arc<Client>, error: &TlsError) {
        tracing::debug!(connection = %client.id, authority = %self.authority, %error, "no TLS with the client");
        if matches!(error, TlsError::SniMismatch) {
            let generation = ingress.engine.gate.rules().generation;
            let mut record = Record::begin(&ingress.engine, client, generation, Adapter::Tunnel, Protocol::Opaque);
            record.towards(&self.authority);
            record.denied(&Denial::new(Reason::SniMismatch, error.to_string()));
            record.status = None;
            record.finish().await;
        }
    }

    pub(super) fn into_connection(
        self,
        ingress: &Ingress,
        client: Arc<Client>,
        security: Security,
        protocol: ClientProtocol,
    ) -> Arc<Connection> {
        let destination = Arc::new(Destination::new(self.authority, security));
        let caller = client.caller.get().unwrap_or(&Caller::NotEnforced);
        let origin = ingress.engine.origin(destination, protocol, self.addresses, caller);
        Connection::tunnelled(client, origin)
    }

    /// Lets bytes pass unread, until an end, silence, or new rules.
    async fn pass(self, ingress: &Ingress, client: Arc<Client>, mut record: Record<'_>, mut tcp: TcpStream, early: BytesMut) {
        let Some(mut upstream) = self.upstream else {
            return record.finish().await;
        };
        let first = match self.inspection {
            Inspection::Opaque => FirstFlight::Named(&self.authority),
            Inspection::Transport | Inspection::Http => FirstFlight::Unreadable,
        };
        let connection = Connection::unread(client, self.authority.clone(), self.addresses);
        record.streaming();
        let idle = ingress.engine.limits.tunnel_idle;
        let outcome = tokio::select! { biased;
            outcome = raw::pass(&mut tcp, &mut upstream, early, first, idle) => outcome,
            reason = revoked(ingress.engine.clone(), connection) => {
                Err(Denial::new(reason, "the rules changed and no longer allow the tunnel"))
            }
        };
        match outcome {
            Ok(traffic) => {
                record.traffic = traffic;
                record.finish().await;
            }
            Err(denial) => {
                record.denied(&denial);
                record.status = None;
                record.finish().await;
                last_words(&mut tcp, &[]).await;
            }
        }
    }
}

enum Spoken {
    /// The first bytes.
    Is(Speech),
    /// The client keeps silent.
    Nothing,
    /// The client has left.
    Gone,
}

/// Listens for the first bytes: `patience` for the first of them, `rest` for as many as it takes to know what they begin.
async fn first_speech(tcp: &mut TcpStream, early: &mut BytesMut, patience: Duration, rest: Duration) -> Spoken {
    if early.is_empty() {
        match tokio::time::timeout(patience, tcp.read_buf(early)).await {
            Ok(Ok(n)) if n > 0 => {}
            Ok(_) => return Spoken::Gone,
            Err(_) => return Spoken::Nothing,
        }
    }
    let listen = async {
        loop {
            match sniff(early) {
                Speech::Undecided => {}
                speech => return Spoken::Is(speech),
            }
            match tcp.read_buf(early).await {
                Ok(n) if n > 0 => {}
                _ => return Spoken::Gone,
            }
        }
    };
    tokio::time::timeout(rest, listen).await.unwrap_or(Spoken::Is(Speech::Undecided))
}
