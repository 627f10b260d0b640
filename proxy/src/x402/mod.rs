//! The x402 wire: find a payment in a request, decode it strictly, prove what was signed.
//!
//! In: header maps and bytes. Out: a [`claim::Claim`], or a typed refusal. Pure: no I/O, no clock of its own, no pingora.

pub mod address;
pub mod amount;
pub mod assets;
pub mod base64;
pub mod carriers;
pub mod challenge;
pub mod claim;
pub mod detect;
pub mod eip712;
pub mod enabled;
pub mod extensions;
pub mod network;
pub mod offer;
pub mod payment;
pub mod refusal;
pub mod resource;
pub mod scheme;
pub mod settlement;
pub mod sign_in;
pub mod signature;
pub mod single_use;
pub mod solana;
pub mod traces;
pub mod unsigned;
pub(crate) mod words;

pub use claim::Claim;
pub use refusal::{PaymentRefusal, PaymentSummary, SchemeName};
pub use tollgate_policy::json;
