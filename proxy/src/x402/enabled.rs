//! What of x402 is switched on. Everything else is recognised and refused.

use std::collections::BTreeSet;

use super::extensions::Extension;
use super::scheme::Scheme;
use super::signature::Placeholder;

/// Whether signatures are taken that nobody here can check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContractWallets {
    /// Only keys can sign.
    Refused,
    /// A contract may say whether a signature is its own (ERC-1271, ERC-6492), once the payment has left.
    Allowed,
}

/// The switches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enabled {
    /// The schemes whose payments are judged.
    pub schemes: BTreeSet<Scheme>,
    /// The extensions that give somebody more than the payment.
    pub extensions: BTreeSet<Extension>,
    /// Whose signatures are taken.
    pub contract_wallets: ContractWallets,
    /// What an agent without a key may send in place of a signature.
    pub placeholder: Option<Placeholder>,
}

impl Default for Enabled {
    fn default() -> Self {
        Enabled {
            schemes: BTreeSet::from([Scheme::Exact]),
            extensions: BTreeSet::new(),
            contract_wallets: ContractWallets::Refused,
            placeholder: None,
        }
    }
}
