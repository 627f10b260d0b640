//! The discipline around a backend: how many ask at once, how many wait, and for how long.
//!
//! In: a question and, for as long as the future lives, the interest in its verdict. Out: a [`Ruling`], always, and within the timeout. Nothing is
//! retried. A caller that goes away gives up its place at once.

#[cfg(test)]
mod tests;

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;
use tollgate_policy::Reason;

use super::breaker::{Breaker, BreakerConfig};
use super::report::Report;
use super::{Answer, Backend, BackendName, Failure, Question};
use crate::egress::turns::Turns;

/// How much asking there may be at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeskLimits {
    /// Calls to the backend at the same time.
    pub max_in_flight: NonZeroUsize,
    /// Payments that may wait for one of those; 0 refuses whatever cannot be asked at once.
    pub queue: usize,
    /// From arrival to ruling, queueing included.
    pub timeout: Duration,
    /// When the backend is no longer asked.
    pub breaker: BreakerConfig,
}

/// Whose questions come to a desk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// Payments.
    Payments,
    /// Offers that nobody has signed for yet.
    Offers,
}

/// Where payments are brought to be judged.
pub struct Desk {
    backend: Arc<dyn Backend>,
    limits: DeskLimits,
    turns: Turns,
    breaker: Breaker,
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Desk")
            .field("backend", &self.backend.name())
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

/// What came of asking.
#[derive(Debug, Clone)]
pub struct Ruling {
    /// Who was asked.
    pub backend: BackendName,
    /// What it said, or why it said nothing.
    pub outcome: Result<Answer, Failure>,
    /// From arrival at the desk to the outcome, queueing included.
    pub latency: Duration,
}

impl Ruling {
    /// Why the payment is refused; `None` only when the backend said exactly GO.
    pub const fn refusal(&self) -> Option<Reason> {
        match &self.outcome {
            Ok(answer) => answer.verdict.refusal(),
            Err(failure) => Some(failure.reason()),
        }
    }

    /// The `verdict` label in metrics and audit events: `go`, `hold`, `stop` or `none`.
    pub const fn label(&self) -> &'static str {
        match &self.outcome {
            Ok(answer) => answer.verdict.as_str(),
            Err(_) => "none",
        }
    }
}

impl Desk {
    /// A desk in front of `backend`.
    pub fn new(backend: Arc<dyn Backend>, limits: DeskLimits, asker: Asker) -> Self {
        let asker = match asker {
            Asker::Payments => "payments",
            Asker::Offers => "offers",
        };
        Desk {
            backend,
            limits,
            turns: Turns::new(limits.max_in_flight, limits.queue),
            breaker: Breaker::new(limits.breaker, asker),
        }
    }

    /// Who is asked here.
    pub fn backend(&self) -> BackendName {
        self.backend.name()
    }

    /// What the backend would be told; see [`Backend::told`].
    pub fn told(&self, question: &Question) -> Option<Bytes> {
        self.backend.told(question)
    }

    /// Judges one payment, or one offer. Dropping the future abandons the question and frees its place.
    pub async fn judge(&self, question: &Question) -> Ruling {
        let arrived = Instant::now();
        let (backend, outcome) = self.outcome(question, arrived).await;
        Ruling {
            backend,
            outcome,
            latency: arrived.elapsed(),
        }
    }

    async fn outcome(&self, question: &Question, arrived: Instant) -> (BackendName, Result<Answer, Failure>) {
        let pass = match self.breaker.admit() {
            Ok(pass) => pass,
            Err(failure) => return (self.backend.name(), Err(failure)),
        };
        let asked = OnceLock::new();
        let (backend, outcome) = tokio::time::timeout_at(arrived + self.limits.timeout, self.ask(question, &asked))
            .await
            .unwrap_or((self.backend.name(), Err(Failure::TimedOut)));
        // One that got its turn too late, or never, says nothing about the service.
        let patient = |since: &Instant| outcome.as_ref().err() != Some(&Failure::TimedOut) || since.elapsed() >= self.limits.timeout / 2;
        if asked.get().is_some_and(patient) {
            pass.ended(&outcome);
        }
        (backend, outcome)
    }

    /// Whether questions are refused unasked, because the backend failed too often.
    pub fn breaker_is_open(&self) -> bool {
        self.breaker.is_open()
    }

    /// Tells the backend what became of a payment, within the same limits. One that is not asked is not told either.
    pub async fn report(&self, report: &Report) -> Result<(), Failure> {
        if self.breaker.is_open() {
            return Err(Failure::BreakerOpen);
        }
        let call = async {
            let _turn = self.turns.wait().await.ok_or(Failure::QueueFull)?;
            self.backend.report(report).await
        };
        tokio::time::timeout(self.limits.timeout, call)
            .await
            .unwrap_or(Err(Failure::TimedOut))
    }

    /// Calls to the backend now.
    pub fn in_flight(&self) -> usize {
        self.turns.in_flight()
    }

    /// Payments that wait for a call now.
    pub fn waiting(&self) -> usize {
        self.turns.waiting()
    }

    async fn ask(&self, question: &Question, asked: &OnceLock<Instant>) -> (BackendName, Result<Answer, Failure>) {
        match self.turns.take().await {
            Some(_turn) => {
                let _ = asked.set(Instant::now());
                self.backend.consult(question).await
            }
            None => (self.backend.name(), Err(Failure::QueueFull)),
        }
    }
}
