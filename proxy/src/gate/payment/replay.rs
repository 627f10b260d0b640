//! The memory of used authorisations: nothing is paid twice, and one GO releases one signature to one request.
//!
//! An authorisation can be settled until its `validBefore`, so that is how long it is remembered, with its payment identifier and what it
//! bought. The memory is bounded; a full one refuses. With a [store](super::store) it outlives the process: an entry is on the disk before the
//! first byte of its payment leaves. Questions are answered from memory alone.

mod ledger;

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tollgate_policy::Reason;

use super::action::{ActionHash, PaidBody};
use super::store::{Store, StoreFault, StoreStatus};
use crate::verdict::report::Receipt;
use crate::x402::claim::{Claim, NonceHash, RequestHash};
use crate::x402::refusal::{PaymentRefusal, PaymentSummary};
use ledger::{Ledger, Reserved, State, Used};

/// How many authorisations are remembered by default (some 400 bytes each).
pub const DEFAULT_CAPACITY: usize = 65_536;

/// The memory. Cloning shares it.
#[derive(Debug, Clone)]
pub struct ReplayMemory {
    ledger: Arc<Mutex<Ledger>>,
    store: Option<Arc<Store>>,
}

/// Whether a reservation is the first use of its authorisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// Needs a verdict.
    First,
    /// The same bytes for the same request had a GO and never reached the origin: passes without a new verdict, once.
    Retry,
    /// The same bytes, under a payment identifier, were sent and never answered. The seller knows them by the identifier and the money can move
    /// only once, so they pass once more: without a new verdict, and without a challenge, which they have answered already.
    Resend,
}

/// An authorisation that is being used. Say what became of it; one that is dropped silently counts as spent, and as not answered.
#[derive(Debug)]
#[must_use = "a dropped reservation counts as spent"]
pub struct Reservation {
    memory: ReplayMemory,
    nonce: NonceHash,
    request: RequestHash,
    summary: PaymentSummary,
    attempt: Attempt,
    /// What was remembered before.
    before: Option<Used>,
    /// The right to report what becomes of it. Waits here for a retry, which has no verdict of its own.
    receipt: Option<Receipt>,
    outcome: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Becomes(State),
    /// As if it had never been.
    Undone,
}

impl Default for ReplayMemory {
    fn default() -> Self {
        Self::new(DEFAULT_CAPACITY)
    }
}

impl ReplayMemory {
    /// A memory for so many authorisations at a time, which a restart forgets.
    pub fn new(capacity: usize) -> Self {
        ReplayMemory {
            ledger: Arc::new(Mutex::new(Ledger::new(capacity))),
            store: None,
        }
    }

    /// A memory that is kept in a file. One that cannot be used refuses payments until it can; the error is only about the thread.
    pub fn kept_in(file: &Path) -> io::Result<Self> {
        let memory = Self::default();
        let ledger = memory.ledger.clone();
        let adopt = move |entries| {
            let mut ledger = ledger.lock().unwrap_or_else(PoisonError::into_inner);
            ledger.adopt(entries);
        };
        let store = Some(Arc::new(Store::open(file, adopt)?));
        Ok(ReplayMemory { store, ..memory })
    }

    /// Reserves the claim's authorisation before its verdict is asked for, so that two requests at once can't both get one.
    pub fn reserve(&self, claim: &Claim, now: u64) -> Result<Reservation, PaymentRefusal> {
        let summary = summary(claim);
        if let Some(store) = &self.store {
            store.ready().map_err(|fault| unusable(fault).knowing(summary))?;
        }
        let Reserved { attempt, before, receipt } = self.ledger().reserve(claim, now).map_err(|refusal| refusal.knowing(summary))?;
        Ok(Reservation {
            memory: self.clone(),
            nonce: claim.nonce_hash,
            request: claim.request_hash,
            summary,
            attempt,
            before,
            receipt,
            outcome: Outcome::Becomes(State::Unanswered),
        })
    }

    /// How many authorisations are remembered.
    pub fn len(&self) -> usize {
        self.ledger().len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How it stands.
    pub fn status(&self) -> StoreStatus {
        match &self.store {
            None => StoreStatus::InMemory,
            Some(store) => store.ready().map_or_else(StoreStatus::Unusable, |()| StoreStatus::Ready),
        }
    }

    /// Attempts to open or write the store that failed.
    pub fn store_failures(&self) -> u64 {
        self.store.as_ref().map_or(0, |store| store.failures())
    }

    /// Writes what is left and closes the file. Blocks the thread.
    pub fn close(&self) {
        if let Some(store) = &self.store {
            store.close();
        }
    }

    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        // Every change is a few inserts or removes that cannot panic, so a panic elsewhere leaves nothing half-done.
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reservation {
    /// Whether a verdict has to be asked for, and a challenge to be answered.
    pub fn attempt(&self) -> Attempt {
        self.attempt
    }

    /// Says what the payment is for, once the body is known. Refused while another payment for the same may still be settled: after a lost
    /// answer clients sign anew, and would pay twice.
    pub fn buys(&self, body: PaidBody<'_>) -> Result<(), PaymentRefusal> {
        let bound = if self.attempt == Attempt::Resend && body == PaidBody::Unread {
            // Whether it is the same could not be told.
            Err(replayed("the authorisation was used before"))
        } else {
            let action = ActionHash::of(self.request, body);
            self.memory.ledger().bind(self.nonce, self.attempt, action)
        };
        bound.map_err(|refusal| refusal.knowing(self.summary))
    }

    /// Takes the right to report what becomes of the payment.
    pub fn hold(&mut self, receipt: Option<Receipt>) {
        self.receipt = receipt;
    }

    /// Writes down that the authorisation is spent. Only then may its first byte leave.
    pub async fn spend(&mut self) -> Result<(), PaymentRefusal> {
        let Some(store) = &self.memory.store else { return Ok(()) };
        let entry = self.memory.ledger().entry(self.nonce);
        let entry = entry.ok_or_else(|| expired().knowing(self.summary))?;
        let kept = store.keep(self.nonce, entry).await;
        kept.map_err(|fault| unusable(fault).knowing(self.summary))
    }

    /// The origin answered: whether it took the money is between it and the client, but nothing is uncertain. Gives back the right to report.
    pub fn answered(mut self) -> Option<Receipt> {
        self.outcome = Outcome::Becomes(State::Spent);
        let receipt = self.receipt.take();
        let memory = self.memory.clone();
        let nonce = self.nonce;
        drop(self);
        let entry = memory.ledger().entry(nonce);
        if let (Some(store), Some(entry)) = (&memory.store, entry) {
            store.note(nonce, entry);
        }
        receipt
    }

    /// It had its GO, but nothing of it left: the same bytes for the same request pass once more. A second failure spends it.
    pub fn never_reached_origin(mut self) {
        self.outcome = Outcome::Becomes(match self.attempt {
            Attempt::First => State::Retryable,
            Attempt::Retry => State::Spent,
            Attempt::Resend => State::Unanswered,
        });
    }

    /// It was refused (no GO): nothing left and nothing was released, so a later attempt starts anew with its own verdict.
    pub fn refused(mut self) {
        self.outcome = Outcome::Undone;
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut ledger = self.memory.ledger();
        match (self.outcome, self.before.take()) {
            (Outcome::Becomes(state), _) => ledger.settle(self.nonce, state),
            (Outcome::Undone, Some(before)) => ledger.restore(self.nonce, before),
            (Outcome::Undone, None) => ledger.forget(self.nonce),
        }
        if let Some(receipt) = self.receipt.take() {
            ledger.park(self.nonce, receipt);
        }
    }
}

/// What the client may hear of a store that cannot be used: the operator's paths are not its business.
fn unusable(fault: StoreFault) -> PaymentRefusal {
    PaymentRefusal::new(
        Reason::PaymentStoreUnavailable,
        format!("the memory of used payments cannot be used: {fault}"),
    )
}

fn replayed(detail: &'static str) -> PaymentRefusal {
    PaymentRefusal::new(Reason::PaymentReplayed, detail)
}

fn expired() -> PaymentRefusal {
    PaymentRefusal::new(Reason::PaymentExpired, "the signature has expired")
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
