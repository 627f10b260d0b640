//! Chains: CAIP-2 identifiers and the short names of x402 v1, as one type.

use std::fmt;

/// A chain by its CAIP-2 identifier. Only the `eip155` namespace is judged; every other one is refused before a value exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Caip2 {
    /// The reference in the `eip155` namespace.
    pub chain_id: u64,
}

impl fmt::Display for Caip2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "eip155:{}", self.chain_id)
    }
}
