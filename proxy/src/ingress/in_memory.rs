//! A client connection without a socket, for tests that compare decisions by the thousand: [`Ingress::serve`] with the accepting, the
//! sniffing and the TLS of its client left out. Every decision is made by what serves real connections.

use std::sync::Arc;

use bytes::BytesMut;
use tokio::io::DuplexStream;
use tokio::sync::watch;
use tollgate_policy::Inspection;

use super::connect::{self, Beginning};
use super::life::Drain;
use super::{Ingress, h1, tunnel};
use crate::audit::{Adapter, Protocol};
use crate::egress::wire::{Pace, Transport, Wire};
use crate::egress::{ClientProtocol, Security};
use crate::flow::{Client, Connection, Record};

/// Of a stream in memory.
const NO_DESCRIPTOR: i32 = -1;

/// How far a connection got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reached {
    /// The requests on it were served.
    Requests,
    /// Its CONNECT was allowed, and its bytes would pass unread.
    Unread,
    /// Its CONNECT was refused, and the client told why.
    Refusal,
}

impl Ingress {
    /// Serves a connection that begins with `connect`, the head of a CONNECT request, or with the requests themselves.
    pub(crate) async fn serve_in_memory(&self, client: Arc<Client>, connect: Option<&str>, mut stream: DuplexStream) -> Reached {
        let (_stop, stopping) = watch::channel(false);
        let drain = Drain::new(stopping);
        let engine = &self.engine;
        let connection = match connect.map(|head| connect::parse(BytesMut::from(head))) {
            None => Connection::forward(client),
            Some(Beginning::Connect(head, _)) => {
                let rules = engine.gate.rules();
                let mut record = Record::begin(engine, &client, rules.generation, Adapter::Connect, Protocol::Http1);
                record.connect(&head.authority);
                match tunnel::open(self, &client, &rules, head, &mut record).await {
                    Err(denial) => {
                        engine.refuse_raw(record, &denial, &mut stream).await;
                        return Reached::Refusal;
                    }
                    Ok(tunnel) => {
                        record.finish().await;
                        if tunnel.inspection == Inspection::Opaque {
                            return Reached::Unread;
                        }
                        tunnel.into_connection(self, client, Security::Plain, ClientProtocol::Http1)
                    }
                }
            }
            Some(Beginning::Bad(denial)) => {
                let connection = Connection::forward(client);
                engine.refuse_unread(&connection, Box::new(stream), Some(denial)).await;
                return Reached::Refusal;
            }
            Some(Beginning::Other(_) | Beginning::Closed) => return Reached::Refusal,
        };
        let wire = Wire::new(Transport::Origin(Box::new(stream)), NO_DESCRIPTOR, Pace::Lazy);
        h1::serve(engine, connection, Box::new(wire), engine.limits.first_byte, drain).await;
        Reached::Requests
    }
}
