//! The payment rule, local part: what our own checks say before anybody is asked.
//!
//! In: what [`crate::x402::detect`] found, the request, the operator's and the policy author's terms, the time. Out: a
//! [`Claim`](crate::x402::Claim) that may be put to the verdict service, or a typed refusal. Pure, but for the memory of used nonces and its
//! file.

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
