//! The memory of used authorisations: nothing is paid twice, and one GO releases one signature to one request.
//!
//! An authorisation can be settled until its `validBefore`, so that is how long it is remembered. The memory is bounded; a full one refuses.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tollgate_policy::Reason;

use crate::x402::claim::{Claim, NonceHash, PaymentHash, RequestHash};
use crate::x402::refusal::{PaymentRefusal, PaymentSummary};

/// How many authorisations are remembered by default (some 200 bytes each).
pub const DEFAULT_CAPACITY: usize = 65_536;

/// The memory. Cloning shares it.
#[derive(Debug, Clone)]
pub struct ReplayMemory {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug)]
struct Inner {
    capacity: usize,
    used: HashMap<NonceHash, Used>,
    by_expiry: BTreeSet<(u64, NonceHash)>,
}

#[derive(Debug, Clone, Copy)]
struct Used {
    payment: PaymentHash,
    request: RequestHash,
    expires: u64,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Being judged or sent.
    InFlight,
    /// Had its GO, but no byte of it reached the origin: may be sent once more.
    Retryable,
    /// Reached the origin, or may have.
    Spent,
}

/// Whether a reservation is the first use of its authorisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// Needs a verdict.
    First,
    /// The same bytes for the same request had a GO and never reached the origin: passes without a new verdict, once.
    Retry,
}

/// An authorisation that is being used. Say what became of it; one that is dropped silently counts as spent.
#[derive(Debug)]
#[must_use = "a dropped reservation counts as spent"]
pub struct Reservation {
    memory: ReplayMemory,
    nonce: NonceHash,
    attempt: Attempt,
    outcome: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Becomes(State),
    Forgotten,
}

impl Default for ReplayMemory {
    fn default() -> Self {
        Self::new(DEFAULT_CAPACITY)
    }
}

impl ReplayMemory {
    /// A memory for so many authorisations at a time.
    pub fn new(capacity: usize) -> Self {
        ReplayMemory {
            inner: Arc::new(Mutex::new(Inner {
                capacity,
                used: HashMap::new(),
                by_expiry: BTreeSet::new(),
            })),
        }
    }

    /// Reserves the claim's authorisation before its verdict is asked for, so that two requests at once can't both get one.
    pub fn reserve(&self, claim: &Claim, now: u64) -> Result<Reservation, PaymentRefusal> {
        let attempt = self.lock().reserve(claim, now).map_err(|refusal| refusal.knowing(summary(claim)))?;
        Ok(Reservation {
            memory: self.clone(),
            nonce: claim.nonce_hash,
            attempt,
            outcome: Outcome::Becomes(State::Spent),
        })
    }

    /// How many authorisations are remembered.
    pub fn len(&self) -> usize {
        self.lock().used.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Every change is a single insert or remove, so a panic elsewhere leaves nothing half-done.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn reserve(&mut self, claim: &Claim, now: u64) -> Result<Attempt, PaymentRefusal> {
        self.forget_expired(now);
        let replayed = |detail: &'static str| PaymentRefusal::new(Reason::PaymentReplayed, detail);
        if let Some(used) = self.used.get_mut(&claim.nonce_hash) {
            if used.payment != claim.payment_hash || used.request != claim.request_hash {
                return Err(replayed("the authorisation was used with another request"));
            }
            return match used.state {
                State::InFlight => Err(replayed("the authorisation is in use by another request")),
                State::Spent => Err(replayed("the authorisation was used before")),
                State::Retryable => {
                    used.state = State::InFlight;
                    Ok(Attempt::Retry)
                }
            };
        }
        if self.used.len() >= self.capacity {
            return Err(PaymentRefusal::new(
                Reason::OverCapacity,
                "too many payments are remembered; try again when some have expired",
            ));
        }
        self.by_expiry.insert((claim.valid_before, claim.nonce_hash));
        self.used.insert(
            claim.nonce_hash,
            Used {
                payment: claim.payment_hash,
                request: claim.request_hash,
                expires: claim.valid_before,
                state: State::InFlight,
            },
        );
        Ok(Attempt::First)
    }

    fn forget_expired(&mut self, now: u64) {
        while let Some((expires, nonce)) = self.by_expiry.first().copied()
            && expires <= now
        {
            self.by_expiry.pop_first();
            self.used.remove(&nonce);
        }
    }

    fn settle(&mut self, nonce: NonceHash, state: State) {
        if let Some(used) = self.used.get_mut(&nonce) {
            used.state = state;
        }
    }

    fn forget(&mut self, nonce: NonceHash) {
        if let Some(used) = self.used.remove(&nonce) {
            self.by_expiry.remove(&(used.expires, nonce));
        }
    }
}

impl Reservation {
    /// Whether a verdict has to be asked for.
    pub fn attempt(&self) -> Attempt {
        self.attempt
    }

    /// A byte of the request reached the origin, or may have: the authorisation is spent.
    pub fn reached_origin(self) {
        drop(self);
    }

    /// It had its GO, but nothing of it left: the same bytes for the same request pass once more. A second failure spends it.
    pub fn never_reached_origin(mut self) {
        if self.attempt == Attempt::First {
            self.outcome = Outcome::Becomes(State::Retryable);
        }
    }

    /// It was refused (no GO): nothing left and nothing was released, so a later attempt starts anew with its own verdict.
    pub fn refused(mut self) {
        self.outcome = Outcome::Forgotten;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut inner = self.memory.lock();
        match self.outcome {
            Outcome::Becomes(state) => inner.settle(self.nonce, state),
            Outcome::Forgotten => inner.forget(self.nonce),
        }
    }
}

fn summary(claim: &Claim) -> PaymentSummary {
    PaymentSummary {
        version: Some(claim.version),
        scheme: Some(claim.scheme.into()),
        network: Some(claim.asset.network),
        asset: Some(claim.asset.address),
        amount: Some(claim.amount),
        payee: Some(claim.payee),
        payer: Some(claim.payer),
    }
}

#[cfg(test)]
mod tests;
