#![allow(clippy::unwrap_used)]
use super::*;
use crate::verdict::sample;
use crate::x402::claim::EvmAddress;

const SECOND: Duration = Duration::from_secs(1);

fn memory(per_payee: usize) -> RateMemory {
    RateMemory::new(RateConfig {
        per_payee,
        window: 60 * SECOND,
    })
}

fn pay(memory: &RateMemory, claim: &Claim, now: Instant) -> Result<(), Reason> {
    memory.count(claim, now).map(Slot::used).map_err(|refusal| refusal.reason)
}

fn claim(payee: u8, path: &str) -> Claim {
    let mut claim = sample::claim();
    claim.payee = EvmAddress([payee; 20]).into();
    path.clone_into(&mut claim.resource.path);
    claim
}

#[test]
fn an_agent_in_a_loop_is_stopped_until_the_window_has_moved_on() {
    let (memory, start) = (memory(3), Instant::now());
    for second in 0..3 {
        assert_eq!(pay(&memory, &claim(1, "/a"), start + second * SECOND), Ok(()));
    }
    let limited = Err(Reason::PaymentRateLimited);
    assert_eq!(pay(&memory, &claim(1, "/a"), start + 3 * SECOND), limited);
    assert_eq!(pay(&memory, &claim(2, "/a"), start + 3 * SECOND), Ok(()), "another payee");
    assert_eq!(pay(&memory, &claim(1, "/b"), start + 3 * SECOND), Ok(()), "another resource");
    assert_eq!(pay(&memory, &claim(1, "/a"), start + 59 * SECOND), limited);
    assert_eq!(
        pay(&memory, &claim(1, "/a"), start + 60 * SECOND),
        Ok(()),
        "the first no longer counts"
    );
    assert_eq!(pay(&memory, &claim(1, "/a"), start + 60 * SECOND), limited, "the second does");
    assert_eq!(pay(&memory, &claim(1, "/a"), start + 61 * SECOND), Ok(()));
}

#[test]
fn a_payment_that_did_not_leave_does_not_count_and_one_under_way_does() {
    let (memory, now) = (memory(2), Instant::now());
    let (first, second) = (
        memory.count(&claim(1, "/a"), now).unwrap(),
        memory.count(&claim(1, "/a"), now).unwrap(),
    );
    assert_eq!(
        pay(&memory, &claim(1, "/a"), now),
        Err(Reason::PaymentRateLimited),
        "two are under way"
    );
    drop(first);
    assert_eq!(pay(&memory, &claim(1, "/a"), now), Ok(()));
    second.used();
    assert_eq!(pay(&memory, &claim(1, "/a"), now), Err(Reason::PaymentRateLimited));
}

#[test]
fn asking_whether_there_is_room_takes_none() {
    let (memory, now) = (memory(1), Instant::now());
    for _ in 0..3 {
        assert_eq!(memory.check(&claim(1, "/a"), now), Ok(()));
    }
    pay(&memory, &claim(1, "/a"), now).unwrap();
    let refusal = memory.check(&claim(1, "/a"), now).unwrap_err();
    assert_eq!(refusal.reason, Reason::PaymentRateLimited);
}

#[test]
fn a_refusal_says_when_it_ends() {
    let (memory, now) = (memory(1), Instant::now());
    pay(&memory, &claim(1, "/a"), now).unwrap();
    let refusal = memory.count(&claim(1, "/a"), now + 20 * SECOND).unwrap_err();
    assert!(refusal.detail.ends_with("within 1m; the next may in 41s"), "{}", refusal.detail);
}

#[test]
fn however_many_resources_there_are_the_count_stays_within_bounds() {
    let rule = RateConfig {
        per_payee: 5,
        window: 60 * SECOND,
    };
    let (memory, now) = (RateMemory::bounded(rule, 100), Instant::now());
    let passed = (0..300)
        .filter(|number| pay(&memory, &claim(1, &format!("/{number}")), now).is_ok())
        .count();
    assert_eq!(passed, 100);
    assert_eq!(pay(&memory, &claim(2, "/"), now + 59 * SECOND), Err(Reason::PaymentRateLimited));
    assert_eq!(pay(&memory, &claim(2, "/"), now + 60 * SECOND), Ok(()));
    let counted = memory.counted();
    assert_eq!((counted.payments, counted.places.len()), (1, 1));
}
