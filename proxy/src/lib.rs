//! Tollgate: the egress gate of an AI-agent sandbox.
//!
//! A request travels down this list, and a module may only use what stands below it.

pub mod cli;

pub mod demo;

pub mod serve;

pub mod ingress;

pub mod flow;

pub mod gate;

pub mod x402;

pub mod verdict;

pub mod egress;

pub mod identity;

pub mod credentials;

pub mod audit;
pub mod metrics;

pub mod admin;

pub mod config;

pub mod logging;
