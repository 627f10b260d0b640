//! A server for tests that plays a script: reads one request, then writes exactly the bytes it was told to, when it was told to.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, ToSocketAddrs};
use tokio::task::AbortHandle;
use tokio_rustls::TlsAcceptor;

/// One thing that the server does after it has read a request.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Send(Vec<u8>),
    Pause(Duration),
    /// Keeps the connection open until the peer leaves.
    Linger,
    /// Ends the connection without TLS close_notify.
    Cut,
}

impl Step {
    pub(crate) fn send(bytes: impl AsRef<[u8]>) -> Self {
        Step::Send(bytes.as_ref().to_vec())
    }
}

/// Answers every connection with the same script; ends when dropped.
pub(crate) struct ScriptedServer {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<Vec<u8>>>>,
    accepting: AbortHandle,
}

impl ScriptedServer {
    pub(crate) async fn plain(script: Vec<Step>) -> Self {
        Self::start("127.0.0.1:0", script, None).await.unwrap()
    }

    pub(crate) async fn tls(script: Vec<Step>, acceptor: TlsAcceptor) -> Self {
        Self::start("127.0.0.1:0", script, Some(acceptor)).await.unwrap()
    }

    /// Fails if `at` is not to be had.
    pub(crate) async fn start(at: impl ToSocketAddrs, script: Vec<Step>, acceptor: Option<TlsAcceptor>) -> io::Result<Self> {
        let listener = TcpListener::bind(at).await?;
        let address = listener.local_addr()?;
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = requests.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((tcp, _)) = listener.accept().await {
                let (script, acceptor, seen) = (script.clone(), acceptor.clone(), seen.clone());
                tokio::spawn(async move {
                    match acceptor {
                        None => play(tcp, &script, &seen).await,
                        Some(acceptor) => {
                            if let Ok(tls) = acceptor.accept(tcp).await {
                                play(tls, &script, &seen).await;
                            }
                        }
                    }
                });
            }
        });
        Ok(ScriptedServer {
            address,
            requests,
            accepting: accepting.abort_handle(),
        })
    }

    /// What arrived, one entry per connection that sent a whole request.
    pub(crate) fn requests(&self) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        requests.iter().map(|bytes| String::from_utf8(bytes.clone()).unwrap()).collect()
    }
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn play(mut io: impl AsyncRead + AsyncWrite + Unpin, script: &[Step], seen: &Mutex<Vec<Vec<u8>>>) {
    let Some(request) = read_request(&mut io).await else { return };
    seen.lock().unwrap().push(request);
    for step in script {
        match step {
            Step::Send(bytes) => {
                if io.write_all(bytes).await.is_err() || io.flush().await.is_err() {
                    return;
                }
            }
            Step::Pause(time) => tokio::time::sleep(*time).await,
            Step::Linger => {
                let _ = io.read(&mut [0; 1]).await;
            }
            Step::Cut => return,
        }
    }
    let _ = io.shutdown().await;
}

async fn read_request(io: &mut (impl AsyncRead + Unpin)) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
            let length = head
                .split("content-length: ")
                .nth(1)
                .map_or(0, |rest| rest.lines().next().unwrap().parse().unwrap());
            if bytes.len() >= end + 4 + length {
                return Some(bytes);
            }
        }
        if io.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}
