//! What the supervisor and Prometheus ask: `/healthz`, `/readyz`, `/metrics`.
//!
//! In: the shared [`Readiness`], the audit trail, the metrics. Out: small answers on a listener of its own, which the proxy never
//! dials for a client. It only reads: nothing can be changed over it.

mod readiness;
mod routes;
mod server;

pub use readiness::{Addresses, Descriptors, Kept, NotReady, PaymentMemory, PolicyInForce, Readiness, Reload, ReloadOutcome, Report};
pub use routes::Sources;
pub use server::Admin;

#[cfg(test)]
mod tests;
