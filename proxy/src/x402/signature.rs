//! Signatures of externally owned accounts, in their one spelling, and whose they are.

use std::fmt;

use k256::ecdsa::{RecoveryId, Signature as EcdsaSignature, VerifyingKey};
use sha3::{Digest, Keccak256};
use thiserror::Error;
use zeroize::Zeroizing;

use super::claim::EvmAddress;
use super::enabled::ContractWallets;
use super::scheme::Signer;

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
        Self::canonical(rs, v)
    }

    /// The signature of these numbers, `odd` telling which of two points r stands for.
    pub fn from_parts(r: [u8; 32], s: [u8; 32], odd: bool) -> Result<Self, SignatureError> {
        let rs = EcdsaSignature::from_scalars(r, s).map_err(|_| SignatureError::NotCanonical)?;
        Self::canonical(rs, RecoveryId::new(odd, false))
    }

    fn canonical(rs: EcdsaSignature, v: RecoveryId) -> Result<Self, SignatureError> {
        if rs.normalize_s().is_some() {
            return Err(SignatureError::NotCanonical);
        }
        Ok(Signature { rs, v })
    }

    /// The signature as the wire has it. This is the money: it goes into the payment and nowhere else.
    pub fn spelled(&self) -> Zeroizing<String> {
        Zeroizing::new(format!("0x{}{:02x}", hex::encode(self.rs.to_bytes()), 27 + self.v.to_byte()))
    }

    /// The address whose key made this signature over the digest, if any did.
    pub fn recover(&self, digest: &[u8; 32]) -> Option<EvmAddress> {
        address_of(&VerifyingKey::recover_from_prehash(digest, &self.rs, self.v).ok()?)
    }
}

/// The address of a key.
pub fn address_of(key: &VerifyingKey) -> Option<EvmAddress> {
    let point = key.to_encoded_point(false);
    let hash = Keccak256::digest(point.as_bytes().get(1..)?);
    hash.get(12..)?.try_into().ok().map(EvmAddress)
}

/// What an agent that holds no key sends in place of a signature: 65 bytes that release nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placeholder([u8; 65]);

impl Default for Placeholder {
    /// `0xc0de…c0de1b`.
    fn default() -> Self {
        let mut bytes = [0; 65];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = if at % 2 == 0 { 0xc0 } else { 0xde };
        }
        *bytes.last_mut().unwrap_or(&mut 0) = 27;
        Placeholder(bytes)
    }
}

impl Placeholder {
    /// Parses `0x` and 130 hex digits: as long as what takes its place.
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; 65];
        hex::decode_to_slice(text.strip_prefix("0x")?, &mut bytes).ok()?;
        Some(Placeholder(bytes))
    }

    /// Whether the text is this one.
    pub fn is(&self, text: &str) -> bool {
        Self::parse(text).as_ref() == Some(self)
    }
}

/// As it is sent; it is no secret.
impl fmt::Display for Placeholder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{}", hex::encode(self.0))
    }
}

/// A wallet's signature, of a key or of a contract.
#[derive(Debug, Clone, Copy)]
pub enum WalletSignature {
    /// Of a key: whose can be told.
    Key(Signature),
    /// Of a contract wallet. What it says is between its bytes and the contract's code.
    Contract,
    /// None yet: the payment is signed here, after its GO.
    Placeholder,
}

impl WalletSignature {
    /// Parses a signature of a key or, where those are taken, of a contract wallet.
    pub fn parse(text: &str, contracts: ContractWallets) -> Result<Self, SignatureError> {
        match Signature::parse(text) {
            Ok(signature) => Ok(WalletSignature::Key(signature)),
            Err(SignatureError::ContractWallet) if contracts == ContractWallets::Allowed => Ok(WalletSignature::Contract),
            Err(error) => Err(error),
        }
    }

    /// Whose signature it is, if it is over this digest.
    pub(super) fn signer(&self, payer: EvmAddress, digest: impl FnOnce() -> [u8; 32]) -> Signer {
        match self {
            WalletSignature::Key(signature) if signature.recover(&digest()) == Some(payer) => Signer::Payer,
            WalletSignature::Key(_) | WalletSignature::Placeholder => Signer::Other,
            WalletSignature::Contract => Signer::Contract,
        }
    }
}

#[cfg(test)]
mod tests;
