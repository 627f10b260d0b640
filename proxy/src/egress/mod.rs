//! The way out: resolve, dial judged addresses only, keep and give back origin connections; and the few calls of our own.
//!
//! With `ingress` and `flow` the only rooms that know pingora's types.

pub(crate) mod chunks;
pub mod connector;
pub mod destination;
pub mod dial;
mod eyeballs;
pub mod fetch;
pub mod origin;
pub mod resolve;
pub(crate) mod session;
pub(crate) mod trailers;
pub mod turns;
pub mod upstream_proxy;
pub(crate) mod wire;

pub use connector::{Connector, PoolGroup};
pub use destination::{Destination, Security};
pub use origin::{ClientProtocol, Origin};
pub use resolve::{ResolveError, Resolver};
