//! One outbound HTTP request by Tollgate itself: to the verdict service, later to key documents.
//!
//! In: a [`Request`] to a service that the operator named, and [`Limits`]. Out: the whole [`Response`], or a typed [`FetchError`].
//!
//! What it never does: follow a redirect, retry, pay a 402, ask the environment for a proxy, speak TLS without verifying chain and name,
//! or keep a connection. The name is resolved once and the addresses found are the ones dialled. One deadline covers resolving, connecting,
//! writing and reading. Loopback may be dialled: the service is the operator's own, no client chose it.

mod exchange;
#[cfg(test)]
pub(crate) mod scripted;
#[cfg(test)]
mod tests;
pub mod url;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::uri::PathAndQuery;
use http::{HeaderMap, Method, StatusCode};
use pingora::ErrorType;
use pingora::protocols::Stream;
use pingora::upstreams::peer::HttpPeer;
use thiserror::Error;
use tokio::time::Instant;
use tollgate_policy::Host;

use super::connector::{self, Connector};
use super::destination::{Destination, Security};
use super::resolve::{ResolveError, Resolver};

pub use url::{ServiceUrl, ServiceUrlError};

/// What is asked, and of whom. `Host`, `Content-Length` and `Connection` are set by [`Fetcher::fetch`].
#[derive(Clone)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// Whom to dial, in clear or over TLS.
    pub destination: Destination,
    /// The request target in origin-form.
    pub target: PathAndQuery,
    /// Further fields, such as `Content-Type`.
    pub headers: HeaderMap,
    /// Sent whole, with its length.
    pub body: Bytes,
}

/// Without fields, query and body: a claim or a token may be in them.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("destination", &self.destination)
            .field("path", &self.target.path())
            .finish_non_exhaustive()
    }
}

/// What one request may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// From the call to the last byte of the answer: resolving, connecting, writing and reading together.
    pub deadline: Duration,
    /// Bytes of body that the answer may have. Its head may have 1 MiB and 256 fields (pingora's own limit).
    pub max_response: usize,
}

/// A complete answer: its end was seen, by length, last chunk or an orderly close.
#[derive(Clone)]
pub struct Response {
    /// The final status, never 1xx. A redirect is an answer like any other.
    pub status: StatusCode,
    /// The fields as received.
    pub headers: HeaderMap,
    /// The whole body, content coding not undone.
    pub body: Bytes,
}

/// Without fields and body: the answer may hold tokens.
impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status)
            .field("body_len", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// Why there is no complete answer. Holds nothing that was sent or received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum FetchError {
    /// A field that cannot be sent: a bug of the caller.
    #[error("the request cannot be put on the wire")]
    BadRequest,
    /// The name has no address.
    #[error("the name could not be resolved")]
    Resolve,
    /// No address of it took the connection.
    #[error("the connection was refused or could not be made")]
    Connect,
    /// The handshake failed: an untrusted chain, another name, or not TLS at all.
    #[error("TLS could not be established with a verified certificate")]
    Tls,
    /// The deadline passed.
    #[error("no complete answer before the deadline")]
    Timeout,
    /// The connection ended before the answer did.
    #[error("the connection ended before the answer did")]
    Closed,
    /// Not HTTP/1, an unfit head, broken chunks, or a switch of protocols that nobody asked for.
    #[error("the answer is not well-formed HTTP")]
    Malformed,
    /// More body than [`Limits::max_response`].
    #[error("the answer is larger than may be read")]
    TooLarge,
}

/// Does [`Request`]s. Cheap to clone; shares the trust store of the connector it was given, but none of its connections.
#[derive(Clone)]
pub struct Fetcher {
    connector: Arc<Connector>,
    resolver: Arc<Resolver>,
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fetcher").finish_non_exhaustive()
    }
}

impl Fetcher {
    /// Verifies peers by the roots that `connector` was built with; names that the operator fixed in `resolver` are not asked of DNS.
    pub fn new(connector: Arc<Connector>, resolver: Arc<Resolver>) -> Self {
        Fetcher { connector, resolver }
    }

    /// Sends `request` once and reads the whole answer. Dropping the future closes the connection.
    pub async fn fetch(&self, request: &Request, limits: Limits) -> Result<Response, FetchError> {
        let deadline = Instant::now() + limits.deadline;
        let whole = async {
            let head = exchange::head(request)?;
            let stream = self.dial(request, deadline).await?;
            exchange::run(stream, head, &request.body, limits.max_response).await
        };
        tokio::time::timeout_at(deadline, whole).await.unwrap_or(Err(FetchError::Timeout))
    }

    /// Connects to the first address that takes the connection. One that drops packets may use up only its share of the time left.
    async fn dial(&self, request: &Request, deadline: Instant) -> Result<Stream, FetchError> {
        let authority = request.destination.authority();
        let addresses = self.resolver.resolve(&authority.host).await.map_err(|error| match error {
            ResolveError::NotResolved => FetchError::Resolve,
            ResolveError::Timeout => FetchError::Timeout,
        })?;
        let mut left = u32::try_from(addresses.len()).unwrap_or(u32::MAX);
        let mut first = None;
        for address in addresses.iter() {
            let share = deadline.saturating_duration_since(Instant::now()) / left.max(1);
            left = left.saturating_sub(1);
            let address = SocketAddr::new(*address, authority.port);
            let attempt = tokio::time::timeout(share, self.connect(address, &request.destination)).await;
            match attempt.unwrap_or(Err(FetchError::Timeout)) {
                Ok(stream) => return Ok(stream),
                // Whoever cannot prove the name is no reason to try its neighbour.
                Err(FetchError::Tls) => return Err(FetchError::Tls),
                Err(error) => first = first.or(Some(error)),
            }
        }
        Err(first.unwrap_or(FetchError::Resolve))
    }

    async fn connect(&self, address: SocketAddr, destination: &Destination) -> Result<Stream, FetchError> {
        // pingora verifies nothing when the server name is empty; an address literal is a name too (checked against the IP SAN).
        let name = match &destination.authority().host {
            Host::Name(name) => name.to_string(),
            Host::Address(address) => address.to_string(),
        };
        if name.is_empty() {
            return Err(FetchError::Tls);
        }
        let mut peer = HttpPeer::new(address, destination.security() == Security::Tls, name);
        connector::set_way(&mut peer, self.connector.way(destination.authority(), address.ip()));
        self.connector
            .transport()
            .new_stream(&peer)
            .await
            .map_err(|error| match error.etype() {
                ErrorType::TLSHandshakeFailure | ErrorType::TLSHandshakeTimedout | ErrorType::InvalidCert | ErrorType::HandshakeError => {
                    FetchError::Tls
                }
                _ => FetchError::Connect,
            })
    }
}
