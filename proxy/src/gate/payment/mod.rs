//! The payment rule, local part: what our own checks say before anybody is asked.
//!
//! In: what [`crate::x402::detect`] found, the request, the operator's and the policy author's terms, the time. Out: a
//! [`Claim`](crate::x402::Claim) that may be put to the verdict service, or a typed refusal. Pure, but for the memory of used nonces and its
//! file.
//!
//! What a payment has to be, where that is checked, and the tests that are named after getting around it:
//!
//! | rule | where | tests |
//! | --- | --- | --- |
//! | answers a 402 of the same method and URL, in time, once; one of its options in network, asset, amount, payee and resource | [`challenges`] | `challenges/tests.rs`; end to end `payments/challenges.rs` |
//! | scheme `exact` over EIP-3009, nothing else in `extra` | [`crate::x402::offer`], [`crate::x402::exact`] | `judge/tests.rs`: `flavours_that_cannot_be_judged…`, `members_that_are_not_known…` |
//! | method and URL are the pinned ones, and the payment's resource is the request's | [`pins`], [`judge`] | `judge/tests.rs`: `the_operators_lists_limits_and_pins_hold` |
//! | network and asset are listed, decimals known, the asset proved by the signature | [`judge`], [`terms`] | `the_operators_lists…`, `v1_names_no_asset…` |
//! | the amount is a canonical integer below 2^256, equal to the pinned price (a lower one is refused too) and to what was signed, and within the ceiling | [`crate::x402::amount`], [`pins`], [`judge`] | `x402/amount/tests.rs`, `the_operators_lists…`, `what_was_signed_cannot_be_changed_afterwards` |
//! | the payee is the pinned one; a policy cannot pin another beside the operator's | [`pins`] | `a_policy_cannot_pin_another_payee_or_price…` |
//! | `maxTimeoutSeconds`, `validBefore` and `validAfter` are within bounds, the seller's and the operator's; an option that names a facilitator is refused | [`judge`], [`challenges`], [`crate::x402::offer`] | `a_signature_is_usable_now_and_not_for_long`, `a_signature_that_outlives_what_the_seller_asked_for…` |
//! | the payer is listed and proved, the nonce has 32 bytes and was never seen | [`judge`], [`crate::x402::exact`], [`replay`] | `the_operators_lists…`, `replay/tests.rs`; end to end `payments/replay.rs` |
//! | a payment identifier is well-formed, asked for, and in the seller's terms | [`crate::x402::extensions`], [`challenges`] | `a_client_cannot_talk_the_seller_s_payment_identifier_away`; end to end `payments/identifiers.rs` |
//! | hashes are on disk before it leaves; same identifier, other payment: refused; same bytes: once more; a lost answer blocks a second purchase | [`replay`], [`store`], [`action`] | `replay/tests.rs`, `store/tests.rs`; end to end `payments/store.rs` |
//! | no signature, payment header or token is written down anywhere | types without `Debug` content, hashes only | `refusals_and_claims_show_no_signature…`; end to end `security/secrets.rs`, `payments/outcomes.rs` |
//! | it leaves byte for byte as it came, or not at all | [`crate::flow`] | end to end `go_forwards_the_payment_byte_for_byte` |
//! | only pinned URLs are paid, or lists and ceilings decide: two settings | [`pins::Unpinned`] | `the_operators_lists…`, `paying_only_what_is_pinned_needs_pins`; `policy/examples/action-safety` |
//! | not too many to one payee for one resource in a short time | [`rate`] | `rate/tests.rs`; end to end `payments/rate.rs` |

pub mod action;
pub mod challenges;
pub mod compare;
pub mod config;
pub mod judge;
mod layer;
pub mod pins;
pub mod rate;
pub mod replay;
pub mod schema;
mod signing;
pub mod stanza;
pub mod store;
pub mod terms;

pub use crate::x402::refusal::{PaymentRefusal, PaymentSummary};
pub use crate::x402::resource::{HttpResource, PaymentRequest, UrlScheme};
pub use challenges::{Answer, ChallengeMemory, ChallengeRule, ScreeningRule};
pub use config::PaymentsConfig;
pub use judge::{judge_carried, judge_header};
pub use replay::{Attempt, ReplayMemory, Reservation};
pub use stanza::validate_stanza;
pub use store::{StoreFault, StoreStatus};
pub use terms::{Terms, TermsError};

#[cfg(test)]
mod adversarial;
#[cfg(test)]
mod leniency;
#[cfg(test)]
pub(crate) mod vectors;
