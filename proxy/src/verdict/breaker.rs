//! Stops asking a service that fails: after so many failures in a row its payments are refused at once, instead of each waiting for its
//! timeout, until one that is let through as a probe is answered.
//!
//! In: permission to ask, and how that went. Out: a pass, or [`Failure::BreakerOpen`]. Only outages count (timeouts, broken connections,
//! 5xx): whatever else a service says, it is there.

use std::num::NonZeroU32;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use tokio::time::Instant;

use super::Failure;
use crate::settings::units;

/// `verdict.breaker`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BreakerConfig {
    /// Failures in a row after which the service is no longer asked.
    pub failures: NonZeroU32,
    /// How long it is left alone before the next probe.
    #[serde(deserialize_with = "units::duration")]
    pub pause: Duration,
}

impl Default for BreakerConfig {
    fn default() -> Self {
        BreakerConfig {
            failures: NonZeroU32::MIN.saturating_add(4),
            pause: Duration::from_secs(10),
        }
    }
}

/// See the module.
#[derive(Debug)]
pub struct Breaker {
    rule: BreakerConfig,
    /// Whose questions are held back, for the log.
    asker: &'static str,
    state: Mutex<State>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The service is asked; so many calls in a row have failed.
    Closed(u32),
    /// It is not asked before this time.
    Open(Instant),
    /// One question is on its way to find out.
    Probing,
}

/// Permission to ask once. Say how it went; one that is dropped silently proves nothing.
#[derive(Debug)]
pub(super) struct Pass<'b> {
    breaker: &'b Breaker,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Ordinary,
    Probe,
    /// It has been said how it went.
    Told,
}

impl Breaker {
    /// One that is closed.
    pub fn new(rule: BreakerConfig, asker: &'static str) -> Self {
        Breaker {
            rule,
            asker,
            state: Mutex::new(State::Closed(0)),
        }
    }

    /// Whether questions are refused unasked.
    pub fn is_open(&self) -> bool {
        !matches!(*self.state(), State::Closed(_))
    }

    pub(super) fn admit(&self) -> Result<Pass<'_>, Failure> {
        let mut state = self.state();
        let kind = match *state {
            State::Closed(_) => Kind::Ordinary,
            State::Open(until) if Instant::now() >= until => {
                *state = State::Probing;
                Kind::Probe
            }
            State::Open(_) | State::Probing => return Err(Failure::BreakerOpen),
        };
        Ok(Pass { breaker: self, kind })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // One value that is only ever replaced.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answered(&self) {
        let before = std::mem::replace(&mut *self.state(), State::Closed(0));
        if !matches!(before, State::Closed(_)) {
            tracing::info!(asker = self.asker, "the verdict service answers again");
        }
    }

    fn failed(&self, kind: Kind) {
        let mut state = self.state();
        let next = match *state {
            State::Closed(failures) if failures.saturating_add(1) < self.rule.failures.get() => State::Closed(failures.saturating_add(1)),
            State::Closed(_) => {
                let (asker, failures) = (self.asker, self.rule.failures);
                tracing::warn!(
                    asker,
                    failures,
                    "the verdict service failed too often in a row and is left alone for a while"
                );
                self.open()
            }
            State::Probing if kind == Kind::Probe => self.open(),
            // One that was asked before it was known.
            same @ (State::Open(_) | State::Probing) => same,
        };
        *state = next;
    }

    fn open(&self) -> State {
        State::Open(Instant::now() + self.rule.pause)
    }
}

impl Pass<'_> {
    /// The call ended like this.
    pub(super) fn ended<T>(mut self, outcome: &Result<T, Failure>) {
        let kind = std::mem::replace(&mut self.kind, Kind::Told);
        match outcome {
            Err(failure) if failure.is_outage() => self.breaker.failed(kind),
            _ => self.breaker.answered(),
        }
    }
}

impl Drop for Pass<'_> {
    /// Nobody waited for the answer: the next question may find out.
    fn drop(&mut self) {
        if self.kind == Kind::Probe {
            *self.breaker.state() = State::Open(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests;
