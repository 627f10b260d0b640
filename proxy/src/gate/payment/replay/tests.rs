#![allow(clippy::unwrap_used)]
use tollgate_policy::Authority;

use super::*;
use crate::x402::claim::{Asset, AtomicAmount, EvmAddress, IdentifierHash, PaymentHash, Resource, Scheme, Token, Version};
use crate::x402::network::Caip2;

const NOW: u64 = 1_000;

fn claim(nonce: u8, payment: u8, request: u8) -> Claim {
    Claim {
        version: Version::V2,
        scheme: Scheme::Exact,
        asset: Asset {
            network: Caip2::Eip155 { chain_id: 8453 },
            address: EvmAddress([1; 20]).into(),
            decimals: 6,
            token: Token::Contract(None),
        },
        amount: AtomicAmount::default(),
        payee: EvmAddress([2; 20]).into(),
        payer: EvmAddress([3; 20]).into(),
        valid_after: 0,
        valid_before: NOW + 60,
        resource: Resource {
            method: "POST".into(),
            scheme: "https",
            authority: Authority::parse("a.test:443", None).unwrap(),
            path: "/".to_owned(),
        },
        payment_hash: PaymentHash([payment; 32]),
        nonce_hash: NonceHash([nonce; 32]),
        identifier_hash: None,
        identifier_terms: None,
        request_hash: RequestHash([request; 32]),
        unsigned: None,
    }
}

fn reason(memory: &ReplayMemory, claim: &Claim, now: u64) -> Option<Reason> {
    memory.reserve(claim, now).err().map(|refusal| refusal.reason)
}

#[test]
fn one_authorisation_cannot_be_used_by_two_requests_at_once() {
    let memory = ReplayMemory::default();
    let _held = memory.reserve(&claim(1, 1, 1), NOW).unwrap();
    assert_eq!(reason(&memory, &claim(1, 1, 1), NOW), Some(Reason::PaymentReplayed));
    assert_eq!(reason(&memory, &claim(2, 2, 1), NOW), None, "a new nonce is a new payment");
}

#[test]
fn a_payment_that_reached_the_origin_is_spent() {
    let memory = ReplayMemory::default();
    memory.reserve(&claim(1, 1, 1), NOW).unwrap().answered();
    assert_eq!(reason(&memory, &claim(1, 1, 1), NOW), Some(Reason::PaymentReplayed));
    drop(memory.reserve(&claim(2, 2, 2), NOW).unwrap());
    assert_eq!(
        reason(&memory, &claim(2, 2, 2), NOW),
        Some(Reason::PaymentReplayed),
        "a silent drop counts as spent"
    );
}

#[test]
fn a_retry_that_never_reached_the_origin_passes_once_more_and_not_twice() {
    let memory = ReplayMemory::default();
    let first = memory.reserve(&claim(1, 1, 1), NOW).unwrap();
    assert_eq!(first.attempt(), Attempt::First);
    first.never_reached_origin();
    let again = memory.reserve(&claim(1, 1, 1), NOW).unwrap();
    assert_eq!(again.attempt(), Attempt::Retry);
    again.never_reached_origin();
    assert_eq!(reason(&memory, &claim(1, 1, 1), NOW), Some(Reason::PaymentReplayed));
}

#[test]
fn a_redirect_cannot_carry_the_payment_to_another_request() {
    let memory = ReplayMemory::default();
    memory.reserve(&claim(1, 1, 1), NOW).unwrap().never_reached_origin();
    assert_eq!(
        reason(&memory, &claim(1, 1, 2), NOW),
        Some(Reason::PaymentReplayed),
        "another request"
    );
    assert_eq!(reason(&memory, &claim(1, 2, 1), NOW), Some(Reason::PaymentReplayed), "other bytes");
    assert_eq!(reason(&memory, &claim(1, 1, 1), NOW), None, "the real retry still passes");
}

#[test]
fn a_refused_payment_starts_anew() {
    let memory = ReplayMemory::default();
    memory.reserve(&claim(1, 1, 1), NOW).unwrap().refused();
    assert!(memory.is_empty());
    assert_eq!(memory.reserve(&claim(1, 1, 1), NOW).unwrap().attempt(), Attempt::First);
}

#[test]
fn a_full_memory_refuses_until_something_expires() {
    let memory = ReplayMemory::new(2);
    memory.reserve(&claim(1, 1, 1), NOW).unwrap().answered();
    memory.reserve(&claim(2, 2, 2), NOW).unwrap().answered();
    assert_eq!(reason(&memory, &claim(3, 3, 3), NOW + 59), Some(Reason::OverCapacity));
    assert_eq!(reason(&memory, &claim(3, 3, 3), NOW + 60), None);
    assert_eq!(memory.len(), 1);
}

#[test]
fn many_threads_get_one_reservation() {
    let memory = ReplayMemory::default();
    let granted: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| (0..100).filter(|_| memory.reserve(&claim(1, 1, 1), NOW).is_ok()).count()))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(granted, 1);
}

/// Sends it, and loses the answer.
async fn lose(memory: &ReplayMemory, claim: &Claim) {
    let mut reservation = memory.reserve(claim, NOW).unwrap();
    reservation.buys(PaidBody::Whole(b"one")).unwrap();
    reservation.spend().await.unwrap();
    drop(reservation);
}

fn buying(memory: &ReplayMemory, claim: &Claim, body: PaidBody<'_>) -> Option<Reason> {
    let reservation = memory.reserve(claim, NOW).unwrap();
    let refused = reservation.buys(body).err().map(|refusal| refusal.reason);
    reservation.refused();
    refused
}

#[tokio::test]
async fn after_a_lost_answer_nothing_is_bought_a_second_time_with_a_new_nonce() {
    let memory = ReplayMemory::default();
    lose(&memory, &claim(1, 1, 1)).await;
    let (one, two) = (PaidBody::Whole(b"one"), PaidBody::Whole(b"two"));
    assert_eq!(buying(&memory, &claim(2, 2, 1), one), Some(Reason::PaymentUnsettled));
    assert_eq!(buying(&memory, &claim(3, 3, 1), two), None, "another body is another purchase");
    assert_eq!(buying(&memory, &claim(4, 4, 2), one), None, "another request is another purchase");
    let late = Claim {
        valid_before: NOW + 200,
        ..claim(5, 5, 1)
    };
    let reservation = memory.reserve(&late, NOW + 60).unwrap();
    assert_eq!(reservation.buys(one), Ok(()), "the first can no longer be settled");
    reservation.answered();
    let next = memory
        .reserve(
            &Claim {
                valid_before: NOW + 200,
                ..claim(6, 6, 1)
            },
            NOW + 60,
        )
        .unwrap();
    assert_eq!(next.buys(one), Ok(()), "an answered purchase may be made again");
    next.refused();
}

fn named(nonce: u8, payment: u8, request: u8, identifier: u8) -> Claim {
    Claim {
        identifier_hash: Some(IdentifierHash([identifier; 32])),
        ..claim(nonce, payment, request)
    }
}

#[tokio::test]
async fn a_payment_identifier_belongs_to_one_payment() {
    let memory = ReplayMemory::default();
    let held = memory.reserve(&named(1, 1, 1, 9), NOW).unwrap();
    for (other, expected) in [
        (named(2, 2, 1, 9), Some(Reason::PaymentIdentifierInvalid)),
        (named(2, 2, 2, 9), Some(Reason::PaymentIdentifierInvalid)),
        (named(1, 2, 1, 9), Some(Reason::PaymentReplayed)),
        (named(2, 2, 1, 8), None),
    ] {
        assert_eq!(reason(&memory, &other, NOW), expected);
    }
    held.refused();
    assert_eq!(
        reason(&memory, &named(3, 3, 1, 9), NOW),
        None,
        "a refused payment does not use it up"
    );
    assert_eq!(
        reason(
            &memory,
            &Claim {
                valid_before: NOW + 200,
                ..named(4, 4, 1, 9)
            },
            NOW + 60
        ),
        None,
        "nor an expired one"
    );
}

#[tokio::test]
async fn under_an_identifier_a_lost_answer_may_be_asked_for_once_more_with_the_same_bytes() {
    let memory = ReplayMemory::default();
    lose(&memory, &named(1, 1, 1, 9)).await;
    assert_eq!(
        reason(&memory, &named(1, 1, 2, 9), NOW),
        Some(Reason::PaymentReplayed),
        "another request"
    );
    for (body, expected) in [
        (PaidBody::Whole(b"two"), Some(Reason::PaymentReplayed)),
        (PaidBody::Unread, Some(Reason::PaymentReplayed)),
        (PaidBody::Whole(b"one"), None),
    ] {
        assert_eq!(buying(&memory, &named(1, 1, 1, 9), body), expected, "{body:?}");
    }
    let mut again = memory.reserve(&named(1, 1, 1, 9), NOW).unwrap();
    assert_eq!(again.attempt(), Attempt::Resend);
    assert_eq!(reason(&memory, &named(1, 1, 1, 9), NOW), Some(Reason::PaymentReplayed), "in flight");
    again.buys(PaidBody::Whole(b"one")).unwrap();
    again.spend().await.unwrap();
    assert_eq!(
        buying(&memory, &claim(5, 5, 1), PaidBody::Whole(b"one")),
        Some(Reason::PaymentUnsettled),
        "it is as uncertain as before"
    );
    drop(again);
    assert_eq!(
        reason(&memory, &named(1, 1, 1, 9), NOW),
        Some(Reason::PaymentReplayed),
        "not a third time"
    );
}

#[tokio::test]
async fn what_was_spent_stays_spent_after_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let (file, crashed) = (folder.path().join("payments"), folder.path().join("crashed"));
    let far = |claim: Claim| Claim {
        valid_before: u64::MAX,
        ..claim
    };
    let memory = ReplayMemory::kept_in(&file).unwrap();
    lose(&memory, &far(claim(1, 1, 1))).await;
    lose(&memory, &far(named(2, 2, 2, 9))).await;
    let mut third = memory.reserve(&far(claim(3, 3, 3)), NOW).unwrap();
    third.spend().await.unwrap();
    third.answered();
    memory.reserve(&far(claim(4, 4, 4)), NOW).unwrap().never_reached_origin();
    // Notes are written in the order in which they came, so this one is after the third's.
    lose(&memory, &far(claim(5, 5, 5))).await;
    std::fs::copy(&file, &crashed).unwrap();

    let memory = ReplayMemory::kept_in(&crashed).unwrap();
    assert_eq!((memory.status(), memory.len()), (StoreStatus::Ready, 4));
    for (again, expected) in [
        (claim(1, 1, 1), Some(Reason::PaymentReplayed)),
        (claim(3, 3, 3), Some(Reason::PaymentReplayed)),
        (named(6, 6, 2, 9), Some(Reason::PaymentIdentifierInvalid)),
        (claim(4, 4, 4), None),
    ] {
        assert_eq!(reason(&memory, &far(again), NOW), expected);
    }
    assert_eq!(
        buying(&memory, &claim(7, 7, 1), PaidBody::Whole(b"one")),
        Some(Reason::PaymentUnsettled)
    );
    let again = memory.reserve(&far(named(2, 2, 2, 9)), NOW).unwrap();
    assert_eq!(again.attempt(), Attempt::Resend);
    again.refused();
}

#[tokio::test]
async fn a_store_that_cannot_be_used_lets_nothing_out() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("payments");
    let holder = ReplayMemory::kept_in(&file).unwrap();
    let memory = ReplayMemory::kept_in(&file).unwrap();
    assert_eq!(memory.status(), StoreStatus::Unusable(StoreFault::Locked));
    let refusal = memory.reserve(&claim(1, 1, 1), NOW).unwrap_err();
    assert_eq!(refusal.reason, Reason::PaymentStoreUnavailable);
    assert!(!refusal.detail.contains("payments'"), "{}", refusal.detail);
    let mut reserved = holder.reserve(&claim(1, 1, 1), NOW).unwrap();
    holder.close();
    assert_eq!(reserved.spend().await.unwrap_err().reason, Reason::PaymentStoreUnavailable);
    reserved.never_reached_origin();
}
