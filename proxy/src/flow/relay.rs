//! The answer on its way to the client: its head, then its body as it comes, while the rest of the request goes the other way.

use bytes::Bytes;
use http::{Method, StatusCode};
use pingora::http::ResponseHeader;

use super::answer::{self, End};
use super::challenge::{EventScreen, Refused};
use super::engine::Engine;
use super::exchange::Outcome;
use super::failure::Failure;
use super::inbound::{BodyRule, inbound};
use super::payment::AwaitedAnswer;
use super::record::Record;
use super::send::{Sent, next_piece};
use super::session::ClientSession;
use super::trailers::sifted;
use crate::egress::Origin;
use crate::gate::Layer;

/// What reads an answer on its way to the client.
pub(super) struct Watching<'a> {
    /// Keeps back events of a stream.
    pub(super) screen: Option<Box<EventScreen<'a>>>,
    /// Hears what became of a payment.
    pub(super) awaited: Option<Box<AwaitedAnswer>>,
}

impl Engine {
    /// Passes the answer on.
    pub(super) async fn relay(
        &self,
        down: &mut ClientSession,
        sent: Sent,
        watching: Watching<'_>,
        origin: &Origin,
        record: &mut Record<'_>,
    ) -> Result<Outcome, Failure> {
        let Sent {
            mut session,
            mut head,
            mut upload,
            read,
            held,
        } = sent;
        let Watching { mut screen, mut awaited } = watching;
        if let Some(awaited) = &mut awaited {
            awaited.begin(&head.headers);
        }
        let client = down.req_header().version;
        let body = body_rule(&down.req_header().method, &head);
        inbound(&mut head, client, body).map_err(pingora::Error::into_up)?;
        let end = if body == BodyRule::Never || (read.is_empty() && session.ended()) {
            End::HeadOnly
        } else {
            End::BodyFollows
        };
        record.streaming();
        answer::write_head(down, head, end).await?;
        if end == End::BodyFollows {
            if !read.is_empty() {
                pass_on(down, read, &mut awaited, record).await?;
            }
            drop(held);
            loop {
                let piece = next_piece(&mut session, &mut upload, down, self.limits.stream_idle).await?;
                record.traffic.bytes_up = upload.sent();
                let ended = piece.is_none();
                let piece = match &mut screen {
                    None => piece.unwrap_or_default(),
                    Some(screen) => {
                        let passed = Box::pin(screen.take(piece, down, record)).await?;
                        if let Some(refused) = passed.refused {
                            if !passed.bytes.is_empty() {
                                pass_on(down, passed.bytes, &mut awaited, record).await?;
                            }
                            if let Some(awaited) = awaited.filter(|awaited| awaited.is_for(&refused.id)) {
                                awaited.kept_back(record);
                            }
                            return self.end_stream(down, *refused, record).await;
                        }
                        passed.bytes
                    }
                };
                if !piece.is_empty() {
                    pass_on(down, piece, &mut awaited, record).await?;
                }
                if ended {
                    break;
                }
            }
            if let Some(awaited) = awaited {
                awaited.ended(record);
            }
            match session.trailers().await?.and_then(sifted) {
                Some(trailers) => down.end_response_with(trailers).await?,
                None => down.end_response().await?,
            }
        } else if let Some(awaited) = awaited {
            awaited.ended(record);
        }
        record.traffic.bytes_up = upload.sent();
        // Only a complete request and a complete answer leave a connection that the next request may use.
        if upload.complete() {
            origin.give_back(session).await;
        } else {
            down.close_after();
        }
        Ok(Outcome::Done)
    }

    /// An event that asks for what would be refused: the client is told in its place, and nothing follows.
    async fn end_stream(&self, down: &mut ClientSession, refused: Refused, record: &mut Record<'_>) -> Result<Outcome, Failure> {
        let Refused { mut denial, id } = refused;
        record.redact(&mut denial);
        record.denied_midway(&denial);
        let request_id = record.id.to_string();
        let event = EventScreen::refusal(&denial, &id, &denial.body(&record.subject(Layer::L7, &request_id)));
        pass_on(down, event, &mut None, record).await?;
        down.close_after();
        down.end_response().await?;
        Ok(Outcome::Done)
    }
}

async fn pass_on(
    down: &mut ClientSession,
    piece: Bytes,
    awaited: &mut Option<Box<AwaitedAnswer>>,
    record: &mut Record<'_>,
) -> Result<(), Failure> {
    if let Some(awaited) = awaited {
        // First: whether the client still takes it makes no difference to what the seller has said.
        awaited.hear(&piece, record);
    }
    record.traffic.bytes_down += piece.len() as u64;
    Ok(down.write_response_body(piece).await?)
}

fn body_rule(method: &Method, head: &ResponseHeader) -> BodyRule {
    if method == Method::HEAD || matches!(head.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
        BodyRule::Never
    } else {
        BodyRule::ByFraming
    }
}
