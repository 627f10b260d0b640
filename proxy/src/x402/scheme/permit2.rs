//! What `exact` over Permit2 and `upto` share: a `permitWitnessTransferFrom` of the Permit2 contract, whose spender is x402's own proxy
//! contract. Permit2 lets the spender take the money to wherever it likes; it is that proxy's code that pays the signed witness and nobody
//! else, so with any other spender the witness means nothing.

use super::member::{Place, signature};
use super::{Lifetime, Signer};
use crate::x402::claim::{Asset, EvmAddress, Token};
use crate::x402::eip712::SigningDomains;
use crate::x402::eip712::permit2::{PermitWitnessTransferFrom, Witness};
use crate::x402::enabled::ContractWallets;
use crate::x402::json::Object;
use crate::x402::refusal::PaymentRefusal;
use crate::x402::signature::WalletSignature;

/// A permit and its signature.
#[derive(Debug, Clone)]
pub struct Permit2 {
    /// What is signed.
    pub permit: PermitWitnessTransferFrom,
    /// Who it says has signed.
    pub from: EvmAddress,
    /// By whom remains to be seen.
    pub signature: WalletSignature,
}

/// Which of the two proxy contracts a permit has to be for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Proxy {
    Exact,
    Upto,
}

impl Proxy {
    /// Deployed to the same address on every chain.
    pub(crate) const fn address(self) -> EvmAddress {
        EvmAddress(match self {
            Proxy::Exact => [
                0x40, 0x20, 0x85, 0xc2, 0x48, 0xee, 0xa2, 0x7d, 0x92, 0xe8, 0xb3, 0x0b, 0x2c, 0x58, 0xed, 0x07, 0xf9, 0xe2, 0x00, 0x01,
            ],
            Proxy::Upto => [
                0x40, 0x20, 0xa4, 0xf3, 0xb7, 0xb9, 0x0c, 0xca, 0x42, 0x3b, 0x9f, 0xab, 0xcc, 0x0c, 0xe5, 0x7c, 0x6c, 0x24, 0x00, 0x02,
            ],
        })
    }
}

/// Reads `{signature, permit2Authorization{from, permitted{token, amount}, spender, nonce, deadline, witness{to, validAfter}}}`; the
/// witness of `upto` has a `facilitator` as well.
pub(super) fn read(payload: &Object<'_>, proxy: Proxy, wallets: ContractWallets) -> Result<Permit2, PaymentRefusal> {
    let members = ["from", "permitted", "spender", "nonce", "deadline", "witness"];
    let authorization = Place::within(payload, "permit2Authorization", &members)?;
    let permitted = Place::within(authorization.object, "permitted", &["token", "amount"])?;
    let witness = match proxy {
        Proxy::Exact => Place::within(authorization.object, "witness", &["to", "validAfter"])?,
        Proxy::Upto => Place::within(authorization.object, "witness", &["to", "facilitator", "validAfter"])?,
    };
    let permit = PermitWitnessTransferFrom {
        token: permitted.address("token")?,
        amount: permitted.integer("amount")?,
        spender: authorization.address("spender")?,
        nonce: authorization.integer("nonce")?,
        deadline: authorization.integer("deadline")?,
        witness: Witness {
            to: witness.address("to")?,
            facilitator: match proxy {
                Proxy::Exact => None,
                Proxy::Upto => Some(witness.address("facilitator")?),
            },
            valid_after: witness.integer("validAfter")?,
        },
    };
    let signed = Permit2 {
        permit,
        from: authorization.address("from")?,
        signature: signature(payload, "permit2Authorization", wallets)?,
    };
    if permit.spender != proxy.address() {
        return Err(PaymentRefusal::scheme(
            "the Permit2 spender is not x402's proxy contract, so it could pay whom it likes",
        ));
    }
    Ok(signed)
}

/// Permit2 moves any token of its chain.
pub(super) fn fits(asset: &Asset) -> Result<(), PaymentRefusal> {
    match asset.token {
        Token::Contract(_) => Ok(()),
        Token::Mint(_) => Err(PaymentRefusal::mismatch("Permit2 moves no tokens on Solana")),
    }
}

impl Permit2 {
    pub(super) fn lifetime(&self) -> Lifetime {
        Lifetime::Window {
            after: self.permit.witness.valid_after,
            before: self.permit.deadline,
        }
    }

    pub(super) fn signer(&self, domains: &SigningDomains) -> Signer {
        match domains.permit2 {
            Some(domain) => self.signature.signer(self.from, || self.permit.digest(&domain)),
            None => Signer::Other,
        }
    }
}
