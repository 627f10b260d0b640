//! The requests of one HTTP/1 client connection, one after the other.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use http::Version;
use pingora::protocols::http::v1::server::HttpSession;
use tokio::io::AsyncReadExt;
use tollgate_policy::Reason;

use super::life::{Drain, revoked};
use super::request_head::{self, Follows, HeadError};
use crate::egress::wire::Wire;
use crate::flow::{ClientSession, Connection, Engine, H1Request, Outcome};
use crate::gate::Denial;

/// What one read takes; most heads fit.
const HEAD_BUFFER: usize = 4 << 10;

/// Serves until the client, the rules or a drain end it. `first` bounds the wait for the first request.
pub(crate) async fn serve(engine: &Arc<Engine>, connection: Arc<Connection>, wire: Box<Wire>, first: Duration, drain: Drain) {
    let mut draining = pin!(drain.clone().begun());
    let mut draining_newcomers = pin!(drain.clone().begun_for_newcomers());
    let mut newcomer = true;
    let mut revocation = pin!(revoked(engine.clone(), connection.clone()));
    let limits = &engine.limits;
    let trailers = wire.trailers().clone();
    let (mut stream, mut prefix, mut patience) = (wire, BytesMut::new(), first);
    loop {
        if prefix.is_empty() {
            prefix = BytesMut::with_capacity(HEAD_BUFFER);
            let arrived = tokio::select! { biased;
                read = pingora::time::timeout(patience, stream.read_buf(&mut prefix)) => matches!(read, Ok(Ok(n)) if n > 0),
                () = &mut draining, if !newcomer => false,
                () = &mut draining_newcomers, if newcomer => false,
                _ = &mut revocation => false,
            };
            if !arrived {
                return;
            }
        }
        (patience, newcomer) = (limits.idle, false);
        // The deadline is for the whole head: a byte at a time (slowloris) does not renew it.
        let follows = match pingora::time::timeout(limits.header_read, request_head::read(&mut stream, &mut prefix, limits)).await {
            Ok(Ok(follows)) => follows,
            Ok(Err(HeadError::Gone)) => return,
            Ok(Err(HeadError::Refused(denial))) => return engine.refuse_unread(&connection, stream, Some(denial)).await,
            Err(_) => return engine.refuse_unread(&connection, stream, Some(slow())).await,
        };
        let early = match follows {
            Follows::Chunks(here) => prefix.get(prefix.len().saturating_sub(here)..),
            Follows::Other => None,
        };
        if let Err(error) = stream.expect_chunks(early) {
            let denial = Denial::new(
                Reason::MalformedRequest,
                format!("the body is not chunked as it should be: {error}"),
            );
            return engine.refuse_unread(&connection, stream, Some(denial)).await;
        }
        let early = early.map(<[u8]>::to_vec).unwrap_or_default();
        let mut session = HttpSession::new(stream);
        session.set_pipelining_enabled(true);
        session.set_pipelined_prefix(prefix);
        session.set_read_timeout(Some(limits.body_read));
        session.set_write_timeout(Some(limits.stream_idle));
        match session.read_request().await {
            Ok(Some(_)) => {}
            Ok(None) => return,
            Err(_) => return engine.refuse_unread(&connection, session.into_inner(), Some(unreadable())).await,
        }
        // HTTP/1.0 has no persistence of its own, and its answers end with the connection.
        let persists = !drain.has_begun() && session.req_header().version == Version::HTTP_11;
        session.set_server_keepalive(persists.then_some(limits.idle.as_secs()));
        let mut down = ClientSession::H1(H1Request::new(session, trailers.clone(), &early));
        let outcome = tokio::select! { biased;
            outcome = engine.exchange(&connection, &mut down) => outcome,
            reason = &mut revocation => {
                engine.refuse_revoked(&connection, reason, &mut down).await;
                down.finish().await;
                return;
            }
        };
        match outcome {
            Outcome::Done | Outcome::Malformed => match down.finish().await {
                Some((again, pipelined)) => {
                    let Ok(again) = again.into_any().downcast() else { return };
                    (stream, prefix) = (again, pipelined);
                }
                None => return,
            },
            Outcome::Upgraded(upgraded) => return Box::pin(engine.carry(&connection, down, *upgraded, revocation)).await,
            Outcome::Ended => return,
        }
    }
}

fn slow() -> Denial {
    Denial::new(Reason::MalformedRequest, "the head of the request did not arrive in time")
}

fn unreadable() -> Denial {
    Denial::new(Reason::MalformedRequest, "the request is not well-formed HTTP/1.1")
}
