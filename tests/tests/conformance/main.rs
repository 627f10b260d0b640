//! What the published interface promises: routes, denials, request hygiene, addresses, reload, health, metrics, audit.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod addresses;
mod authority;
mod body_protocols;
mod credentials;
mod fragments;
mod http2;
mod hygiene;
mod numbers;
mod operation;
mod paths;
mod reload;
mod routes;
mod upstream;
mod upstream_proxy;
