#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::super::{Unacceptable, Verdict, sample};
use super::*;
use crate::egress::fetch::FetchError;

/// Counts who is asking, and answers after `delay`.
struct Counting {
    delay: Duration,
    answer: Result<Verdict, Failure>,
    now: AtomicUsize,
    most: AtomicUsize,
    asked: AtomicUsize,
}

/// Counts down also when the question is abandoned.
struct Asking<'a>(&'a AtomicUsize);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Backend for Counting {
    fn name(&self) -> BackendName {
        BackendName::Local
    }

    async fn ask(&self, _: &Question) -> Result<Answer, Failure> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        let _asking = Asking(&self.now);
        self.most.fetch_max(now, Ordering::SeqCst);
        sleep(self.delay).await;
        self.answer.map(Answer::bare)
    }
}

const MS: Duration = Duration::from_millis(1);

fn desk(delay: Duration, max_in_flight: usize, queue: usize, timeout: Duration) -> (Arc<Desk>, Arc<Counting>) {
    let backend = Arc::new(Counting {
        delay,
        answer: Ok(Verdict::Go),
        now: AtomicUsize::new(0),
        most: AtomicUsize::new(0),
        asked: AtomicUsize::new(0),
    });
    let limits = DeskLimits {
        max_in_flight: NonZeroUsize::new(max_in_flight).unwrap(),
        queue,
        timeout,
        breaker: BreakerConfig::default(),
    };
    (Arc::new(Desk::new(backend.clone(), limits, Asker::Payments)), backend)
}

fn judge(desk: &Arc<Desk>) -> JoinHandle<Ruling> {
    let desk = desk.clone();
    tokio::spawn(async move { desk.judge(&sample::question()).await })
}

/// Lets every spawned task run up to its next wait; virtual time stands still meanwhile.
async fn settle() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(start_paused = true)]
async fn fifty_at_once_are_asked_four_at_a_time_and_all_judged() {
    let (desk, backend) = desk(10 * MS, 4, 64, 5000 * MS);
    let tasks: Vec<_> = (0..50).map(|_| judge(&desk)).collect();
    settle().await;
    assert_eq!((desk.in_flight(), desk.waiting()), (4, 46));
    for task in tasks {
        assert_eq!(task.await.unwrap().refusal(), None);
    }
    assert_eq!(backend.most.load(Ordering::SeqCst), 4);
    assert_eq!(backend.asked.load(Ordering::SeqCst), 50, "each is asked exactly once");
    assert_eq!((desk.in_flight(), desk.waiting()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_refuses_at_once() {
    let (desk, backend) = desk(1000 * MS, 4, 2, 5000 * MS);
    let tasks: Vec<_> = (0..6).map(|_| judge(&desk)).collect();
    settle().await;
    let seventh = desk.judge(&sample::question()).await;
    assert_eq!(seventh.outcome.as_ref().unwrap_err(), &Failure::QueueFull);
    assert_eq!(seventh.refusal(), Some(Reason::VerdictUnavailable));
    assert_eq!(seventh.latency, Duration::ZERO);
    for task in tasks {
        assert_eq!(task.await.unwrap().refusal(), None);
    }
    assert_eq!(backend.asked.load(Ordering::SeqCst), 6);
}

#[tokio::test(start_paused = true)]
async fn without_a_queue_only_the_seats_are_served() {
    let (desk, _) = desk(1000 * MS, 1, 0, 5000 * MS);
    let first = judge(&desk);
    settle().await;
    assert_eq!(desk.judge(&sample::question()).await.outcome.unwrap_err(), Failure::QueueFull);
    assert_eq!(first.await.unwrap().refusal(), None);
}

#[tokio::test(start_paused = true)]
async fn the_timeout_covers_queueing_and_asking_together() {
    // The first is answered after 70 ms; the second waits for 70 and would need until 140.
    let (desk, backend) = desk(70 * MS, 1, 8, 100 * MS);
    let (first, second) = (judge(&desk), judge(&desk));
    assert_eq!(first.await.unwrap().refusal(), None);
    let second = second.await.unwrap();
    assert_eq!(second.outcome.as_ref().unwrap_err(), &Failure::TimedOut);
    assert_eq!(second.refusal(), Some(Reason::VerdictUnavailable));
    assert_eq!(second.latency, 100 * MS);
    assert_eq!(backend.asked.load(Ordering::SeqCst), 2);
    assert_eq!((desk.in_flight(), desk.waiting()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_dead_backend_holds_everybody_for_the_timeout_and_no_longer() {
    let (desk, backend) = desk(3_600_000 * MS, 4, 64, 5000 * MS);
    let tasks: Vec<_> = (0..68).map(|_| judge(&desk)).collect();
    for task in tasks {
        let ruling = task.await.unwrap();
        assert_eq!(ruling.refusal(), Some(Reason::VerdictUnavailable));
        assert_eq!(ruling.latency, 5000 * MS);
    }
    assert_eq!(backend.now.load(Ordering::SeqCst), 0, "abandoned questions end");
    assert_eq!((desk.in_flight(), desk.waiting()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn callers_that_go_away_free_their_seat_and_their_place() {
    let (desk, backend) = desk(1000 * MS, 1, 1, 5000 * MS);
    let (seated, queued) = (judge(&desk), judge(&desk));
    settle().await;
    assert_eq!((desk.in_flight(), desk.waiting()), (1, 1));
    queued.abort();
    settle().await;
    assert_eq!((desk.in_flight(), desk.waiting()), (1, 0));
    let next = judge(&desk);
    settle().await;
    assert_eq!((desk.in_flight(), desk.waiting()), (1, 1));
    seated.abort();
    settle().await;
    assert_eq!((desk.in_flight(), desk.waiting()), (1, 0), "the freed seat went to whoever waited");
    assert_eq!(next.await.unwrap().refusal(), None);
    assert_eq!((desk.in_flight(), backend.now.load(Ordering::SeqCst)), (0, 0));
}

#[test]
fn only_an_exact_go_is_not_a_refusal() {
    let table = [
        (Ok(Verdict::Go), None, "go"),
        (Ok(Verdict::Hold), Some(Reason::VerdictHold), "hold"),
        (Ok(Verdict::Stop), Some(Reason::VerdictStop), "stop"),
        (Err(Failure::QueueFull), Some(Reason::VerdictUnavailable), "none"),
        (Err(Failure::TimedOut), Some(Reason::VerdictUnavailable), "none"),
        (
            Err(Failure::Unreachable(FetchError::Connect)),
            Some(Reason::VerdictUnavailable),
            "none",
        ),
        (Err(Failure::PaymentDemanded), Some(Reason::VerdictUnavailable), "none"),
        (Err(Failure::RateLimited), Some(Reason::VerdictUnavailable), "none"),
        (Err(Failure::Status(503)), Some(Reason::VerdictUnavailable), "none"),
        (Err(Failure::NotJson), Some(Reason::VerdictUnavailable), "none"),
        (Err(Failure::BreakerOpen), Some(Reason::VerdictUnavailable), "none"),
        (
            Err(Failure::Unacceptable(Unacceptable::Receipt)),
            Some(Reason::VerdictInvalid),
            "none",
        ),
    ];
    for (outcome, refusal, label) in table {
        let ruling = Ruling {
            backend: BackendName::Blackwall,
            outcome: outcome.map(Answer::bare),
            latency: Duration::ZERO,
        };
        assert_eq!((ruling.refusal(), ruling.label()), (refusal, label), "{:?}", ruling.outcome);
    }
}

#[tokio::test(start_paused = true)]
async fn a_dead_backend_costs_nobody_its_timeout_twice_once_that_is_known() {
    let (desk, backend) = desk(3_600_000 * MS, 4, 64, 5000 * MS);
    for _ in 0..5 {
        assert_eq!(desk.judge(&sample::question()).await.latency, 5000 * MS);
    }
    assert!(desk.breaker_is_open());
    let ruling = desk.judge(&sample::question()).await;
    assert_eq!(ruling.refusal(), Some(Reason::VerdictUnavailable));
    assert_eq!(
        (ruling.outcome.unwrap_err(), ruling.latency),
        (Failure::BreakerOpen, Duration::ZERO)
    );
    assert_eq!(backend.asked.load(Ordering::SeqCst), 5);
    tokio::time::sleep(10_000 * MS).await;
    assert_eq!(
        desk.judge(&sample::question()).await.outcome.unwrap_err(),
        Failure::TimedOut,
        "the probe"
    );
    assert_eq!(backend.asked.load(Ordering::SeqCst), 6);
}

#[tokio::test(start_paused = true)]
async fn payments_that_never_got_their_turn_do_not_open_the_breaker() {
    let (desk, _) = desk(90 * MS, 1, 64, 100 * MS);
    let tasks: Vec<_> = (0..20).map(|_| judge(&desk)).collect();
    let mut refused = 0;
    for task in tasks {
        refused += usize::from(task.await.unwrap().refusal().is_some());
    }
    // The first was answered, the second was asked when it was nearly too late, the others waited in vain.
    assert_eq!((refused, desk.breaker_is_open()), (19, false));
}
