//! The requests of one HTTP/1 client connection, one after the other.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use http::Version;
use pingora::protocols::Stream;
use pingora::protocols::http::v1::server::HttpSession;
use tokio::io::AsyncReadExt;
use tollgate_policy::Reason;

use super::life::{Drain, revoked};
use super::request_head::{self, HeadError};
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
    let (mut stream, mut prefix, mut patience) = (wire as Stream, BytesMut::new(), first);
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
        match pingora::time::timeout(limits.header_read, request_head::read(&mut stream, &mut prefix, limits)).await {
            Ok(Ok(())) => {}
            Ok(Err(HeadError::Gone)) => return,
            Ok(Err(HeadError::Refused(denial))) => return engine.refuse_unread(&connection, stream, Some(denial)).await,
            Err(_) => return engine.refuse_unread(&connection, stream, Some(slow())).await,
        }
        let early = early_chunks(&prefix);
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
                Some(reusable) => (stream, prefix) = reusable,
                None => return,
            },
            Outcome::Upgraded(upgraded) => return Box::pin(engine.carry(&connection, down, *upgraded, revocation)).await,
            Outcome::Ended => return,
        }
    }
}

/// What of a chunked body came together with the head; empty where the body is no chunked one, or nothing of it is there.
fn early_chunks(prefix: &[u8]) -> Vec<u8> {
    let Some(end) = memchr::memmem::find(prefix, b"\r\n\r\n").map(|at| at + 4) else {
        return Vec::new();
    };
    match prefix.split_at_checked(end) {
        Some((head, body)) if !body.is_empty() && head.windows(7).any(|word| word.eq_ignore_ascii_case(b"chunked")) => body.to_vec(),
        _ => Vec::new(),
    }
}

fn slow() -> Denial {
    Denial::new(Reason::MalformedRequest, "the head of the request did not arrive in time")
}

fn unreadable() -> Denial {
    Denial::new(Reason::MalformedRequest, "the request is not well-formed HTTP/1.1")
}
