//! A plain TCP connection to a judged address, for tunnels whose bytes are passed on unread.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use thiserror::Error;
use tokio::net::TcpStream;

/// Why no address could be connected to.
#[derive(Debug, Error)]
pub enum DialError {
    /// The last address's error.
    #[error("the origin could not be connected to: {0}")]
    Refused(#[from] io::Error),
    /// No answer in time.
    #[error("the origin could not be connected to in time")]
    Timeout,
}

/// Tries the addresses in order, each for `limit`. Only these are dialled: nothing is resolved here.
pub async fn dial(addresses: &[IpAddr], port: u16, limit: Duration) -> Result<TcpStream, DialError> {
    let mut last = DialError::Timeout;
    for address in addresses {
        match tokio::time::timeout(limit, TcpStream::connect(SocketAddr::new(*address, port))).await {
            Ok(Ok(stream)) => {
                stream.set_nodelay(true)?;
                return Ok(stream);
            }
            Ok(Err(error)) => last = DialError::Refused(error),
            Err(_) => last = DialError::Timeout,
        }
    }
    Err(last)
}
