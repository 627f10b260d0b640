//! What the supervisor and Prometheus ask: `/healthz`, `/readyz`, `/metrics`; and `/kill`.
//!
//! In: the shared [`Readiness`], the audit trail, the metrics. Out: small answers on a listener of its own, which the proxy never
//! dials for a client. Nothing can be changed over it but one thing: all egress can be closed, not opened.

mod readiness;
mod routes;
mod server;

pub use readiness::{Addresses, Descriptors, Kept, NotReady, PaymentMemory, PolicyInForce, Readiness, Reload, ReloadOutcome, Report};
pub use routes::Sources;
pub use server::Admin;

#[cfg(test)]
mod tests;
