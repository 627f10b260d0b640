//! Origins that do what no library would: a test writes the conversation of each connection byte by byte.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use rustls::ServerConfig;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use crate::answer::Framing;
use crate::wire::{H1, Head, Stream};

/// One accepted connection, TLS already done.
pub struct Conversation {
    /// Counted from 0.
    pub index: usize,
    /// The peer.
    pub peer: H1,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Conversation {
    /// Reads one request head, or nothing if the peer left.
    pub async fn head(&mut self) -> Option<Head> {
        let head = self.peer.read_head().await.ok()?;
        self.heads.lock().unwrap().push(head.first_line.clone());
        Some(head)
    }

    /// Reads the content that belongs to `head`.
    pub async fn body(&mut self, head: &Head) -> Bytes {
        let framing = if head.header("transfer-encoding").is_some() {
            Framing::Chunked
        } else {
            Framing::Length
        };
        self.peer.read_body(framing, head).await.0
    }

    /// Reads one whole request.
    pub async fn request(&mut self) -> Option<(Head, Bytes)> {
        let head = self.head().await?;
        let body = self.body(&head).await;
        Some((head, body))
    }

    /// Sends bytes as they are; the peer may be gone.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.peer.try_send(bytes).await;
    }

    /// Answers each request that comes with these bytes until the peer leaves.
    pub async fn answer_all(&mut self, bytes: &str) {
        while self.request().await.is_some() {
            self.send(bytes).await;
        }
    }

    /// Waits until the peer leaves.
    pub async fn linger(&mut self) {
        while !self.peer.some_bytes().await.is_empty() {}
    }
}

/// A listening scripted origin; ends with this value.
pub struct Scripted {
    /// Where it listens.
    pub address: SocketAddr,
    connections: Arc<AtomicUsize>,
    heads: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Scripted {
    /// Runs `script` on each connection; when it returns, the connection ends (over TLS without close_notify).
    pub async fn start<F, Fut>(tls: Option<Arc<ServerConfig>>, script: F) -> Self
    where
        F: Fn(Conversation) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let heads = Arc::new(Mutex::new(Vec::new()));
        let (count, log) = (Arc::clone(&connections), Arc::clone(&heads));
        let script = Arc::new(script);
        let task = tokio::spawn(async move {
            let mut running = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let index = count.fetch_add(1, Ordering::SeqCst);
                let _ = stream.set_nodelay(true);
                let (tls, log, script) = (tls.clone(), Arc::clone(&log), Arc::clone(&script));
                running.spawn(async move {
                    let stream: Stream = match tls {
                        None => Box::new(stream),
                        Some(config) => match TlsAcceptor::from(config).accept(stream).await {
                            Ok(stream) => Box::new(stream),
                            Err(_) => return,
                        },
                    };
                    let peer = H1::new(stream);
                    script(Conversation { index, peer, heads: log }).await;
                });
                while running.try_join_next().is_some() {}
            }
        });
        Self {
            address,
            connections,
            heads,
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

    /// The request lines that arrived.
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.task.abort();
    }
}
