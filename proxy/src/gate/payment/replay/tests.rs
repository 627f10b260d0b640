#![allow(clippy::unwrap_used)]
use tollgate_policy::Authority;

use super::*;
use crate::x402::claim::{Asset, AtomicAmount, EvmAddress, Resource, Scheme, Token, Version};
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
            scheme: "https",
            authority: Authority::parse("a.test:443", None).unwrap(),
            path: "/".to_owned(),
        },
        payment_hash: PaymentHash([payment; 32]),
        nonce_hash: NonceHash([nonce; 32]),
        identifier_hash: None,
        request_hash: RequestHash([request; 32]),
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
    memory.reserve(&claim(1, 1, 1), NOW).unwrap().reached_origin();
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
    memory.reserve(&claim(1, 1, 1), NOW).unwrap().reached_origin();
    memory.reserve(&claim(2, 2, 2), NOW).unwrap().reached_origin();
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
