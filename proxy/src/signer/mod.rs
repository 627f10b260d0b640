//! Signing here, after GO, so that the agent holds no key.
//!
//! In: an [`Order`], made from a payment that has passed every check and has its GO. Out: the wallet's signature, proved to be its own, or a
//! typed [`SigningError`] upon which the payment does not leave. The key is in this process ([`key`]) or with a service ([`remote`]).

pub mod config;
pub mod key;
pub mod remote;

use std::ffi::OsString;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use http::HeaderValue;
use thiserror::Error;
use zeroize::Zeroizing;

use crate::audit::SignatureOutcome;
use crate::audit::vocabulary::Vocabulary;
use crate::credentials::config::EnvName;
use crate::egress::fetch::{FetchError, Fetcher};
use crate::x402::claim::{Asset, Claim, EvmAddress, IdentifierHash};
use crate::x402::signature::Signature;
use crate::x402::unsigned::Unsigned;
use config::{RemoteConfig, SignerConfig};
use key::{KeyError, LocalKey};
use remote::Remote;

/// What is to be signed, and for what.
#[derive(Debug, Clone)]
pub struct Order {
    /// The transfer.
    pub unsigned: Unsigned,
    /// The token.
    pub asset: Asset,
    /// What is bought, without query.
    pub resource: String,
    /// Unix seconds until which a signature is worth something.
    pub valid_before: u64,
    /// The client's payment identifier, under which the same payment may be sent once more.
    pub identifier: Option<IdentifierHash>,
}

impl Order {
    /// The order for a payment that its agent has not signed.
    pub fn of(claim: &Claim) -> Option<Self> {
        Some(Order {
            unsigned: claim.unsigned?,
            asset: claim.asset.clone(),
            resource: claim.resource.to_string(),
            valid_before: claim.valid_before,
            identifier: claim.identifier_hash,
        })
    }
}

/// Why there is no signature. Says nothing of what was sent or received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum SigningError {
    /// There is nothing left to sign for.
    #[error("the payment expired before it could be signed")]
    Expired,
    /// The service will not sign this.
    #[error("the signing service refuses to sign this payment (status {0})")]
    Refused(u16),
    /// The service cannot sign now.
    #[error("the signing service answers with status {0}")]
    Status(u16),
    /// No complete answer.
    #[error("the signing service cannot be asked: {0}")]
    Unreachable(FetchError),
    /// As many questions as it may have at once, and as many that wait, are there already.
    #[error("too many payments wait for the signing service")]
    Busy,
    /// The same payment was signed before, and is not signed twice.
    #[error("the signing service has signed this payment before; its signature is not kept any more, and it is not asked for another")]
    NotKept,
    /// Something else than the wallet's signature over these values.
    #[error("what the signer gives is not the wallet's signature")]
    Invalid,
}

impl SigningError {
    /// As it is counted.
    pub fn outcome(self) -> SignatureOutcome {
        match self {
            SigningError::Expired | SigningError::Refused(_) => SignatureOutcome::Refused,
            SigningError::Status(_) | SigningError::Unreachable(_) | SigningError::Busy | SigningError::NotKept => {
                SignatureOutcome::Unavailable
            }
            SigningError::Invalid => SignatureOutcome::Invalid,
        }
    }
}

/// Whoever has the key.
#[async_trait]
pub trait KeyHolder: fmt::Debug + Send + Sync {
    /// Signs the order's digest.
    async fn sign(&self, order: &Order) -> Result<Signature, SigningError>;

    /// The same bytes that it gave for this order before. Nobody is asked.
    fn signed_before(&self, order: &Order) -> Result<Signature, SigningError>;
}

/// Why there is no signer, at start.
#[derive(Debug, Error)]
pub enum SignerError {
    /// The section itself.
    #[error("{0}: {1}")]
    Section(&'static str, String),
    /// The key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The remote signer's token.
    #[error("the environment variable `{0}` for the signer's token is not set, is empty, or holds what no header may hold")]
    Token(EnvName),
}

/// The wallet. Nothing but a payment with its GO is put to it.
#[derive(Debug)]
pub struct Signer {
    wallet: EvmAddress,
    holder: Box<dyn KeyHolder>,
    counts: [AtomicU64; SignatureOutcome::ALL.len()],
}

impl Signer {
    /// Reads the key, or gets ready to ask for signatures. `lookup` is the environment.
    pub fn open(config: &SignerConfig, fetcher: &Fetcher, lookup: impl Fn(&str) -> Option<OsString>) -> Result<Self, SignerError> {
        let rule = config.rule().map_err(|mistakes| {
            let (member, why) = mistakes.into_iter().next().unwrap_or_default();
            SignerError::Section(member, why)
        })?;
        let holder: Box<dyn KeyHolder> = match (&config.key_file, &config.key_env, &config.remote) {
            (Some(file), _, _) => Box::new(LocalKey::from_file(file, rule.wallet)?),
            (_, Some(name), _) => Box::new(LocalKey::from_env(name.as_str(), lookup(name.as_str()), rule.wallet)?),
            (_, _, Some(remote)) => Box::new(reach(remote, fetcher, lookup)?),
            (None, None, None) => return Err(SignerError::Section("", "no key".to_owned())),
        };
        Ok(Self::new(rule.wallet, holder))
    }

    /// The wallet whose key this one has.
    pub fn new(wallet: EvmAddress, holder: Box<dyn KeyHolder>) -> Self {
        Signer {
            wallet,
            holder,
            counts: Default::default(),
        }
    }

    /// Signs an order, at `now` in Unix seconds. What comes back is the wallet's signature over exactly this order.
    pub async fn sign(&self, order: &Order, now: u64) -> Result<Signature, SigningError> {
        let signed = if order.valid_before <= now {
            Err(SigningError::Expired)
        } else {
            self.holder.sign(order).await.and_then(|signature| self.proved(order, signature))
        };
        self.add(signed.as_ref().map_or_else(|error| error.outcome(), |_| SignatureOutcome::Signed));
        signed
    }

    /// The signature that an order was given before, for the same payment sent once more. It is no second one, and is not counted as one.
    pub fn sign_again(&self, order: &Order, now: u64) -> Result<Signature, SigningError> {
        let signed = if order.valid_before <= now {
            Err(SigningError::Expired)
        } else {
            self.holder.signed_before(order).and_then(|signature| self.proved(order, signature))
        };
        signed.inspect_err(|error| self.add(error.outcome()))
    }

    fn add(&self, outcome: SignatureOutcome) {
        if let Some(count) = self.counts.get(outcome.index()) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn proved(&self, order: &Order, signature: Signature) -> Result<Signature, SigningError> {
        let whose = signature.recover(&order.unsigned.digest);
        (whose == Some(self.wallet) && order.unsigned.transfer.from == self.wallet)
            .then_some(signature)
            .ok_or(SigningError::Invalid)
    }

    /// How often that was the outcome since the start.
    pub fn count(&self, outcome: SignatureOutcome) -> u64 {
        self.counts.get(outcome.index()).map_or(0, |count| count.load(Ordering::Relaxed))
    }
}

fn reach(config: &RemoteConfig, fetcher: &Fetcher, lookup: impl Fn(&str) -> Option<OsString>) -> Result<Remote, SignerError> {
    let authorization = match &config.token_env {
        None => None,
        Some(name) => {
            let token = lookup(name.as_str()).and_then(|value| value.into_string().ok()).map(Zeroizing::new);
            let field = token.filter(|token| !token.is_empty());
            let field = field.and_then(|token| HeaderValue::from_str(&Zeroizing::new(format!("Bearer {}", *token))).ok());
            let mut field = field.ok_or_else(|| SignerError::Token(name.clone()))?;
            field.set_sensitive(true);
            Some(field)
        }
    };
    Remote::new(fetcher.clone(), config, authorization).ok_or_else(|| SignerError::Section("remote/url", "cannot be used".to_owned()))
}

#[cfg(test)]
mod tests;
