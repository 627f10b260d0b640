//! An answer that asks for a payment, on its way to the client: judged before anything is signed, and remembered.
//!
//! In: an answer with status 402 or 412, or one to JSON-RPC calls, whose head is here. Out: the answer as the client may see it (options
//! that would be refused are taken out, and offers to be paid by a rail; what has been read of its body is in [`Sent::read`]), or a denial if
//! nothing is left that may be paid; for a stream of events, what screens it. Every x402 client signs what a readable challenge asks for, at
//! once and unattended; one that never sees it has signed nothing that could leak.

mod events;
mod rpc;
pub(super) mod splitter;

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::future::join_all;
use http::header::{self, HeaderValue};
use http::{Method, StatusCode};
use tollgate_policy::Reason;

use super::body;
use super::engine::Engine;
use super::exchange::now;
use super::failure::Failure;
use super::head::Head;
use super::payment::{self, payment_request};
use super::record::Record;
use super::send::{Sent, in_time, or_gone};
use super::session::ClientSession;
use crate::gate::payment::challenges::{ChallengeRule, ScreeningRule};
use crate::gate::payment::judge::judge_offer;
use crate::gate::payment::terms::Terms;
use crate::gate::rail::Rails;
use crate::gate::{Denial, PaymentFacts, Ruleset};
use crate::verdict::Question;
use crate::x402::address::Address;
use crate::x402::base64;
use crate::x402::challenge::{Asked, Challenge, ChallengeError, MAX_CHALLENGE_BYTES, Vouched};
use crate::x402::claim::{AtomicAmount, RequestHash, Scheme};
use crate::x402::network::Caip2;
use crate::x402::resource::PaymentRequest;
pub(super) use events::{EventScreen, Refused};
pub(super) use rpc::{Expected, is_events};

/// v2's challenge.
const PAYMENT_REQUIRED: &str = "payment-required";

/// How long the body of a 402 may keep its client waiting.
const PATIENCE: Duration = Duration::from_secs(10);

/// Options that the verdict service is asked about for one challenge; the others are taken out.
const MOST_QUESTIONS: usize = 4;

/// Whether an answer may carry a challenge; 412 is v2's `permit2_allowance_required`.
fn asks_to_pay(status: StatusCode) -> bool {
    matches!(status, StatusCode::PAYMENT_REQUIRED | StatusCode::PRECONDITION_FAILED)
}

/// What an answer asks for, in both places where it can.
#[derive(Default)]
struct Found {
    header: Option<Challenge>,
    body: Option<Challenge>,
}

impl Found {
    fn all(&self) -> impl Iterator<Item = &Challenge> {
        self.header.iter().chain(&self.body)
    }
}

/// What makes two options the same purchase.
type Purchase = (Scheme, Caip2, Address, AtomicAmount, Address);

fn purchase(asked: &Asked) -> Purchase {
    (asked.scheme, asked.network, asked.asset, asked.amount, asked.pay_to)
}

/// By what the challenges of one exchange are judged.
#[derive(Clone, Copy)]
pub(super) struct Screening<'a> {
    pub(super) engine: &'a Engine,
    pub(super) rules: &'a Ruleset,
    pub(super) head: &'a Head,
}

impl<'a> Screening<'a> {
    fn terms(&self) -> Result<&'a Terms, Denial> {
        payment::terms(&self.engine.gate, self.rules, self.head)
    }

    /// What is done with challenges.
    fn rule(&self) -> ScreeningRule {
        let terms = self.terms().ok();
        terms.and_then(Terms::screening).unwrap_or(self.engine.gate.standing().screening)
    }

    /// Whether what would be refused has to be kept from the client.
    pub(super) fn keeps_from_client(&self) -> bool {
        self.rule() == ScreeningRule::Screened
    }

    /// Whether a payment has to answer one that was seen.
    fn remembers(&self) -> bool {
        self.terms().is_ok_and(|terms| terms.challenge() == ChallengeRule::Required)
    }

    fn remember(&self, challenges: &[&Challenge], request: RequestHash, payable: Option<&[Purchase]>) {
        let mut versions = Vec::new();
        for challenge in challenges {
            // Two copies are one challenge: it is answered once.
            if versions.contains(&challenge.version) {
                continue;
            }
            versions.push(challenge.version);
            let may_be_paid = |asked: &&Asked| payable.is_none_or(|payable| payable.contains(&purchase(asked)));
            let offers = challenge.asked().filter(may_be_paid).cloned().collect();
            self.engine.gate.challenges().remember(request, challenge.version, offers, now());
        }
    }
}

/// See the module.
pub(super) async fn pass<'a>(
    screening: Screening<'a>,
    expected: &Expected,
    down: &mut ClientSession,
    sent: Sent,
    record: &mut Record<'_>,
) -> Result<(Sent, Option<Box<EventScreen<'a>>>), Failure> {
    let mut sent = sent;
    if asks_to_pay(sent.head.status) {
        sent = Box::pin(by_status(&screening, down, sent, record)).await?;
    }
    let by_events = !matches!(expected, Expected::ByStatus) && rpc::is_events(&sent.head);
    if !by_events && expected.calls().is_none() {
        return Ok((sent, None));
    }
    if screening.rule() == ScreeningRule::PassedOn && !screening.remembers() {
        return Ok((sent, None));
    }
    if by_events {
        let screen = match EventScreen::new(screening, expected.calls().cloned(), &mut sent) {
            Ok(screen) => Some(Box::new(screen)),
            // What need not be judged may pass without having been read.
            Err(_) if screening.rule() == ScreeningRule::PassedOn => None,
            Err(denial) => return Err(denial.into()),
        };
        return Ok((sent, screen));
    }
    if let Some(calls) = expected.calls() {
        sent = Box::pin(rpc::document(&screening, calls, down, sent, record)).await?;
    }
    Ok((sent, None))
}

/// The same for a message that the origin says on a WebSocket, to a client that has sent these, the latest first: what the client may see of
/// it, or `None` for all of it.
pub(super) async fn message(
    screening: &Screening<'_>,
    text: &[u8],
    calls: &[Bytes],
    record: &mut Record<'_>,
) -> Result<Option<String>, Failure> {
    if !screening.keeps_from_client() && !screening.remembers() {
        return Ok(None);
    }
    Box::pin(rpc::screen(screening, text, calls, None, record)).await
}

/// A 402 or 412.
async fn by_status(screening: &Screening<'_>, down: &mut ClientSession, mut sent: Sent, record: &mut Record<'_>) -> Result<Sent, Failure> {
    let Screening { engine, head, .. } = *screening;
    let rule = screening.rule();
    if head.method != Method::HEAD {
        // Whoever asks for money first has no use for the rest of the request.
        if sent.upload.pending() {
            sent.upload.abandon();
        }
        sent.read = record.wait(read(engine, down, &mut sent)).await?;
    }
    let found = match find(&sent) {
        Ok(found) => found,
        Err(denial) if rule == ScreeningRule::Screened => return Err(denial.into()),
        Err(_) => Found::default(),
    };
    let challenges: Vec<&Challenge> = found.all().collect();
    if challenges.is_empty() {
        if rule == ScreeningRule::Screened {
            engine.gate.judge_offers(&sent.head.headers)?;
        }
        return Ok(sent);
    }
    let request = payment_request(head);
    let payable = match rule {
        ScreeningRule::PassedOn => None,
        ScreeningRule::Screened => {
            agree(&found)?;
            let payable = screening.judge(&challenges, &request, Some(down), record).await?;
            rewrite(&mut sent, &found, &payable)?;
            take_out_rails(&mut sent, &engine.gate.standing().rails)?;
            Some(payable)
        }
    };
    screening.remember(&challenges, request.hash(), payable.as_deref());
    Ok(sent)
}

/// The body, or as much of it as a challenge could be.
async fn read(engine: &Engine, down: &mut ClientSession, sent: &mut Sent) -> Result<Bytes, Failure> {
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

fn unreadable(error: ChallengeError) -> Denial {
    let reason = match error {
        ChallengeError::TooLarge => Reason::PaymentTooLarge,
        _ => Reason::PaymentMalformed,
    };
    Denial::new(reason, format!("the origin asks for a payment that cannot be judged: {error}"))
}

/// Reads both places. An error is something that a lenient client might read as a challenge, and we cannot.
fn find(sent: &Sent) -> Result<Found, Denial> {
    let mut stated = sent.head.headers.get_all(PAYMENT_REQUIRED).iter();
    let header = match (stated.next(), stated.next()) {
        (None, _) => None,
        (Some(value), None) => Some(Challenge::from_header(value.as_bytes()).map_err(unreadable)?),
        (Some(_), Some(_)) => {
            let detail = "the origin asks for a payment in two fields, which clients read differently";
            return Err(Denial::new(Reason::PaymentConflicting, detail));
        }
    };
    let body = match body::json_answer(&sent.head.headers, &sent.read, MAX_CHALLENGE_BYTES) {
        Ok(Some(text)) => in_body(&text).map_err(unreadable)?,
        Ok(None) => None,
        Err(Failure::Denied(why)) => {
            let reason = if why.reason == Reason::BodyTooLarge {
                Reason::PaymentTooLarge
            } else {
                Reason::PaymentMalformed
            };
            let detail = format!("the origin may ask for a payment that cannot be judged: {}", why.detail);
            return Err(Denial::new(reason, detail));
        }
        Err(Failure::Broken(_)) => return Err(Denial::new(Reason::PaymentMalformed, "the body of a 402 does not decode")),
    };
    Ok(Found { header, body })
}

/// `Ok(None)` for a page, a problem document, the `{}` of v2: nothing that asks for a payment.
fn in_body(text: &[u8]) -> Result<Option<Challenge>, ChallengeError> {
    match Challenge::from_body(text) {
        Ok(challenge) => Ok(Some(challenge)),
        Err(ChallengeError::Nothing) => Ok(None),
        Err(_) if !begins_like_an_object(text) => Ok(None),
        Err(error) => Err(error),
    }
}

/// In UTF-8, UTF-16 or UTF-32, with or without a byte order mark: some clients guess.
fn begins_like_an_object(text: &[u8]) -> bool {
    let filler = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, 0 | 0xEF | 0xBB | 0xBF | 0xFE | 0xFF);
    text.iter().find(|byte| !filler(byte)) == Some(&b'{')
}

/// One client reads the field, another the body: both have to ask for the same.
fn agree(found: &Found) -> Result<(), Denial> {
    let (Some(header), Some(body)) = (&found.header, &found.body) else {
        return Ok(());
    };
    let in_header: Vec<Purchase> = header.asked().map(purchase).collect();
    let in_body: Vec<Purchase> = body.asked().map(purchase).collect();
    let same = in_header.iter().all(|one| in_body.contains(one)) && in_body.iter().all(|one| in_header.contains(one));
    if same {
        return Ok(());
    }
    Err(Denial::new(
        Reason::PaymentConflicting,
        "the origin asks for one payment in its PAYMENT-REQUIRED field and for another in its body",
    ))
}

impl Screening<'_> {
    /// The purchases that may be paid; a denial if there are none.
    async fn judge(
        &self,
        challenges: &[&Challenge],
        request: &PaymentRequest<'_>,
        down: Option<&mut ClientSession>,
        record: &mut Record<'_>,
    ) -> Result<Vec<Purchase>, Failure> {
        let (engine, terms) = (self.engine, self.terms()?);
        let mut questions: Vec<(Purchase, Question)> = Vec::new();
        let mut refusal = Denial::new(
            Reason::PaymentSchemeNotAllowed,
            "the origin asks for a payment in no way that could be judged",
        );
        if let Some(why) = challenges.iter().find_map(|challenge| challenge.unanswerable(terms.enabled())) {
            let detail = format!("the payment that the origin asks for would be refused: {}", why.detail);
            return Err(Denial::new(why.reason, detail).into());
        }
        for asked in challenges.iter().flat_map(|challenge| challenge.asked()) {
            if questions.iter().any(|(known, _)| *known == purchase(asked)) {
                continue;
            }
            match judge_offer(asked, request, terms) {
                Ok(question) if questions.len() < MOST_QUESTIONS => questions.push((purchase(asked), question)),
                Ok(_) => {}
                Err(why) => refusal = would_be_refused(asked, why.reason, &why.detail),
            }
        }
        let desk = &engine.gate.standing().screening_desk;
        let asking = join_all(questions.iter().map(|(_, question)| desk.judge(question)));
        let rulings = match down.and_then(|down| down.is_body_done().then_some(down)) {
            Some(down) => record.wait(or_gone(down, async { Ok(asking.await) })).await?,
            None => record.wait(asking).await,
        };
        let mut payable = Vec::new();
        for ((purchase, question), ruling) in questions.iter().zip(&rulings) {
            payment::note_ruling(ruling, engine, record);
            match payment::ruled_out(ruling) {
                None => payable.push(*purchase),
                Some((reason, detail)) => {
                    refusal = Denial {
                        payment: Some(Box::new(facts(question))),
                        ..Denial::new(reason, format!("the payment that the origin asks for would be refused: {detail}"))
                    }
                }
            }
        }
        let vouched = challenges.iter().any(|challenge| challenge.vouched == Vouched::Signed);
        let all = challenges
            .iter()
            .flat_map(|challenge| &challenge.options)
            .all(|option| option.as_ref().is_some_and(|asked| payable.contains(&purchase(asked))));
        if payable.is_empty() || (vouched && !all) {
            return Err(refusal.into());
        }
        Ok(payable)
    }
}

fn would_be_refused(asked: &Asked, reason: Reason, why: &str) -> Denial {
    Denial {
        payment: Some(Box::new(PaymentFacts {
            network: Some(asked.network.to_string()),
            asset: Some(asked.asset.to_string()),
            payee: Some(asked.pay_to.to_string()),
            ..PaymentFacts::default()
        })),
        ..Denial::new(reason, format!("the payment that the origin asks for would be refused: {why}"))
    }
}

fn facts(question: &Question) -> PaymentFacts {
    PaymentFacts {
        network: Some(question.asset.network.to_string()),
        asset: Some(question.asset.address.to_string()),
        amount: Some(question.amount.to_decimal(question.asset.decimals)),
        payee: Some(question.payee.to_string()),
        ..PaymentFacts::default()
    }
}

/// Takes out what would be refused, where there is something to take out.
fn rewrite(sent: &mut Sent, found: &Found, payable: &[Purchase]) -> Result<(), Failure> {
    let keep = |asked: &Asked| payable.contains(&purchase(asked));
    let whole = |challenge: &Challenge| challenge.options.iter().all(|option| option.as_ref().is_some_and(keep));
    let lost = || Denial::new(Reason::InternalError, "a challenge could not be written again");
    if let Some(header) = found.header.as_ref().filter(|header| !whole(header)) {
        let value = base64::encode(header.only(keep).ok_or_else(lost)?.as_bytes());
        let value = HeaderValue::from_str(&value).map_err(|_| lost())?;
        sent.head.insert_header(PAYMENT_REQUIRED, value)?;
    }
    if let Some(body) = found.body.as_ref().filter(|body| !whole(body)) {
        let text = body.only(keep).ok_or_else(lost)?;
        replace_body(sent, text)?;
    }
    Ok(())
}

/// Beside an x402 payment that may be made, another one is not offered.
fn take_out_rails(sent: &mut Sent, rails: &Rails) -> Result<(), Failure> {
    for (name, values) in rails.without_offers(&sent.head.headers) {
        sent.head.remove_header(&name);
        for value in values {
            sent.head.append_header(name.clone(), value)?;
        }
    }
    Ok(())
}

fn replace_body(sent: &mut Sent, text: String) -> Result<(), Failure> {
    for stale in [header::CONTENT_ENCODING, header::TRANSFER_ENCODING, header::ETAG] {
        sent.head.remove_header(&stale);
    }
    sent.head.insert_header(header::CONTENT_LENGTH, text.len())?;
    sent.read = text.into();
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::x402::json::JsonError;

    #[test]
    fn what_a_lenient_client_might_read_as_a_challenge_is_never_taken_for_a_page() {
        let utf16: Vec<u8> = r#"{"x402Version":1}"#.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let cases: [(&[u8], Result<bool, ChallengeError>); 10] = [
            (&utf16, Err(ChallengeError::Json(JsonError::Malformed))),
            (b"", Ok(false)),
            (b"<html>", Ok(false)),
            (b"{}", Ok(false)),
            (br#"{"type":"about:blank","status":402}"#, Ok(false)),
            (br#"["x402Version",1]"#, Ok(false)),
            (br#"{"x402Version":1,"accepts":[]}"#, Ok(true)),
            (
                br#"{"x402Version":1,"accepts":[],"accepts":[]}"#,
                Err(ChallengeError::Json(JsonError::DuplicateKey)),
            ),
            (
                b"\xEF\xBB\xBF {\"x402Version\":1,\"accepts\":[]}",
                Err(ChallengeError::Json(JsonError::Malformed)),
            ),
            (
                br#"{"x402Version":1,"accepts":[],}"#,
                Err(ChallengeError::Json(JsonError::Malformed)),
            ),
        ];
        for (text, expected) in cases {
            let found = in_body(text).map(|challenge| challenge.is_some());
            assert_eq!(found, expected, "{}", String::from_utf8_lossy(text));
        }
    }
}
