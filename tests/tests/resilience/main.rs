//! What one client, many clients or a broken neighbour cannot do to the others.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod crowds;
mod kill_switch;
mod restart;
mod slow;
mod storm;
