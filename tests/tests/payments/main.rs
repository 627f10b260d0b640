//! The payment rule on the wire: only an exact GO lets a payment out, byte for byte as it was judged; everything else stops it before a
//! byte of the request, or even a connection, reaches the origin.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod answers;
mod breaker;
mod calls;
mod carriers;
mod challenges;
mod claims;
mod credentials;
mod events;
mod identifiers;
mod local;
mod misplaced;
mod other_schemes;
mod outcomes;
mod posed;
mod rate;
mod replay;
mod schemes;
mod screening;
mod second_opinion;
mod seller;
mod signed_once;
mod signer;
mod stanza;
mod store;
mod verdicts;

use std::time::Duration;

use tollgate_tests::client::{Ask, Via};
use tollgate_tests::payment::{self, Terms, Wallet, encode};
use tollgate_tests::policy;
use tollgate_tests::verdict_peer::{Mood, VerdictPeer};
use tollgate_tests::world::World;

/// Two origins, a verdict peer in this mood, and the proxy that asks it.
async fn shop(mood: Mood) -> (World, VerdictPeer) {
    let peer = VerdictPeer::start(mood.clone()).await;
    let settings = match mood {
        Mood::Slow(span) if span > Duration::from_secs(1) => peer.settings_with("700ms"),
        _ => peer.settings(),
    };
    let world = World::start(policy::open, |setup| setup.config(payment::settings()).config(settings)).await;
    (world, peer)
}

/// The URL of `/paid` by this way.
fn url(world: &World, via: Via) -> String {
    let scheme = if via.is_tls() { "https" } else { "http" };
    format!("{scheme}://{}:{}/paid", policy::HOST, world.port(via))
}

/// A request for `/paid` with an honest v2 payment.
fn paying(world: &World, via: Via) -> Ask<'static> {
    let payment = Wallet::default().v2(&url(world, via), &Terms::default());
    Ask::get(world.port(via), "/paid").header("PAYMENT-SIGNATURE", encode(&payment))
}
