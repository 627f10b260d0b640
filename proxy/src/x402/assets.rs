//! Tokens we know ourselves. Decimals never travel with a payment and a token's name on the wire is the seller's word, so an asset
//! that is not in the table (or defined by the operator) has no price and is refused.

use std::collections::BTreeSet;

use super::address::Address;
use super::claim::{Asset, Domain, EvmAddress, Token};
use super::network::{Caip2, Cluster};
use super::scheme::Scheme;
use super::solana::{SolanaAddress, TokenProgram};

/// One row: chain id, contract, symbol, decimals, and the EIP-712 domain where it is certain.
struct Row(u64, &'static str, &'static str, u8, Option<(&'static str, &'static str)>);

// Source: the x402 SDKs' default-asset tables. The domain is given only for the native USDC deployments, where those tables agree and
// captured payments recover under it; the other rows exist so that an error can name the asset and say what the operator has to add.
const TABLE: &[Row] = &[
    Row(8453, "833589fcd6edb6e08f4c7c32d4f71b54bda02913", "USDC", 6, Some(("USD Coin", "2"))),
    Row(84_532, "036cbd53842c5426634e7929541ec2318f3dcf7e", "USDC", 6, Some(("USDC", "2"))),
    Row(1, "a0b86991c6218b36c1d19d4a2e9eb0ce3606eb48", "USDC", 6, Some(("USD Coin", "2"))),
    Row(137, "3c499c542cef5e3811e1192ce70d8cc03d5c3359", "USDC", 6, Some(("USD Coin", "2"))),
    Row(
        43_114,
        "b97ef9ef8734c71904d8002f8b6bc66dd9c48a6e",
        "USDC",
        6,
        Some(("USD Coin", "2")),
    ),
    Row(
        42_161,
        "af88d065e77c8cc2239327c5edb3a432268e5831",
        "USDC",
        6,
        Some(("USD Coin", "2")),
    ),
    Row(421_614, "75faf114eafb1bdbe2f0316df893fd58ce46aa4d", "USDC", 6, None),
    Row(143, "754704bc059f8c67012fed69bc8a327a5aafb603", "USDC", 6, None),
    Row(10_143, "534b2f3a21130d7a60830c2df862319e593943a3", "USDC", 6, None),
    Row(988, "779ded0c9e1022225f8e0630b35a9b54be713736", "USDT0", 6, None),
    Row(2201, "78cf24370174180738c5b8e352b6d14c83a6c9a9", "USDT0", 6, None),
    Row(14, "e7cd86e13ac4309349f30b3435a9d337750fc82d", "USDT0", 6, None),
    Row(42_220, "ceba9300f2b948710d2653dd7b07f33a8b32118c", "USDC", 6, None),
    Row(42_220, "48065fbbe25f71c9282ddf5e1cd6d6a887483d5e", "USDT", 6, None),
    Row(42_220, "d2ab3c9a02dbbab236bfec45d1d755df4267f771", "USAT", 6, None),
    Row(11_142_220, "01c5c0122039549ad1493b8220cabedd739bc44e", "USDC", 6, None),
    Row(1329, "e15fc38f6d8c56af07bbcbe3baf5708a2bf42392", "USDC", 6, None),
    Row(1328, "4fcf1784b31630811181f670aea7a7bef803eaed", "USDC", 6, None),
    Row(31_612, "dd468a1ddc392dcdbef6db6e34e89aa338f9f186", "mUSD", 18, None),
    Row(31_611, "118917a40faf1cd7a13db0ef56c86de7973ac503", "mUSD", 18, None),
    Row(723_487, "33ad9e4bd16b69b5bfded37d8b5d9ff9aba014fb", "SBC", 6, None),
    Row(72_344, "33ad9e4bd16b69b5bfded37d8b5d9ff9aba014fb", "SBC", 6, None),
    Row(36_900, "9cb8142aebbcdc60af7c97af897a67a8f3ca71c2", "USDC.e", 6, None),
    Row(50, "fa2958cb79b0491cc627c1557f441ef849ca8eb1", "USDC", 6, None),
    Row(4326, "fafddbb3fc7688494971a79cc65dca3ef82079e7", "MegaUSD", 18, None),
    Row(190_415, "401ecb1d350407f13ba348573e5630b83638e30d", "USD", 6, None),
    Row(181_228, "401ecb1d350407f13ba348573e5630b83638e30d", "USD", 6, None),
    Row(38_833, "a5b8bf902b2844da17d4506cc827f7f1681735e7", "USD", 6, None),
    Row(5042, "3600000000000000000000000000000000000000", "USDC", 6, None),
    Row(5_042_002, "3600000000000000000000000000000000000000", "USDC", 6, None),
    Row(51, "b5ab69f7bbada22b28e79c8ffaece55ef1c771d4", "USDC", 6, None),
];

/// One mint: cluster, address, symbol, decimals, and the program that keeps its balances.
struct Mint(Cluster, &'static str, &'static str, u8, TokenProgram);

// Source: the x402 SDKs' default-asset tables.
const MINTS: &[Mint] = &[
    Mint(
        Cluster::Mainnet,
        "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v",
        "USDC",
        6,
        TokenProgram::Token,
    ),
    Mint(
        Cluster::Mainnet,
        "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB",
        "USDT",
        6,
        TokenProgram::Token,
    ),
    Mint(
        Cluster::Mainnet,
        "2u1tszSeqZ3qBWF3uNGPFc8TzMk2tdiwknnRMWGWjGWH",
        "USDG",
        6,
        TokenProgram::Token2022,
    ),
    Mint(
        Cluster::Mainnet,
        "2b1kV6DkPAnxd5ixfnxCpjxmKwqjjaYmCZfHsFu24GXo",
        "PYUSD",
        6,
        TokenProgram::Token2022,
    ),
    Mint(
        Cluster::Mainnet,
        "CASHx9KJUStyftLFWGvEVf59SGeG9sh5FfcnZMVPCASH",
        "CASH",
        6,
        TokenProgram::Token2022,
    ),
    Mint(
        Cluster::Devnet,
        "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU",
        "USDC",
        6,
        TokenProgram::Token,
    ),
    Mint(
        Cluster::Testnet,
        "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU",
        "USDC",
        6,
        TokenProgram::Token,
    ),
];

/// A row of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownAsset {
    /// For humans only.
    pub symbol: &'static str,
    /// What we know of it.
    pub asset: Asset,
}

/// Every row.
pub fn table() -> impl Iterator<Item = KnownAsset> {
    let contracts = TABLE.iter().filter_map(|Row(chain_id, address, symbol, decimals, domain)| {
        let mut bytes = [0; 20];
        hex::decode_to_slice(address, &mut bytes).ok()?;
        let domain = domain.map(|(name, version)| Domain {
            name: name.to_owned(),
            version: version.to_owned(),
        });
        Some(KnownAsset {
            symbol,
            asset: Asset {
                network: Caip2::Eip155 { chain_id: *chain_id },
                address: EvmAddress(bytes).into(),
                decimals: *decimals,
                token: Token::Contract(domain),
            },
        })
    });
    let mints = MINTS.iter().filter_map(|Mint(cluster, address, symbol, decimals, program)| {
        Some(KnownAsset {
            symbol,
            asset: Asset {
                network: Caip2::Solana(*cluster),
                address: SolanaAddress::parse(address).ok()?.into(),
                decimals: *decimals,
                token: Token::Mint(*program),
            },
        })
    });
    contracts.chain(mints)
}

const DEFAULT_NETWORKS: [Caip2; 4] = [
    Caip2::Eip155 { chain_id: 8453 },
    Caip2::Eip155 { chain_id: 84_532 },
    Caip2::Solana(Cluster::Mainnet),
    Caip2::Solana(Cluster::Devnet),
];

/// What the gate judges when nobody lists networks or assets: USDC on Base and Solana and on their test networks, as far as the schemes
/// that are switched on move it.
pub fn default_assets(schemes: &BTreeSet<Scheme>) -> BTreeSet<(Caip2, Address)> {
    table()
        .filter(|row| row.symbol == "USDC" && DEFAULT_NETWORKS.contains(&row.asset.network))
        .filter(|row| schemes.iter().any(|scheme| scheme.can_move(&row.asset)))
        .map(|row| (row.asset.network, row.asset.address))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_a_distinct_well_formed_asset() {
        let rows: Vec<_> = table().collect();
        assert_eq!(rows.len(), TABLE.len() + MINTS.len(), "a row is not an address");
        let mut seen = std::collections::HashSet::new();
        for KnownAsset { asset, .. } in &rows {
            assert!(seen.insert((asset.network, asset.address)), "{} {}", asset.network, asset.address);
        }
    }

    #[test]
    fn what_is_judged_by_default_follows_the_schemes() {
        let networks = |schemes: &[Scheme]| -> Vec<String> {
            default_assets(&schemes.iter().copied().collect())
                .into_iter()
                .map(|(network, _)| network.to_string())
                .collect()
        };
        let evm = ["eip155:8453", "eip155:84532"];
        let solana = ["solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp", "solana:EtWTRABZaYq6iMfeYKouRu166VU2xqa1"];
        assert_eq!(networks(&[Scheme::Exact]), evm);
        assert_eq!(networks(&[Scheme::Upto]), evm);
        assert_eq!(networks(&[Scheme::ExactSvm]), solana);
        assert_eq!(networks(&Scheme::ALL), [evm, solana].concat());
    }
}
