//! `protocol: websocket`: handshakes, messages, and everything a client can do to its frames so that they are not judged.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod challenges;
mod compressed;
mod frames;
mod graphql;
mod handshake;
mod life;
mod messages;
mod payments;
mod rails;
