//! EIP-2612: an allowance by signature.

use std::sync::LazyLock;

use ruint::aliases::U256;
use sha3::{Digest, Keccak256};

use super::{DomainSeparator, Word, address_word, keccak, word};
use crate::x402::claim::EvmAddress;

static PERMIT_TYPE: LazyLock<Word> =
    LazyLock::new(|| keccak(b"Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)"));

/// An allowance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permit {
    /// Whose tokens.
    pub owner: EvmAddress,
    /// Who may move them.
    pub spender: EvmAddress,
    /// How many at most, in atomic units.
    pub value: U256,
    /// Single use, counted by the token contract.
    pub nonce: U256,
    /// Unix seconds until which the allowance can be given; it stays afterwards.
    pub deadline: U256,
}

impl Permit {
    /// The 32 bytes that are signed, for a token contract.
    pub fn digest(&self, domain: &DomainSeparator) -> [u8; 32] {
        let mut hash = Keccak256::new();
        hash.update(*PERMIT_TYPE);
        hash.update(address_word(self.owner));
        hash.update(address_word(self.spender));
        hash.update(word(self.value));
        hash.update(word(self.nonce));
        hash.update(word(self.deadline));
        domain.digest(&hash.finalize().into())
    }
}
