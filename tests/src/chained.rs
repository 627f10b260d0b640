//! Another proxy behind Tollgate, as a company network has one: records every CONNECT and leads it to loopback.

use std::sync::{Arc, Mutex};

use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

/// See the module. Ends with its value.
pub struct CompanyProxy {
    port: u16,
    heads: Arc<Mutex<Vec<String>>>,
    serving: tokio::task::JoinHandle<()>,
}

impl Drop for CompanyProxy {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl CompanyProxy {
    /// Accepts connections, over TLS with `tls`, and answers every CONNECT with `answer`; after a 200 it leads to the target's port on
    /// loopback.
    pub async fn start(tls: Option<Arc<ServerConfig>>, answer: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let heads = Arc::new(Mutex::default());
        let seen = Arc::clone(&heads);
        let acceptor = tls.map(TlsAcceptor::from);
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, acceptor) = (Arc::clone(&seen), acceptor.clone());
                tokio::spawn(async move {
                    match acceptor {
                        None => serve(stream, answer, &seen).await,
                        Some(acceptor) => {
                            if let Ok(stream) = acceptor.accept(stream).await {
                                serve(stream, answer, &seen).await;
                            }
                        }
                    }
                });
            }
        });
        CompanyProxy { port, heads, serving }
    }

    /// Its port on loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The heads of all CONNECT requests so far.
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

async fn serve(mut client: impl AsyncRead + AsyncWrite + Unpin, answer: &str, seen: &Mutex<Vec<String>>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match client.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8(head).unwrap();
    let port: u16 = head.split(' ').nth(1).unwrap().rsplit(':').next().unwrap().parse().unwrap();
    seen.lock().unwrap().push(head);
    if client.write_all(answer.as_bytes()).await.is_err() || !answer.starts_with("HTTP/1.1 200") {
        let _ = client.shutdown().await;
        return;
    }
    let mut origin = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let _ = copy_bidirectional(&mut client, &mut origin).await;
}
