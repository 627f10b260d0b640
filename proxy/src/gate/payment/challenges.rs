//! The memory of challenges: a payment has to answer a 402 that passed here, for the same request, once and in time.
//!
//! Without it an agent could be handed a price, a payee or a whole payment by somebody else than the seller (no SDK checks that the
//! challenge belongs to the site it buys from). Bounded: the oldest challenges go first, and a payment whose challenge is gone is refused.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tollgate_policy::Reason;

use super::terms::Terms;
use crate::x402::challenge::Asked;
use crate::x402::claim::{Claim, RequestHash, Scheme, Version};
use crate::x402::refusal::PaymentRefusal;
use crate::x402::resource::PaymentRequest;

/// How many challenges are remembered by default (some 500 bytes each).
pub const DEFAULT_CAPACITY: usize = 4_096;
/// How many of them for one request: so many agents may wait at one door at a time.
const MOST_PER_REQUEST: usize = 64;
/// However long a seller would wait, in seconds.
const LONGEST_WAIT: u64 = 3_600;

/// Whether a payment needs a challenge that was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChallengeRule {
    /// It has to answer one.
    Required,
    /// It may come unasked.
    Optional,
}

/// What is done with a challenge before the client sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScreeningRule {
    /// Its options are judged, and only those that may be paid are passed on.
    Screened,
    /// It is passed on as it is.
    PassedOn,
}

/// The memory. Cloning shares it.
#[derive(Debug, Clone)]
pub struct ChallengeMemory {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug)]
struct Inner {
    capacity: usize,
    waiting: HashMap<RequestHash, Vec<Waiting>>,
    /// By age.
    order: BTreeMap<u64, RequestHash>,
    next: u64,
}

#[derive(Debug, Clone)]
struct Waiting {
    number: u64,
    version: Version,
    seen: u64,
    offers: Arc<[Asked]>,
}

/// A challenge that is being answered. Goes back if the payment is not released.
#[derive(Debug)]
#[must_use = "a dropped answer gives its challenge back"]
pub struct Answer {
    memory: ChallengeMemory,
    request: RequestHash,
    taken: Option<Waiting>,
}

impl Default for ChallengeMemory {
    fn default() -> Self {
        Self::new(DEFAULT_CAPACITY)
    }
}

impl ChallengeMemory {
    /// A memory for so many challenges at a time.
    pub fn new(capacity: usize) -> Self {
        ChallengeMemory {
            inner: Arc::new(Mutex::new(Inner {
                capacity,
                waiting: HashMap::new(),
                order: BTreeMap::new(),
                next: 0,
            })),
        }
    }

    /// Remembers what the answer to a request asked for, at `now` in Unix seconds.
    pub fn remember(&self, request: RequestHash, version: Version, offers: Vec<Asked>, now: u64) {
        if !offers.is_empty() {
            self.lock().remember(request, version, offers, now);
        }
    }

    /// Takes the challenge that the payment answers.
    pub fn answer(&self, claim: &Claim, request: &PaymentRequest<'_>, terms: &Terms, now: u64) -> Result<Answer, PaymentRefusal> {
        let mut inner = self.lock();
        let waiting = inner.waiting.get(&claim.request_hash).map_or(&[][..], Vec::as_slice);
        let mut open = waiting.iter().filter(|one| one.version == claim.version).peekable();
        if open.peek().is_none() {
            return Err(PaymentRefusal::new(
                Reason::PaymentNoChallenge,
                "no 402 for this request has been seen that the payment could answer",
            ));
        }
        let mut refusal = PaymentRefusal::mismatch("the payment is not what the seller's 402 asked for");
        let mut number = None;
        for one in open {
            match one.accepts(claim, request, terms, now) {
                Ok(true) => {
                    number = Some(one.number);
                    break;
                }
                Ok(false) => {}
                Err(nearly) => refusal = nearly,
            }
        }
        let taken = number.and_then(|number| inner.take(claim.request_hash, number)).ok_or(refusal)?;
        Ok(Answer {
            memory: self.clone(),
            request: claim.request_hash,
            taken: Some(taken),
        })
    }

    /// What the challenges of this version ask for that a payment for the request could answer.
    pub fn waiting_for(&self, request: RequestHash, version: Version) -> Vec<Arc<[Asked]>> {
        let inner = self.lock();
        let waiting = inner.waiting.get(&request).map_or(&[][..], Vec::as_slice);
        waiting
            .iter()
            .filter(|one| one.version == version)
            .map(|one| one.offers.clone())
            .collect()
    }

    /// How many challenges are remembered.
    pub fn len(&self) -> usize {
        self.lock().order.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic elsewhere can at worst leave a number in `order` whose challenge is gone, which forgetting passes over.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    /// Whether one of the offers is what the payment pays; an error where only the time or the extension is wrong.
    fn accepts(&self, claim: &Claim, request: &PaymentRequest<'_>, terms: &Terms, now: u64) -> Result<bool, PaymentRefusal> {
        let paid = self.offers.iter().find(|offer| {
            offer.scheme == claim.scheme
                && offer.network == claim.asset.network
                && offer.asset == claim.asset.address
                && offer.amount == claim.amount
                && offer.pay_to == claim.payee
                && offer.resource.names(request, terms.http_resource)
        });
        let Some(offer) = paid else { return Ok(false) };
        if now.saturating_sub(self.seen) > offer.max_timeout.min(LONGEST_WAIT) {
            return Err(PaymentRefusal::new(
                Reason::PaymentExpired,
                "the seller's 402 is older than the seller waits for a payment",
            ));
        }
        // v1 does not repeat the seller's bound, and v2's client could widen it. A Solana transaction lives as long as the chain has it.
        if claim.scheme != Scheme::ExactSvm && claim.valid_before.saturating_sub(now) > offer.max_timeout.saturating_add(terms.clock_skew) {
            return Err(PaymentRefusal::new(
                Reason::PaymentExpired,
                "the signature stays valid for longer than the seller's 402 asks for",
            ));
        }
        identified(claim, offer)?;
        Ok(true)
    }
}

/// Clients add their identifier to what the seller asked for, and change nothing of that. One that nobody asked for protects nothing.
fn identified(claim: &Claim, offer: &Asked) -> Result<(), PaymentRefusal> {
    let invalid = |detail: &'static str| Err(PaymentRefusal::new(Reason::PaymentIdentifierInvalid, detail));
    match (offer.identifier, claim.identifier_terms) {
        (Some(asked), None) if asked.required => invalid("the seller requires a payment identifier and there is none"),
        (Some(asked), Some(repeated)) if asked != repeated => {
            invalid("the payment-identifier extension is not the one of the seller's 402")
        }
        (None, Some(_)) => invalid("the seller's 402 asks for no payment identifier"),
        _ => Ok(()),
    }
}

impl Inner {
    fn remember(&mut self, request: RequestHash, version: Version, offers: Vec<Asked>, now: u64) {
        while self.order.len() >= self.capacity {
            let Some((number, oldest)) = self.order.pop_first() else { break };
            self.forget(oldest, number);
        }
        let number = self.next;
        self.next += 1;
        let waiting = self.waiting.entry(request).or_default();
        let crowded = (waiting.len() >= MOST_PER_REQUEST).then(|| waiting.remove(0).number);
        waiting.push(Waiting {
            number,
            version,
            seen: now,
            offers: offers.into(),
        });
        self.order.insert(number, request);
        if let Some(crowded) = crowded {
            self.order.remove(&crowded);
        }
    }

    fn take(&mut self, request: RequestHash, number: u64) -> Option<Waiting> {
        self.order.remove(&number);
        self.forget(request, number)
    }

    fn forget(&mut self, request: RequestHash, number: u64) -> Option<Waiting> {
        let waiting = self.waiting.get_mut(&request)?;
        let place = waiting.iter().position(|one| one.number == number)?;
        let taken = waiting.remove(place);
        if waiting.is_empty() {
            self.waiting.remove(&request);
        }
        Some(taken)
    }
}

impl Answer {
    /// The payment leaves: the challenge has been answered.
    pub fn given(mut self) {
        self.taken = None;
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if let Some(taken) = self.taken.take() {
            let mut inner = self.memory.lock();
            inner.order.insert(taken.number, self.request);
            inner.waiting.entry(self.request).or_default().push(taken);
        }
    }
}

#[cfg(test)]
mod tests;
