//! An origin that keeps the bytes of each of its connections as they came, and answers every request that it can read to the letter.

use std::sync::{Arc, Mutex};

use rustls::ServerConfig;
use tollgate_tests::scripted::Scripted;

use super::reading::strict;

/// See the module.
pub(super) struct Recorder {
    origin: Scripted,
    connections: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Recorder {
    pub(super) async fn start(tls: Option<Arc<ServerConfig>>) -> Self {
        let connections = Arc::<Mutex<Vec<Vec<u8>>>>::default();
        let kept = Arc::clone(&connections);
        let origin = Scripted::start(tls, move |mut conversation| {
            let kept = Arc::clone(&kept);
            async move {
                let place = {
                    let mut kept = kept.lock().unwrap();
                    kept.push(Vec::new());
                    kept.len() - 1
                };
                let mut read = 0;
                loop {
                    let bytes = conversation.peer.next_bytes().await;
                    if bytes.is_empty() {
                        return;
                    }
                    kept.lock().unwrap()[place].extend_from_slice(&bytes);
                    while let Ok((request, length)) = { strict(&kept.lock().unwrap()[place][read..]) } {
                        read += length;
                        let body = if request.method == "HEAD" { "" } else { "ok" };
                        conversation
                            .send(format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{body}"))
                            .await;
                    }
                }
            }
        })
        .await;
        Self { origin, connections }
    }

    pub(super) fn port(&self) -> u16 {
        self.origin.port()
    }

    /// What came by each connection.
    pub(super) fn connections(&self) -> Vec<Vec<u8>> {
        self.connections.lock().unwrap().clone()
    }
}
