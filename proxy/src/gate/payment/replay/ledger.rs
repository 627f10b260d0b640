//! What is remembered of each authorisation, and the ways to find it: by nonce, by identifier, by what it bought, by age.

use std::collections::{BTreeSet, HashMap};

use tollgate_policy::Reason;

use super::super::action::ActionHash;
use super::super::store::{Entry, Settlement};
use super::{Attempt, expired, replayed};
use crate::verdict::report::Receipt;
use crate::x402::claim::{Claim, IdentifierHash, NonceHash};
use crate::x402::refusal::PaymentRefusal;

/// How often the same bytes are let out: the first time, and once more.
const MOST_ATTEMPTS: u8 = 2;

#[derive(Debug)]
pub(super) struct Ledger {
    capacity: usize,
    used: HashMap<NonceHash, Used>,
    by_expiry: BTreeSet<(u64, NonceHash)>,
    identifiers: HashMap<IdentifierHash, NonceHash>,
    /// What was sent and never answered.
    unanswered: BTreeSet<(ActionHash, NonceHash)>,
    /// Rights to report that wait for a retry.
    receipts: HashMap<NonceHash, Receipt>,
}

/// An authorisation that may be used now.
#[derive(Debug)]
pub(super) struct Reserved {
    pub(super) attempt: Attempt,
    /// What was remembered before, for an attempt that is undone.
    pub(super) before: Option<Used>,
    pub(super) receipt: Option<Receipt>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Used {
    entry: Entry,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// Being judged or sent.
    InFlight,
    /// Had its GO, but no byte of it reached the origin: may be sent once more.
    Retryable,
    /// Reached the origin, or may have, and was not answered.
    Unanswered,
    /// Over.
    Spent,
}

impl Used {
    /// What the same bytes for the same request are now.
    fn again(&self) -> Result<Attempt, PaymentRefusal> {
        let once_more = self.entry.attempts < MOST_ATTEMPTS;
        match self.state {
            State::InFlight => Err(replayed("the authorisation is in use by another request")),
            State::Retryable if once_more => Ok(Attempt::Retry),
            State::Unanswered if once_more && self.entry.identifier.is_some() => Ok(Attempt::Resend),
            State::Retryable | State::Unanswered | State::Spent => Err(replayed("the authorisation was used before")),
        }
    }
}

impl Ledger {
    pub(super) fn new(capacity: usize) -> Self {
        Ledger {
            capacity,
            used: HashMap::new(),
            by_expiry: BTreeSet::new(),
            identifiers: HashMap::new(),
            unanswered: BTreeSet::new(),
            receipts: HashMap::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.used.len()
    }

    /// What is to be written of it.
    pub(super) fn entry(&self, nonce: NonceHash) -> Option<Entry> {
        let Used { entry, state } = self.used.get(&nonce)?;
        let settlement = match state {
            State::Spent => Settlement::Answered,
            State::InFlight | State::Retryable | State::Unanswered => Settlement::Unknown,
        };
        Some(Entry { settlement, ..*entry })
    }

    pub(super) fn reserve(&mut self, claim: &Claim, now: u64) -> Result<Reserved, PaymentRefusal> {
        self.forget_expired(now);
        if let Some(used) = self.used.get_mut(&claim.nonce_hash) {
            if used.entry.payment != claim.payment_hash || used.entry.request != claim.request_hash {
                return Err(replayed("the authorisation was used with another request"));
            }
            let attempt = used.again()?;
            let before = *used;
            used.entry.attempts = used.entry.attempts.saturating_add(1);
            self.enter(claim.nonce_hash, State::InFlight);
            return Ok(Reserved {
                attempt,
                before: Some(before),
                receipt: self.receipts.remove(&claim.nonce_hash),
            });
        }
        if let Some(identifier) = &claim.identifier_hash
            && self.identifiers.contains_key(identifier)
        {
            // Its seller would answer with what the first payment bought, or take both.
            return Err(PaymentRefusal::new(
                Reason::PaymentIdentifierInvalid,
                "the payment identifier was used with another payment",
            ));
        }
        if self.used.len() >= self.capacity {
            return Err(PaymentRefusal::new(
                Reason::OverCapacity,
                "too many payments are remembered; try again when some have expired",
            ));
        }
        let entry = Entry {
            payment: claim.payment_hash,
            request: claim.request_hash,
            action: ActionHash([0; 32]),
            identifier: claim.identifier_hash,
            expires: claim.valid_before,
            attempts: 1,
            settlement: Settlement::Unknown,
        };
        self.insert(
            claim.nonce_hash,
            Used {
                entry,
                state: State::InFlight,
            },
        );
        Ok(Reserved {
            attempt: Attempt::First,
            before: None,
            receipt: None,
        })
    }

    /// Binds an authorisation to what it buys; a retry has to buy what the first attempt did. Refused while another payment for the same may
    /// still be settled.
    pub(super) fn bind(&mut self, nonce: NonceHash, attempt: Attempt, action: ActionHash) -> Result<(), PaymentRefusal> {
        let same = (action, NonceHash([0; 32]))..=(action, NonceHash([255; 32]));
        if self.unanswered.range(same).any(|(_, other)| *other != nonce) {
            return Err(PaymentRefusal::new(
                Reason::PaymentUnsettled,
                "a payment for the same request was sent and never answered; it may be settled until it expires",
            ));
        }
        match (self.used.get_mut(&nonce), attempt) {
            (Some(used), Attempt::First) => used.entry.action = action,
            (Some(used), Attempt::Retry | Attempt::Resend) if used.entry.action == action => {}
            (Some(_), Attempt::Retry | Attempt::Resend) => return Err(replayed("the authorisation was used with another request")),
            (None, _) => return Err(expired()),
        }
        Ok(())
    }

    /// Keeps a right to report for a retry. Where none may come, it is dropped, and so reports.
    pub(super) fn park(&mut self, nonce: NonceHash, receipt: Receipt) {
        if self.used.get(&nonce).is_some_and(|used| used.again().is_ok()) {
            self.receipts.insert(nonce, receipt);
        }
    }

    pub(super) fn settle(&mut self, nonce: NonceHash, state: State) {
        self.enter(nonce, state);
    }

    pub(super) fn restore(&mut self, nonce: NonceHash, before: Used) {
        if let Some(used) = self.used.get_mut(&nonce) {
            used.entry.attempts = before.entry.attempts;
        }
        self.enter(nonce, before.state);
    }

    pub(super) fn forget(&mut self, nonce: NonceHash) {
        let Some(Used { entry, .. }) = self.used.remove(&nonce) else {
            return;
        };
        self.receipts.remove(&nonce);
        self.by_expiry.remove(&(entry.expires, nonce));
        self.unanswered.remove(&(entry.action, nonce));
        if let Some(identifier) = entry.identifier {
            self.identifiers.remove(&identifier);
        }
    }

    /// Takes in what a store held. What is known already is newer.
    pub(super) fn adopt(&mut self, entries: Vec<(NonceHash, Entry)>) {
        for (nonce, entry) in entries {
            if self.used.contains_key(&nonce) {
                continue;
            }
            let state = match entry.settlement {
                Settlement::Unknown => State::Unanswered,
                Settlement::Answered => State::Spent,
            };
            self.insert(nonce, Used { entry, state });
        }
    }

    fn insert(&mut self, nonce: NonceHash, used: Used) {
        self.by_expiry.insert((used.entry.expires, nonce));
        if let Some(identifier) = used.entry.identifier {
            self.identifiers.insert(identifier, nonce);
        }
        self.used.insert(nonce, used);
        self.enter(nonce, used.state);
    }

    fn enter(&mut self, nonce: NonceHash, state: State) {
        let Some(used) = self.used.get_mut(&nonce) else { return };
        used.state = state;
        let bought = (used.entry.action, nonce);
        match state {
            // Sent again, it is as uncertain as before.
            State::InFlight => {}
            State::Unanswered => {
                self.unanswered.insert(bought);
            }
            State::Retryable | State::Spent => {
                self.unanswered.remove(&bought);
            }
        }
    }

    fn forget_expired(&mut self, now: u64) {
        while let Some((expires, nonce)) = self.by_expiry.first().copied()
            && expires <= now
        {
            self.forget(nonce);
            self.by_expiry.remove(&(expires, nonce));
        }
    }
}
