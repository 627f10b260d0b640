//! Unmodified clients of the real world, each in its own process, through the proxy. See `clients/README.md` for what they are.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod curl;
mod equipped;
mod git;
mod graphql;
mod grpc;
mod matrix;
mod mcp;
mod mcp_matrix;
mod mcp_paid;
mod mpp;
mod plain;
mod schemes;
mod served;
mod shops;
mod signer;
mod sockets;
mod x402;
