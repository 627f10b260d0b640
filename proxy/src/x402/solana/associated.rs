//! The associated token account: the one account of a mint that everybody can derive from a wallet's address. A transfer names only
//! accounts, so this is what ties its destination to a payee.

use ed25519_dalek::VerifyingKey;
use sha2::{Digest, Sha256};

use super::address::SolanaAddress;
use super::programs::{ASSOCIATED_TOKEN, TokenProgram};

/// The token account of `wallet` for `mint`. `None` if no seed leads off the curve, which nobody has ever seen.
pub fn token_account(wallet: SolanaAddress, program: TokenProgram, mint: SolanaAddress) -> Option<SolanaAddress> {
    let seeds = [wallet.0, program.address().0, mint.0];
    (0..=u8::MAX)
        .rev()
        .map(|bump| derive(&seeds, bump))
        .find(|address| !on_curve(address))
        .map(SolanaAddress)
}

fn derive(seeds: &[[u8; 32]], bump: u8) -> [u8; 32] {
    let mut hash = Sha256::new();
    for seed in seeds {
        hash.update(seed);
    }
    hash.update([bump]);
    hash.update(ASSOCIATED_TOKEN.0);
    hash.update(b"ProgramDerivedAddress");
    hash.finalize().into()
}

/// Whether the bytes are a public key, so that somebody could have its private one: no derived address may be.
fn on_curve(address: &[u8; 32]) -> bool {
    VerifyingKey::from_bytes(address).is_ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn address(text: &str) -> SolanaAddress {
        SolanaAddress::parse(text).unwrap()
    }

    /// From captured payments, whose SDKs derived the accounts.
    #[test]
    fn accounts_are_those_that_the_sdks_derive() {
        let devnet_usdc = address("4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU");
        for (wallet, account) in [
            (
                "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4",
                "A6cvo72FWB5PKDznP79KJv64DbT1aw7YbEfCm4AALHg8",
            ),
            (
                "5SmPXSnum3rVr3sQGcpTdgb1PVyvvnheM4ER5Nsvnuew",
                "TxQLqMDEUpWvFxhXYBTnxkJBu4s2YbMFweJKqGDr1c6",
            ),
        ] {
            let wallet = address(wallet);
            assert_eq!(token_account(wallet, TokenProgram::Token, devnet_usdc), Some(address(account)));
            assert_ne!(token_account(wallet, TokenProgram::Token2022, devnet_usdc), Some(address(account)));
            assert_ne!(token_account(devnet_usdc, TokenProgram::Token, wallet), Some(address(account)));
        }
    }

    #[test]
    fn wallets_are_on_the_curve_and_their_token_accounts_are_not() {
        for wallet in [
            "2wKupLR9q6wXYppw8Gr2NvWxKBUqm4PPJKkQfoxHDBg4",
            "5SmPXSnum3rVr3sQGcpTdgb1PVyvvnheM4ER5Nsvnuew",
        ] {
            assert!(on_curve(&address(wallet).0), "{wallet}");
        }
        for account in [
            "A6cvo72FWB5PKDznP79KJv64DbT1aw7YbEfCm4AALHg8",
            "TxQLqMDEUpWvFxhXYBTnxkJBu4s2YbMFweJKqGDr1c6",
        ] {
            assert!(!on_curve(&address(account).0), "{account}");
        }
    }
}
