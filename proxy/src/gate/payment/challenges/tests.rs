#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use tollgate_policy::Authority;

use super::super::config::PaymentsConfig;
use super::*;
use crate::x402::carriers::Carrier;
use crate::x402::claim::{Asset, AtomicAmount, EvmAddress, NonceHash, PaymentHash, Scheme, Token};
use crate::x402::extensions::{self, IdentifierTerms};
use crate::x402::json;
use crate::x402::network::Caip2;
use crate::x402::offer::Extra;
use crate::x402::resource::{ResourceUrl, UrlScheme};

const NOW: u64 = 1_000;

type Bend = fn(&mut Asked);

fn authority() -> Authority {
    Authority::parse("shop.test:443", None).unwrap()
}

fn request(authority: &Authority) -> PaymentRequest<'_> {
    PaymentRequest {
        method: "GET",
        scheme: UrlScheme::Https,
        authority,
        path: "/paid",
        query: None,
        carrier: Carrier::Head,
    }
}

fn asked() -> Asked {
    Asked {
        scheme: Scheme::Exact,
        network: Caip2::Eip155 { chain_id: 8453 },
        asset: EvmAddress([1; 20]).into(),
        amount: AtomicAmount::parse("10000").unwrap(),
        pay_to: EvmAddress([2; 20]).into(),
        max_timeout: 60,
        resource: ResourceUrl::parse("https://shop.test/paid").unwrap(),
        extra: Extra::default(),
        identifier: None,
    }
}

fn claim() -> Claim {
    let asked = asked();
    let authority = authority();
    Claim {
        unsigned: None,
        version: Version::V2,
        scheme: Scheme::Exact,
        asset: Asset {
            network: asked.network,
            address: asked.asset,
            decimals: 6,
            token: Token::Contract(None),
        },
        amount: asked.amount,
        payee: asked.pay_to,
        payer: EvmAddress([3; 20]).into(),
        valid_after: 0,
        valid_before: NOW + 60,
        resource: request(&authority).resource(),
        payment_hash: PaymentHash([1; 32]),
        nonce_hash: NonceHash([1; 32]),
        identifier_hash: None,
        identifier_terms: None,
        request_hash: request(&authority).hash(),
    }
}

fn answer(memory: &ChallengeMemory, claim: &Claim, now: u64) -> Result<Answer, Reason> {
    let terms = Terms::operator(&PaymentsConfig::default()).unwrap();
    memory
        .answer(claim, &request(&authority()), &terms, now)
        .map_err(|refusal| refusal.reason)
}

fn waiting_for(offers: Vec<Asked>) -> ChallengeMemory {
    let memory = ChallengeMemory::default();
    memory.remember(claim().request_hash, Version::V2, offers, NOW);
    memory
}

#[test]
fn a_payment_that_nobody_asked_for_is_refused() {
    let memory = ChallengeMemory::default();
    assert_eq!(answer(&memory, &claim(), NOW).unwrap_err(), Reason::PaymentNoChallenge);
    memory.remember(RequestHash([9; 32]), Version::V2, vec![asked()], NOW);
    assert_eq!(
        answer(&memory, &claim(), NOW).unwrap_err(),
        Reason::PaymentNoChallenge,
        "another URL's"
    );
    memory.remember(claim().request_hash, Version::V2, Vec::new(), NOW);
    assert_eq!(answer(&memory, &claim(), NOW).unwrap_err(), Reason::PaymentNoChallenge, "no offer");
    memory.remember(claim().request_hash, Version::V1, vec![asked()], NOW);
    assert_eq!(answer(&memory, &claim(), NOW).unwrap_err(), Reason::PaymentNoChallenge, "v1's");
}

#[test]
fn a_price_or_payee_from_elsewhere_is_not_an_answer() {
    let bends: [(&str, Bend); 6] = [
        ("another chain", |asked| asked.network = Caip2::Eip155 { chain_id: 1 }),
        ("another scheme", |asked| asked.scheme = Scheme::ExactPermit2),
        ("another asset", |asked| asked.asset = EvmAddress([7; 20]).into()),
        ("a lower price", |asked| asked.amount = AtomicAmount::parse("9999").unwrap()),
        ("another payee", |asked| asked.pay_to = EvmAddress([7; 20]).into()),
        ("another shop's goods", |asked| {
            asked.resource = ResourceUrl::parse("https://other.test/paid").unwrap();
        }),
    ];
    for (name, bend) in bends {
        let mut other = asked();
        bend(&mut other);
        let memory = waiting_for(vec![other.clone()]);
        assert_eq!(answer(&memory, &claim(), NOW).unwrap_err(), Reason::PaymentMismatch, "{name}");
        let memory = waiting_for(vec![other, asked()]);
        assert!(answer(&memory, &claim(), NOW).is_ok(), "the second offer, beside {name}");
    }
}

#[test]
fn a_challenge_is_answered_once() {
    let memory = waiting_for(vec![asked()]);
    let held = answer(&memory, &claim(), NOW).unwrap();
    assert_eq!(
        answer(&memory, &claim(), NOW).unwrap_err(),
        Reason::PaymentNoChallenge,
        "while it is answered"
    );
    drop(held);
    answer(&memory, &claim(), NOW).unwrap().given();
    assert_eq!(
        answer(&memory, &claim(), NOW).unwrap_err(),
        Reason::PaymentNoChallenge,
        "after it was"
    );
    assert!(memory.is_empty());
}

#[test]
fn two_that_were_asked_may_both_answer() {
    let memory = waiting_for(vec![asked()]);
    memory.remember(claim().request_hash, Version::V2, vec![asked()], NOW);
    answer(&memory, &claim(), NOW).unwrap().given();
    answer(&memory, &claim(), NOW).unwrap().given();
    assert_eq!(answer(&memory, &claim(), NOW).unwrap_err(), Reason::PaymentNoChallenge);
}

#[test]
fn an_answer_that_comes_too_late_is_refused() {
    let memory = waiting_for(vec![asked()]);
    assert_eq!(answer(&memory, &claim(), NOW + 61).unwrap_err(), Reason::PaymentExpired);
    assert!(answer(&memory, &claim(), NOW + 60).is_ok());
}

#[test]
fn a_flood_of_challenges_stays_within_bounds_and_the_oldest_go_first() {
    let memory = ChallengeMemory::new(100);
    for number in 0..1_000_u16 {
        let mut hash = [0; 32];
        hash[..2].copy_from_slice(&number.to_be_bytes());
        memory.remember(RequestHash(hash), Version::V2, vec![asked()], NOW);
    }
    assert_eq!(memory.len(), 100);
    memory.remember(claim().request_hash, Version::V2, vec![asked()], NOW);
    assert!(answer(&memory, &claim(), NOW).is_ok(), "the newest is there");
    for _ in 0..500 {
        memory.remember(claim().request_hash, Version::V2, vec![asked()], NOW);
    }
    assert!(memory.len() <= 100);
    let inner = memory.lock();
    assert_eq!(inner.order.len(), inner.waiting.values().map(Vec::len).sum::<usize>());
    assert!(inner.waiting[&claim().request_hash].len() <= MOST_PER_REQUEST);
}

#[test]
fn a_signature_that_outlives_what_the_seller_asked_for_is_no_answer() {
    for (lives, expected) in [
        (60, None),
        (70, None),
        (71, Some(Reason::PaymentExpired)),
        (300, Some(Reason::PaymentExpired)),
    ] {
        let long = Claim {
            valid_before: NOW + lives,
            ..claim()
        };
        assert_eq!(answer(&waiting_for(vec![asked()]), &long, NOW).err(), expected, "{lives}");
    }
}

fn identifier_terms(extension: &str) -> Option<IdentifierTerms> {
    let text = format!(r#"{{"payment-identifier":{extension}}}"#);
    extensions::Asked::read(Some(&json::parse(text.as_bytes(), 16).unwrap())).identifier
}

#[test]
fn a_client_cannot_talk_the_seller_s_payment_identifier_away() {
    let schema = r#""schema":{"type":"object","properties":{"id":{"minLength":16}}}"#;
    let reordered = r#""schema":{"properties":{"id":{"minLength":16}},"type":"object"}"#;
    let laxer = r#""schema":{"type":"object","properties":{"id":{"minLength":1}}}"#;
    let terms = |info: &str, schema: &str| identifier_terms(&format!(r#"{{"info":{{{info}}},{schema}}}"#));
    let (required, optional) = (r#""required":true"#, r#""required":false"#);
    let sent = r#""required":true,"id":"0123456789abcdef""#;
    let bad = Some(Reason::PaymentIdentifierInvalid);
    for (seller, client, expected) in [
        (None, None, None),
        (terms(required, schema), terms(sent, schema), None),
        (terms(required, schema), terms(sent, reordered), None),
        (terms(required, schema), None, bad),
        (terms(required, schema), terms(optional, schema), bad),
        (terms(required, schema), terms(sent, laxer), bad),
        (terms(required, schema), identifier_terms(&format!(r#"{{"info":{{{sent}}}}}"#)), bad),
        (terms(optional, schema), None, None),
        (terms(optional, schema), terms(optional, schema), None),
        (None, terms(sent, schema), bad),
    ] {
        let offer = Asked {
            identifier: seller,
            ..asked()
        };
        let claim = Claim {
            identifier_terms: client,
            ..claim()
        };
        assert_eq!(
            answer(&waiting_for(vec![offer]), &claim, NOW).err(),
            expected,
            "{seller:?} {client:?}"
        );
    }
}
