//! Where a request goes, and the connections that stay with a tunnel between its requests.
//!
//! An [`Origin`] is made from addresses that were already judged; nothing here asks DNS again. A connection is taken from the tunnel
//! itself, from the pool that all tunnels share, or dialled; it is given back only after a complete request *and* a complete answer.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use pingora::connectors::http::v2::ConnectionRef;
use pingora::protocols::Stream;
use pingora::protocols::http::client::HttpSession as ClientSession;
use pingora::protocols::http::v1::client::HttpSession as H1Client;
use pingora::upstreams::peer::{HttpPeer, Peer};
use pingora::{Error, ErrorType, Result};
use tokio::io::AsyncReadExt;

use super::connector::{self, Connector, PoolGroup};
use super::destination::{Destination, Security};
use super::eyeballs;
use super::session::OriginSession;
use super::wire::{Pace, SharedWire, Transport, Wire};
use crate::settings::Limits;

/// What the exchange needs of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Any HTTP connection.
    Any,
    /// One that nothing has been sent on: after a reused one turned out to be dead.
    Fresh,
    /// HTTP/1.1, which WebSocket upgrades need.
    Upgradable,
}

/// Whether a connection served a request before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum History {
    /// It was just dialled.
    New,
    /// It may have been closed by the origin meanwhile.
    Reused,
}

/// See the module.
pub struct Origin {
    destination: Arc<Destination>,
    client: ClientProtocol,
    connector: Arc<Connector>,
    addresses: Arc<[IpAddr]>,
    /// How long the shared pool keeps what the tunnel leaves behind.
    pool_idle: Duration,
    /// One per judged address, in the order of preference.
    peers: Vec<HttpPeer>,
    idle_h1: Mutex<Vec<Stream>>,
    h2: Mutex<Option<ConnectionRef>>,
    /// What the origin chose on the first connection.
    speaks: OnceLock<Speaks>,
    /// Held while a connection is dialled that others may share: a burst of streams on a new tunnel needs one, not one each.
    dialling: tokio::sync::Mutex<()>,
}

/// Which protocol the requests come in: an origin that takes both is spoken to in the client's own, which saves a conversion of every
/// head and body (a third of the CPU of a small request).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientProtocol {
    /// HTTP/1.
    Http1,
    /// HTTP/2.
    Http2,
}

/// The protocol that an origin chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaks {
    Http1,
    Http2,
}

impl Origin {
    /// `addresses` have passed the address guard and are the only ones ever dialled.
    pub fn new(
        connector: Arc<Connector>,
        destination: Arc<Destination>,
        client: ClientProtocol,
        addresses: Arc<[IpAddr]>,
        group: PoolGroup,
        limits: &Limits,
    ) -> Arc<Self> {
        let peers = addresses
            .iter()
            .map(|address| connector::peer(&connector, &destination, *address, group, limits.connect))
            .collect();
        Arc::new(Origin {
            destination,
            client,
            connector,
            addresses,
            pool_idle: limits.pool_idle,
            peers,
            idle_h1: Mutex::default(),
            h2: Mutex::default(),
            speaks: OnceLock::new(),
            dialling: tokio::sync::Mutex::default(),
        })
    }

    /// What requests to this origin are addressed to.
    pub fn destination(&self) -> &Arc<Destination> {
        &self.destination
    }

    /// The judged addresses.
    pub fn addresses(&self) -> &Arc<[IpAddr]> {
        &self.addresses
    }

    /// Takes a connection. Nothing before this call touched the network.
    pub(crate) async fn take(&self, need: Need) -> Result<(OriginSession, History)> {
        if need != Need::Fresh
            && let Some(session) = self.reuse(need).await?
        {
            return Ok((session, History::Reused));
        }
        let may_share = need == Need::Any && self.wants_h2() && self.speaks.get() != Some(&Speaks::Http1);
        let turn = if may_share { Some(self.dialling.lock().await) } else { None };
        match (turn.is_some(), self.speaks.get()) {
            (true, Some(Speaks::Http2)) => {
                if let Some(session) = self.reuse(need).await? {
                    return Ok((session, History::Reused));
                }
            }
            (true, Some(Speaks::Http1)) => drop(turn),
            _ => {}
        }
        // Boxed: dialling is rare, and its state would otherwise be part of every idle connection's.
        match Box::pin(eyeballs::first(&self.peers, |peer| self.dial(peer, need))).await {
            Some(Ok(session)) => Ok((session, History::New)),
            Some(Err(error)) => Err(error.into_up()),
            None => Err(Error::explain(ErrorType::ConnectNoRoute, "no address").into_up()),
        }
    }

    /// Whether HTTP/2 is asked for: the client speaks it, or the origin takes nothing else.
    fn wants_h2(&self) -> bool {
        let tls = self.destination.security() == Security::Tls;
        tls && (self.client == ClientProtocol::Http2 || self.speaks.get() == Some(&Speaks::Http2))
    }

    async fn reuse(&self, need: Need) -> Result<Option<OriginSession>> {
        if need == Need::Any {
            let own = self.lock_h2().clone().filter(|connection| !connection.is_closed());
            if let Some(connection) = own
                && let Ok(Some(stream)) = connection.spawn_stream().await
            {
                return Ok(Some(OriginSession::H2(Box::new(stream))));
            }
        }
        let Some(preferred) = self.peers.first() else { return Ok(None) };
        while let Some(mut stream) = { self.lock_h1().pop() } {
            if is_quiet(&mut stream) {
                return OriginSession::h1(stream, preferred).map(Some);
            }
        }
        for peer in &self.peers {
            if need == Need::Any
                && self.wants_h2()
                && let Ok(Some(stream)) = self.connector.http().reused_http_session(peer).await
            {
                return Ok(Some(self.adopt(stream)));
            }
            if let Some(mut stream) = self.connector.transport().reused_stream(peer).await
                && is_quiet(&mut stream)
            {
                return OriginSession::h1(stream, peer).map(Some);
            }
        }
        Ok(None)
    }

    async fn dial(&self, peer: &HttpPeer, need: Need) -> Result<OriginSession> {
        let dialled = if need == Need::Upgradable {
            self.dial_h1(peer).await?
        } else if self.wants_h2() {
            self.connector.http().new_http_session::<_, ()>(peer).await?
        } else {
            match self.dial_h1(peer).await {
                // An origin that takes only HTTP/2 refuses the handshake (RFC 7301 section 3.2).
                Err(error) if *error.etype() == ErrorType::TLSHandshakeFailure => {
                    self.connector.http().new_http_session::<_, ()>(peer).await?
                }
                dialled => dialled?,
            }
        };
        match dialled {
            ClientSession::H1(session) => {
                if need != Need::Upgradable && self.client == ClientProtocol::Http2 {
                    let _ = self.speaks.set(Speaks::Http1);
                }
                let stream = session.into_inner();
                let fd = stream.id();
                let wire = Wire::new(Transport::Origin(stream), fd, Pace::Lazy);
                OriginSession::h1(Box::new(SharedWire::new(wire)), peer)
            }
            ClientSession::H2(stream) => Ok(self.adopt(stream)),
            ClientSession::Custom(()) => Error::e_explain(ErrorType::InternalError, "a custom origin session"),
        }
    }

    async fn dial_h1(&self, peer: &HttpPeer) -> Result<ClientSession<()>> {
        let mut peer = peer.clone();
        peer.options.set_http_version(1, 1);
        let stream = self.connector.transport().new_stream(&peer).await?;
        Ok(ClientSession::H1(H1Client::new_with_options(stream, &peer)))
    }

    fn adopt(&self, stream: pingora::protocols::http::v2::client::Http2Session) -> OriginSession {
        let _ = self.speaks.set(Speaks::Http2);
        *self.lock_h2() = Some(stream.conn.clone());
        OriginSession::H2(Box::new(stream))
    }

    /// Gives a finished exchange's connection back to the tunnel.
    pub(crate) async fn give_back(&self, session: OriginSession) {
        if let OriginSession::H1(mut session, ..) = session {
            session.respect_keepalive();
            if let Some(stream) = session.reuse().await {
                self.lock_h1().push(stream);
            }
        }
    }

    fn lock_h1(&self) -> MutexGuard<'_, Vec<Stream>> {
        self.idle_h1.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_h2(&self) -> MutexGuard<'_, Option<ConnectionRef>> {
        self.h2.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Origin {
    /// The tunnel is over: what is left goes to the pool that all tunnels share.
    fn drop(&mut self) {
        let Some(peer) = self.peers.first() else { return };
        // The pool tells connections by the address at their other end, which is the upstream proxy's for all that it made.
        if peer.options.custom_l4.is_some() {
            return;
        }
        for stream in self.lock_h1().drain(..) {
            self.connector
                .transport()
                .release_stream(stream, peer.reuse_hash(), Some(self.pool_idle));
        }
        // A HTTP/2 connection goes back to the pool only through a stream of its own.
        let connection = self.lock_h2().take();
        if let Some(connection) = connection
            && let Some(Ok(Some(stream))) = connection.spawn_stream().now_or_never()
        {
            self.connector.http().release_http_session(stream, peer, Some(self.pool_idle));
        }
    }
}

/// An idle connection must have nothing to say: neither an end nor data, which would become the next request's answer.
fn is_quiet(stream: &mut Stream) -> bool {
    let mut probe = [0; 1];
    tokio::task::unconstrained(stream.read(&mut probe)).now_or_never().is_none()
}
