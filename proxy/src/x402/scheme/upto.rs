//! Scheme `upto`: what is signed is a ceiling, and the seller says afterwards how much of it is taken. Nobody on this side ever learns
//! that before it happens, so the ceiling is what limits and verdicts are about.

use super::permit2::{self, Permit2, Proxy};
use super::{Lifetime, Scheme, Signed, Signer};
use crate::x402::address::Address;
use crate::x402::claim::{Asset, AtomicAmount};
use crate::x402::eip712::SigningDomains;
use crate::x402::enabled::ContractWallets;
use crate::x402::json::Object;
use crate::x402::offer::Extra;
use crate::x402::refusal::PaymentRefusal;
use crate::x402::single_use::SingleUse;

/// A permit for the proxy contract of `upto`.
#[derive(Debug, Clone)]
pub struct Upto(pub Permit2);

pub(super) fn read(payload: &Object<'_>, wallets: ContractWallets) -> Result<Upto, PaymentRefusal> {
    permit2::read(payload, Proxy::Upto, wallets).map(Upto)
}

impl Signed for Upto {
    fn scheme(&self) -> Scheme {
        Scheme::Upto
    }

    fn payer(&self) -> Address {
        self.0.from.into()
    }

    fn payee(&self) -> Option<Address> {
        Some(self.0.permit.witness.to.into())
    }

    /// The ceiling.
    fn amount(&self) -> AtomicAmount {
        AtomicAmount(self.0.permit.amount)
    }

    fn asset(&self) -> Option<Address> {
        Some(self.0.permit.token.into())
    }

    fn lifetime(&self) -> Lifetime {
        self.0.lifetime()
    }

    fn single_use(&self) -> SingleUse {
        SingleUse::Permit2(self.0.permit.nonce)
    }

    /// Only the signed facilitator can take the money to the payee: another one than the seller's would settle for somebody else.
    fn agrees_with(&self, extra: &Extra) -> Result<(), PaymentRefusal> {
        if extra.facilitator.is_none() || extra.facilitator == self.0.permit.witness.facilitator {
            return Ok(());
        }
        Err(PaymentRefusal::mismatch(
            "the signature is for another facilitator than accepted.extra.facilitatorAddress",
        ))
    }

    fn fits(&self, asset: &Asset) -> Result<(), PaymentRefusal> {
        permit2::fits(asset)
    }

    fn signer(&self, domains: &SigningDomains) -> Signer {
        self.0.signer(domains)
    }
}
