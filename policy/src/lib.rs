//! `policy.yaml`: the document, its diagnostics, canonical hosts, paths and queries, and one pure `decide()`.
//!
//! Nothing in this crate does I/O or knows of proxies, TLS or payments. `run`, `explain`, `test`, `suggest` and the gRPC service
//! all decide through it, so a dry run can't disagree with the runtime.

pub mod host;
pub mod reason;

pub use host::{Authority, Host, HostError};
pub use reason::{Group, Reason};
