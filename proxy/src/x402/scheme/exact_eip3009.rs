//! Scheme `exact`, flavour EIP-3009: the token contract itself moves the money by an authorisation that names payer, payee and value.
//!
//! In: the `payload` object. Out: what was signed, well-formed but not yet proved.

use tollgate_policy::Reason;

use super::member::{Place, signature_or_placeholder};
use super::{Lifetime, Scheme, Signed, Signer};
use crate::x402::address::Address;
use crate::x402::claim::{Asset, AtomicAmount, Token};
use crate::x402::eip712::{SigningDomains, TransferWithAuthorization};
use crate::x402::enabled::Enabled;
use crate::x402::json::Object;
use crate::x402::offer::Extra;
use crate::x402::refusal::PaymentRefusal;
use crate::x402::signature::WalletSignature;
use crate::x402::single_use::SingleUse;

/// An authorisation and its signature.
#[derive(Debug, Clone)]
pub struct Eip3009 {
    /// What is signed.
    pub transfer: TransferWithAuthorization,
    /// By whom remains to be seen.
    pub signature: WalletSignature,
}

/// Reads `{signature, authorization{from, to, value, validAfter, validBefore, nonce}}`.
pub(super) fn read(payload: &Object<'_>, enabled: &Enabled) -> Result<Eip3009, PaymentRefusal> {
    let members = ["from", "to", "value", "validAfter", "validBefore", "nonce"];
    let authorization = Place::within(payload, "authorization", &members)?;
    Ok(Eip3009 {
        transfer: TransferWithAuthorization {
            from: authorization.address("from")?,
            to: authorization.address("to")?,
            value: authorization.integer("value")?,
            valid_after: authorization.integer("validAfter")?,
            valid_before: authorization.integer("validBefore")?,
            nonce: authorization.bytes32("nonce")?,
        },
        signature: signature_or_placeholder(payload, "authorization", enabled)?,
    })
}

impl Signed for Eip3009 {
    fn scheme(&self) -> Scheme {
        Scheme::Exact
    }

    fn payer(&self) -> Address {
        self.transfer.from.into()
    }

    fn payee(&self) -> Option<Address> {
        Some(self.transfer.to.into())
    }

    fn amount(&self) -> AtomicAmount {
        AtomicAmount(self.transfer.value)
    }

    /// Only the signature is bound to the token, by its domain.
    fn asset(&self) -> Option<Address> {
        None
    }

    fn lifetime(&self) -> Lifetime {
        let TransferWithAuthorization {
            valid_after, valid_before, ..
        } = self.transfer;
        Lifetime::Window {
            after: valid_after,
            before: valid_before,
        }
    }

    fn single_use(&self) -> SingleUse {
        SingleUse::PerToken(self.transfer.nonce)
    }

    fn agrees_with(&self, _extra: &Extra) -> Result<(), PaymentRefusal> {
        Ok(())
    }

    fn fits(&self, asset: &Asset) -> Result<(), PaymentRefusal> {
        match asset.token {
            Token::Contract(Some(_)) => Ok(()),
            _ => Err(PaymentRefusal::new(
                Reason::PaymentAssetNotAllowed,
                "the asset's EIP-712 domain is not known, so EIP-3009 payments in it cannot be proved",
            )),
        }
    }

    fn signer(&self, domains: &SigningDomains) -> Signer {
        match domains.token {
            Some(domain) => self.signature.signer(self.transfer.from, || self.transfer.digest(&domain)),
            None => Signer::Other,
        }
    }

    fn authorization(&self) -> Option<&Eip3009> {
        Some(self)
    }
}
