//! EIP-712: the digests behind a `TransferWithAuthorization` (EIP-3009), a transfer by [`permit2`], and an allowance ([`permit`]).
//!
//! The domain comes from our own asset table, never from the wire, so a recovered signer that equals `from` proves chain, contract, payee,
//! amount, window and nonce at once: all of them are in the digest.

pub mod permit;
pub mod permit2;

use std::sync::LazyLock;

use ruint::aliases::U256;
use sha3::{Digest, Keccak256};

use super::claim::{Asset, Domain, EvmAddress};
use super::network::Caip2;

type Word = [u8; 32];

fn keccak(bytes: &[u8]) -> Word {
    Keccak256::digest(bytes).into()
}

static DOMAIN_TYPE: LazyLock<Word> =
    LazyLock::new(|| keccak(b"EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"));
static TRANSFER_TYPE: LazyLock<Word> = LazyLock::new(|| {
    keccak(b"TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)")
});

/// The hash that binds a signature to one contract on one chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DomainSeparator(pub [u8; 32]);

impl DomainSeparator {
    /// The separator of a token contract.
    pub fn of_token(chain_id: u64, contract: EvmAddress, domain: &Domain) -> Self {
        let mut hash = Keccak256::new();
        hash.update(*DOMAIN_TYPE);
        hash.update(keccak(domain.name.as_bytes()));
        hash.update(keccak(domain.version.as_bytes()));
        hash.update(word(U256::from(chain_id)));
        hash.update(address_word(contract));
        DomainSeparator(hash.finalize().into())
    }

    /// The 32 bytes that are signed to agree to this in the domain.
    fn digest(&self, struct_hash: &Word) -> Word {
        let mut hash = Keccak256::new();
        hash.update(b"\x19\x01");
        hash.update(self.0);
        hash.update(struct_hash);
        hash.finalize().into()
    }
}

/// The domains under which an asset can be signed away; none on Solana.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SigningDomains {
    /// The token contract's own, where it is known.
    pub token: Option<DomainSeparator>,
    /// That of the chain's Permit2 contract.
    pub permit2: Option<DomainSeparator>,
}

impl SigningDomains {
    /// Those of an asset.
    pub fn of(asset: &Asset) -> Self {
        match (asset.network, asset.address.evm()) {
            (Caip2::Eip155 { chain_id }, Some(contract)) => SigningDomains {
                token: asset.domain().map(|domain| DomainSeparator::of_token(chain_id, contract, domain)),
                permit2: Some(permit2::domain(chain_id)),
            },
            _ => SigningDomains::default(),
        }
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
        domain.digest(&self.struct_hash())
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
