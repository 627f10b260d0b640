//! Sends the judged request and waits for the final head, relaying interim answers.

use std::future::Future;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use pingora::http::{RequestHeader, ResponseHeader};
use pingora::{Error, ErrorSource, ErrorType, Result, RetryType};

use super::body::{Reservation, Rest};
use super::failure::Failure;
use super::head::Head;
use super::inbound::{check_framing, interim};
use super::outbound::{Framing, OriginProtocol, is_websocket, outbound, set_target};
use super::payment::Paid;
use super::session::ClientSession;
use super::upload::{Body, Upload};
use crate::credentials::Attached;
use crate::egress::Origin;
use crate::egress::origin::{History, Need};
use crate::egress::session::{AfterHead, OriginSession};
use crate::egress::wire::CORK;
use crate::settings::Limits;

/// How long an answer is waited for when sending the request has failed: a 413 or 401 may be on its way.
const LATE_ANSWER: Duration = Duration::from_secs(1);

/// Interim answers to one request. A service that tells of its progress every few seconds stays far below.
const MOST_INTERIMS: usize = 200;

/// Once on a connection that turns out to be dead, once on one whose origin wants HTTP/1.1, once on that.
const MOST_ATTEMPTS: usize = 3;

/// Whether the request may go out a second time when a reused connection turns out to be dead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resend {
    /// If the method is safe, or the origin said that it did nothing.
    WhereSafe,
    /// Never: it carries a payment. It also gets a connection of its own, so that no idle one can eat it.
    Never,
}

/// The request is with the origin.
pub(crate) struct Sent {
    pub(crate) session: OriginSession,
    pub(crate) head: Box<ResponseHeader>,
    pub(crate) upload: Upload,
    /// What has been read of the answer's body and not been passed on yet.
    pub(crate) read: Bytes,
    /// Its place in the budget, where the whole answer had to be held.
    pub(crate) held: Option<Reservation>,
}

/// One request on its way.
pub(crate) struct Sending<'a> {
    pub(crate) origin: &'a Origin,
    pub(crate) head: &'a Head,
    pub(crate) body: &'a Body,
    /// What judges the part of it that is not there yet.
    pub(crate) rest: Option<Box<Rest>>,
    /// What comes behind a body that is there.
    pub(crate) trailers: Option<&'a HeaderMap>,
    /// Fields and a target in which secrets stand for placeholders; they exist on the way out only.
    pub(crate) credentials: &'a Attached,
    pub(crate) resend: Resend,
    pub(crate) limits: &'a Limits,
    /// What it pays with: spent right before the first byte may leave.
    pub(crate) paid: Option<&'a mut Paid>,
}

impl Sending<'_> {
    /// Sends; resends where that is safe.
    pub(crate) async fn send(mut self, down: &mut ClientSession) -> Result<Sent, Failure> {
        let upgrade = is_websocket(down.req_header());
        let mut need = match self.resend {
            _ if upgrade => Need::Upgradable,
            Resend::WhereSafe => Need::Any,
            Resend::Never => Need::Fresh,
        };
        let mut attempts = 0;
        loop {
            attempts += 1;
            let (mut session, history) = self.origin.take(need).await?;
            match self.send_on(&mut session, down).await {
                Ok((head, upload)) => {
                    return Ok(Sent {
                        session,
                        head,
                        upload,
                        read: Bytes::new(),
                        held: None,
                    });
                }
                Err(Failure::Denied(denial)) => return Err(Failure::Denied(denial)),
                Err(Failure::Broken(mut error)) => {
                    error.retry.decide_reuse(history == History::Reused);
                    need = match self.resend_on(&error, &session, history, down) {
                        Some(_) if upgrade && attempts < MOST_ATTEMPTS => Need::Upgradable,
                        Some(next) if attempts < MOST_ATTEMPTS => next,
                        _ => return Err(error.into()),
                    };
                }
            }
        }
    }

    /// What to send it on again: only where nothing can have been done, because the origin says so, or because a reused connection was
    /// dead and the method is safe.
    fn resend_on(&self, error: &Error, session: &OriginSession, history: History, down: &ClientSession) -> Option<Need> {
        if self.resend == Resend::Never || !matches!(self.body, Body::Whole(_)) {
            return None;
        }
        if *error.etype() == ErrorType::H2Downgrade {
            // HTTP_1_1_REQUIRED (RFC 9113 section 7): the origin wants this request over HTTP/1.1.
            return Some(Need::Upgradable);
        }
        let dead = matches!(
            error.etype(),
            ErrorType::WriteError | ErrorType::ConnectionClosed | ErrorType::ReadError
        );
        let lost = history == History::Reused && *error.esource() == ErrorSource::Upstream && dead;
        let refused = session.is_h2() && !lost && matches!(error.retry, RetryType::Decided(true));
        let again = history == History::Reused && (refused || (lost && down.req_header().method.is_safe()));
        again.then_some(Need::Fresh)
    }

    async fn send_on(&mut self, session: &mut OriginSession, down: &mut ClientSession) -> Result<(Box<ResponseHeader>, Upload), Failure> {
        let protocol = if session.is_h2() {
            OriginProtocol::Http2
        } else {
            OriginProtocol::Http1
        };
        let (framing, after) = match self.body {
            // Chunks, or HTTP/2's frames: only they can be followed by trailers.
            Body::Whole(_) if self.trailers.is_some() => (Framing::Relayed, AfterHead::Body),
            Body::Whole(bytes) if bytes.is_empty() => (Framing::Known(0), AfterHead::Nothing),
            Body::Whole(bytes) => (Framing::Known(bytes.len()), AfterHead::Body),
            Body::Streamed(_) | Body::Unseen => (Framing::Relayed, AfterHead::Body),
        };
        let mut head = outbound(down.req_header(), self.head, framing, protocol)?;
        put_in(&mut head, self.credentials)?;
        let mut with_signature = None;
        if let Some(paid) = &mut self.paid {
            // Boxed: the many exchanges without a payment need not be large enough for it.
            if let Some(signed) = Box::pin(paid.leave()).await? {
                with_signature = signed.put_in(&mut head, self.body)?;
            }
        }
        let writer = session.write_head(head, after).await?;
        let body = with_signature.as_ref().unwrap_or(self.body);
        let mut upload = Upload::new(writer, body, self.rest.take(), self.trailers.cloned());
        let (mut failed, mut interims) = (None, 0);
        if upload.fits_with_head(CORK) {
            // Before the first poll for the answer: polling reads, reading flushes, and the head would leave alone.
            // Nothing is read from the client here.
            failed = upload.step(down).await.err();
        }
        loop {
            let mut head = if let Some(error) = failed.take() {
                upload.abandon();
                let late = tokio::time::timeout(LATE_ANSWER, session.head()).await;
                late.ok().and_then(Result::ok).ok_or(error)?
            } else if upload.pending() {
                tokio::select! { biased;
                    head = session.head() => head?,
                    sent = upload.step(down) => match sent {
                        Err(failure) if !is_of_origin(&failure) => return Err(failure),
                        sent => {
                            failed = sent.err();
                            continue;
                        }
                    },
                }
            } else {
                in_time(self.limits.upstream_first_byte, or_gone(down, session.head())).await?
            };
            match head.status.as_u16() {
                101 => return Ok((head, upload)),
                status if status < 200 => {
                    interims += 1;
                    if interims > MOST_INTERIMS {
                        return Err(Error::explain(ErrorType::InvalidHTTPHeader, "interim answers without end")
                            .into_up()
                            .into());
                    }
                    // 100 is ours to send, and sent.
                    if status != 100 {
                        interim(&mut head).map_err(pingora::Error::into_up)?;
                        down.write_interim(head).await?;
                    }
                }
                _ => {
                    check_framing(&mut head)?;
                    return Ok((head, upload));
                }
            }
        }
    }
}

/// The next piece of an answer's body, while what is left of the request goes the other way.
pub(crate) async fn next_piece(
    session: &mut OriginSession,
    upload: &mut Upload,
    down: &mut ClientSession,
    idle: Duration,
) -> Result<Option<Bytes>, Failure> {
    while upload.pending() {
        tokio::select! { biased;
            piece = in_time(idle, session.chunk()) => return piece.map_err(Failure::from),
            sent = upload.step(down) => match sent {
                Err(failure) if !is_of_origin(&failure) => return Err(failure),
                Err(_) => upload.abandon(),
                Ok(()) => {}
            },
        }
    }
    in_time(idle, or_gone(down, session.chunk())).await.map_err(Failure::from)
}

/// Whether the origin has stopped listening, which is no reason to lose its answer.
fn is_of_origin(failure: &Failure) -> bool {
    matches!(failure, Failure::Broken(error) if *error.esource() != ErrorSource::Downstream)
}

/// Replaces every field that had a placeholder by its values, in their order, and the target.
fn put_in(head: &mut RequestHeader, credentials: &Attached) -> Result<()> {
    for (name, _) in &credentials.fields {
        head.remove_header(name);
    }
    for (name, value) in &credentials.fields {
        head.append_header(name.clone(), value.clone())?;
    }
    match &credentials.target {
        Some(target) => set_target(head, target.for_the_wire()),
        None => Ok(()),
    }
}

/// Bounds a wait for the origin.
pub(crate) async fn in_time<T>(limit: Duration, origin: impl Future<Output = Result<T>>) -> Result<T> {
    match pingora::time::timeout(limit, origin).await {
        Ok(outcome) => outcome,
        Err(_) => Err(Error::explain(ErrorType::ReadTimedout, "the origin is silent").into_up()),
    }
}

/// Waits for the origin, but not longer than the client does.
pub(crate) async fn or_gone<T>(down: &mut ClientSession, origin: impl Future<Output = Result<T>>) -> Result<T> {
    tokio::select! { biased;
        outcome = origin => outcome,
        gone = down.gone() => Err(gone),
    }
}
