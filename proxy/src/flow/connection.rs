//! What is known of one client connection: who is behind it, and where it leads.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;
use tollgate_policy::Authority;

use crate::audit::{Adapter, ConnectionId};
use crate::egress::{Destination, Origin};
use crate::gate::Caller;

/// The client's end of a connection; the same for a plain proxy connection and the tunnel that it may become.
pub(crate) struct Client {
    pub(crate) id: ConnectionId,
    /// The client's address.
    pub(crate) address: SocketAddr,
    /// Ours.
    pub(crate) listener: SocketAddr,
    /// Found out at most once, when a rule asks.
    pub(crate) caller: OnceCell<Caller>,
}

impl Client {
    pub(crate) fn new(address: SocketAddr, listener: SocketAddr) -> Arc<Self> {
        Arc::new(Client {
            id: ConnectionId::next(),
            address,
            listener,
            caller: OnceCell::new(),
        })
    }
}

/// See the module.
pub(crate) struct Connection {
    pub(crate) client: Arc<Client>,
    route: Route,
}

enum Route {
    /// Absolute-form requests; the last origin stays, so that a client that keeps to one host keeps its connection too.
    Forward(Mutex<Option<Arc<Origin>>>),
    /// A CONNECT tunnel whose requests are read.
    Tunnel(Arc<Origin>),
    /// A CONNECT tunnel whose bytes pass unread.
    Unread(Authority, Arc<[IpAddr]>),
}

impl Connection {
    /// A connection whose requests name their origins themselves.
    pub(crate) fn forward(client: Arc<Client>) -> Arc<Self> {
        Arc::new(Connection {
            client,
            route: Route::Forward(Mutex::default()),
        })
    }

    /// A tunnel to `origin`.
    pub(crate) fn tunnelled(client: Arc<Client>, origin: Arc<Origin>) -> Arc<Self> {
        Arc::new(Connection {
            client,
            route: Route::Tunnel(origin),
        })
    }

    /// A tunnel whose bytes pass unread.
    pub(crate) fn unread(client: Arc<Client>, authority: Authority, addresses: Arc<[IpAddr]>) -> Arc<Self> {
        Arc::new(Connection {
            client,
            route: Route::Unread(authority, addresses),
        })
    }

    /// How its requests came in.
    pub(crate) fn adapter(&self) -> Adapter {
        match self.route {
            Route::Forward(_) => Adapter::Forward,
            Route::Tunnel(_) | Route::Unread(..) => Adapter::Tunnel,
        }
    }

    /// The tunnel's origin, or the last one.
    pub(crate) fn origin(&self) -> Option<Arc<Origin>> {
        match &self.route {
            Route::Tunnel(origin) => Some(origin.clone()),
            Route::Forward(last) => last.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            Route::Unread(..) => None,
        }
    }

    /// The tunnel's destination; `None` on a forward connection.
    pub(crate) fn tunnel(&self) -> Option<&Arc<Destination>> {
        match &self.route {
            Route::Tunnel(origin) => Some(origin.destination()),
            Route::Forward(_) | Route::Unread(..) => None,
        }
    }

    /// Where it leads now, to be judged again under new rules.
    pub(crate) fn leads_to(&self) -> Option<(Authority, Arc<[IpAddr]>)> {
        if let Route::Unread(authority, addresses) = &self.route {
            return Some((authority.clone(), addresses.clone()));
        }
        let origin = self.origin()?;
        Some((origin.destination().authority().clone(), origin.addresses().clone()))
    }

    /// Remembers the last origin of a forward connection.
    pub(crate) fn remember(&self, origin: &Arc<Origin>) {
        if let Route::Forward(last) = &self.route {
            *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(origin.clone());
        }
    }
}
