//! The admin listener. A client that is slow or stays for ever must not keep the supervisor's probe out.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::routes::{Sources, router};

/// Time for a request's head, and between two requests.
const HEADER_READ: Duration = Duration::from_secs(5);
/// Time for a whole connection; a scraper simply opens the next one.
const CONNECTION: Duration = Duration::from_secs(60);
/// Time for the answer under way when the connection is to end.
const LAST_ANSWER: Duration = Duration::from_secs(5);
/// Rest after an `accept` that failed, which is for want of descriptors and would fail again at once.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// A bound admin listener.
#[derive(Debug)]
pub struct Admin {
    listener: TcpListener,
    connections: Arc<Semaphore>,
    pub(super) header_read: Duration,
}

impl Admin {
    /// Binds. At most `connections` are served at once; further ones wait to be accepted.
    pub async fn bind(address: SocketAddr, connections: usize) -> io::Result<Self> {
        Ok(Admin {
            listener: TcpListener::bind(address).await?,
            connections: Arc::new(Semaphore::new(connections.min(Semaphore::MAX_PERMITS))),
            header_read: HEADER_READ,
        })
    }

    /// Takes a listener that is bound already.
    pub fn adopt(listener: std::net::TcpListener, connections: usize) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Admin {
            listener: TcpListener::from_std(listener)?,
            connections: Arc::new(Semaphore::new(connections.min(Semaphore::MAX_PERMITS))),
            header_read: HEADER_READ,
        })
    }

    /// A descriptor of its listener, for whoever goes on with it.
    pub(crate) fn listener(&self) -> impl AsFd {
        &self.listener
    }

    /// The address it is bound to, with the port that was picked.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `shutdown`. Readiness has to say "draining" for a while before, so let it be cancelled last.
    pub async fn serve(self, sources: Sources, shutdown: CancellationToken) {
        let router = router(sources);
        loop {
            let Ok(permit) = Arc::clone(&self.connections).acquire_owned().await else {
                return;
            };
            let accepted = tokio::select! {
                () = shutdown.cancelled() => return,
                accepted = self.listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => {
                    let (router, shutdown, header_read) = (router.clone(), shutdown.clone(), self.header_read);
                    tokio::spawn(async move {
                        serve_connection(stream, router, header_read, shutdown).await;
                        drop(permit);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "the admin listener could not accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

async fn serve_connection(stream: TcpStream, router: axum::Router, header_read: Duration, shutdown: CancellationToken) {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(header_read)
        .max_buf_size(16 * 1024);
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        result = connection.as_mut() => Some(result),
        () = tokio::time::sleep(CONNECTION) => None,
        () = shutdown.cancelled() => None,
    };
    let result = if let Some(result) = ended {
        Ok(result)
    } else {
        connection.as_mut().graceful_shutdown();
        tokio::time::timeout(LAST_ANSWER, connection).await
    };
    if let Ok(Err(error)) = result {
        tracing::debug!(%error, "an admin connection ended early");
    }
}
