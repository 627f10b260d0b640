//! Which addresses an endpoint's traffic may be dialled at.
//!
//! In: the addresses a name resolved to (or the literal), what the matching endpoint tolerates ([`AddressScope`]), the port. Out:
//! nothing, or an [`AddressRefusal`]. Pure: the caller resolves, and dials exactly the addresses that were checked, so that a
//! second DNS answer (rebinding) is never used.

mod class;
mod guard;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;

pub use class::AddressClass;
pub use guard::{AddressRefusal, LoopbackDial, check_addresses};

/// What an endpoint tolerates as the address of its host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressScope {
    /// `allowed_ips`: these networks and nothing else.
    AllowedRanges(Arc<[IpNet]>),
    /// The endpoint's host is this address.
    Literal(IpAddr),
    /// The endpoint names the host exactly, so its author vouches for private addresses behind it.
    DeclaredName,
    /// A wildcard host: public addresses only.
    PublicOnly,
    /// Several endpoints match: every address must be fine for one and the same of them.
    AnyOf(Arc<[AddressScope]>),
}

impl AddressScope {
    /// For sorting: narrow scopes first.
    pub(crate) fn width(&self) -> u8 {
        match self {
            AddressScope::Literal(_) => 0,
            AddressScope::AllowedRanges(_) => 1,
            AddressScope::DeclaredName => 2,
            AddressScope::PublicOnly => 3,
            AddressScope::AnyOf(_) => 4,
        }
    }
}
