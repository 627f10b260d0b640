//! Tollgate: the egress gate of an AI-agent sandbox.
//!
//! A request travels down this list, and a module may only use what stands below it.

pub mod cli;

pub mod cases;

pub mod demo;

pub mod serve;

pub mod isolation;

pub mod handover;

pub mod config;

pub mod ingress;

pub mod flow;

pub mod gate;

pub mod verdict;

pub mod signer;

pub mod x402;

pub mod egress;

pub mod identity;

pub mod credentials;

pub mod admin;

pub mod metrics;

pub mod audit;

pub mod settings;

pub mod logging;
