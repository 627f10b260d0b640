//! What became of a payment that had its GO, told to the service that gave it: `settled`, `delivered` or `abandoned`, once, and never again.
//!
//! In: a [`Receipt`] for each GO, and what the origin answered. Out: a report, from a bounded queue in the background, one call at a time within
//! the desk's limits. A report that cannot be queued, or whose call fails, is lost and counted: services take each one as another, so nothing
//! is repeated. The token that allows it goes nowhere else.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::task::JoinHandle;

use super::desk::Desk;
use super::{Answer, ReceiptId, ReportToken};
use crate::audit::vocabulary::Vocabulary as _;
pub use crate::audit::{PaymentOutcome, ReportFate};
use crate::x402::settlement::TransactionHash;

/// Reports that may wait.
const QUEUE: usize = 256;

/// What the service is told.
#[derive(Debug, Clone)]
pub struct Report {
    /// Its name for the verdict.
    pub receipt_id: ReceiptId,
    /// The right to report on it.
    pub token: ReportToken,
    /// What became of the payment.
    pub outcome: PaymentOutcome,
    /// How much was taken, in the asset's own units.
    pub amount: Option<String>,
    /// Where.
    pub transaction: Option<TransactionHash>,
}

/// Where reports are handed in. Cloning shares it.
#[derive(Debug, Clone, Default)]
pub struct Reports(Option<Arc<Office>>);

#[derive(Debug)]
struct Office {
    queue: Mutex<Option<Sender<Report>>>,
    counts: Counts,
    clerk: Mutex<Clerk>,
}

/// Who sends them.
#[derive(Debug)]
enum Clerk {
    /// Not yet.
    Waiting(Arc<Desk>, Receiver<Report>),
    Working(JoinHandle<()>),
    Gone,
}

/// How many there were, by outcome and by what became of them.
#[derive(Debug, Default)]
struct Counts([[AtomicU64; 3]; 3]);

impl Counts {
    fn of(&self, outcome: PaymentOutcome, fate: ReportFate) -> Option<&AtomicU64> {
        self.0.get(outcome.index())?.get(fate.index())
    }

    fn add(&self, outcome: PaymentOutcome, fate: ReportFate) {
        if let Some(count) = self.of(outcome, fate) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Reports {
    /// Nobody wants to know.
    pub fn off() -> Self {
        Reports(None)
    }

    /// To the service behind the desk, once [`Reports::start`] is called.
    pub fn to(desk: Arc<Desk>) -> Self {
        let (sender, receiver) = mpsc::channel(QUEUE);
        Reports(Some(Arc::new(Office {
            queue: Mutex::new(Some(sender)),
            counts: Counts::default(),
            clerk: Mutex::new(Clerk::Waiting(desk, receiver)),
        })))
    }

    /// Begins to send. Needs a runtime.
    pub fn start(&self) {
        let Some(office) = &self.0 else { return };
        let mut clerk = office.clerk.lock().unwrap_or_else(PoisonError::into_inner);
        *clerk = match std::mem::replace(&mut *clerk, Clerk::Gone) {
            // The clerk must not keep the office alive, whose end is his.
            Clerk::Waiting(desk, queue) => Clerk::Working(tokio::spawn(work(desk, queue, Arc::downgrade(office)))),
            other => other,
        };
    }

    /// Takes in no more, and sends what waits, for so long.
    pub async fn finish(&self, patience: Duration) {
        let Some(office) = &self.0 else { return };
        office.queue.lock().unwrap_or_else(PoisonError::into_inner).take();
        let clerk = std::mem::replace(&mut *office.clerk.lock().unwrap_or_else(PoisonError::into_inner), Clerk::Gone);
        if let Clerk::Working(work) = clerk
            && tokio::time::timeout(patience, work).await.is_err()
        {
            tracing::warn!("some outcomes of payments were not reported before the end");
        }
    }

    /// The right to report on a verdict, if its service gives one.
    pub fn receipt(&self, answer: &Answer) -> Option<Receipt> {
        self.0.as_ref()?;
        let issued = (answer.receipt_id.clone()?, answer.report_token.clone()?);
        Some(Receipt {
            issued: Some(issued),
            reports: self.clone(),
        })
    }

    /// How many there were.
    pub fn count(&self, outcome: PaymentOutcome, fate: ReportFate) -> u64 {
        let count = self.0.as_ref().and_then(|office| office.counts.of(outcome, fate));
        count.map_or(0, |count| count.load(Ordering::Relaxed))
    }

    fn hand_in(&self, report: Report) {
        let Some(office) = &self.0 else { return };
        let outcome = report.outcome;
        let queue = office.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = queue.as_ref().is_some_and(|queue| queue.try_send(report).is_ok());
        if !taken {
            office.counts.add(outcome, ReportFate::Dropped);
        }
    }
}

async fn work(desk: Arc<Desk>, mut queue: Receiver<Report>, office: std::sync::Weak<Office>) {
    while let Some(report) = queue.recv().await {
        let fate = match desk.report(&report).await {
            Ok(()) => ReportFate::Sent,
            Err(failure) => {
                tracing::debug!(receipt = %report.receipt_id, outcome = report.outcome.as_str(), %failure, "an outcome was not reported");
                ReportFate::Failed
            }
        };
        if let Some(office) = office.upgrade() {
            office.counts.add(report.outcome, fate);
        }
    }
}

/// The right to report, once, what became of one payment. Dropped unused, it reports that the payment was abandoned.
#[derive(Debug)]
#[must_use = "a dropped receipt reports an abandoned payment"]
pub struct Receipt {
    issued: Option<(ReceiptId, ReportToken)>,
    reports: Reports,
}

impl Receipt {
    /// Says what became of it.
    pub fn report(mut self, outcome: PaymentOutcome, amount: Option<String>, transaction: Option<TransactionHash>) {
        self.tell(outcome, amount, transaction);
    }

    fn tell(&mut self, outcome: PaymentOutcome, amount: Option<String>, transaction: Option<TransactionHash>) {
        if let Some((receipt_id, token)) = self.issued.take() {
            self.reports.hand_in(Report {
                receipt_id,
                token,
                outcome,
                amount,
                transaction,
            });
        }
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        self.tell(PaymentOutcome::Abandoned, None, None);
    }
}

#[cfg(test)]
mod tests;
