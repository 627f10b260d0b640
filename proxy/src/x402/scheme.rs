//! The schemes that can be judged, each in its own room behind one trait.
//!
//! | scheme | on the wire | signed |
//! | --- | --- | --- |
//! | [`exact_eip3009`] | `exact` on an EVM chain | an EIP-3009 authorisation |
//! | [`exact_permit2`] | `exact` on an EVM chain, transfer method `permit2` | a Permit2 transfer whose witness names the payee |
//! | [`upto`] | `upto` on an EVM chain | the same with a ceiling instead of a price |
//! | [`exact_svm`] | `exact` on Solana | a transaction that transfers tokens |

pub mod exact_eip3009;
pub mod exact_permit2;
pub mod exact_svm;
mod flavour;
pub(super) mod member;
mod permit2;
pub mod upto;

use std::fmt;

use ruint::aliases::U256;
use tollgate_policy::Reason;

use super::address::Address;
use super::claim::{Asset, AtomicAmount};
use super::eip712::SigningDomains;
use super::enabled::Enabled;
use super::json::Object;
use super::network::Caip2;
use super::offer::Extra;
use super::refusal::{PaymentRefusal, SchemeName};
use super::single_use::SingleUse;
pub(super) use flavour::{of_offer, of_payload};
pub(crate) use permit2::Proxy;

/// The schemes that can be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scheme {
    /// `exact` over EIP-3009.
    Exact,
    /// `exact` over Permit2.
    ExactPermit2,
    /// `upto`, which is always over Permit2.
    Upto,
    /// `exact` on Solana.
    ExactSvm,
}

impl Scheme {
    /// Every scheme.
    pub const ALL: [Scheme; 4] = [Scheme::Exact, Scheme::ExactPermit2, Scheme::Upto, Scheme::ExactSvm];

    /// The name in `payments.schemes`, audit lines and metrics. On the wire two of them are called `exact` as well.
    pub const fn as_str(self) -> &'static str {
        match self {
            Scheme::Exact => "exact",
            Scheme::ExactPermit2 => "exact-permit2",
            Scheme::Upto => "upto",
            Scheme::ExactSvm => "exact-svm",
        }
    }

    /// The scheme of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scheme| scheme.as_str() == name)
    }

    /// Whether payments of this scheme can move money on the chain.
    pub const fn is_for(self, network: Caip2) -> bool {
        match self {
            Scheme::Exact | Scheme::ExactPermit2 | Scheme::Upto => matches!(network, Caip2::Eip155 { .. }),
            Scheme::ExactSvm => matches!(network, Caip2::Solana(_)),
        }
    }

    /// What is signed for one kind of chain means nothing on another.
    pub(super) fn require_network(self, network: Caip2) -> Result<(), PaymentRefusal> {
        if self.is_for(network) {
            return Ok(());
        }
        Err(PaymentRefusal::new(
            Reason::PaymentNetworkNotAllowed,
            "the network is of another kind than what was signed",
        ))
    }

    /// Whether payments of this scheme can move the asset, as far as we know it.
    pub fn can_move(self, asset: &Asset) -> bool {
        self.is_for(asset.network) && (self != Scheme::Exact || asset.domain().is_some())
    }

    /// Refuses a scheme that is not switched on.
    pub fn require(self, enabled: &Enabled) -> Result<(), PaymentRefusal> {
        if enabled.schemes.contains(&self) {
            return Ok(());
        }
        let mut refusal = PaymentRefusal::scheme(match self {
            Scheme::Exact => "payments of the scheme `exact` are not switched on",
            Scheme::ExactPermit2 => "payments over Permit2 are not switched on (`exact-permit2`)",
            Scheme::Upto => "payments of the scheme `upto` are not switched on",
            Scheme::ExactSvm => "payments on Solana are not switched on (`exact-svm`)",
        });
        refusal.summary.scheme = Some(SchemeName::from(self));
        Err(refusal)
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How long what was signed can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lifetime {
    /// In Unix seconds.
    Window {
        /// From then on.
        after: U256,
        /// Until then.
        before: U256,
    },
    /// As long as the chain remembers the block that it names.
    RecentBlock,
}

/// Whose signature it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signer {
    /// The payer's, over exactly these values.
    Payer,
    /// Somebody else's, or over other values.
    Other,
    /// A contract wallet's: only its contract can tell.
    Contract,
}

/// What a judged scheme gives the judge: the transfer that its signature releases.
pub trait Signed: fmt::Debug + Send + Sync {
    /// Which scheme this is.
    fn scheme(&self) -> Scheme;
    /// Who pays.
    fn payer(&self) -> Address;
    /// Who is paid, where what was signed names them and not only an account of theirs.
    fn payee(&self) -> Option<Address>;
    /// Whether it is them who are paid.
    fn pays(&self, payee: Address) -> bool {
        self.payee() == Some(payee)
    }
    /// How much moves at most.
    fn amount(&self) -> AtomicAmount;
    /// The token, where what was signed names it.
    fn asset(&self) -> Option<Address>;
    /// When it can be used.
    fn lifetime(&self) -> Lifetime;
    /// What makes it single-use.
    fn single_use(&self) -> SingleUse;
    /// What the seller's offer says of this scheme alone has to be what was signed.
    fn agrees_with(&self, extra: &Extra) -> Result<(), PaymentRefusal>;
    /// What was signed has to be about the asset as we know it.
    fn fits(&self, asset: &Asset) -> Result<(), PaymentRefusal>;
    /// Whose signature it is if it is for the asset with these domains.
    fn signer(&self, domains: &SigningDomains) -> Signer;
    /// The EIP-3009 authorisation, if it is one: the only thing that can be signed here.
    fn authorization(&self) -> Option<&exact_eip3009::Eip3009> {
        None
    }
}

/// Reads what was signed. The scheme is switched on, and the payload is of its flavour.
pub(super) fn read(scheme: Scheme, payload: &Object<'_>, enabled: &Enabled) -> Result<Box<dyn Signed>, PaymentRefusal> {
    Ok(match scheme {
        Scheme::Exact => Box::new(exact_eip3009::read(payload, enabled)?),
        Scheme::ExactPermit2 => Box::new(exact_permit2::read(payload, enabled.contract_wallets)?),
        Scheme::Upto => Box::new(upto::read(payload, enabled.contract_wallets)?),
        Scheme::ExactSvm => Box::new(exact_svm::read(payload)?),
    })
}

#[cfg(test)]
mod tests;
