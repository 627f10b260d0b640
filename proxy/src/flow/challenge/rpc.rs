//! What a JSON-RPC answer asks for: judged like a 402, whatever its status, before the client sees it.
//!
//! In: the text of one answer, whole. Out: nothing, where the client may see it as it is; the same text with the options that may be paid;
//! or a denial. Which challenge answers which call is told by their ids, or by the tool that the challenge names.

use bytes::{Bytes, BytesMut};
use http::header;
use http::{Method, StatusCode};
use pingora::http::ResponseHeader;
use tollgate_policy::Reason;

use super::super::body::{self, Content, Look};
use super::super::failure::Failure;
use super::super::head::Head;
use super::super::record::Record;
use super::super::send::{Sent, next_piece};
use super::{Purchase, Screening, purchase, unreadable};
use crate::flow::session::ClientSession;
use crate::gate::Denial;
use crate::gate::payment::challenges::ScreeningRule;
use crate::x402::carriers::Call;
use crate::x402::carriers::answer::{self, Posed};
use crate::x402::challenge::{Asked, Challenge, ChallengeError};
use crate::x402::json::JsonError;

/// How the answer to a request may ask for a payment, other than by its status.
pub(in crate::flow) enum Expected {
    /// In no way.
    ByStatus,
    /// It answers the JSON-RPC calls in this body.
    Calls(Bytes),
    /// A stream of events may answer any call.
    Events,
}

impl Expected {
    /// By what the request says.
    pub(in crate::flow) fn of(head: &Head, content: &Content) -> Self {
        match content {
            Content::Known(body) if memchr::memmem::find(body, b"\"jsonrpc\"").is_some() => Expected::Calls(body.clone()),
            _ if head.method == Method::GET => Expected::Events,
            _ => Expected::ByStatus,
        }
    }

    pub(super) fn calls(&self) -> Option<&Bytes> {
        match self {
            Expected::Calls(body) => Some(body),
            Expected::ByStatus | Expected::Events => None,
        }
    }
}

const EVENTS: &[u8] = b"text/event-stream";

/// Whether an answer is a stream of events.
pub(in crate::flow) fn is_events(head: &ResponseHeader) -> bool {
    let declared = head
        .headers
        .get(header::CONTENT_TYPE)
        .map(|value| value.as_bytes().trim_ascii_start());
    let essence = declared.and_then(|value| value.get(..EVENTS.len()));
    essence.is_some_and(|essence| essence.eq_ignore_ascii_case(EVENTS))
}

/// Screens an answer that is one document; one that is not JSON streams on unread.
pub(super) async fn document(
    screening: &Screening<'_>,
    calls: &Bytes,
    down: &mut ClientSession,
    mut sent: Sent,
    record: &mut Record<'_>,
) -> Result<Sent, Failure> {
    if screening.head.method == Method::HEAD || matches!(sent.head.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED) {
        return Ok(sent);
    }
    let held = record.wait(hold(screening, down, &mut sent)).await;
    let decoded = held.and_then(|held| match held {
        Held::Whole => body::json_answer(&sent.head.headers, &sent.read, screening.engine.limits.body_held),
        Held::OtherThanJson => Ok(None),
    });
    let text = match decoded {
        Ok(Some(text)) => text,
        Ok(None) => return Ok(sent),
        // What need not be judged may pass without having been read.
        Err(Failure::Denied(_)) if screening.rule() == ScreeningRule::PassedOn => return Ok(sent),
        Err(failure) => return Err(failure),
    };
    if let Some(rewritten) = screen(screening, &text, std::slice::from_ref(calls), Some(down), record).await? {
        super::replace_body(&mut sent, rewritten)?;
    }
    Ok(sent)
}

/// How much of an answer is there.
enum Held {
    Whole,
    OtherThanJson,
}

/// Reads an answer to its end, if it begins like JSON. It lies in [`Sent::read`] then, as it came.
async fn hold(screening: &Screening<'_>, down: &mut ClientSession, sent: &mut Sent) -> Result<Held, Failure> {
    let engine = screening.engine;
    let most = engine.limits.body_held;
    let mut reservation = engine.held.reserve();
    let mut body = BytesMut::from(&std::mem::take(&mut sent.read)[..]);
    let mut look = Look::Undecided;
    loop {
        let piece = if sent.session.ended() {
            None
        } else {
            next_piece(&mut sent.session, &mut sent.upload, down, engine.limits.stream_idle).await?
        };
        let done = piece.is_none();
        body.extend_from_slice(&piece.unwrap_or_default());
        let looked = match look {
            Look::Undecided => body::look_at_answer(&sent.head.headers, &body, done),
            known => Ok(known),
        };
        let stop = match looked {
            Ok(known) => {
                look = known;
                let reserved = reservation.hold(body.len()).map_err(Failure::from);
                let fits = if body.len() > most { Err(too_large(most)) } else { Ok(()) };
                reserved.and(fits).err()
            }
            Err(failure) => Some(failure),
        };
        if done || look == Look::OtherThanJson || stop.is_some() {
            sent.read = body.freeze();
            sent.held = Some(reservation);
            return match stop {
                Some(failure) => Err(failure),
                None if look == Look::OtherThanJson => Ok(Held::OtherThanJson),
                None => Ok(Held::Whole),
            };
        }
    }
}

fn too_large(most: usize) -> Failure {
    let detail = format!("an answer to a call is over {most} bytes, and may ask for a payment that cannot be judged");
    Denial::new(Reason::BodyTooLarge, detail).into()
}

/// What the client may see of an answer to one of these calls; `None`: all of it. `down` is who waits for it, over HTTP.
pub(super) async fn screen(
    screening: &Screening<'_>,
    text: &[u8],
    calls: &[Bytes],
    mut down: Option<&mut ClientSession>,
    record: &mut Record<'_>,
) -> Result<Option<String>, Failure> {
    if !answer::may_ask(text) {
        return Ok(None);
    }
    let rule = screening.rule();
    if rule == ScreeningRule::Screened {
        screening.engine.gate.judge_answer(text)?;
    }
    let (text, posed) = match read(text) {
        Ok(Some((text, posed))) => (text, posed),
        Ok(None) => return Ok(None),
        Err(_) if rule == ScreeningRule::PassedOn => return Ok(None),
        Err(denial) => return Err(denial.into()),
    };
    let mut payable: Vec<Vec<Purchase>> = vec![Vec::new(); posed.len()];
    for group in groups(&posed) {
        let copies = || group.iter().filter_map(|number| posed.get(*number));
        let challenges: Vec<&Challenge> = copies().map(|one| &one.challenge).collect();
        let Some(first) = copies().next() else { continue };
        let call = calls.iter().find_map(|body| Call::by_id(body, &first.id));
        let Some(carrier) = first.carrier(call.as_ref()) else {
            if rule == ScreeningRule::PassedOn {
                continue;
            }
            let detail = "an answer asks for a payment, and what would be paid for cannot be told";
            return Err(Denial::new(Reason::PaymentMismatch, detail).into());
        };
        let request = super::payment_request(screening.head).carrying(carrier);
        let may_be_paid = match rule {
            ScreeningRule::PassedOn if agree(&challenges).is_err() => continue,
            ScreeningRule::PassedOn => None,
            ScreeningRule::Screened => {
                agree(&challenges)?;
                Some(screening.judge(&challenges, &request, down.as_deref_mut(), record).await?)
            }
        };
        screening.remember(&challenges, request.hash(), may_be_paid.as_deref());
        for number in group {
            if let (Some(slot), Some(purchases)) = (payable.get_mut(number), &may_be_paid) {
                slot.clone_from(purchases);
            }
        }
    }
    if rule == ScreeningRule::PassedOn {
        return Ok(None);
    }
    let keep = |number: usize, asked: &Asked| payable.get(number).is_some_and(|payable| payable.contains(&purchase(asked)));
    let whole = |(number, one): (usize, &Posed)| {
        let options = &one.challenge.options;
        options
            .iter()
            .all(|option| option.as_ref().is_some_and(|asked| keep(number, asked)))
    };
    if posed.iter().enumerate().all(whole) {
        return Ok(None);
    }
    let rewritten = answer::only(text, &posed, keep);
    rewritten
        .map(Some)
        .ok_or_else(|| Denial::new(Reason::InternalError, "a challenge could not be written again").into())
}

/// `Ok(None)`: it asks for nothing. An error is something that a lenient client might read as a challenge, and we cannot.
fn read(text: &[u8]) -> Result<Option<(&str, Vec<Posed>)>, Denial> {
    let found = std::str::from_utf8(text)
        .map_err(|_| ChallengeError::Json(JsonError::NotUtf8))
        .and_then(|text| answer::challenges(text).map(|posed| (text, posed)));
    match found {
        Ok((_, posed)) if posed.is_empty() => Ok(None),
        Ok(found) => Ok(Some(found)),
        Err(ChallengeError::Json(_)) if !answer::speaks_of_one(text) => Ok(None),
        Err(error) => Err(unreadable(error)),
    }
}

/// The challenges of each call: several copies of one are judged together.
fn groups(posed: &[Posed]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (number, one) in posed.iter().enumerate() {
        let same = groups.iter_mut().find(|group| {
            let first = group.first().and_then(|first| posed.get(*first));
            first.is_some_and(|first| first.id == one.id)
        });
        match same {
            Some(group) => group.push(number),
            None => groups.push(vec![number]),
        }
    }
    groups
}

/// One client reads one copy, another the other: all have to ask for the same.
fn agree(challenges: &[&Challenge]) -> Result<(), Denial> {
    let asked = |challenge: &Challenge| -> Vec<Purchase> { challenge.asked().map(purchase).collect() };
    let same = |one: &[Purchase], other: &[Purchase]| one.iter().all(|purchase| other.contains(purchase));
    let Some((first, others)) = challenges.split_first() else {
        return Ok(());
    };
    let first = asked(first);
    let agreed = others.iter().all(|other| {
        let other = asked(other);
        same(&first, &other) && same(&other, &first)
    });
    if agreed {
        return Ok(());
    }
    Err(Denial::new(
        Reason::PaymentConflicting,
        "an answer asks for one payment in one place and for another in another",
    ))
}
