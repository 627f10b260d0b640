//! Accepts client connections within limits, whatever happens to the ones before.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tollgate_policy::Reason;

use super::Ingress;
use super::life::Drain;
use crate::admin::{Descriptors, Readiness};
use crate::flow::{Client, Connection};
use crate::gate::Denial;

/// Connections that the kernel may hold for us.
const BACKLOG: u32 = 4_096;
/// How long accepting rests when the process or the host is out of descriptors or memory.
const REST: Duration = Duration::from_millis(50);
/// Answers to connections over the limit that may be under way at once.
const REFUSALS: usize = 256;

/// The proxy's address cannot be listened on.
#[derive(Debug, Error)]
#[error("cannot listen on {address}: {source}")]
pub struct ListenError {
    address: SocketAddr,
    source: io::Error,
}

/// A bound listener.
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
}

impl Listener {
    /// Binds. Port 0 picks a free one.
    pub fn bind(address: SocketAddr) -> Result<Self, ListenError> {
        let bind = || {
            let socket = if address.is_ipv4() {
                TcpSocket::new_v4()?
            } else {
                TcpSocket::new_v6()?
            };
            socket.set_reuseaddr(true)?;
            socket.bind(address)?;
            let socket = socket.listen(BACKLOG)?;
            let address = socket.local_addr()?;
            Ok(Listener { socket, address })
        };
        bind().map_err(|source| ListenError { address, source })
    }

    /// Takes one that is bound already.
    pub fn adopt(socket: std::net::TcpListener) -> Result<Self, ListenError> {
        let address = socket.local_addr().unwrap_or_else(|_| (Ipv4Addr::UNSPECIFIED, 0).into());
        let adopt = || {
            socket.set_nonblocking(true)?;
            Ok(Listener {
                socket: TcpListener::from_std(socket)?,
                address,
            })
        };
        adopt().map_err(|source| ListenError { address, source })
    }

    /// A descriptor of it, for whoever goes on with it.
    pub(crate) fn socket(&self) -> impl AsFd {
        &self.socket
    }

    /// The chosen address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts until `stop` turns true; then waits for the connections that are left, at most for the drain limit.
    pub async fn serve(self, ingress: Arc<Ingress>, readiness: Arc<Readiness>, mut stop: watch::Receiver<bool>) {
        let limits = ingress.engine.limits;
        let seats = Arc::new(Semaphore::new(limits.connections));
        let refusals = Arc::new(Semaphore::new(REFUSALS));
        let drain = Drain::new(stop.clone());
        let mut connections = JoinSet::new();
        let mut starved = false;
        loop {
            let accepted = tokio::select! { biased;
                _ = stop.wait_for(|stopping| *stopping) => break,
                Some(_) = connections.join_next(), if !connections.is_empty() => continue,
                accepted = self.socket.accept() => accepted,
            };
            let (tcp, client) = match accepted {
                Ok(accepted) => {
                    if starved {
                        readiness.set_descriptors(Descriptors::Available);
                        starved = false;
                    }
                    accepted
                }
                Err(error) => {
                    if rests_after(&error) {
                        starved = true;
                        readiness.set_descriptors(Descriptors::Exhausted);
                        tokio::time::sleep(REST).await;
                    }
                    continue;
                }
            };
            let (serving, drain) = (ingress.clone(), drain.clone());
            let listener = tcp.local_addr().unwrap_or(self.address);
            // It leaves this runtime's reactor for its worker's.
            let Ok(tcp) = tcp.into_std() else { continue };
            match seats.clone().try_acquire_owned() {
                Ok(seat) => ingress.workers.spawn(&mut connections, async move {
                    if let Ok(tcp) = TcpStream::from_std(tcp) {
                        serving.serve(tcp, client, listener, drain).await;
                    }
                    drop(seat);
                }),
                Err(_) => {
                    if let Ok(place) = refusals.clone().try_acquire_owned() {
                        ingress.workers.spawn(&mut connections, async move {
                            if let Ok(tcp) = TcpStream::from_std(tcp) {
                                refuse(&serving, tcp, client, listener).await;
                            }
                            drop(place);
                        });
                    }
                }
            }
        }
        drop(self.socket);
        let rest = async { while connections.join_next().await.is_some() {} };
        if tokio::time::timeout(limits.drain, rest).await.is_err() {
            tracing::warn!(
                left = connections.len(),
                "connections were still open at the end of the drain and are cut"
            );
        }
    }
}

/// Out of descriptors (EMFILE, ENFILE) or memory, accepting again at once would only spin; a connection that died in the queue
/// (ECONNABORTED) is nobody's trouble.
fn rests_after(error: &io::Error) -> bool {
    let passing = matches!(
        error.kind(),
        ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::Interrupted
    );
    if !passing {
        tracing::warn!(%error, "cannot accept connections; trying again");
    }
    !passing
}

async fn refuse(ingress: &Ingress, tcp: TcpStream, address: SocketAddr, listener: SocketAddr) {
    let connection = Connection::forward(Client::new(address, listener));
    let denial = Denial::new(Reason::OverCapacity, "too many client connections are open");
    ingress
        .engine
        .refuse_unread(&connection, Box::new(super::tcp_stream(tcp)), Some(denial))
        .await;
}
