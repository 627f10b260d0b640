//! A payment rail: an address where a payment could be settled past every judgement. All that counts is whether anybody gets there.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Not the address of anything else in the demo, so that the operator can shut it by its network.
pub(super) const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

/// See the module.
pub(super) struct Rail {
    port: u16,
    connections: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Rail {
    pub(super) async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((ADDRESS, 0)).await?;
        let port = listener.local_addr()?.port();
        let connections = Arc::new(AtomicUsize::new(0));
        let counted = connections.clone();
        let task = tokio::spawn(async move {
            while listener.accept().await.is_ok() {
                counted.fetch_add(1, Ordering::SeqCst);
            }
        });
        Ok(Rail { port, connections, task })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Accepted so far.
    pub(super) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Rail {
    fn drop(&mut self) {
        self.task.abort();
    }
}
