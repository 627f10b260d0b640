#![allow(clippy::unwrap_used)]
use tokio::time::advance;

use super::*;
use crate::egress::fetch::FetchError;
use crate::verdict::Unacceptable;

const PAUSE: Duration = Duration::from_secs(10);
const MS: Duration = Duration::from_millis(1);

fn breaker() -> Breaker {
    let rule = BreakerConfig {
        failures: NonZeroU32::new(3).unwrap(),
        pause: PAUSE,
    };
    Breaker::new(rule, "payments")
}

fn ask(breaker: &Breaker, outcome: Result<(), Failure>) {
    breaker.admit().unwrap().ended(&outcome);
}

fn trip(breaker: &Breaker) {
    for _ in 0..3 {
        ask(breaker, Err(Failure::TimedOut));
    }
    assert!(breaker.is_open());
}

#[tokio::test(start_paused = true)]
async fn failures_in_a_row_open_it_and_an_answer_between_them_starts_the_count_anew() {
    let breaker = breaker();
    for outcome in [
        Err(Failure::TimedOut),
        Err(Failure::Unreachable(FetchError::Connect)),
        Ok(()),
        Err(Failure::Status(503)),
        Err(Failure::TimedOut),
    ] {
        ask(&breaker, outcome);
        assert!(!breaker.is_open());
    }
    ask(&breaker, Err(Failure::Unreachable(FetchError::Connect)));
    assert!(breaker.is_open());
    assert_eq!(breaker.admit().err(), Some(Failure::BreakerOpen));
}

#[tokio::test(start_paused = true)]
async fn only_outages_count() {
    let breaker = breaker();
    for alive in [
        Failure::Status(404),
        Failure::Status(302),
        Failure::RateLimited,
        Failure::PaymentDemanded,
        Failure::NotJson,
        Failure::Unacceptable(Unacceptable::Verdict),
    ] {
        for _ in 0..5 {
            ask(&breaker, Err(alive));
        }
        assert!(!breaker.is_open(), "{alive}");
    }
}

#[tokio::test(start_paused = true)]
async fn one_probe_finds_out_and_everybody_else_is_refused_meanwhile() {
    let breaker = breaker();
    trip(&breaker);
    advance(9_999 * MS).await;
    assert!(breaker.admit().is_err());
    advance(MS).await;
    let probe = breaker.admit().unwrap();
    assert!(breaker.admit().is_err(), "a second one");
    probe.ended::<()>(&Err(Failure::Status(500)));
    assert!(breaker.admit().is_err(), "another pause");
    advance(PAUSE).await;
    ask(&breaker, Ok(()));
    assert!(!breaker.is_open());
    for _ in 0..2 {
        ask(&breaker, Err(Failure::TimedOut));
    }
    assert!(!breaker.is_open(), "the count starts anew");
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_nobody_waits_for_leaves_the_next_one_to_find_out() {
    let breaker = breaker();
    trip(&breaker);
    advance(PAUSE).await;
    drop(breaker.admit().unwrap());
    assert!(breaker.is_open());
    ask(&breaker, Ok(()));
    assert!(!breaker.is_open());
}

#[tokio::test(start_paused = true)]
async fn calls_that_were_under_way_when_it_opened_neither_prolong_nor_end_a_probe() {
    let breaker = breaker();
    let (late, later) = (breaker.admit().unwrap(), breaker.admit().unwrap());
    trip(&breaker);
    advance(PAUSE).await;
    let probe = breaker.admit().unwrap();
    late.ended::<()>(&Err(Failure::TimedOut));
    assert!(breaker.admit().is_err(), "the probe is still out");
    later.ended(&Ok(()));
    assert!(!breaker.is_open(), "an answer is an answer");
    probe.ended::<()>(&Err(Failure::TimedOut));
    assert!(!breaker.is_open(), "and one failure is one");
}
