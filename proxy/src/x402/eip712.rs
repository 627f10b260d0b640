//! EIP-712: the digest behind a `TransferWithAuthorization` (EIP-3009).
//!
//! The domain comes from our own asset table, never from the wire, so a recovered signer that equals `from` proves chain, token contract,
//! payee, amount, window and nonce at once: all of them are in the digest.

use std::sync::LazyLock;

use ruint::aliases::U256;
use sha3::{Digest, Keccak256};

use super::claim::{Asset, EvmAddress};

type Word = [u8; 32];

fn keccak(bytes: &[u8]) -> Word {
    Keccak256::digest(bytes).into()
}

static DOMAIN_TYPE: LazyLock<Word> =
    LazyLock::new(|| keccak(b"EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"));
static TRANSFER_TYPE: LazyLock<Word> = LazyLock::new(|| {
    keccak(b"TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)")
});

/// The hash that binds a signature to one token contract on one chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DomainSeparator(pub [u8; 32]);

impl DomainSeparator {
    /// The separator of a token contract.
    pub fn of(asset: &Asset) -> Self {
        let mut hash = Keccak256::new();
        hash.update(*DOMAIN_TYPE);
        hash.update(keccak(asset.domain_name.as_bytes()));
        hash.update(keccak(asset.domain_version.as_bytes()));
        hash.update(word(U256::from(asset.network.chain_id)));
        hash.update(address_word(asset.address));
        DomainSeparator(hash.finalize().into())
    }
}

/// What an EIP-3009 authorisation signs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransferWithAuthorization {
    /// Who pays.
    pub from: EvmAddress,
    /// Who is paid.
    pub to: EvmAddress,
    /// Atomic units.
    pub value: U256,
    /// Unix seconds.
    pub valid_after: U256,
    /// Unix seconds.
    pub valid_before: U256,
    /// Single use, chosen by the signer.
    pub nonce: [u8; 32],
}

impl TransferWithAuthorization {
    /// EIP-712 `hashStruct`.
    pub fn struct_hash(&self) -> [u8; 32] {
        let mut hash = Keccak256::new();
        hash.update(*TRANSFER_TYPE);
        hash.update(address_word(self.from));
        hash.update(address_word(self.to));
        hash.update(word(self.value));
        hash.update(word(self.valid_after));
        hash.update(word(self.valid_before));
        hash.update(self.nonce);
        hash.finalize().into()
    }

    /// The 32 bytes that are signed.
    pub fn digest(&self, domain: &DomainSeparator) -> [u8; 32] {
        let mut hash = Keccak256::new();
        hash.update(b"\x19\x01");
        hash.update(domain.0);
        hash.update(self.struct_hash());
        hash.finalize().into()
    }
}

fn word(number: U256) -> Word {
    number.to_be_bytes()
}

fn address_word(address: EvmAddress) -> Word {
    let mut word = [0; 32];
    word.split_at_mut(12).1.copy_from_slice(&address.0);
    word
}

#[cfg(test)]
mod tests;
