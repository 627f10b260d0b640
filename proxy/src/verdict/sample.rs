//! A claim, and the question about it, for tests.
#![allow(clippy::expect_used)]

use ruint::aliases::U256;
use tollgate_policy::Authority;

use super::Question;
use crate::x402::address::Address;
use crate::x402::claim::{
    Asset, AtomicAmount, Claim, Domain, EvmAddress, NonceHash, PaymentHash, RequestHash, Resource, Scheme, Token, Version,
};
use crate::x402::network::Caip2;

/// The payee that the recorded service knows well.
pub(crate) const WARM: &str = "02c2fcafce36b4aadb39625866bc6b1699d83043";

pub(crate) fn address(digits: &str) -> Address {
    let mut bytes = [0; 20];
    hex::decode_to_slice(digits, &mut bytes).expect("40 hex digits");
    EvmAddress(bytes).into()
}

/// The question about [`claim`].
pub(crate) fn question() -> Question {
    Question::from(&claim())
}

/// 0.014 USDC on Base to [`WARM`] for `https://api.example.com/v1/data`.
pub(crate) fn claim() -> Claim {
    Claim {
        version: Version::V2,
        scheme: Scheme::Exact,
        asset: Asset {
            network: Caip2::Eip155 { chain_id: 8453 },
            address: address("833589fcd6edb6e08f4c7c32d4f71b54bda02913"),
            decimals: 6,
            token: Token::Contract(Some(Domain {
                name: "USD Coin".into(),
                version: "2".into(),
            })),
        },
        amount: amount("14000"),
        payee: address(WARM),
        payer: address("96d7edc78253c83ffa9dfd7e2fd538e7daa9be56"),
        valid_after: 0,
        valid_before: 2_000_000_000,
        resource: Resource {
            method: "POST".into(),
            scheme: "https",
            authority: Authority::parse("api.example.com", Some(443)).expect("authority"),
            path: "/v1/data".into(),
        },
        payment_hash: PaymentHash([0xaa; 32]),
        nonce_hash: NonceHash([0xbb; 32]),
        identifier_hash: None,
        identifier_terms: None,
        request_hash: RequestHash([0xcc; 32]),
        unsigned: None,
    }
}

pub(crate) fn amount(atomic: &str) -> AtomicAmount {
    AtomicAmount(atomic.parse::<U256>().expect("an integer"))
}
