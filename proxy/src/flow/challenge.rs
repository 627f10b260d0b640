//! What a 402 asks for, remembered before the client can pay it.
//!
//! In: an answer whose head is here. Out: the same answer; of its body, what had to be read for this is in [`Sent::read`] and leaves
//! first. An answer that cannot be read as a challenge passes untouched, and no payment will answer it.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{Method, StatusCode};
use pingora::protocols::http::ServerSession;

use super::body;
use super::engine::Engine;
use super::exchange::now;
use super::failure::Failure;
use super::head::Head;
use super::payment::payment_request;
use super::record::Record;
use super::send::{Sent, in_time, or_gone};
use crate::x402::challenge::{Challenge, ChallengeError, MAX_CHALLENGE_BYTES};

/// v2's challenge.
const PAYMENT_REQUIRED: &str = "payment-required";

/// How long the body of a 402 may keep its client waiting; a seller that takes longer has its answer streamed, and is not paid.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whether an answer may carry a challenge; 412 is v2's `permit2_allowance_required`.
fn asks_to_pay(status: StatusCode) -> bool {
    matches!(status, StatusCode::PAYMENT_REQUIRED | StatusCode::PRECONDITION_FAILED)
}

/// See the module.
pub(super) async fn remember(
    engine: &Engine,
    down: &mut ServerSession,
    mut sent: Sent,
    head: &Head,
    record: &mut Record<'_>,
) -> Result<Sent, Failure> {
    if !asks_to_pay(sent.head.status) {
        return Ok(sent);
    }
    let request = payment_request(head).hash();
    let challenges = engine.gate.challenges();
    let mut stated = sent.head.headers.get_all(PAYMENT_REQUIRED).iter();
    // Of two fields one client reads the first and another the last: neither is believed.
    if let (Some(value), None) = (stated.next(), stated.next()) {
        match Challenge::from_header(value.as_bytes()) {
            Ok(challenge) => challenges.remember(request, challenge, now()),
            Err(error) => unreadable(head, error),
        }
    }
    if head.method != Method::HEAD && !sent.upload.pending() {
        sent.read = record.wait(read(engine, down, &mut sent)).await?;
        if let Some(text) = body::decoded_answer(&sent.head.headers, &sent.read, MAX_CHALLENGE_BYTES)
            && let Ok(challenge) = Challenge::from_body(&text)
        {
            challenges.remember(request, challenge, now());
        }
    }
    Ok(sent)
}

fn unreadable(head: &Head, error: ChallengeError) {
    tracing::info!(authority = %head.destination.authority(), %error, "a 402 asks for a payment that no payment will answer");
}

/// The body, or as much of it as a challenge could be.
async fn read(engine: &Engine, down: &mut ServerSession, sent: &mut Sent) -> Result<Bytes, Failure> {
    let mut body = BytesMut::new();
    let deadline = tokio::time::Instant::now() + PATIENCE;
    while body.len() <= MAX_CHALLENGE_BYTES && !sent.session.ended() {
        let chunk = in_time(engine.limits.stream_idle, or_gone(down, sent.session.chunk()));
        match tokio::time::timeout_at(deadline, chunk).await {
            Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
            Ok(Ok(None)) | Err(_) => break,
            Ok(Err(error)) => return Err(error.into()),
        }
    }
    Ok(body.freeze())
}
