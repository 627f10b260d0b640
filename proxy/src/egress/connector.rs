//! How origins are dialled: pingora's connector and pool, the roots that origin certificates are verified against, and the peer
//! description of one judged address.

use std::hash::{Hash, Hasher};
use std::io::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use pingora::connectors::http::v2::Connector as Connections;
use pingora::connectors::{ConnectorOptions, TransportConnector};
use pingora::upstreams::peer::HttpPeer;
use thiserror::Error;
use tollgate_policy::{Authority, Host};

use super::destination::{Destination, Security};
use super::upstream_proxy::{UpstreamProxy, Way};
use crate::settings::Limits;

/// Streams on one origin connection.
const H2_STREAMS: usize = 100;
/// What an origin may have under way to us: pingora's 8 MiB would sit in memory for every slow reader.
const H2_STREAM_WINDOW: u32 = 512 << 10;
const H2_CONNECTION_WINDOW: u32 = 2 << 20;

/// The connector could not be built.
#[derive(Debug, Error)]
pub enum ConnectorError {
    /// The combined root file could not be written for the TLS library to read.
    #[error("cannot write the temporary file of upstream roots: {0}")]
    Roots(#[from] std::io::Error),
}

/// What all tunnels share: connections to origins that may be used again, and the proxy that they are made by, if there is one.
pub struct Connector {
    connections: Connections,
    proxy: Option<Arc<UpstreamProxy>>,
}

impl Connector {
    /// HTTP connections.
    pub(super) fn http(&self) -> &Connections {
        &self.connections
    }

    /// Connections of any kind.
    pub(super) fn transport(&self) -> &TransportConnector {
        self.connections.transport()
    }

    /// The way to a judged address by the upstream proxy; `None`: straight.
    pub(super) fn way(&self, authority: &Authority, address: IpAddr) -> Option<Way> {
        self.proxy.as_ref()?.way(authority, address)
    }
}

#[cfg(test)]
impl Connector {
    /// Straight.
    pub(crate) fn with(options: ConnectorOptions) -> Self {
        Connector {
            connections: Connections::new(Some(options)),
            proxy: None,
        }
    }
}

#[cfg(test)]
impl Default for Connector {
    fn default() -> Self {
        Connector::with(ConnectorOptions::new(1))
    }
}

/// Builds the connector that all tunnels share. `roots_pem` holds every root an origin may chain to (system and extra ones); with
/// none, every origin's certificate fails to verify, which is the safe direction.
pub fn connector(roots_pem: &str, proxy: Option<Arc<UpstreamProxy>>, limits: &Limits) -> Result<Arc<Connector>, ConnectorError> {
    let mut options = ConnectorOptions::new(limits.pool_connections);
    // pingora takes roots as a file and panics where the platform has none; so it always gets a file of ours.
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(roots_pem.as_bytes())?;
    file.flush()?;
    options.ca_file = file.path().to_str().map(str::to_owned);
    Ok(Arc::new(Connector {
        connections: Connections::new(Some(options)),
        proxy,
    }))
}

/// Keeps pooled connections of different callers apart: a connection authenticated for one is never lent to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PoolGroup(u64);

impl PoolGroup {
    /// The group of a calling binary, or of all callers that were not told apart.
    pub fn of(binary: Option<&str>) -> Self {
        let mut hasher = std::hash::DefaultHasher::new();
        binary.hash(&mut hasher);
        PoolGroup(hasher.finish())
    }
}

/// Describes one judged address to pingora.
pub(super) fn peer(connector: &Connector, destination: &Destination, address: IpAddr, group: PoolGroup, connect: Duration) -> HttpPeer {
    let authority = destination.authority();
    let tls = destination.security() == Security::Tls;
    // An empty SNI silently disables all verification in pingora's rustls connector; an IP literal works as a name.
    let name = match (&authority.host, tls) {
        (_, false) => String::new(),
        (Host::Name(name), true) => name.to_string(),
        (Host::Address(address), true) => address.to_string(),
    };
    let mut peer = HttpPeer::new(SocketAddr::new(address, authority.port), tls, name);
    if tls {
        peer.options.set_http_version(2, 1);
        peer.options.max_h2_streams = H2_STREAMS;
        peer.options.h2_stream_window_size = Some(H2_STREAM_WINDOW);
        peer.options.h2_connection_window_size = Some(H2_CONNECTION_WINDOW);
    }
    set_way(&mut peer, connector.way(authority, address));
    peer.group_key = group.0;
    peer.options.connection_timeout = Some(connect);
    peer.options.total_connection_timeout = Some(connect);
    peer
}

/// Lets pingora connect by the upstream proxy.
pub(super) fn set_way(peer: &mut HttpPeer, way: Option<Way>) {
    peer.options.custom_l4 = way.map(|way| Arc::new(way) as Arc<_>);
}
