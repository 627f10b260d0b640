//! Another proxy on the way out, as company networks have it: every connection is made by its CONNECT (RFC 9110 section 9.3.6), those
//! that are read and those that pass unread alike.
//!
//! In: a judged address, and the name it stands for. Out: a stream to it, or why there is none. By default the judged address is what the
//! other proxy is asked for, so that it cannot be led elsewhere by an answer of DNS that nobody judged.

mod bypass;
mod stream;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::BytesMut;
use pingora::connectors::L4Connect;
use pingora::protocols::l4::stream::Stream;
use pingora::protocols::l4::virt::VirtualSocketStream;
use pingora::{Error, ErrorType};
use rustls::pki_types::ServerName;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tollgate_policy::{Authority, Host};
use zeroize::Zeroizing;

use super::destination::Security;
use super::eyeballs;
use super::fetch::ServiceUrl;
use super::resolve::Resolver;

pub use bypass::{Bypass, BypassError};
pub use stream::Chained;

/// The longest answer to a CONNECT.
const LONGEST_ANSWER: usize = 8 << 10;
/// The most fields in it.
const MOST_FIELDS: usize = 64;

/// Why the other proxy gave no connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ChainError {
    /// Its name has no address.
    #[error("the upstream proxy's name does not resolve")]
    NotResolved,
    /// None of its addresses takes connections.
    #[error("the upstream proxy could not be connected to")]
    NotConnected,
    /// Its certificate, or no TLS at all.
    #[error("the TLS handshake with the upstream proxy failed, or its certificate does not verify")]
    Tls,
    /// 407.
    #[error("the upstream proxy wants other credentials (407); see upstream.proxy_credentials")]
    Credentials,
    /// Another status than 2xx.
    #[error("the upstream proxy refused to connect to the origin (status {0})")]
    Refused(u16),
    /// No answer that could be read.
    #[error("the upstream proxy's answer is not well-formed HTTP")]
    Malformed,
    /// It closed the connection.
    #[error("the upstream proxy closed the connection without an answer")]
    Closed,
}

impl ChainError {
    /// What stands behind one of pingora's errors.
    pub(crate) fn of(error: &Error) -> Option<&Self> {
        error.cause.as_ref()?.downcast_ref()
    }
}

/// What the other proxy is asked to connect to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AskedFor {
    /// The address that was judged.
    #[default]
    Address,
    /// The name, which it resolves itself.
    Name,
}

/// See the module.
pub struct UpstreamProxy {
    url: ServiceUrl,
    asked_for: AskedFor,
    /// The value of Proxy-Authorization.
    authorization: Option<Zeroizing<String>>,
    bypass: Bypass,
    tls: TlsConnector,
    resolver: Arc<Resolver>,
}

impl fmt::Debug for UpstreamProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpstreamProxy")
            .field("url", &self.url.to_string())
            .finish_non_exhaustive()
    }
}

impl UpstreamProxy {
    /// A proxy at `url`, whose certificate, if it has one, is verified by `tls`.
    pub fn new(url: ServiceUrl, tls: Arc<rustls::ClientConfig>, resolver: Arc<Resolver>) -> Self {
        UpstreamProxy {
            url,
            asked_for: AskedFor::default(),
            authorization: None,
            bypass: Bypass::default(),
            tls: TlsConnector::from(tls),
            resolver,
        }
    }

    /// Asked for addresses or names.
    #[must_use]
    pub fn asked_for(self, asked_for: AskedFor) -> Self {
        UpstreamProxy { asked_for, ..self }
    }

    /// With this value of Proxy-Authorization (RFC 9110 section 11.7.2).
    #[must_use]
    pub fn authorized(self, authorization: Option<Zeroizing<String>>) -> Self {
        UpstreamProxy { authorization, ..self }
    }

    /// Left out for these destinations.
    #[must_use]
    pub fn except(self, bypass: Bypass) -> Self {
        UpstreamProxy { bypass, ..self }
    }

    /// The way to a destination by this proxy; `None` where it is left out.
    pub fn way(self: &Arc<Self>, authority: &Authority, address: std::net::IpAddr) -> Option<Way> {
        (!self.bypass.covers(&authority.host, address)).then(|| Way {
            proxy: self.clone(),
            authority: authority.clone(),
        })
    }

    async fn dial(&self) -> Result<TcpStream, ChainError> {
        let authority = self.url.destination().authority();
        let addresses = self.resolver.resolve(&authority.host).await.map_err(|_| ChainError::NotResolved)?;
        let connected = eyeballs::first(&addresses, |address| TcpStream::connect(SocketAddr::new(*address, authority.port))).await;
        let stream = connected.and_then(Result::ok).ok_or(ChainError::NotConnected)?;
        let _ = stream.set_nodelay(true);
        Ok(stream)
    }

    fn server_name(&self) -> Result<ServerName<'static>, ChainError> {
        match &self.url.destination().authority().host {
            Host::Address(address) => Ok(ServerName::from(*address)),
            Host::Name(name) => ServerName::try_from(name.to_string()).map_err(|_| ChainError::Tls),
        }
    }
}

/// One destination, by the other proxy.
#[derive(Debug, Clone)]
pub struct Way {
    proxy: Arc<UpstreamProxy>,
    authority: Authority,
}

impl Way {
    /// Connects. The caller bounds the time.
    pub async fn connect(&self, address: SocketAddr) -> Result<Chained, ChainError> {
        let tcp = self.proxy.dial().await?;
        let head = self.request(address);
        match self.proxy.url.destination().security() {
            Security::Plain => open(tcp, &head).await.map(|(rest, tcp)| Chained::plain(rest, tcp)),
            Security::Tls => {
                let name = self.proxy.server_name()?;
                let tls = self.proxy.tls.connect(name, tcp).await.map_err(|_| ChainError::Tls)?;
                open(tls, &head).await.map(|(rest, tls)| Chained::tls(rest, tls))
            }
        }
    }

    fn request(&self, address: SocketAddr) -> Zeroizing<String> {
        let target = match self.proxy.asked_for {
            AskedFor::Address => address.to_string(),
            AskedFor::Name => self.authority.to_string(),
        };
        let mut head = Zeroizing::new(format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n"));
        if let Some(authorization) = &self.proxy.authorization {
            head.push_str("Proxy-Authorization: ");
            head.push_str(authorization);
            head.push_str("\r\n");
        }
        head.push_str("\r\n");
        head
    }
}

/// Asks for a tunnel; gives back what came after the answer's head, since the origin may speak first.
async fn open<S: AsyncRead + AsyncWrite + Unpin>(mut stream: S, head: &str) -> Result<(BytesMut, S), ChainError> {
    stream.write_all(head.as_bytes()).await.map_err(|_| ChainError::Closed)?;
    stream.flush().await.map_err(|_| ChainError::Closed)?;
    let mut answer = BytesMut::with_capacity(1 << 10);
    loop {
        if stream.read_buf(&mut answer).await.map_err(|_| ChainError::Closed)? == 0 {
            return Err(ChainError::Closed);
        }
        if let Some(length) = accepted(&answer)? {
            return Ok((answer.split_off(length), stream));
        }
        if answer.len() > LONGEST_ANSWER {
            return Err(ChainError::Malformed);
        }
    }
}

/// The length of the answer's head, once it is there and says yes.
fn accepted(answer: &[u8]) -> Result<Option<usize>, ChainError> {
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let mut head = httparse::Response::new(&mut fields);
    let parsed = head.parse(answer).map_err(|_| ChainError::Malformed)?;
    match (parsed, head.code) {
        (httparse::Status::Partial, _) => Ok(None),
        (httparse::Status::Complete(length), Some(200..=299)) => Ok(Some(length)),
        (httparse::Status::Complete(_), Some(407)) => Err(ChainError::Credentials),
        (httparse::Status::Complete(_), Some(status)) => Err(ChainError::Refused(status)),
        (httparse::Status::Complete(_), None) => Err(ChainError::Malformed),
    }
}

#[async_trait]
impl L4Connect for Way {
    async fn connect(&self, address: &pingora::protocols::l4::socket::SocketAddr) -> pingora::Result<Stream> {
        let Some(address) = address.as_inet() else {
            return Error::e_explain(ErrorType::InternalError, "an origin without an Internet address");
        };
        match Way::connect(self, *address).await {
            Ok(chained) => Ok(Stream::from(VirtualSocketStream::new(Box::new(chained)))),
            Err(error) => Err(Error::because(ErrorType::ConnectProxyFailure, "by the upstream proxy", error)),
        }
    }
}

#[cfg(test)]
mod tests;
