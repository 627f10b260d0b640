//! Tollgate: the egress gate of an AI-agent sandbox.
//!
//! A request travels down this list, and a module may only use what stands below it.

pub mod admin;
pub mod audit;
pub mod config;
pub mod credentials;
pub mod logging;
pub mod metrics;
pub mod x402;
