//! EIP-712: the digest behind a `TransferWithAuthorization` (EIP-3009), and who signed it.
//!
//! The domain comes from our own asset table, never from the wire, so a recovered signer that equals `from` proves chain, token contract,
//! payee, amount, window and nonce at once: all of them are in the digest.

use std::fmt;
use std::sync::LazyLock;

use k256::ecdsa::{RecoveryId, Signature as EcdsaSignature, VerifyingKey};
use ruint::aliases::U256;
use sha3::{Digest, Keccak256};
use thiserror::Error;

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

/// Why a text is not a signature that an externally owned account makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SignatureError {
    /// Not `0x` and hex.
    #[error("the signature is not 0x and hex digits")]
    Shape,
    /// Over 65 bytes: a contract wallet's (ERC-1271, ERC-6492). Only its contract can check it, so the asset can't be proved here.
    #[error("contract-wallet signatures cannot be checked here")]
    ContractWallet,
    /// Under 65 bytes.
    #[error("the signature is not 65 bytes")]
    Length,
    /// `v` is neither 27 nor 28, which is what token contracts take.
    #[error("the signature's v is neither 27 nor 28")]
    RecoveryId,
    /// `r` or `s` out of range, or `s` in the upper half: a second spelling of the same signature.
    #[error("the signature is not canonical")]
    NotCanonical,
}

/// A 65-byte signature. The signature is the money, so it is never shown.
#[derive(Clone, Copy)]
pub struct Signature {
    rs: EcdsaSignature,
    v: RecoveryId,
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Signature(hidden)")
    }
}

impl Signature {
    /// Parses `0x` and 130 hex digits: r, s (lower half), v (27 or 28).
    pub fn parse(text: &str) -> Result<Self, SignatureError> {
        let digits = text.strip_prefix("0x").ok_or(SignatureError::Shape)?;
        if !digits.bytes().all(|b| b.is_ascii_hexdigit()) || digits.len() % 2 == 1 {
            return Err(SignatureError::Shape);
        }
        match digits.len() {
            130 => {}
            0..130 => return Err(SignatureError::Length),
            _ => return Err(SignatureError::ContractWallet),
        }
        let mut bytes = [0; 65];
        hex::decode_to_slice(digits, &mut bytes).map_err(|_| SignatureError::Shape)?;
        let (rs, v) = bytes.split_at(64);
        let v = match v {
            [27] => RecoveryId::new(false, false),
            [28] => RecoveryId::new(true, false),
            _ => return Err(SignatureError::RecoveryId),
        };
        let rs = EcdsaSignature::from_slice(rs).map_err(|_| SignatureError::NotCanonical)?;
        if rs.normalize_s().is_some() {
            return Err(SignatureError::NotCanonical);
        }
        Ok(Signature { rs, v })
    }

    /// The address whose key made this signature over the digest, if any did.
    pub fn recover(&self, digest: &[u8; 32]) -> Option<EvmAddress> {
        let key = VerifyingKey::recover_from_prehash(digest, &self.rs, self.v).ok()?;
        let point = key.to_encoded_point(false);
        let hash = keccak(point.as_bytes().get(1..)?);
        hash.get(12..)?.try_into().ok().map(EvmAddress)
    }
}

#[cfg(test)]
mod tests;
