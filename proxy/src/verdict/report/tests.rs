#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use std::num::NonZeroUsize;

use async_trait::async_trait;

use super::*;
use crate::verdict::breaker::BreakerConfig;
use crate::verdict::desk::{Asker, DeskLimits};
use crate::verdict::{Backend, BackendName, Failure, Question, Verdict};

/// Writes down what it is told, slowly.
#[derive(Default)]
struct Listener {
    heard: Mutex<Vec<Report>>,
    delay: Duration,
    failure: Option<Failure>,
}

#[async_trait]
impl Backend for Listener {
    fn name(&self) -> BackendName {
        BackendName::Blackwall
    }

    async fn ask(&self, _: &Question) -> Result<Answer, Failure> {
        Ok(Answer::bare(Verdict::Go))
    }

    async fn report(&self, report: &Report) -> Result<(), Failure> {
        tokio::time::sleep(self.delay).await;
        self.heard.lock().unwrap().push(report.clone());
        self.failure.map_or(Ok(()), Err)
    }
}

fn office(listener: Listener) -> (Reports, Arc<Listener>) {
    let listener = Arc::new(listener);
    let limits = DeskLimits {
        max_in_flight: NonZeroUsize::MIN,
        queue: 4,
        timeout: Duration::from_secs(5),
        breaker: BreakerConfig::default(),
    };
    (
        Reports::to(Arc::new(Desk::new(listener.clone(), limits, Asker::Payments))),
        listener,
    )
}

fn go() -> Answer {
    Answer {
        receipt_id: ReceiptId::parse("bw_0123456789abcdef01234567"),
        report_token: ReportToken::parse("0123456789abcdef".to_owned()),
        ..Answer::bare(Verdict::Go)
    }
}

fn counted(reports: &Reports) -> Vec<(PaymentOutcome, ReportFate, u64)> {
    let pairs = PaymentOutcome::ALL
        .iter()
        .flat_map(|outcome| ReportFate::ALL.iter().map(move |fate| (*outcome, *fate)));
    pairs
        .map(|(outcome, fate)| (outcome, fate, reports.count(outcome, fate)))
        .filter(|(_, _, count)| *count > 0)
        .collect()
}

#[tokio::test(start_paused = true)]
async fn each_payment_is_reported_once_and_a_silent_end_is_an_abandoned_one() {
    let (reports, listener) = office(Listener::default());
    reports.start();
    reports
        .receipt(&go())
        .unwrap()
        .report(PaymentOutcome::Settled, Some("0.01".to_owned()), None);
    reports.receipt(&go()).unwrap().report(PaymentOutcome::Delivered, None, None);
    drop(reports.receipt(&go()).unwrap());
    reports.finish(Duration::from_secs(1)).await;
    let heard = listener.heard.lock().unwrap();
    let told: Vec<_> = heard.iter().map(|report| (report.outcome, report.amount.as_deref())).collect();
    assert_eq!(
        told,
        [
            (PaymentOutcome::Settled, Some("0.01")),
            (PaymentOutcome::Delivered, None),
            (PaymentOutcome::Abandoned, None)
        ]
    );
    assert_eq!(
        counted(&reports),
        [
            (PaymentOutcome::Settled, ReportFate::Sent, 1),
            (PaymentOutcome::Delivered, ReportFate::Sent, 1),
            (PaymentOutcome::Abandoned, ReportFate::Sent, 1)
        ]
    );
    assert!(
        !format!("{heard:?} {reports:?}").contains("0123456789abcdef\""),
        "the token is shown"
    );
    assert!(!format!("{:?}", heard[0].token).contains("0123"), "the token is shown");
}

#[tokio::test(start_paused = true)]
async fn a_report_that_fails_is_not_repeated() {
    let (reports, listener) = office(Listener {
        failure: Some(Failure::Status(403)),
        ..Listener::default()
    });
    reports.start();
    reports.receipt(&go()).unwrap().report(PaymentOutcome::Settled, None, None);
    reports.finish(Duration::from_secs(1)).await;
    assert_eq!(listener.heard.lock().unwrap().len(), 1);
    assert_eq!(counted(&reports), [(PaymentOutcome::Settled, ReportFate::Failed, 1)]);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_hangs_holds_nobody_up_and_the_queue_has_an_end() {
    let (reports, listener) = office(Listener {
        delay: Duration::from_secs(3_600),
        ..Listener::default()
    });
    reports.start();
    for _ in 0..QUEUE + 50 {
        reports.receipt(&go()).unwrap().report(PaymentOutcome::Settled, None, None);
    }
    assert_eq!(counted(&reports), [(PaymentOutcome::Settled, ReportFate::Dropped, 50)]);
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(
        reports.count(PaymentOutcome::Settled, ReportFate::Failed),
        2,
        "each has the desk's timeout"
    );
    assert!(listener.heard.lock().unwrap().is_empty());
    reports.finish(Duration::from_secs(1)).await;
}

#[tokio::test]
async fn without_a_service_that_wants_them_there_are_no_receipts() {
    assert!(Reports::off().receipt(&go()).is_none());
    let (reports, _) = office(Listener::default());
    assert!(reports.receipt(&Answer::bare(Verdict::Go)).is_none(), "no token");
}
