//! A WebSocket after its `101`: what the client sends is read message by message where the policy judges messages, and spliced unread
//! everywhere else. What the origin sends passes as well, and is listened to for challenges where messages are judged.
//!
//! In: the two connections of an upgraded exchange, and what both ends agreed on. Out: the client's frames at the origin, byte for byte,
//! each text message only after it was judged under the rules then in force; one audit line for each message that is refused, and one at
//! the end. Whatever cannot be judged ends the connection: the client gets a close frame that says why, the origin one that says nothing.

mod asked;
mod close;
mod downward;
mod extension;
mod fault;
mod frame;
mod handshake;
mod inflate;
mod judge;
mod pay;
mod reader;
mod said;
mod upward;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use http::HeaderMap;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tollgate_policy::{Messages, Reason};

pub use extension::{Encoding, Takeover};
pub use fault::Fault;
pub(super) use handshake::check_version;
pub(super) use reader::text_of;
pub use reader::{Bounds, MessageReader, Passage};
pub(super) use said::Said;

use super::answer::last_words;
use super::connection::Connection;
use super::engine::Engine;
use super::head::Head;
use super::record::{Record, Traffic};
use super::session::ClientSession;
use super::splice::{Activity, Ends, splice};
use crate::audit::{Protocol, RequestId};
use crate::egress::session::OriginSession;
use crate::gate::Denial;
use asked::{Calls, Listener};
use downward::{Downward, Place};
use judge::Judge;
use upward::{Stop, Upward};

/// How long each end is given to hear that it is over.
const FAREWELL: Duration = Duration::from_secs(2);

/// What is done with a client's messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Nothing.
    Unread,
    /// Each is judged.
    Judged(Encoding),
}

impl Reading {
    /// As the policy has it, and as the origin's `101` allows it.
    pub(super) fn of(messages: Messages, answer: &HeaderMap) -> Result<Self, Denial> {
        match messages {
            Messages::Unread => Ok(Reading::Unread),
            Messages::Judged => extension::negotiated(answer).map(Reading::Judged),
            Messages::Operations => {
                handshake::check_subprotocol(answer)?;
                extension::negotiated(answer).map(Reading::Judged)
            }
        }
    }
}

/// An exchange that ended in `101`.
pub(crate) struct Upgraded {
    pub(super) origin: OriginSession,
    pub(super) head: Arc<Head>,
    pub(super) reading: Reading,
    pub(super) addresses: Arc<[IpAddr]>,
    /// The name of the request that upgraded.
    pub(super) id: RequestId,
}

impl Engine {
    /// Carries an upgraded connection to its end. `revoked` comes when new rules no longer list where it leads.
    pub(crate) async fn carry(
        &self,
        connection: &Connection,
        down: ClientSession,
        upgraded: Upgraded,
        revoked: impl Future<Output = Reason>,
    ) {
        let Upgraded {
            origin,
            head,
            reading,
            addresses,
            id,
        } = upgraded;
        let protocol = match reading {
            Reading::Unread => Protocol::Opaque,
            Reading::Judged(_) => Protocol::WebSocket,
        };
        let generation = self.gate.rules().generation;
        let mut end = Record::begin(self, &connection.client, generation, connection.adapter(), protocol).end_of(id);
        end.read(&head);
        end.addresses = addresses.clone();
        if let Some(mut ends) = Ends::of(down, origin).await {
            let broken = match reading {
                Reading::Unread => {
                    let idle = self.limits.tunnel_idle;
                    tokio::select! { biased;
                        _ = splice(&mut ends, idle, &mut end.traffic) => None,
                        reason = revoked => Some(reason),
                    }
                }
                Reading::Judged(encoding) => {
                    let mut said = Said::default();
                    let judge = Judge::new(self, connection, &head, addresses, &mut said);
                    // Boxed: the many connections that are none need not be large enough for it.
                    let broken = Box::pin(self.relay_messages(ends, encoding, judge, revoked, &mut end.traffic)).await;
                    end.said(&said);
                    broken
                }
            };
            if let Some(reason) = broken {
                end.broken(reason);
            }
        }
        end.finish().await;
    }

    /// Relays messages until either end, silence, new rules or a refusal ends it; the reason of the latter two comes out.
    async fn relay_messages(
        &self,
        ends: Ends,
        encoding: Encoding,
        judge: Judge<'_>,
        revoked: impl Future<Output = Reason>,
        traffic: &mut Traffic,
    ) -> Option<Reason> {
        let Ends {
            mut client,
            mut origin,
            from_client,
            from_origin,
        } = ends;
        let limits = &self.limits;
        let bounds = Bounds {
            message: limits.websocket_message,
            fragments: limits.websocket_fragments,
        };
        let mut reader = MessageReader::new(encoding, bounds);
        reader.feed(&from_client);
        let activity = Activity::default();
        let calls = Calls::default();
        let mut listener = Listener {
            scene: judge.scene(),
            head: judge.text.clone(),
            reader: MessageReader::of_origin(encoding.of_origin(), bounds),
            calls: &calls,
            reservation: self.held.reserve(),
        };
        listener.reader.feed(&from_origin);
        let (client_read, client_write) = tokio::io::split(&mut *client);
        let (origin_read, origin_write) = tokio::io::split(&mut origin);
        let mut upward = Upward {
            reader,
            judge,
            calls: &calls,
            client: client_read,
            origin: origin_write,
            sent: &mut traffic.bytes_up,
            activity: &activity,
            reservation: self.held.reserve(),
            patience: limits.body_read,
            sending: false,
        };
        let mut downward = Downward {
            origin: origin_read,
            client: client_write,
            waiting: BytesMut::new(),
            listener: Some(listener),
            place: Place::start(),
            received: &mut traffic.bytes_down,
            activity: &activity,
        };
        let stop = tokio::select! { biased;
            stop = upward.run() => stop,
            stop = downward.run() => stop,
            () = activity.silence(limits.tunnel_idle) => Stop::Broken,
            reason = revoked => Stop::Refused(close::code_of(reason), reason),
        };
        let (code, reason) = match stop {
            Stop::Refused(code, reason) => (code, reason),
            Stop::Ended => {
                let _ = upward.origin.shutdown().await;
                let _ = tokio::time::timeout(FAREWELL, downward.run()).await;
                let _ = downward.client.shutdown().await;
                return None;
            }
            Stop::Broken => {
                let _ = tokio::time::timeout(FAREWELL, downward.client.shutdown()).await;
                let _ = tokio::time::timeout(FAREWELL, upward.origin.shutdown()).await;
                return None;
            }
        };
        let told = tokio::time::timeout(FAREWELL, downward.finish_frame()).await;
        let words = match told {
            Ok(Ok(())) => close::to_client(code, reason),
            // Within a frame of the origin's ours would be taken for a part of it.
            _ => Vec::new(),
        };
        let last = if upward.is_between_frames() {
            close::to_origin()
        } else {
            Vec::new()
        };
        let leave_origin = end_with(&mut upward.origin, &last);
        drop(downward);
        // Both at once: one end that does not listen must not keep the other waiting.
        let _ = tokio::time::timeout(FAREWELL, leave_origin).await;
        drop(upward);
        last_words(&mut *client, &words).await;
        Some(reason)
    }
}

/// Writes the last bytes of a connection, and ends it.
async fn end_with(stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> std::io::Result<()> {
    stream.write_all(bytes).await?;
    stream.flush().await?;
    stream.shutdown().await
}
