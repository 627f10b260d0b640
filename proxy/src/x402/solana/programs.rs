//! The programs that a payment's transaction may call.

use super::address::SolanaAddress;

const fn known(base58: &[u8]) -> SolanaAddress {
    SolanaAddress(bs58::decode(base58).into_array_const_unwrap())
}

/// Sets what the fee payer pays for the computation.
pub const COMPUTE_BUDGET: SolanaAddress = known(b"ComputeBudget111111111111111111111111111111");
/// Writes a text beside a transaction.
pub const MEMO: SolanaAddress = known(b"MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr");
/// Wallets put its assertions into what they sign: they end a transaction that does something else than was shown.
pub const LIGHTHOUSE: SolanaAddress = known(b"L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95");
/// Derives a wallet's token accounts.
pub const ASSOCIATED_TOKEN: SolanaAddress = known(b"ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL");

/// The program that keeps a token's balances. A mint belongs to one of them, and token accounts are derived from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenProgram {
    /// SPL Token.
    Token,
    /// Token-2022.
    Token2022,
}

impl TokenProgram {
    /// Both.
    pub const ALL: [TokenProgram; 2] = [TokenProgram::Token, TokenProgram::Token2022];

    /// Its address.
    pub const fn address(self) -> SolanaAddress {
        const TOKEN: SolanaAddress = known(b"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA");
        const TOKEN_2022: SolanaAddress = known(b"TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb");
        match self {
            TokenProgram::Token => TOKEN,
            TokenProgram::Token2022 => TOKEN_2022,
        }
    }

    /// The program at this address.
    pub fn at(address: SolanaAddress) -> Option<Self> {
        Self::ALL.into_iter().find(|program| program.address() == address)
    }

    /// The name in `payments.asset_definitions`.
    pub const fn as_str(self) -> &'static str {
        match self {
            TokenProgram::Token => "spl-token",
            TokenProgram::Token2022 => "token-2022",
        }
    }

    /// The program of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|program| program.as_str() == name)
    }
}
