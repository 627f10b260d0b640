//! What of Solana an x402 payment is made of: addresses, a transaction's bytes, and the token account that belongs to a wallet.

pub mod address;
pub mod associated;
pub mod programs;
pub mod transaction;
pub mod transfer;

pub use address::SolanaAddress;
pub use programs::TokenProgram;
