//! Tests of a policy: a cases file beside it says what should become of which request, and a dry run says what would.
//!
//! In: a cases file. Out: for each case whether the decision is the expected one, with the whole dry run to show why not. Nothing here
//! decides anything: every case goes where `explain` and the proxy go.

mod document;
mod expectation;
mod payment;
mod run;
mod written;

#[cfg(test)]
mod tests;

pub use document::{Case, CasesFile};
pub use expectation::{Expected, Mismatch};
pub use run::{CasesError, Ran, Suite};
