//! The payment rule's place in the flow: find and check a payment, reserve its authorisation, and turn a ruling into GO or a denial.

mod answer;

use std::ops::Range;
use std::sync::Arc;

use http::{HeaderMap, StatusCode};
use pingora::http::ResponseHeader;
use tollgate_policy::{Authority, Group, Reason};

use super::engine::Engine;
use super::exchange::now;
use super::failure::Failure;
use super::head::Head;
use super::record::Record;
use super::signing::{self, Signed, Signing, Vessel};
use super::upload::Body;
use crate::audit::{PaymentOutcome, PaymentRecord, PaymentScheme, VerdictBackend, VerdictOutcome, VerdictRecord, X402Version};
use crate::egress::Security;
use crate::gate::payment::action::PaidBody;
use crate::gate::payment::challenges::{Answer, ChallengeRule};
use crate::gate::payment::judge::{judge_answer, judge_carried};
use crate::gate::payment::rate::Slot;
use crate::gate::payment::replay::{Attempt, Reservation};
use crate::gate::payment::terms::Terms;
use crate::gate::{Denial, Gate, PaymentFacts, PaymentTerms, Ruleset};
use crate::signer::Signer;
use crate::verdict::desk::Ruling;
use crate::verdict::report::Receipt;
use crate::verdict::{BackendName, Verdict};
use crate::x402::carriers::again::CallHash;
use crate::x402::carriers::{Carried, Carrier};
use crate::x402::claim::{AtomicAmount, Claim, Version};
use crate::x402::detect::{self, Found};
use crate::x402::refusal::{PaymentRefusal, PaymentSummary, SchemeName};
use crate::x402::resource::{PaymentRequest, UrlScheme};
use crate::x402::settlement::{Settlement, SettlementOutcome};
pub(super) use answer::AwaitedAnswer;

/// A payment that has passed our own checks, and whose authorisation is reserved for this one request.
pub(crate) struct Paying {
    pub(crate) claim: Claim,
    /// `None` once it has been said what became of it.
    reservation: Option<Reservation>,
    /// The challenge that it answers, where one is required; goes back with this.
    answer: Option<Answer>,
    /// The call that it stands in, if it does.
    call: Option<Box<PaidCall>>,
}

/// A call in whose body its payment stands.
struct PaidCall {
    /// Where the payment stands.
    at: Range<usize>,
    /// Names the call without it.
    hash: CallHash,
    /// The call's id, as JSON.
    id: Box<str>,
}

impl Paying {
    /// Whether the verdict has to be asked for: not for the identical retry of one that had its GO.
    pub(crate) fn needs_verdict(&self) -> bool {
        self.attempt() == Some(Attempt::First)
    }

    fn attempt(&self) -> Option<Attempt> {
        self.reservation.as_ref().map(Reservation::attempt)
    }

    /// The body is known, as far as it will be: what is bought, and whether it is not being bought already.
    pub(crate) fn buys(&self, body: PaidBody<'_>) -> Result<(), Denial> {
        let body = self.call.as_ref().map_or(body, |call| PaidBody::Call(call.hash));
        let bought = self.reservation.as_ref().map_or(Ok(()), |reservation| reservation.buys(body));
        bought.map_err(|refusal| denial_of(&refusal))
    }
}

/// What of a body is known before any of it leaves.
pub(super) fn known(body: &Body) -> PaidBody<'_> {
    match body {
        Body::Whole(bytes) => PaidBody::Whole(bytes),
        Body::Streamed(_) | Body::Unseen => PaidBody::Unread,
    }
}

impl Drop for Paying {
    /// No GO came: nothing was released, and a later attempt starts anew.
    fn drop(&mut self) {
        if let Some(reservation) = self.reservation.take() {
            reservation.refused();
        }
    }
}

/// A payment with its GO.
pub(crate) struct Paid {
    reservation: Option<Reservation>,
    answer: Option<Answer>,
    /// Its place in the count of payments, where it is a fresh one; goes back with this.
    slot: Option<Slot>,
    progress: Progress,
    price: Price,
    /// The id of the call that it stands in, if it does.
    call: Option<Box<str>>,
    /// What is still to be signed, where the sandbox has not.
    signing: Option<Box<Signing>>,
}

/// What has to be known of a payment when its seller says what became of it.
#[derive(Debug, Clone, Copy)]
struct Price {
    version: Version,
    amount: AtomicAmount,
    decimals: u8,
}

/// How far a payment with its GO has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// Nothing of it has left.
    Here,
    /// It may have reached the origin.
    Sent,
}

impl Paid {
    /// Spends the authorisation, for good, and has it signed where that is to be done here: only after this may the first byte leave.
    pub(crate) async fn leave(&mut self) -> Result<Option<Signed>, Denial> {
        if let Some(reservation) = &mut self.reservation {
            reservation.spend().await.map_err(|refusal| denial_of(&refusal))?;
        }
        // Without a signature nothing has left, and the same payment may come again.
        let signed = match &self.signing {
            Some(signing) => Some(signing.sign().await?),
            None => None,
        };
        self.progress = Progress::Sent;
        if let Some(answer) = self.answer.take() {
            answer.given();
        }
        if let Some(slot) = self.slot.take() {
            slot.used();
        }
        Ok(signed)
    }

    /// The head of the origin's answer is here. What became of the payment goes into its line, and to the service that judged it; now, or
    /// where a call was paid whose answer is in the body, when that is there.
    pub(crate) fn answered(mut self, head: &ResponseHeader, engine: &Engine, record: &mut Record<'_>) -> Option<Box<AwaitedAnswer>> {
        let settlement = Settlement::find(self.price.version, &head.headers);
        if settlement.is_none()
            && let Some(call) = self.call.take()
            && let Some(form) = answer::Form::of(head)
        {
            return Some(Box::new(AwaitedAnswer::new(self, call, form, engine)));
        }
        let delivered = head.status.is_success() || head.status == StatusCode::SWITCHING_PROTOCOLS;
        let without_word = if delivered {
            PaymentOutcome::Delivered
        } else {
            PaymentOutcome::Abandoned
        };
        let receipt = self.known();
        self.price.settled(settlement.as_ref(), without_word, receipt, record);
        None
    }

    /// It was answered: nothing about it is uncertain any more. Gives back the right to report.
    fn known(&mut self) -> Option<Receipt> {
        self.reservation.take().and_then(Reservation::answered)
    }
}

impl Price {
    /// Tells what became of the payment, by the seller's word if it gives one.
    fn settled(self, word: Option<&Settlement>, without_word: PaymentOutcome, receipt: Option<Receipt>, record: &mut Record<'_>) {
        let outcome = match word.map(|word| word.outcome) {
            Some(SettlementOutcome::Settled) => PaymentOutcome::Settled,
            Some(SettlementOutcome::Failed) => PaymentOutcome::Abandoned,
            None => without_word,
        };
        let transaction = word.and_then(|word| word.transaction);
        record.paid(outcome, transaction.map(|transaction| transaction.to_string()));
        if let Some(receipt) = receipt {
            let taken = word.and_then(|word| word.amount).unwrap_or(self.amount);
            let settled = outcome == PaymentOutcome::Settled;
            receipt.report(
                outcome,
                settled.then(|| taken.to_decimal(self.decimals)),
                transaction.filter(|_| settled),
            );
        }
    }
}

impl Paid {
    /// It left in a message. No answer goes with it, so nobody is told that it was settled, and nobody that it was not.
    pub(crate) async fn leave_in_message(mut self) -> Result<(), Denial> {
        self.leave().await?;
        if let Some(receipt) = self.known() {
            receipt.report(PaymentOutcome::Delivered, None, None);
        }
        Ok(())
    }
}

impl Drop for Paid {
    fn drop(&mut self) {
        match (self.reservation.take(), self.progress) {
            (Some(reservation), Progress::Here) => reservation.never_reached_origin(),
            // Dropped, it counts as spent.
            (reservation, _) => drop(reservation),
        }
    }
}

/// Finds the payment in a request's head, checks all that can be checked without asking anybody, and reserves its authorisation.
pub(crate) fn find(
    engine: &Engine,
    rules: &Ruleset,
    head: &Head,
    headers: &HeaderMap,
    record: &mut Record<'_>,
) -> Result<Option<Paying>, Failure> {
    let Some(found) = detect(head, headers) else { return Ok(None) };
    record.payment_seen(version_label(&found), PaymentScheme::Other);
    let now = now();
    let Some(claim) = check(&engine.gate, rules, head, found, now)? else {
        // A wallet sign-in that may leave.
        record.no_payment();
        return Ok(None);
    };
    reserve(engine, rules, &payment_request(head), claim, now, record).map(Some)
}

/// The same for the payment that a call in the body carries.
pub(crate) fn find_carried(
    engine: &Engine,
    rules: &Ruleset,
    head: &Head,
    carried: &Carried,
    vessel: Vessel<'_>,
    record: &mut Record<'_>,
) -> Result<Paying, Failure> {
    record.payment_seen(X402Version::Unknown, PaymentScheme::Other);
    let now = now();
    let claim = check_carried(&engine.gate, rules, head, carried, now)?;
    signing::check_vessel(&claim, carried, vessel)?;
    let request = payment_request(head).carrying(carried.call.carrier());
    let mut paying = reserve(engine, rules, &request, claim, now, record)?;
    paying.call = Some(Box::new(PaidCall {
        at: carried.at.clone(),
        hash: carried.hash,
        id: carried.id.clone(),
    }));
    Ok(paying)
}

fn reserve(
    engine: &Engine,
    rules: &Ruleset,
    request: &PaymentRequest<'_>,
    claim: Claim,
    now: u64,
    record: &mut Record<'_>,
) -> Result<Paying, Failure> {
    record.claimed(payment_record(&claim), &claim);
    let reservation = engine.gate.replay().reserve(&claim, now).map_err(|refusal| denial_of(&refusal))?;
    let mut paying = Paying {
        claim,
        reservation: Some(reservation),
        answer: None,
        call: None,
    };
    // Refused here, the authorisation is given back: what nobody asked for must not use it up.
    if paying.attempt() != Some(Attempt::Resend) {
        paying.answer = answer(&engine.gate, rules, request, &paying.claim, now)?;
    }
    if paying.needs_verdict() {
        let room = engine.gate.rate().check(&paying.claim, tokio::time::Instant::now());
        room.map_err(|refusal| denial_of(&refusal))?;
    }
    Ok(paying)
}

/// What a held body carries: at most one payment, and none where the head has one already.
pub(super) fn look(gate: &Gate, head: &Head, headers: &HeaderMap, body: &[u8], in_head: Option<&Claim>) -> Result<Option<Carried>, Denial> {
    let looked = gate
        .judge_body(head.path.as_str(), body)
        .and_then(|carried| carried.map_or(Ok(None), |carried| as_declared(carried, head, headers).map(Some)));
    let second = match &looked {
        Ok(carried) => carried.is_some(),
        Err(denial) => denial.reason.group() == Group::Payment,
    };
    if let Ok(None) = looked {
        must_be_one_document(headers, body)?;
    }
    if second && in_head.is_some() {
        return Err(second_payment());
    }
    looked
}

/// One GO must not release a second payment.
fn second_payment() -> Denial {
    let detail = "the request has a payment header, and another payment in its body";
    Denial::new(Reason::PaymentConflicting, detail)
}

/// Why a body was not taken in, where the head may have a payment already.
pub(super) fn beside(failure: Failure, in_head: Option<&Claim>) -> Failure {
    match failure {
        Failure::Denied(denial) if in_head.is_some() && denial.reason.group() == Group::Payment => second_payment().into(),
        failure => failure,
    }
}

/// Fields by which a request says that it is a call of MCP or A2A.
const CALLS: [&str; 5] = [
    "mcp-session-id",
    "mcp-protocol-version",
    "x-a2a-extensions",
    "a2a-extensions",
    "a2a-version",
];

/// Where calls may pay, a body is one JSON document to everybody: lenient readers find in others what nobody has judged.
fn must_be_one_document(headers: &HeaderMap, body: &[u8]) -> Result<(), Denial> {
    let declared = CALLS.iter().any(|name| headers.contains_key(*name));
    if !declared || serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok() {
        return Ok(());
    }
    let detail = "the request says that it is a call of MCP or A2A, which may pay, and its body is not one JSON document";
    Err(Denial::new(Reason::UninspectableTraffic, detail))
}

/// A payment in a body that is what its protocol's requests are.
fn as_declared(carried: Carried, head: &Head, headers: &HeaderMap) -> Result<Carried, Denial> {
    let checked = carried.check_request(&head.method, headers);
    checked.map(|()| carried).map_err(|refusal| denial_of(&refusal))
}

/// Anything in a head that could be read as a payment.
pub(super) fn detect<'h>(head: &Head, headers: &'h HeaderMap) -> Option<Found<'h>> {
    let in_target = [Some(head.path.as_str()), head.query.as_deref()]
        .into_iter()
        .flatten()
        .find_map(detect::find_in_target);
    match (detect::find(headers), in_target) {
        (Found::Nothing, None) => None,
        (Found::Nothing, Some(refusal)) => Some(Found::Refused(refusal)),
        // One GO must not release a second payment that rides in the target.
        (Found::Payment { .. } | Found::SignIn { .. }, Some(_)) => Some(Found::Refused(PaymentRefusal::new(
            Reason::PaymentConflicting,
            "the request has a payment header, and another payment in its target",
        ))),
        (found, _) => Some(found),
    }
}

/// Our own checks of what was found: by the terms that hold for the host, at `now` in Unix seconds.
pub(super) fn check(gate: &Gate, rules: &Ruleset, head: &Head, found: Found<'_>, now: u64) -> Result<Option<Claim>, Denial> {
    let terms = terms(gate, rules, head)?;
    judge_answer(found, &payment_request(head), terms, gate.challenges(), now).map_err(|refusal| denial_of(&refusal))
}

/// Our own checks of what a call carries.
pub(super) fn check_carried(gate: &Gate, rules: &Ruleset, head: &Head, carried: &Carried, now: u64) -> Result<Claim, Denial> {
    let request = payment_request(head).carrying(carried.call.carrier());
    judge_carried(carried, &request, terms(gate, rules, head)?, gate.challenges(), now).map_err(|refusal| denial_of(&refusal))
}

/// The terms that hold for the host.
pub(super) fn terms<'t>(gate: &'t Gate, rules: &'t Ruleset, head: &Head) -> Result<&'t Terms, Denial> {
    terms_at(gate, rules, head.destination.authority())
}

fn terms_at<'t>(gate: &'t Gate, rules: &'t Ruleset, authority: &Authority) -> Result<&'t Terms, Denial> {
    match rules.terms(&authority.host) {
        PaymentTerms::Operator => Ok(&gate.standing().terms),
        PaymentTerms::Stanza(terms) => Ok(terms),
        PaymentTerms::None => {
            let detail = "the policy's payment stanza does not cover this host, so no payment goes there";
            Err(Denial::new(Reason::PaymentPayeeNotAllowed, detail))
        }
    }
}

/// The request as the payment rule sees it.
pub(super) fn payment_request(head: &Head) -> PaymentRequest<'_> {
    PaymentRequest {
        method: head.method.as_str(),
        scheme: match head.destination.security() {
            Security::Plain => UrlScheme::Http,
            Security::Tls => UrlScheme::Https,
        },
        authority: head.destination.authority(),
        path: head.path.as_str(),
        query: head.query.as_deref(),
        carrier: Carrier::Head,
    }
}

/// The challenge that a payment answers; `None` where it may come unasked.
fn answer(gate: &Gate, rules: &Ruleset, request: &PaymentRequest<'_>, claim: &Claim, now: u64) -> Result<Option<Answer>, Denial> {
    let terms = terms_at(gate, rules, request.authority)?;
    if terms.challenge() == ChallengeRule::Optional {
        return Ok(None);
    }
    match gate.challenges().answer(claim, request, terms, now) {
        Ok(answer) => Ok(Some(answer)),
        Err(refusal) => Err(Denial {
            payment: Some(Box::new(facts_of(claim))),
            ..Denial::new(refusal.reason, refusal.detail)
        }),
    }
}

/// The identical retry of a payment that had its GO. One that never left has not been counted.
pub(crate) fn again(paying: Paying, engine: &Engine) -> Result<Paid, Denial> {
    let slot = match paying.attempt() {
        Some(Attempt::Resend) => None,
        _ => Some(count(&paying.claim, engine)?),
    };
    Ok(release(paying, slot, engine.signer.as_ref()))
}

fn count(claim: &Claim, engine: &Engine) -> Result<Slot, Denial> {
    let slot = engine.gate.rate().count(claim, tokio::time::Instant::now());
    slot.map_err(|refusal| denial_of(&refusal))
}

/// Takes the ruling: exactly GO, or a denial.
pub(crate) fn settle(paying: Paying, ruling: &Ruling, engine: &Engine, record: &mut Record<'_>) -> Result<Paid, Failure> {
    note_ruling(ruling, engine, record);
    // A GO that comes to nothing is reported as that.
    let go = ruling.outcome.as_ref().ok().filter(|answer| answer.verdict == Verdict::Go);
    let receipt = go.and_then(|answer| engine.gate.standing().reports.receipt(answer));
    // Others may have left while this one was judged.
    let slot = match refusal(&paying.claim, ruling) {
        None => Some(count(&paying.claim, engine)?),
        Some(_) => None,
    };
    let mut paid = decide(paying, ruling, slot, engine.signer.as_ref())?;
    if let Some(reservation) = &mut paid.reservation {
        reservation.hold(receipt);
    }
    Ok(paid)
}

/// The one way from a ruling to a payment that may be signed and leave.
fn decide(paying: Paying, ruling: &Ruling, slot: Option<Slot>, signer: Option<&Arc<Signer>>) -> Result<Paid, Denial> {
    if paying.claim.valid_before <= now() {
        return Err(Denial::new(
            Reason::PaymentExpired,
            "the signature expired while the verdict was waited for",
        ));
    }
    match refusal(&paying.claim, ruling) {
        None => Ok(release(paying, slot, signer)),
        Some(denial) => Err(denial),
    }
}

/// Writes a ruling down: for the audit line, and for the counters.
pub(super) fn note_ruling(ruling: &Ruling, engine: &Engine, record: &mut Record<'_>) {
    let backend = backend_label(ruling.backend);
    let (outcome, receipt) = match &ruling.outcome {
        Ok(answer) => (outcome_of(answer.verdict), answer.receipt_id.as_ref().map(ToString::to_string)),
        Err(_) => (VerdictOutcome::None, None),
    };
    engine.metrics.count_verdict(backend, outcome);
    if ruling.outcome.as_ref().err().is_none_or(|failure| failure.was_asked()) {
        engine.metrics.observe_verdict_time(backend, ruling.latency);
    }
    record.verdict = Some(VerdictRecord {
        backend,
        verdict: outcome,
        receipt_id: receipt,
        latency: ruling.latency,
    });
}

/// The label of a backend.
pub(crate) fn backend_label(backend: BackendName) -> VerdictBackend {
    match backend {
        BackendName::Blackwall => VerdictBackend::Blackwall,
        BackendName::Local => VerdictBackend::Local,
        BackendName::ActionSafety => VerdictBackend::ActionSafety,
    }
}

/// Why a ruling is not exactly GO.
pub(super) fn ruled_out(ruling: &Ruling) -> Option<(Reason, String)> {
    let reason = ruling.refusal()?;
    let detail = match &ruling.outcome {
        Ok(answer) => format!("the verdict service said {}", outcome_of(answer.verdict).to_string().to_uppercase()),
        Err(failure) => failure.to_string(),
    };
    Some((reason, detail))
}

/// What a ruling is to the client: nothing if it is exactly GO.
pub(super) fn refusal(claim: &Claim, ruling: &Ruling) -> Option<Denial> {
    let (reason, detail) = ruled_out(ruling)?;
    Some(Denial {
        payment: Some(Box::new(facts_of(claim))),
        ..Denial::new(reason, detail)
    })
}

/// A payment that has its GO: by a ruling, or by the one that its identical and unsent first attempt had.
fn release(mut paying: Paying, slot: Option<Slot>, signer: Option<&Arc<Signer>>) -> Paid {
    let (at, call) = paying.call.take().map(|call| (call.at, call.id)).unzip();
    Paid {
        signing: Signing::of(&paying.claim, at, signer, paying.attempt()).map(Box::new),
        call,
        reservation: paying.reservation.take(),
        answer: paying.answer.take(),
        slot,
        progress: Progress::Here,
        price: Price {
            version: paying.claim.version,
            amount: paying.claim.amount,
            decimals: paying.claim.asset.decimals,
        },
    }
}

fn outcome_of(verdict: Verdict) -> VerdictOutcome {
    match verdict {
        Verdict::Go => VerdictOutcome::Go,
        Verdict::Hold => VerdictOutcome::Hold,
        Verdict::Stop => VerdictOutcome::Stop,
    }
}

fn version_label(found: &Found<'_>) -> X402Version {
    match found {
        Found::Payment { version: Version::V1, .. } => X402Version::V1,
        Found::Payment { version: Version::V2, .. } => X402Version::V2,
        Found::Nothing | Found::SignIn { .. } | Found::Refused(_) => X402Version::Unknown,
    }
}

fn version_number(version: Version) -> u8 {
    match version {
        Version::V1 => 1,
        Version::V2 => 2,
    }
}

fn payment_record(claim: &Claim) -> PaymentRecord {
    PaymentRecord {
        version: version_number(claim.version).to_string(),
        scheme: SchemeName::from(claim.scheme).as_str().to_owned(),
        network: claim.asset.network.to_string(),
        asset: claim.asset.address.to_string(),
        amount: claim.amount.0.to_string(),
        payee: claim.payee.to_string(),
        payer: claim.payer.to_string(),
        payment_hash: hex::encode(claim.payment_hash.0),
        nonce_hash: hex::encode(claim.nonce_hash.0),
        identifier_hash: claim.identifier_hash.map(|hash| hex::encode(hash.0)),
        outcome: None,
        transaction: None,
    }
}

pub(super) fn facts_of(claim: &Claim) -> PaymentFacts {
    PaymentFacts {
        version: Some(version_number(claim.version)),
        scheme: Some(SchemeName::from(claim.scheme).as_str()),
        network: Some(claim.asset.network.to_string()),
        asset: Some(claim.asset.address.to_string()),
        amount: Some(claim.amount.to_decimal(claim.asset.decimals)),
        payee: Some(claim.payee.to_string()),
        payer: Some(claim.payer.to_string()),
        payment_hash: Some(hex::encode(claim.payment_hash.0)),
        nonce_hash: Some(hex::encode(claim.nonce_hash.0)),
    }
}

pub(super) fn denial_of(refusal: &PaymentRefusal) -> Denial {
    let PaymentSummary {
        version,
        scheme,
        network,
        asset,
        payee,
        payer,
        ..
    } = *refusal.summary;
    let facts = PaymentFacts {
        version: version.map(version_number),
        scheme: scheme.map(SchemeName::as_str),
        network: network.map(|network| network.to_string()),
        asset: asset.map(|asset| asset.to_string()),
        payee: payee.map(|payee| payee.to_string()),
        payer: payer.map(|payer| payer.to_string()),
        ..PaymentFacts::default()
    };
    Denial {
        payment: Some(Box::new(facts)),
        ..Denial::new(refusal.reason, refusal.detail.clone())
    }
}

#[cfg(test)]
mod tests;
