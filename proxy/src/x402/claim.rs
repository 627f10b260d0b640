//! What a payment claims, in types that cannot be wrong: the only thing that the gate judges and that a verdict service is told.
//!
//! Every field comes from the bytes that were *signed*; where an unsigned copy exists it has been compared before a [`Claim`] is built.

use std::fmt;

use ruint::aliases::U256;

use super::address::Address;
use super::extensions::IdentifierTerms;
use super::network::Caip2;
pub use super::scheme::Scheme;
use super::solana::TokenProgram;
use super::unsigned::Unsigned;

/// An amount in an asset's smallest unit, as the wire has it: a decimal integer below 2^256.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AtomicAmount(pub U256);

/// A 20-byte EVM address; compares by bytes, prints in lower case (EIP-55 spelling is not significant).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EvmAddress(pub [u8; 20]);

impl fmt::Display for EvmAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{}", hex::encode(self.0))
    }
}

impl fmt::Debug for EvmAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Decimal, atomic.
impl fmt::Display for AtomicAmount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// The protocol generation, told apart by header name and `x402Version`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Version {
    /// `X-PAYMENT`.
    V1,
    /// `PAYMENT-SIGNATURE`.
    V2,
}

impl Version {
    /// The integer on the wire.
    pub const fn number(self) -> u64 {
        match self {
            Version::V1 => 1,
            Version::V2 => 2,
        }
    }
}

/// A token whose decimals and ways to be moved we know ourselves; nothing of it is taken from the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asset {
    /// The chain it is on.
    pub network: Caip2,
    /// The token contract, or the mint.
    pub address: Address,
    /// Decimals between atomic and human units.
    pub decimals: u8,
    /// What signatures for it are bound to.
    pub token: Token,
}

/// What kind of token an asset is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    /// A contract on an EVM chain, with its EIP-712 domain where that is known for certain.
    Contract(Option<Domain>),
    /// A mint on Solana.
    Mint(TokenProgram),
}

/// The EIP-712 domain of a token contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    /// E.g. `USD Coin`.
    pub name: String,
    /// E.g. `2`.
    pub version: String,
}

impl Asset {
    /// Its EIP-712 domain, where it has one that is known.
    pub fn domain(&self) -> Option<&Domain> {
        match &self.token {
            Token::Contract(domain) => domain.as_ref(),
            Token::Mint(_) => None,
        }
    }
}

/// SHA-256 of the payment header's bytes: names a payment in audit lines without showing it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PaymentHash(pub [u8; 32]);

/// SHA-256 of what makes the authorisation single-use (payer, asset, network and nonce): the replay key, safe to store and log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NonceHash(pub [u8; 32]);

/// SHA-256 of the `payment-identifier` the client chose: joins audit lines of one logical purchase without showing the identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IdentifierHash(pub [u8; 32]);

/// SHA-256 of the paid request's method, origin, path and query: tells a retry of the same request from the same money spent on another,
/// without keeping the query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RequestHash(pub [u8; 32]);

macro_rules! shown_as_hex {
    ($($hash:ident),+) => {$(
        impl fmt::Display for $hash {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&hex::encode(self.0))
            }
        }
    )+};
}
shown_as_hex!(PaymentHash, NonceHash, IdentifierHash, RequestHash);

/// What the payment buys, without user information, query and fragment: secrets live there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// The request's method.
    pub method: Box<str>,
    /// `http` or `https`; `mcp` for a tool that is called by name.
    pub scheme: &'static str,
    /// Host and port of the request.
    pub authority: tollgate_policy::Authority,
    /// Canonical path of the request; for `mcp` as in `tool/weather`.
    pub path: String,
}

/// `scheme://host[:port]/path`; the scheme's default port is left out. `mcp://tool/name`, as the SDKs spell it, names no host.
impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.scheme == "mcp" {
            return write!(f, "mcp://{}", self.path);
        }
        let default = if self.scheme == "https" { 443 } else { 80 };
        if self.authority.port == default {
            write!(f, "{}://{}{}", self.scheme, self.authority.host, self.path)
        } else {
            write!(f, "{}://{}{}", self.scheme, self.authority, self.path)
        }
    }
}

/// One judged payment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// v1 or v2.
    pub version: Version,
    /// How the money moves.
    pub scheme: Scheme,
    /// The asset, and with it the network.
    pub asset: Asset,
    /// What the signature releases: the price, or for `upto` the most that may be taken.
    pub amount: AtomicAmount,
    /// Who is paid by what was signed, equal to the offer's `payTo`.
    pub payee: Address,
    /// Who signed; proved, but for the contract wallets that the operator may admit.
    pub payer: Address,
    /// Unix seconds from which the authorisation is valid.
    pub valid_after: u64,
    /// Unix seconds until which it is, at the latest.
    pub valid_before: u64,
    /// What is bought.
    pub resource: Resource,
    /// Names the payment.
    pub payment_hash: PaymentHash,
    /// Names the authorisation.
    pub nonce_hash: NonceHash,
    /// Names the client's `payment-identifier`, where it sent one.
    pub identifier_hash: Option<IdentifierHash>,
    /// How the seller asked for one, as the client repeats it.
    pub identifier_terms: Option<IdentifierTerms>,
    /// Names the request that is paid for.
    pub request_hash: RequestHash,
    /// What is signed here once there is a GO; `None` where the sandbox has signed.
    pub unsigned: Option<Unsigned>,
}
