//! Chains: CAIP-2 identifiers and the short names of x402 v1, as one type.

use std::fmt;

use thiserror::Error;

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

/// Why a text is not a chain that can be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NetworkError {
    /// Not a CAIP-2 identifier in its one spelling.
    #[error("the network is not a canonical CAIP-2 identifier")]
    Malformed,
    /// CAIP-2, but not an EVM chain.
    #[error("only eip155 networks can be judged")]
    OtherNamespace,
    /// Not a short name of x402 v1.
    #[error("the network is not a known x402 v1 name")]
    UnknownName,
    /// The SDKs disagree on the chain that the name means: the same bytes are signed for different chains.
    #[error("SDKs disagree on the chain behind this x402 v1 name")]
    AmbiguousName,
}

/// `<name>` → chain id, as all SDKs agree.
const V1_NAMES: &[(&str, u64)] = &[
    ("base", 8453),
    ("base-sepolia", 84_532),
    ("ethereum", 1),
    ("polygon", 137),
    ("polygon-amoy", 80_002),
    ("avalanche", 43_114),
    ("avalanche-fuji", 43_113),
    ("abstract", 2741),
    ("abstract-testnet", 11_124),
    ("sepolia", 11_155_111),
    ("iotex", 4689),
    ("sei", 1329),
    ("peaq", 3338),
    ("megaeth", 4326),
    ("monad", 143),
    ("monad-testnet", 10_143),
    ("stable", 988),
    ("stable-testnet", 2201),
    ("celo", 42_220),
    ("flare", 14),
    ("xdc", 50),
    ("xrpl-evm", 1_440_000),
    ("celo-sepolia", 11_142_220),
    ("radius", 723_487),
    ("radius-testnet", 72_344),
];

/// Names that mean one chain to the JavaScript and Go SDKs and another to the Python ones.
const AMBIGUOUS_V1_NAMES: &[&str] = &["story", "educhain", "skale-base-sepolia", "sei-testnet"];

/// v1 names outside the EVM.
const OTHER_V1_NAMES: &[&str] = &["solana", "solana-devnet", "solana-testnet"];

impl Caip2 {
    /// Parses `eip155:<id>` in its one spelling: lower case, no leading zero, no blanks, no wildcard.
    pub fn parse(text: &str) -> Result<Self, NetworkError> {
        let (namespace, reference) = text.split_once(':').ok_or(NetworkError::Malformed)?;
        let is = |text: &str, lengths: std::ops::RangeInclusive<usize>, also: fn(u8) -> bool| {
            lengths.contains(&text.len())
                && text
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || also(b))
        };
        if !is(namespace, 2..=16, |_| false)
            || !is(reference, 1..=64, |b| {
                b.is_ascii_uppercase() || matches!(b, b'_' | b'=' | b'/' | b'+')
            })
        {
            return Err(NetworkError::Malformed);
        }
        if namespace != "eip155" {
            return Err(NetworkError::OtherNamespace);
        }
        if reference.starts_with('0') || !reference.bytes().all(|b| b.is_ascii_digit()) {
            return Err(NetworkError::Malformed);
        }
        let chain_id = reference.parse().map_err(|_| NetworkError::Malformed)?;
        Ok(Caip2 { chain_id })
    }

    /// Reads a short name of x402 v1, case-sensitively.
    pub fn from_v1_name(name: &str) -> Result<Self, NetworkError> {
        if let Some((_, chain_id)) = V1_NAMES.iter().find(|(known, _)| *known == name) {
            return Ok(Caip2 { chain_id: *chain_id });
        }
        if AMBIGUOUS_V1_NAMES.contains(&name) {
            Err(NetworkError::AmbiguousName)
        } else if OTHER_V1_NAMES.contains(&name) {
            Err(NetworkError::OtherNamespace)
        } else {
            Err(NetworkError::UnknownName)
        }
    }

    /// The short name that x402 v1 has for the chain.
    pub fn v1_name(self) -> Option<&'static str> {
        V1_NAMES.iter().find(|(_, id)| *id == self.chain_id).map(|(name, _)| *name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_one_spelling() {
        assert_eq!(Caip2::parse("eip155:84532"), Ok(Caip2 { chain_id: 84_532 }));
        for malformed in [
            "EIP155:84532",
            "eip155:084532",
            "eip155:84532 ",
            " eip155:84532",
            "eip155:*",
            "84532",
            "eip155:84532:x",
            "eip155:",
            ":1",
            "",
            "eip155:0",
            "eip155:+1",
            "eip155:18446744073709551616",
            "base",
            "eip155:１",
        ] {
            assert_eq!(Caip2::parse(malformed), Err(NetworkError::Malformed), "{malformed}");
        }
        for other in [
            "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
            "cloudflare:402",
            "card:visa",
            "aptos:1",
            "tvm:-239",
        ] {
            assert_eq!(Caip2::parse(other), Err(NetworkError::OtherNamespace), "{other}");
        }
    }

    #[test]
    fn v1_names_that_sdks_sign_for_different_chains_are_refused() {
        assert_eq!(Caip2::from_v1_name("base").map(|c| c.chain_id), Ok(8453));
        for name in ["story", "educhain", "skale-base-sepolia", "sei-testnet"] {
            assert_eq!(Caip2::from_v1_name(name), Err(NetworkError::AmbiguousName), "{name}");
        }
        for name in ["eip155:84532", "Base", "mainnet", "ethereum-mainnet", "base ", ""] {
            assert_eq!(Caip2::from_v1_name(name), Err(NetworkError::UnknownName), "{name}");
        }
        assert_eq!(Caip2::from_v1_name("solana"), Err(NetworkError::OtherNamespace));
        for (name, id) in V1_NAMES {
            assert_eq!(Caip2 { chain_id: *id }.v1_name(), Some(*name), "chain {id} under two names");
        }
    }
}
