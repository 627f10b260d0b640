//! Tollgate: the egress gate of an AI-agent sandbox.
//!
//! A request travels down this list, and a module may only use what stands below it.

pub mod config;
pub mod identity;
pub mod x402;
