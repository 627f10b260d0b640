//! A TLS server that counts what reaches it, for the origin and the seller alike.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// See the module.
pub(super) struct Server {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Server {
    /// Serves `router` under the certificate of `tls`, on a free port of loopback.
    pub(super) async fn start(router: Router, tls: &ServerConfig) -> io::Result<Self> {
        let mut tls = tls.clone();
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(tls));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = connections.clone();
        let task = tokio::spawn(async move {
            while let Ok((tcp, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(serve(tcp, acceptor.clone(), router.clone()));
            }
        });
        Ok(Server {
            address,
            connections,
            task,
        })
    }

    pub(super) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Accepted so far.
    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(tcp: TcpStream, acceptor: TlsAcceptor, router: Router) {
    if let Ok(tls) = acceptor.accept(tcp).await {
        let _ = http1::Builder::new()
            .serve_connection(TokioIo::new(tls), TowerToHyperService::new(router))
            .await;
    }
}
