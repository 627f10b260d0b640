//! Solana addresses: 32 bytes in base58. The alphabet tells cases apart, so two spellings are two addresses.

use std::fmt;

use crate::x402::address::AddressError;

/// A public key, or an address that a program derived.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SolanaAddress(pub [u8; 32]);

impl SolanaAddress {
    /// Parses base58 of exactly 32 bytes, which has one spelling.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        // 32 bytes take 32 to 44 characters; a longer text is not worth decoding.
        if !(32..=44).contains(&text.len()) {
            return Err(AddressError::Base58);
        }
        let mut bytes = [0; 32];
        let length = bs58::decode(text).onto(&mut bytes).map_err(|_| AddressError::Base58)?;
        let address = SolanaAddress(bytes);
        if length != 32 || address.to_string() != text {
            return Err(AddressError::Base58);
        }
        // The System Program, and what an unset field reads as.
        if bytes == [0; 32] {
            return Err(AddressError::Zero);
        }
        Ok(address)
    }
}

impl fmt::Display for SolanaAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&bs58::encode(self.0).into_string())
    }
}

impl fmt::Debug for SolanaAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn spellings_that_are_not_the_one_are_no_addresses() {
        let good = "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU";
        assert_eq!(SolanaAddress::parse(good).unwrap().to_string(), good);
        for (text, error) in [
            ("11111111111111111111111111111111", AddressError::Zero),
            ("1111111111111111111111111111111", AddressError::Base58),
            ("14zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU", AddressError::Base58),
            ("4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDnc", AddressError::Base58),
            ("4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncD0", AddressError::Base58),
            ("4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDO", AddressError::Base58),
            (" 4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncD", AddressError::Base58),
            ("zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz", AddressError::Base58),
            ("merchant", AddressError::Base58),
            ("", AddressError::Base58),
        ] {
            assert_eq!(SolanaAddress::parse(text), Err(error), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_address_reads_back(bytes: [u8; 32]) {
            prop_assume!(bytes != [0; 32]);
            prop_assert_eq!(SolanaAddress::parse(&SolanaAddress(bytes).to_string()), Ok(SolanaAddress(bytes)));
        }
    }
}
