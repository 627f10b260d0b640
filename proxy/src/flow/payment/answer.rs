//! The answer to a paid call, heard on its way to the client: in one JSON document, or as an event of a stream.
//!
//! In: a payment that has left with its call, and the answer's bytes as the client gets them. Out: what became of the payment, for its audit
//! line, for the memory of used payments and for the service that judged it. Nothing waits for this, nothing is allowed or refused by it, and
//! what cannot be read within bounds is not. An answer that breaks off before it has answered the call leaves the payment unanswered.

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header;
use pingora::http::ResponseHeader;

use super::super::body::{Reservation, StreamDecoder};
use super::super::challenge::is_events;
use super::super::challenge::splitter::{self, Part, Splitter};
use super::super::engine::Engine;
use super::super::record::Record;
use super::Paid;
use crate::audit::PaymentOutcome;
use crate::verdict::report::Receipt;
use crate::x402::settlement::call::{CallAnswer, CallResult};

/// How an answer comes.
pub(super) enum Form {
    /// As one document.
    Document(BytesMut),
    /// As events.
    Events(Splitter),
    /// As nothing that could be read, or in more bytes than may be held.
    Unreadable,
    /// No more is to be heard.
    Heard,
}

impl Form {
    /// `None` where the body says nothing about calls.
    pub(super) fn of(head: &ResponseHeader) -> Option<Self> {
        if !head.status.is_success() {
            return None;
        }
        if is_events(head) {
            return Some(Form::Events(Splitter::default()));
        }
        let declared = head.headers.get(header::CONTENT_TYPE)?.as_bytes();
        let essence = declared.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        essence
            .eq_ignore_ascii_case(b"application/json")
            .then(|| Form::Document(BytesMut::new()))
    }
}

/// See the module.
pub(crate) struct AwaitedAnswer {
    paid: Paid,
    /// The call's id, as JSON.
    id: Box<str>,
    form: Form,
    decoder: Option<StreamDecoder>,
    held: Reservation,
    most: usize,
    /// The right to report, once the call is answered and nothing is said of its payment yet.
    receipt: Option<Receipt>,
}

impl AwaitedAnswer {
    pub(super) fn new(paid: Paid, id: Box<str>, form: Form, engine: &Engine) -> Self {
        AwaitedAnswer {
            paid,
            id,
            form,
            decoder: None,
            held: engine.held.reserve(),
            most: engine.limits.body_held,
            receipt: None,
        }
    }

    /// The head that the client gets.
    pub(in crate::flow) fn begin(&mut self, headers: &HeaderMap) {
        self.decoder = StreamDecoder::of(headers).ok();
    }

    /// The next bytes of the body that the client gets.
    pub(in crate::flow) fn hear(&mut self, piece: &Bytes, record: &mut Record<'_>) {
        if matches!(self.form, Form::Heard | Form::Unreadable) {
            return;
        }
        let decoded = self
            .decoder
            .as_mut()
            .and_then(|decoder| decoder.take(piece.clone(), self.most).ok());
        let Some(piece) = decoded else { return self.give_up() };
        let mut answers = Vec::new();
        let held = match &mut self.form {
            Form::Document(body) => {
                body.extend_from_slice(&piece);
                body.len()
            }
            Form::Events(events) => {
                events.feed(&piece);
                while let Some(part) = events.next_part() {
                    answers.extend(answer_in(&part, &self.id));
                }
                events.held()
            }
            Form::Unreadable | Form::Heard => 0,
        };
        for answer in answers {
            self.answered(&answer, record);
        }
        let too_much = held > self.most || self.held.hold(held).is_err();
        if too_much && !matches!(self.form, Form::Heard) {
            self.give_up();
        }
    }

    /// The body came to its end.
    pub(in crate::flow) fn ended(mut self: Box<Self>, record: &mut Record<'_>) {
        let answer = match std::mem::replace(&mut self.form, Form::Unreadable) {
            Form::Heard => return,
            Form::Unreadable => None,
            Form::Document(body) => answer_to(&body, &self.id),
            Form::Events(mut events) => match events.rest().and_then(|part| answer_in(&part, &self.id)) {
                // It may be asked for again on another stream.
                None if self.paid.reservation.is_some() => return,
                answer => answer,
            },
        };
        // A whole answer is one, even if it cannot be read.
        let answer = answer.unwrap_or(CallAnswer {
            result: CallResult::Done,
            settlement: None,
        });
        self.answered(&answer, record);
    }

    /// The call was answered, and the client is not shown how.
    pub(in crate::flow) fn kept_back(mut self: Box<Self>, record: &mut Record<'_>) {
        let refused = CallAnswer {
            result: CallResult::Error,
            settlement: None,
        };
        self.answered(&refused, record);
    }

    /// Whether an answer with this id is to this call.
    pub(in crate::flow) fn is_for(&self, id: &str) -> bool {
        *self.id == *id
    }

    fn answered(&mut self, answer: &CallAnswer, record: &mut Record<'_>) {
        if matches!(self.form, Form::Heard) {
            return;
        }
        let word = answer.settlement.as_ref();
        let without_word = match answer.result {
            CallResult::Done => PaymentOutcome::Delivered,
            CallResult::Error => PaymentOutcome::Abandoned,
        };
        let receipt = self.receipt.take().or_else(|| self.paid.known());
        if word.is_none() && answer.result == CallResult::Done && matches!(self.form, Form::Events(_)) {
            // An agent's task goes on, and may say later that it was paid.
            self.paid.price.settled(None, without_word, None, record);
            self.receipt = receipt;
            return;
        }
        self.paid.price.settled(word, without_word, receipt, record);
        self.form = Form::Heard;
    }

    fn give_up(&mut self) {
        self.form = Form::Unreadable;
        let _ = self.held.hold(0);
    }
}

impl Drop for AwaitedAnswer {
    /// It was answered, and nothing more was said.
    fn drop(&mut self) {
        if let Some(receipt) = self.receipt.take() {
            receipt.report(PaymentOutcome::Delivered, None, None);
        }
    }
}

fn answer_in(part: &Part, id: &str) -> Option<CallAnswer> {
    match part {
        Part::Passing(_) => None,
        Part::Event(event) => answer_to(&splitter::data(event), id),
    }
}

fn answer_to(text: &[u8], id: &str) -> Option<CallAnswer> {
    CallAnswer::read(std::str::from_utf8(text).ok()?, id)
}
