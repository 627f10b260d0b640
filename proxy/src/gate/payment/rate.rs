//! The brake on repetition: an agent in a loop, or one that is talked into buying the same again and again, is stopped after so many fresh
//! payments to one payee for one resource in a window of time.
//!
//! In: a claim and the time. Out: whether it would be one too many, before anybody is asked; and after its GO a [`Slot`], which is given back if
//! the payment does not leave. What is refused or still being judged does not count, and retries of one payment count once. The window slides;
//! memory is bounded by payments, not by names.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use sha2::{Digest, Sha256};
use tokio::time::Instant;
use tollgate_policy::Reason;

use crate::settings::units;
use crate::x402::claim::Claim;
use crate::x402::refusal::PaymentRefusal;

/// How many payments are counted at a time, over all payees and resources.
const CAPACITY: usize = 65_536;
const LONGEST_WINDOW: Duration = Duration::from_secs(24 * 3_600);

/// `payments.rate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RateConfig {
    /// Fresh payments to one payee for one resource within the window.
    #[serde(deserialize_with = "units::count")]
    pub per_payee: usize,
    /// How long each counts.
    #[serde(deserialize_with = "units::duration")]
    pub window: Duration,
}

impl Default for RateConfig {
    fn default() -> Self {
        RateConfig {
            per_payee: 30,
            window: Duration::from_secs(60),
        }
    }
}

impl RateConfig {
    /// Which member is out of its range, and what that is.
    pub fn mistake(&self) -> Option<(&'static str, &'static str)> {
        if self.per_payee > CAPACITY {
            return Some(("per_payee", "at most 65536"));
        }
        (self.window > LONGEST_WINDOW).then_some(("window", "at most `24h`"))
    }
}

/// A payee and a resource, without their texts.
type Place = [u8; 32];

/// See the module. Cloning shares it.
#[derive(Debug, Clone)]
pub struct RateMemory {
    rule: RateConfig,
    counted: Arc<Mutex<Counted>>,
}

#[derive(Debug, Default)]
struct Counted {
    capacity: usize,
    places: HashMap<Place, VecDeque<Payment>>,
    payments: usize,
    next: u64,
}

#[derive(Debug, Clone, Copy)]
struct Payment {
    number: u64,
    at: Instant,
}

/// A payment's place in the count. Dropped, it is given back.
#[derive(Debug)]
#[must_use = "a dropped slot is given back"]
pub struct Slot {
    memory: RateMemory,
    place: Place,
    number: Option<u64>,
}

impl RateMemory {
    /// Nothing counted yet.
    pub fn new(rule: RateConfig) -> Self {
        Self::bounded(rule, CAPACITY)
    }

    fn bounded(rule: RateConfig, capacity: usize) -> Self {
        RateMemory {
            rule,
            counted: Arc::new(Mutex::new(Counted {
                capacity,
                ..Counted::default()
            })),
        }
    }

    /// Whether a fresh payment would be one too many now.
    pub fn check(&self, claim: &Claim, now: Instant) -> Result<(), PaymentRefusal> {
        self.counted().check(place(claim), self.rule, now)
    }

    /// Counts a fresh payment, unless it is one too many.
    pub fn count(&self, claim: &Claim, now: Instant) -> Result<Slot, PaymentRefusal> {
        let place = place(claim);
        let number = self.counted().count(place, self.rule, now)?;
        Ok(Slot {
            memory: self.clone(),
            place,
            number: Some(number),
        })
    }

    fn counted(&self) -> MutexGuard<'_, Counted> {
        // Counts and queues change together, in steps that cannot panic.
        self.counted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counted {
    fn check(&mut self, place: Place, rule: RateConfig, now: Instant) -> Result<(), PaymentRefusal> {
        self.forget(place, rule.window, now);
        let here = self.places.get(&place);
        if let Some(first) = here.filter(|here| here.len() >= rule.per_payee).and_then(VecDeque::front) {
            let wait = (first.at + rule.window).saturating_duration_since(now).as_secs() + 1;
            return Err(PaymentRefusal::new(
                Reason::PaymentRateLimited,
                format!(
                    "{} payments to this payee for this resource have left within {}; the next may in {wait}s",
                    rule.per_payee,
                    units::format_duration(rule.window),
                ),
            ));
        }
        if self.payments >= self.capacity {
            let places: Vec<Place> = self.places.keys().copied().collect();
            for place in places {
                self.forget(place, rule.window, now);
            }
        }
        if self.payments >= self.capacity {
            return Err(PaymentRefusal::new(
                Reason::PaymentRateLimited,
                "more payments have left in a short time than can be counted",
            ));
        }
        Ok(())
    }

    fn count(&mut self, place: Place, rule: RateConfig, now: Instant) -> Result<u64, PaymentRefusal> {
        self.check(place, rule, now)?;
        let number = self.next;
        self.next += 1;
        self.payments += 1;
        self.places.entry(place).or_default().push_back(Payment { number, at: now });
        Ok(number)
    }

    /// Takes out what no longer counts.
    fn forget(&mut self, place: Place, window: Duration, now: Instant) {
        self.retain(place, |payment| now < payment.at + window);
    }

    fn retain(&mut self, place: Place, keep: impl Fn(&Payment) -> bool) {
        let Some(here) = self.places.get_mut(&place) else { return };
        let before = here.len();
        here.retain(keep);
        self.payments -= before - here.len();
        if here.is_empty() {
            self.places.remove(&place);
        }
    }
}

impl Slot {
    /// The payment leaves, so it counts.
    pub fn used(mut self) {
        self.number = None;
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.memory.counted().retain(self.place, |payment| payment.number != number);
        }
    }
}

fn place(claim: &Claim) -> Place {
    let mut hash = Sha256::new();
    hash.update(claim.payee.to_string());
    hash.update([0]);
    hash.update(claim.resource.to_string());
    hash.finalize().into()
}

#[cfg(test)]
mod tests;
