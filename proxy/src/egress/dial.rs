//! A plain connection to a judged address, for tunnels whose bytes are passed on unread.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use thiserror::Error;
use tokio::net::TcpStream;
use tokio_util::either::Either;
use tollgate_policy::Authority;

use super::connector::Connector;
use super::eyeballs;
use super::upstream_proxy::{ChainError, Chained};

/// Why no address could be connected to.
#[derive(Debug, Error)]
pub enum DialError {
    /// The last address's error.
    #[error("the origin could not be connected to: {0}")]
    Refused(#[from] io::Error),
    /// The upstream proxy gave no connection.
    #[error(transparent)]
    Chain(#[from] ChainError),
    /// No answer in time.
    #[error("the origin could not be connected to in time")]
    Timeout,
}

/// Straight, or by the upstream proxy.
pub type Dialled = Either<TcpStream, Chained>;

/// Tries the addresses, each for `limit`. Only these are dialled: nothing is resolved here.
pub async fn dial(connector: &Connector, authority: &Authority, addresses: &[IpAddr], limit: Duration) -> Result<Dialled, DialError> {
    let dialled = eyeballs::first(addresses, |address| async {
        match tokio::time::timeout(limit, one(connector, authority, *address)).await {
            Ok(dialled) => dialled,
            Err(_) => Err(DialError::Timeout),
        }
    });
    dialled.await.unwrap_or(Err(DialError::Timeout))
}

async fn one(connector: &Connector, authority: &Authority, address: IpAddr) -> Result<Dialled, DialError> {
    let socket = SocketAddr::new(address, authority.port);
    if let Some(way) = connector.way(authority, address) {
        return Ok(Either::Right(way.connect(socket).await?));
    }
    let stream = TcpStream::connect(socket).await?;
    stream.set_nodelay(true)?;
    Ok(Either::Left(stream))
}
