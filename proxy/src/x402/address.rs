//! Addresses. EVM ones are 20 bytes, written in one case or with a valid EIP-55 checksum; Solana's are 32 bytes in base58.

use std::fmt;

use sha3::{Digest, Keccak256};
use thiserror::Error;

use super::claim::EvmAddress;
use super::network::Caip2;
use super::solana::SolanaAddress;

/// Who pays, who is paid, or what is paid with, on whichever chain.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Address {
    /// On an EVM chain.
    Evm(EvmAddress),
    /// On Solana.
    Solana(SolanaAddress),
}

/// What a placeholder in an example begins with.
const UNFILLED: &str = "FILL_IN";

impl Address {
    /// Parses an address of either kind; they cannot be taken for each other, as base58 has no `0`.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        if text.starts_with(UNFILLED) {
            return Err(AddressError::Unfilled);
        }
        if text.starts_with("0x") {
            return EvmAddress::parse(text).map(Address::Evm);
        }
        SolanaAddress::parse(text).map(Address::Solana).map_err(|error| match error {
            AddressError::Base58 => AddressError::Neither,
            error => error,
        })
    }

    /// Parses an address of this chain.
    pub fn parse_on(network: Caip2, text: &str) -> Result<Self, AddressError> {
        match network {
            Caip2::Eip155 { .. } => EvmAddress::parse(text).map(Address::Evm),
            Caip2::Solana(_) => SolanaAddress::parse(text).map(Address::Solana),
        }
    }

    /// The EVM address, if it is one.
    pub const fn evm(self) -> Option<EvmAddress> {
        match self {
            Address::Evm(address) => Some(address),
            Address::Solana(_) => None,
        }
    }

    /// The Solana address, if it is one.
    pub const fn solana(self) -> Option<SolanaAddress> {
        match self {
            Address::Evm(_) => None,
            Address::Solana(address) => Some(address),
        }
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Address::Evm(address) => &address.0,
            Address::Solana(address) => &address.0,
        }
    }
}

impl From<EvmAddress> for Address {
    fn from(address: EvmAddress) -> Self {
        Address::Evm(address)
    }
}

impl From<SolanaAddress> for Address {
    fn from(address: SolanaAddress) -> Self {
        Address::Solana(address)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Evm(address) => fmt::Display::fmt(address, f),
            Address::Solana(address) => fmt::Display::fmt(address, f),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why a text is not an address that may be paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum AddressError {
    /// Not `0x` and 40 hex digits: a name, a role word, another length, `0X`.
    #[error("not 0x and 40 hex digits")]
    Shape,
    /// Not base58 of 32 bytes in its one spelling.
    #[error("not 32 bytes in base58")]
    Base58,
    /// Neither of the two.
    #[error("neither 0x and 40 hex digits nor 32 bytes in base58")]
    Neither,
    /// Mixed case that is not the EIP-55 spelling: somebody changed a letter, or wants two parsers to disagree.
    #[error("the EIP-55 checksum is wrong")]
    Checksum,
    /// What an example has where its reader has to know better.
    #[error("not filled in yet: an address has to stand here")]
    Unfilled,
    /// The burn address, or an unset field.
    #[error("the zero address")]
    Zero,
}

impl EvmAddress {
    /// Parses an address. All-lower and all-upper digits carry no checksum and are taken; mixed case has to be EIP-55.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let digits = text.strip_prefix("0x").filter(|d| d.len() == 40).ok_or(AddressError::Shape)?;
        let mut bytes = [0; 20];
        hex::decode_to_slice(digits, &mut bytes).map_err(|_| AddressError::Shape)?;
        let lower = digits.bytes().any(|b| b.is_ascii_lowercase());
        let upper = digits.bytes().any(|b| b.is_ascii_uppercase());
        if lower && upper && !is_checksummed(digits) {
            return Err(AddressError::Checksum);
        }
        if bytes == [0; 20] {
            return Err(AddressError::Zero);
        }
        Ok(EvmAddress(bytes))
    }
}

fn is_checksummed(digits: &str) -> bool {
    let hash = Keccak256::digest(digits.to_ascii_lowercase().as_bytes());
    let nibbles = hash.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .bytes()
        .zip(nibbles)
        .all(|(digit, nibble)| digit.is_ascii_digit() || digit.is_ascii_uppercase() == (nibble >= 8))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn spellings_that_two_parsers_could_read_differently_are_no_addresses() {
        let good = EvmAddress::parse("0x209693Bc6afc0C5328bA36FaF03C514EF312287C").unwrap();
        assert_eq!(good.to_string(), "0x209693bc6afc0c5328ba36faf03c514ef312287c");
        for same in [
            "0x209693bc6afc0c5328ba36faf03c514ef312287c",
            "0x209693BC6AFC0C5328BA36FAF03C514EF312287C",
        ] {
            assert_eq!(EvmAddress::parse(same), Ok(good), "{same}");
        }
        for (text, error) in [
            ("0x209693bC6afc0C5328bA36FaF03C514EF312287C", AddressError::Checksum),
            ("0X209693bc6afc0c5328ba36faf03c514ef312287c", AddressError::Shape),
            ("209693bc6afc0c5328ba36faf03c514ef312287c", AddressError::Shape),
            ("0x209693bc6afc0c5328ba36faf03c514ef312287", AddressError::Shape),
            ("0x209693bc6afc0c5328ba36faf03c514ef312287c00", AddressError::Shape),
            ("0x209693bc6afc0c5328ba36faf03c514ef31228 c", AddressError::Shape),
            ("0x0000000000000000000000000000000000000000", AddressError::Zero),
            ("vitalik.eth", AddressError::Shape),
            ("merchant", AddressError::Shape),
            ("", AddressError::Shape),
        ] {
            assert_eq!(EvmAddress::parse(text), Err(error), "{text}");
        }
    }
}
