//! Terminates a client's TLS with a leaf minted for the tunnel's authority, never for whatever the client names.

use std::io;
use std::time::Duration;

use thiserror::Error;
use tokio::io::AsyncWriteExt;
use tokio_rustls::LazyConfigAcceptor;
use tokio_rustls::server::TlsStream;
use tollgate_certs::{LeafCache, LeafError, LeafName};
use tollgate_policy::Host;

use crate::egress::wire::Rewind;

/// Why no TLS stands.
#[derive(Debug, Error)]
pub(super) enum TlsError {
    /// The server name is another one than the CONNECT authority: domain fronting.
    #[error("the TLS server name is not the CONNECT authority")]
    SniMismatch,
    /// The client broke off, or does not trust the authority that signs the leaves.
    #[error("the TLS handshake with the client failed: {0}")]
    Handshake(#[from] io::Error),
    /// It took too long.
    #[error("the TLS handshake with the client took too long")]
    Timeout,
    /// No leaf.
    #[error(transparent)]
    Leaf(#[from] LeafError),
}

/// A fatal `unrecognized_name` alert (RFC 6066 section 3), so that the client sees a reason and not a reset.
const UNRECOGNIZED_NAME: [u8; 7] = [0x15, 0x03, 0x03, 0x00, 0x02, 0x02, 0x70];

/// Runs the handshake. Without a server name the CONNECT authority stands, since nothing contradicts it.
pub(super) async fn terminate(leaves: &LeafCache, host: &Host, io: Rewind, limit: Duration) -> Result<Box<TlsStream<Rewind>>, TlsError> {
    let handshake = async {
        let start = LazyConfigAcceptor::new(rustls::server::Acceptor::default(), io).await?;
        let named = start.client_hello().server_name().map(Host::parse);
        if named.is_some_and(|named| named.as_ref() != Ok(host)) {
            let mut io = start.io;
            let _ = io.write_all(&UNRECOGNIZED_NAME).await;
            let _ = io.shutdown().await;
            return Err(TlsError::SniMismatch);
        }
        let config = leaves.server_config(&leaf_name(host)?)?;
        Ok(Box::new(start.into_stream(config).await?))
    };
    tokio::time::timeout(limit, handshake).await.unwrap_or(Err(TlsError::Timeout))
}

fn leaf_name(host: &Host) -> Result<LeafName, TlsError> {
    match host {
        Host::Address(address) => Ok(LeafName::from(*address)),
        Host::Name(name) => name
            .parse()
            .map_err(|_| TlsError::Handshake(io::Error::other("the host cannot stand in a certificate"))),
    }
}
