//! Scheme `exact`, flavour Permit2: for tokens without EIP-3009. The payer has given the Permit2 contract an allowance once, and signs
//! each payment for it.

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

/// A permit for the proxy contract of `exact`.
#[derive(Debug, Clone)]
pub struct ExactPermit2(pub Permit2);

pub(super) fn read(payload: &Object<'_>, wallets: ContractWallets) -> Result<ExactPermit2, PaymentRefusal> {
    permit2::read(payload, Proxy::Exact, wallets).map(ExactPermit2)
}

impl Signed for ExactPermit2 {
    fn scheme(&self) -> Scheme {
        Scheme::ExactPermit2
    }

    fn payer(&self) -> Address {
        self.0.from.into()
    }

    fn payee(&self) -> Option<Address> {
        Some(self.0.permit.witness.to.into())
    }

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

    fn agrees_with(&self, _extra: &Extra) -> Result<(), PaymentRefusal> {
        Ok(())
    }

    fn fits(&self, asset: &Asset) -> Result<(), PaymentRefusal> {
        permit2::fits(asset)
    }

    fn signer(&self, domains: &SigningDomains) -> Signer {
        self.0.signer(domains)
    }
}
