//! The x402 wire: find a payment in a request, decode it strictly, prove what was signed.
//!
//! In: header maps and bytes. Out: a [`claim::Claim`], or a typed refusal. Pure: no I/O, no clock of its own, no pingora.

pub mod claim;
pub mod network;
