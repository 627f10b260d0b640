//! From traffic that was seen to the smallest rules that allow it.
//!
//! In: observations, one after another: who reached what, and with which requests. Out: [`SuggestedRule`]s in the shape of
//! `network_policies`, ready to be written as YAML. Memory grows with the different paths, never with the number of observations,
//! and a place where ids were seen costs one entry however many there were.

mod adopt;
mod deep;
mod key;
mod paths;
mod rule;
mod segment;
#[cfg(test)]
mod tests;
mod traffic;

pub use adopt::{Adopted, Covers};
pub use deep::{Carrier, is_nameable};
pub use rule::{AllowedRequest, Requests, Stands, SuggestedBinary, SuggestedEndpoint, SuggestedEntry, SuggestedRule};
pub use traffic::{Observed, Seen, TooVaried, Traffic};

pub(crate) use key::key_for;
