//! An HTTP/2 origin whose streams a test drives frame by frame: trailers, resets, both directions at once.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use h2::RecvStream;
use h2::server::SendResponse;
use http::Request;
use rustls::ServerConfig;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

/// A listening origin; ends with this value.
pub struct H2Origin {
    /// Where it listens.
    pub address: SocketAddr,
    connections: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl H2Origin {
    /// Runs `script` on each stream.
    pub async fn start<F, Fut>(tls: Arc<ServerConfig>, script: F) -> Self
    where
        F: Fn(Request<RecvStream>, SendResponse<Bytes>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        let script = Arc::new(script);
        let task = tokio::spawn(async move {
            let mut running = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                let (tls, script) = (Arc::clone(&tls), Arc::clone(&script));
                running.spawn(async move {
                    let Ok(stream) = TlsAcceptor::from(tls).accept(stream).await else {
                        return;
                    };
                    let Ok(mut connection) = h2::server::handshake(stream).await else {
                        return;
                    };
                    let mut streams = JoinSet::new();
                    while let Some(Ok((request, respond))) = connection.accept().await {
                        streams.spawn(script(request, respond));
                    }
                });
            }
        });
        Self {
            address,
            connections,
            task,
        }
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// How many connections were accepted.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for H2Origin {
    fn drop(&mut self) {
        self.task.abort();
    }
}
