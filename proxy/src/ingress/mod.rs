//! The way in: accept, read CONNECT, find out what is spoken, terminate TLS, and serve the requests of one client connection.
//!
//! In: TCP connections. Out: sessions, handed to [`flow`](crate::flow) one request at a time. A connection that cannot be served gets
//! a typed answer wherever bytes can still be written.

mod connect;
mod h1;
mod h2;
#[cfg(test)]
mod in_memory;
mod life;
mod listener;
mod raw;
mod request_head;
mod seats;
mod sniff;
mod tls;
mod tunnel;
mod workers;

use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use tokio::net::TcpStream;
use tollgate_certs::LeafCache;

use crate::audit::Adapter;
use crate::egress::wire::{Pace, Rewind, Transport, Wire};
use crate::flow::{Client, Connection, Engine};
use crate::gate::Denial;
use connect::Beginning;
use life::Drain;
use sniff::{Speech, sniff};
use tollgate_policy::Reason;

pub use listener::{ListenError, Listener};
pub use workers::Workers;

/// What every client connection needs.
pub struct Ingress {
    /// Serves requests.
    pub engine: Arc<Engine>,
    /// In whose name TLS is terminated.
    pub leaves: Arc<LeafCache>,
    /// Where connections run.
    pub workers: Workers,
}

impl Ingress {
    /// Serves one client connection to its end.
    async fn serve(&self, mut tcp: TcpStream, address: SocketAddr, listener: SocketAddr, drain: Drain) {
        if tcp.set_nodelay(true).is_err() {
            return;
        }
        let client = Client::new(address, listener);
        let limits = &self.engine.limits;
        let beginning = tokio::select! { biased;
            beginning = connect::read(&mut tcp, limits) => beginning,
            () = drain.clone().begun_for_newcomers() => return,
        };
        match beginning {
            Ok(Beginning::Connect(head, early)) => {
                let _counted = self.engine.metrics.connection(Adapter::Connect);
                tunnel::serve(self, client, tcp, head, early, drain).await;
            }
            Ok(Beginning::Other(bytes)) if sniff(&bytes) == Speech::Tls => {
                let detail = "TLS with the proxy itself: its URL begins with http://, and TLS with the origin comes after CONNECT";
                let denial = Denial::new(Reason::MalformedRequest, detail);
                let connection = Connection::forward(client);
                self.engine
                    .refuse_unread(&connection, Box::new(tcp_stream(tcp)), Some(denial))
                    .await;
            }
            Ok(Beginning::Other(bytes)) => {
                let _counted = self.engine.metrics.connection(Adapter::Forward);
                let fd = tcp.as_raw_fd();
                let wire = Wire::new(Transport::Plain(Rewind::new(bytes, tcp)), fd, Pace::Lazy);
                h1::serve(&self.engine, Connection::forward(client), Box::new(wire), limits.first_byte, drain).await;
            }
            Ok(Beginning::Bad(denial)) => {
                let connection = Connection::forward(client);
                self.engine
                    .refuse_unread(&connection, Box::new(tcp_stream(tcp)), Some(denial))
                    .await;
            }
            Ok(Beginning::Closed) => {}
            Err(error) => tracing::debug!(connection = %client.id, %error, "the client's connection broke"),
        }
    }
}

fn tcp_stream(tcp: TcpStream) -> Wire {
    let fd = tcp.as_raw_fd();
    Wire::new(Transport::Plain(Rewind::new(bytes::BytesMut::new(), tcp)), fd, Pace::Eager)
}
