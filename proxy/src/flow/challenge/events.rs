//! A stream of events on its way to the client: each event that may ask for a payment is judged before it is passed on, all others pass at
//! once. Nothing is held but the one event that has begun.

use bytes::{Bytes, BytesMut};
use http::header;
use serde_json::value::RawValue;
use tollgate_policy::Reason;

use super::super::body::{Reservation, StreamDecoder};
use super::super::failure::Failure;
use super::super::record::Record;
use super::super::send::Sent;
use super::splitter::{self, Part, Splitter};
use super::{Screening, rpc};
use crate::flow::session::ClientSession;
use crate::gate::Denial;
use crate::gate::payment::challenges::ScreeningRule;
use crate::x402::carriers::answer;

/// The code of our JSON-RPC errors: of those that servers may give a meaning of their own, one that neither MCP nor A2A has taken, and that
/// no client takes for a challenge.
const REFUSED: i32 = -32_090;

/// See the module.
pub(in crate::flow) struct EventScreen<'a> {
    screening: Screening<'a>,
    /// The calls that the stream answers, where it answers those of its own request.
    calls: Option<Bytes>,
    decoder: StreamDecoder,
    splitter: Splitter,
    reservation: Reservation,
}

/// What of a stream goes on.
pub(in crate::flow) struct Passed {
    pub(in crate::flow) bytes: Bytes,
    /// Why nothing more does.
    pub(in crate::flow) refused: Option<Box<Refused>>,
}

/// An event that is not passed on.
pub(in crate::flow) struct Refused {
    pub(in crate::flow) denial: Denial,
    /// The id of the call that it answers, as JSON.
    pub(in crate::flow) id: Box<str>,
}

impl<'a> EventScreen<'a> {
    /// For an answer that is a stream of events. What comes out of it is not coded, and its length is not known.
    pub(super) fn new(screening: Screening<'a>, calls: Option<Bytes>, sent: &mut Sent) -> Result<Self, Denial> {
        let decoder = StreamDecoder::of(&sent.head.headers)?;
        if !decoder.is_identity() {
            sent.head.remove_header(&header::CONTENT_ENCODING);
            sent.head.remove_header(&header::ETAG);
        }
        sent.head.remove_header(&header::CONTENT_LENGTH);
        let reservation = screening.engine.held.reserve();
        Ok(EventScreen {
            screening,
            calls,
            decoder,
            splitter: Splitter::default(),
            reservation,
        })
    }

    /// Takes the next piece of the stream, or its end.
    pub(in crate::flow) async fn take(
        &mut self,
        piece: Option<Bytes>,
        down: &mut ClientSession,
        record: &mut Record<'_>,
    ) -> Result<Passed, Failure> {
        let mut out = BytesMut::new();
        match self.pass(piece, &mut out, down, record).await {
            Ok(()) => Ok(Passed {
                bytes: out.freeze(),
                refused: None,
            }),
            Err((id, Failure::Denied(denial))) => Ok(Passed {
                bytes: out.freeze(),
                refused: Some(Box::new(Refused { denial: *denial, id })),
            }),
            Err((_, broken @ Failure::Broken(_))) => Err(broken),
        }
    }

    async fn pass(
        &mut self,
        piece: Option<Bytes>,
        out: &mut BytesMut,
        down: &mut ClientSession,
        record: &mut Record<'_>,
    ) -> Result<(), (Box<str>, Failure)> {
        let most = self.screening.engine.limits.body_held;
        let unnamed = |failure: Failure| (Box::from("null"), failure);
        let ended = piece.is_none();
        let piece = self.decoder.take(piece.unwrap_or_default(), most).map_err(unnamed)?;
        self.splitter.feed(&piece);
        loop {
            let part = match self.splitter.next_part() {
                None if ended => self.splitter.rest(),
                part => part,
            };
            match part {
                None => break,
                Some(Part::Passing(bytes)) => out.extend_from_slice(&bytes),
                Some(Part::Event(event)) => {
                    let event = judged(&self.screening, self.calls.as_ref(), event, down, record).await?;
                    out.extend_from_slice(&event);
                }
            }
        }
        if self.splitter.held() > most && self.screening.rule() == ScreeningRule::PassedOn {
            // Too large to be remembered, and nothing has to be kept from the client.
            out.extend_from_slice(&self.splitter.release());
        }
        if self.splitter.held() > most {
            let detail = format!("an event is over {most} bytes, and may ask for a payment that cannot be judged");
            return Err(unnamed(Denial::new(Reason::BodyTooLarge, detail).into()));
        }
        let held = self.reservation.hold(self.splitter.held());
        held.map_err(|denial| unnamed(denial.into()))
    }

    /// What is said in the place of an event that is not passed on: a JSON-RPC error for the call that waits, with the denial as its data.
    pub(in crate::flow) fn refusal(denial: &Denial, id: &str, body: &[u8]) -> Bytes {
        #[derive(serde::Serialize)]
        struct Answer<'a> {
            jsonrpc: &'static str,
            id: &'a RawValue,
            error: Error<'a>,
        }
        #[derive(serde::Serialize)]
        struct Error<'a> {
            code: i32,
            message: String,
            data: &'a RawValue,
        }
        let raw = |text: &str| RawValue::from_string(text.to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned());
        let (id, data) = (raw(id), raw(std::str::from_utf8(body).unwrap_or("null")));
        let answer = Answer {
            jsonrpc: "2.0",
            id: &id,
            error: Error {
                code: REFUSED,
                message: denial.to_string(),
                data: &data,
            },
        };
        let text = serde_json::to_string(&answer).unwrap_or_default();
        // The name or id of the event that is left out may have gone already: the empty line ends it.
        Bytes::from(format!("\nevent: message\ndata: {text}\n\n"))
    }
}

/// The event as it may be passed on.
async fn judged(
    screening: &Screening<'_>,
    calls: Option<&Bytes>,
    event: Bytes,
    down: &mut ClientSession,
    record: &mut Record<'_>,
) -> Result<Bytes, (Box<str>, Failure)> {
    if !answer::may_ask(&event) {
        return Ok(event);
    }
    let data = splitter::data(&event);
    match rpc::screen(screening, &data, calls.map_or(&[], std::slice::from_ref), Some(down), record).await {
        Ok(None) => Ok(event.clone()),
        Ok(Some(rewritten)) => Ok(splitter::with_data(&event, &rewritten)),
        Err(failure) => Err((answer::id_of(&data), failure)),
    }
}
