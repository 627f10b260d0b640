//! Chains: CAIP-2 identifiers and the short names of x402 v1, as one type.

use std::fmt;

use thiserror::Error;

/// A chain by its CAIP-2 identifier, of the namespaces that can be judged; every other one is refused before a value exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Caip2 {
    /// An EVM chain.
    Eip155 {
        /// The reference in the `eip155` namespace.
        chain_id: u64,
    },
    /// A Solana cluster.
    Solana(Cluster),
}

/// The Solana clusters that x402 has names for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cluster {
    /// Where the money is.
    Mainnet,
    /// For development.
    Devnet,
    /// For validators.
    Testnet,
}

impl Cluster {
    const ALL: [Cluster; 3] = [Cluster::Mainnet, Cluster::Devnet, Cluster::Testnet];

    /// The reference in the `solana` namespace: the genesis block's hash, cut to 32 characters.
    pub const fn genesis(self) -> &'static str {
        match self {
            Cluster::Mainnet => "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp",
            Cluster::Devnet => "EtWTRABZaYq6iMfeYKouRu166VU2xqa1",
            Cluster::Testnet => "4uhcVJyU9pJkvQyS88uRDiswHXSCkY3z",
        }
    }
}

impl fmt::Display for Caip2 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Caip2::Eip155 { chain_id } => write!(f, "eip155:{chain_id}"),
            Caip2::Solana(cluster) => write!(f, "solana:{}", cluster.genesis()),
        }
    }
}

/// Why a text is not a chain that can be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NetworkError {
    /// Not a CAIP-2 identifier in its one spelling.
    #[error("the network is not a canonical CAIP-2 identifier")]
    Malformed,
    /// CAIP-2, but of no namespace that can be judged.
    #[error("only eip155 and solana networks can be judged")]
    OtherNamespace,
    /// A Solana chain that is none of the public clusters.
    #[error("the network is no known Solana cluster")]
    UnknownCluster,
    /// Not a short name of x402 v1.
    #[error("the network is not a known x402 v1 name")]
    UnknownName,
    /// The SDKs disagree on the chain that the name means: the same bytes are signed for different chains.
    #[error("SDKs disagree on the chain behind this x402 v1 name")]
    AmbiguousName,
}

const fn evm(chain_id: u64) -> Caip2 {
    Caip2::Eip155 { chain_id }
}

/// `<name>` → chain, as all SDKs agree.
const V1_NAMES: &[(&str, Caip2)] = &[
    ("base", evm(8453)),
    ("base-sepolia", evm(84_532)),
    ("ethereum", evm(1)),
    ("polygon", evm(137)),
    ("polygon-amoy", evm(80_002)),
    ("avalanche", evm(43_114)),
    ("avalanche-fuji", evm(43_113)),
    ("abstract", evm(2741)),
    ("abstract-testnet", evm(11_124)),
    ("sepolia", evm(11_155_111)),
    ("iotex", evm(4689)),
    ("sei", evm(1329)),
    ("peaq", evm(3338)),
    ("megaeth", evm(4326)),
    ("monad", evm(143)),
    ("monad-testnet", evm(10_143)),
    ("stable", evm(988)),
    ("stable-testnet", evm(2201)),
    ("celo", evm(42_220)),
    ("flare", evm(14)),
    ("xdc", evm(50)),
    ("xrpl-evm", evm(1_440_000)),
    ("celo-sepolia", evm(11_142_220)),
    ("radius", evm(723_487)),
    ("radius-testnet", evm(72_344)),
    ("solana", Caip2::Solana(Cluster::Mainnet)),
    ("solana-devnet", Caip2::Solana(Cluster::Devnet)),
    ("solana-testnet", Caip2::Solana(Cluster::Testnet)),
];

/// Names that mean one chain to the JavaScript and Go SDKs and another to the Python ones.
const AMBIGUOUS_V1_NAMES: &[&str] = &["story", "educhain", "skale-base-sepolia", "sei-testnet"];

impl Caip2 {
    /// Parses `<namespace>:<reference>` in its one spelling: no other case, no leading zero, no blanks, no wildcard.
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
        match namespace {
            "eip155" if reference.starts_with('0') || !reference.bytes().all(|b| b.is_ascii_digit()) => Err(NetworkError::Malformed),
            "eip155" => reference.parse().map(evm).map_err(|_| NetworkError::Malformed),
            "solana" => Cluster::ALL
                .into_iter()
                .find(|cluster| cluster.genesis() == reference)
                .map(Caip2::Solana)
                .ok_or(NetworkError::UnknownCluster),
            _ => Err(NetworkError::OtherNamespace),
        }
    }

    /// Reads a short name of x402 v1, case-sensitively.
    pub fn from_v1_name(name: &str) -> Result<Self, NetworkError> {
        match V1_NAMES.iter().find(|(known, _)| *known == name) {
            Some((_, network)) => Ok(*network),
            None if AMBIGUOUS_V1_NAMES.contains(&name) => Err(NetworkError::AmbiguousName),
            None => Err(NetworkError::UnknownName),
        }
    }

    /// The short name that x402 v1 has for the chain.
    pub fn v1_name(self) -> Option<&'static str> {
        V1_NAMES.iter().find(|(_, network)| *network == self).map(|(name, _)| *name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_one_spelling() {
        assert_eq!(Caip2::parse("eip155:84532"), Ok(evm(84_532)));
        assert_eq!(
            Caip2::parse("solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1"),
            Ok(Caip2::Solana(Cluster::Devnet))
        );
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
            "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1 ",
            "solana:*",
        ] {
            assert_eq!(Caip2::parse(malformed), Err(NetworkError::Malformed), "{malformed}");
        }
        for other in ["cloudflare:402", "card:visa", "aptos:1", "tvm:-239"] {
            assert_eq!(Caip2::parse(other), Err(NetworkError::OtherNamespace), "{other}");
        }
        // Base58 tells cases apart, and a private cluster may have any genesis.
        for other in [
            "solana:etwtrabzayq6imfeykouru166vu2xqa1",
            "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa",
            "solana:devnet",
            "solana:1",
        ] {
            assert_eq!(Caip2::parse(other), Err(NetworkError::UnknownCluster), "{other}");
        }
        for cluster in Cluster::ALL {
            assert_eq!(Caip2::parse(&Caip2::Solana(cluster).to_string()), Ok(Caip2::Solana(cluster)));
        }
    }

    #[test]
    fn v1_names_that_sdks_sign_for_different_chains_are_refused() {
        assert_eq!(Caip2::from_v1_name("base"), Ok(evm(8453)));
        assert_eq!(Caip2::from_v1_name("solana-devnet"), Ok(Caip2::Solana(Cluster::Devnet)));
        for name in ["story", "educhain", "skale-base-sepolia", "sei-testnet"] {
            assert_eq!(Caip2::from_v1_name(name), Err(NetworkError::AmbiguousName), "{name}");
        }
        for name in ["eip155:84532", "Base", "mainnet", "ethereum-mainnet", "base ", "Solana", ""] {
            assert_eq!(Caip2::from_v1_name(name), Err(NetworkError::UnknownName), "{name}");
        }
        for (name, network) in V1_NAMES {
            assert_eq!(network.v1_name(), Some(*name), "{network} under two names");
        }
    }
}
