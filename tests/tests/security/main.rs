//! Attacks, one test each, named after the trick: rails, payments that try not to look like payments, secrets that must not show.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::format_push_string,
    reason = "a test fails by panicking"
)]

mod evasions;
mod rails;
mod secrets;
mod smuggling;
