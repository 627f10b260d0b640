//! HTTP semantics of the engine: one test for each thing that a proxy on session types has to get right by itself.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod bodies;
mod broken;
mod interim;
mod keepalive;
mod pairings;
mod streams;
mod upgrades;
mod uploads;

use tollgate_tests::authority::{Alpn, Authority};
use tollgate_tests::h2_origin::H2Origin;
use tollgate_tests::policy::{self, HOST};
use tollgate_tests::scripted::{Conversation, Scripted};
use tollgate_tests::tollgate::{Setup, Tollgate};

/// A TLS origin that speaks HTTP/1.1 by script, and the proxy before it.
async fn scripted<F, Fut>(script: F) -> (Tollgate, Scripted)
where
    F: Fn(Conversation) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let authority = Authority::default();
    let origin = Scripted::start(Some(authority.server(HOST, Alpn::H1)), script).await;
    let gate = Setup::new(policy::open(&[origin.port()])).local_host().trust(&authority).start();
    (gate, origin)
}

/// An HTTP/2 origin by script, and the proxy before it.
async fn scripted_h2<F, Fut>(script: F) -> (Tollgate, H2Origin)
where
    F: Fn(http::Request<h2::RecvStream>, h2::server::SendResponse<bytes::Bytes>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let authority = Authority::default();
    let origin = H2Origin::start(authority.server(HOST, Alpn::H2Only), script).await;
    let gate = Setup::new(policy::open(&[origin.port()])).local_host().trust(&authority).start();
    (gate, origin)
}
