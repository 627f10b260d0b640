//! The request body: held and judged whole where a rule has to read it, streamed everywhere else.
//!
//! Where the policy's rules are about the body, it is held whatever it is. Elsewhere, what has to be read is decided by content, not by what
//! the client declares: a body that begins like JSON is held, because a JSON body can settle a payment, broadcast a transaction or carry a
//! payment, whatever its Content-Type says. Compressed bodies are decoded for judging only; what is forwarded is byte for byte what came. A
//! body that streams is one that begins like no JSON in any encoding; it is searched for payments on its way, and what of it is there within
//! moments before any of it leaves.

mod budget;
mod decode;
mod scan;
mod sniff;
mod stream;

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::Version;
use http::header::{self, HeaderMap};
use pingora::http::RequestHeader;
use tollgate_policy::{BodyReading, Reason};

pub(crate) use budget::{HeldBytes, Reservation};
use decode::{Coding, Decoded};
use scan::Scan;
use sniff::Sniffer;
pub(super) use sniff::{Look, look};
pub(super) use stream::StreamDecoder;

use super::failure::Failure;
use super::grpc::is_grpc;
use super::head::Head;
use super::outbound::is_websocket;
use super::session::ClientSession;
use super::trailers::TrailerJudge;
use super::upload::Body;
use crate::gate::Denial;
use crate::settings::Limits;

/// How long a gRPC stream's first message is waited for before the stream is opened without it.
const FIRST_MESSAGE: Duration = Duration::from_millis(50);
/// How much of a body that streams is waited for, and how long: a payment in that much is refused before anything leaves.
const FIRST_BYTES: usize = 64 << 10;
const FIRST_PIECES: Duration = Duration::from_millis(50);

/// A body, and what a rule must be shown of it.
pub(crate) struct Held {
    /// As it will be forwarded.
    pub(crate) body: Body,
    /// What has to be judged before a byte leaves, decoded; `None` where nothing has to be read.
    pub(crate) to_judge: Option<Bytes>,
    /// What judges the rest of the body, where not all of it is there.
    pub(crate) rest: Option<Box<Rest>>,
    /// What came behind a body that is there.
    pub(crate) trailers: Option<HeaderMap>,
    /// The bytes' place in the budget, until the exchange is over.
    pub(crate) reservation: Reservation,
}

impl Held {
    /// The request has no body.
    pub(crate) fn nothing(held: &HeldBytes) -> Self {
        Held {
            body: Body::Whole(Bytes::new()),
            to_judge: None,
            rest: None,
            trailers: None,
            reservation: held.reserve(),
        }
    }
}

/// Judges the part of a body that is not there yet, as it comes.
pub(crate) struct Rest {
    pub(super) scan: Scan,
    pub(super) trailers: TrailerJudge,
}

/// What is known of a body when the rules about it are asked.
pub(crate) enum Content {
    /// All of it, decoded.
    Known(Bytes),
    /// Not all of it, or not decoded: no rule had to read it.
    Unknown,
}

impl Content {
    pub(crate) fn of(body: &Body, to_judge: Option<Bytes>) -> Self {
        match (to_judge, body) {
            (Some(bytes), _) => Content::Known(bytes),
            (None, Body::Whole(bytes)) if bytes.is_empty() => Content::Known(Bytes::new()),
            (None, _) => Content::Unknown,
        }
    }

    /// The bytes, within what this endpoint reads.
    pub(crate) fn known(&self, reading: BodyReading) -> Result<&[u8], Denial> {
        match self {
            Content::Known(bytes) if bytes.len() > reading.limit => Err(over(reading.limit)),
            Content::Known(bytes) => Ok(bytes),
            Content::Unknown => Err(Denial::new(
                Reason::PolicyStale,
                "the policy changed, and now has to read a body that nothing had to read when the request came",
            )),
        }
    }
}

/// What of a body has to be read before anything of it leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// All of it, if it is JSON; decoded, it may have so many bytes.
    IfJson(usize),
    /// All of it.
    All(usize),
}

impl Need {
    pub(crate) fn of(reading: Option<BodyReading>, limits: &Limits) -> Self {
        match reading {
            None => Need::IfJson(limits.body_held),
            Some(reading) => Need::All(reading.limit.min(limits.body_held)),
        }
    }

    fn most(self) -> usize {
        match self {
            Need::IfJson(most) | Need::All(most) => most,
        }
    }
}

/// Reads as much of a body as has to be judged.
pub(crate) async fn read(
    down: &mut ClientSession,
    head: &Arc<Head>,
    need: Need,
    trailers: TrailerJudge,
    limits: &Limits,
    budget: &HeldBytes,
) -> Result<Held, Failure> {
    refuse_upgrade_with_body(down.req_header())?;
    let coding = Coding::of(&down.req_header().headers)?;
    let scan = Scan::of(head, &down.req_header().headers)?;
    let rest = Box::new(Rest { scan, trailers });
    if expects_continue(down.req_header()) {
        down.write_continue().await?;
    }
    let first = if is_grpc(down.req_header()) && matches!(need, Need::IfJson(_)) {
        // A bidirectional stream may have to start before its first message is there. Most send it at once, and then it is looked at
        // like any other body; a later one is looked at when it comes.
        match pingora::time::timeout(FIRST_MESSAGE, down.read_request_body()).await {
            Ok(Ok(Some(chunk))) => Already::Chunk(chunk),
            Ok(Ok(None)) => Already::End,
            Ok(Err(e)) => return Err(e.into()),
            Err(_) => {
                return Ok(Held {
                    body: Body::Unseen,
                    to_judge: None,
                    rest: Some(rest),
                    trailers: None,
                    reservation: budget.reserve(),
                });
            }
        }
    } else {
        Already::Nothing
    };
    let reading = read_to_judge(down, first, coding, need, rest, budget);
    match tokio::time::timeout(limits.body_read, reading).await {
        Ok(read) => read,
        Err(_) => Err(Denial::new(Reason::MalformedRequest, "a body that has to be judged did not arrive in time").into()),
    }
}

/// What a rule must be shown of a body that is there as a whole: the same as [`read`] finds of one that comes over a connection.
pub(super) fn whole(request: &RequestHeader, head: &Arc<Head>, body: &Bytes, need: Need) -> Result<Option<Bytes>, Failure> {
    if body.is_empty() {
        return Ok(None);
    }
    let most = need.most();
    refuse_upgrade_with_body(request)?;
    let coding = Coding::of(&request.headers)?;
    let look = match need {
        Need::All(_) => Look::Json,
        Need::IfJson(_) => coding.look(&mut Sniffer::default(), body, true)?,
    };
    match look {
        Look::OtherThanJson => Scan::of(head, &request.headers)?.take(body).map(|()| None),
        Look::Json | Look::Undecided if body.len() > most => Err(too_large(most)),
        Look::Json | Look::Undecided => coding.decode(body, most).map(|Decoded(bytes)| Some(bytes)),
    }
}

/// Whether an answer's body begins like JSON, its content coding undone; `done`: there is no more of it.
pub(super) fn look_at_answer(headers: &HeaderMap, so_far: &[u8], done: bool) -> Result<Look, Failure> {
    Coding::of(headers)?.look(&mut Sniffer::default(), so_far, done)
}

/// An answer's body with its content coding undone, where it begins like JSON in any encoding; `None` for any other. An error where that
/// cannot be told, or it is larger than `most`.
pub(super) fn json_answer(headers: &HeaderMap, body: &Bytes, most: usize) -> Result<Option<Bytes>, Failure> {
    let coding = Coding::of(headers)?;
    match coding.look(&mut Sniffer::default(), body, true)? {
        Look::OtherThanJson => Ok(None),
        Look::Json | Look::Undecided => coding.decode(body, most).map(|Decoded(bytes)| Some(bytes)),
    }
}

/// CVE-2026-2833: an Upgrade with a body lets bytes past the rules before the origin agrees to it.
fn refuse_upgrade_with_body(request: &RequestHeader) -> Result<(), Denial> {
    if is_websocket(request) {
        Err(Denial::new(Reason::MalformedRequest, "an Upgrade with a request body"))
    } else {
        Ok(())
    }
}

/// What has been read of a body before it is judged.
enum Already {
    Nothing,
    Chunk(Bytes),
    End,
}

async fn read_to_judge(
    down: &mut ClientSession,
    mut already: Already,
    coding: Coding,
    need: Need,
    mut rest: Box<Rest>,
    held: &HeldBytes,
) -> Result<Held, Failure> {
    let began = tokio::time::Instant::now();
    let mut scanned = 0;
    let mut first = Bytes::new();
    let mut more = BytesMut::new();
    let mut reservation = held.reserve();
    let mut sniffer = Sniffer::default();
    let most = need.most();
    let mut look = match need {
        Need::All(_) => Look::Json,
        Need::IfJson(_) => Look::Undecided,
    };
    loop {
        let chunk = match std::mem::replace(&mut already, Already::Nothing) {
            Already::Chunk(chunk) => Some(chunk),
            Already::End => None,
            Already::Nothing if look == Look::OtherThanJson => {
                match tokio::time::timeout_at(began + FIRST_PIECES, down.read_request_body()).await {
                    Ok(chunk) => chunk?,
                    Err(_) => {
                        return Ok(Held {
                            body: Body::Streamed(all(first, more)),
                            to_judge: None,
                            rest: Some(rest),
                            trailers: None,
                            reservation,
                        });
                    }
                }
            }
            Already::Nothing => down.read_request_body().await?,
        };
        let done = chunk.is_none() || down.is_body_done();
        if let Some(chunk) = chunk {
            reservation.grow(chunk.len())?;
            if first.is_empty() && more.is_empty() {
                first = chunk; // usually the only one: no copy
            } else {
                more.extend_from_slice(&std::mem::take(&mut first));
                more.extend_from_slice(&chunk);
            }
        }
        let so_far: &[u8] = if more.is_empty() { &first } else { &more };
        if look == Look::Undecided {
            look = coding.look(&mut sniffer, so_far, done)?;
        }
        let bytes = so_far.len();
        if look == Look::OtherThanJson {
            let unscanned = so_far.get(scanned..).unwrap_or_default();
            rest.scan.take(unscanned)?;
            scanned = bytes;
            if !done && bytes >= FIRST_BYTES {
                return Ok(Held {
                    body: Body::Streamed(all(first, more)),
                    to_judge: None,
                    rest: Some(rest),
                    trailers: None,
                    reservation,
                });
            }
        }
        if done {
            let whole = all(first, more);
            let to_judge = match look {
                Look::OtherThanJson => None,
                // By what was sent, however it came: in one piece it must not be told from in several.
                Look::Json | Look::Undecided if bytes > most => return Err(too_large(most)),
                Look::Json | Look::Undecided => Some(coding.decode(&whole, most).map(|Decoded(bytes)| bytes)?),
            };
            return Ok(Held {
                body: Body::Whole(whole),
                to_judge,
                rest: None,
                trailers: rest.trailers.read(down)?,
                reservation,
            });
        }
        if look != Look::OtherThanJson && bytes > most {
            return Err(too_large(most));
        }
    }
}

fn all(first: Bytes, more: BytesMut) -> Bytes {
    if more.is_empty() { first } else { more.freeze() }
}

fn too_large(limit: usize) -> Failure {
    over(limit).into()
}

fn over(limit: usize) -> Denial {
    Denial::new(
        Reason::BodyTooLarge,
        format!("a body over {limit} bytes cannot be held and judged here"),
    )
}

/// RFC 9110 section 10.1.1.
fn expects_continue(request: &RequestHeader) -> bool {
    let expected = request.headers.get(header::EXPECT);
    request.version != Version::HTTP_10 && expected.is_some_and(|v| v.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(content: &Content, limit: usize) -> Result<&[u8], Reason> {
        let reading = BodyReading {
            protocol: tollgate_policy::BodyProtocol::Mcp,
            limit,
            tool_names: tollgate_policy::ToolNames::Strict,
        };
        content.known(reading).map_err(|denial| denial.reason)
    }

    #[test]
    fn rules_that_come_later_judge_only_a_body_that_was_held_and_fits() {
        let held = Content::of(&Body::Whole("{}".into()), Some("{}".into()));
        assert_eq!(known(&held, 2), Ok(&b"{}"[..]));
        assert_eq!(known(&held, 1), Err(Reason::BodyTooLarge));
        assert_eq!(known(&Content::of(&Body::Whole(Bytes::new()), None), 1), Ok(&b""[..]));
        for unread in [Body::Whole("a=1".into()), Body::Streamed("a=1".into()), Body::Unseen] {
            assert_eq!(known(&Content::of(&unread, None), 9), Err(Reason::PolicyStale));
        }
    }
}
