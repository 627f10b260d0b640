//! The harness of the end-to-end tests: the real binary, real origins that record what reaches them, a client that can say anything,
//! a verdict service and a wallet.
//!
//! Everything is on loopback with ports chosen by the kernel, and ends with the test. The harness panics instead of returning errors:
//! its callers are tests.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::format_push_string,
    clippy::match_wild_err_arm,
    clippy::match_same_arms,
    reason = "a harness fails by panicking, which fails the test"
)]

pub mod answer;
pub mod authority;
pub mod chained;
pub mod client;
pub mod exec;
pub mod grpc;
pub mod h2_client;
pub mod h2_frames;
pub mod h2_origin;
pub mod h2_requests;
pub mod origin;
pub mod payment;
pub mod policy;
pub mod real_clients;
pub mod schemas;
pub mod scripted;
pub mod tollgate;
pub mod verdict_peer;
pub mod websocket;
pub mod wire;
pub mod world;

use std::time::Duration;

/// How long a test waits for anything before it fails.
pub const PATIENCE: Duration = Duration::from_secs(15);

/// Waits for `future`, or fails the test naming `what` it waited for.
pub async fn within<F: Future>(what: &str, future: F) -> F::Output {
    match tokio::time::timeout(PATIENCE, future).await {
        Ok(output) => output,
        Err(_) => panic!("nothing within {PATIENCE:?}: {what}"),
    }
}

/// Asks `probe` every few milliseconds until it answers, or fails the test naming `what` it waited for.
pub async fn eventually<T>(what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let end = std::time::Instant::now() + PATIENCE;
    loop {
        if let Some(found) = probe() {
            return found;
        }
        assert!(std::time::Instant::now() < end, "nothing within {PATIENCE:?}: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
