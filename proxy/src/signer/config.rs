//! `payments.signer` of `tollgate.yaml`: whose key signs, where it is, and what the agent does in place of signing.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use crate::credentials::config::EnvName;
use crate::egress::fetch::ServiceUrl;
use crate::settings::units;
use crate::x402::claim::EvmAddress;
use crate::x402::signature::Placeholder;

/// A payment's client will not wait longer than this.
const MAX_TIMEOUT: Duration = Duration::from_secs(60);
/// Most questions that may be in flight.
pub(crate) const MAX_IN_FLIGHT: usize = 256;
/// Most payments that may wait.
pub(crate) const MAX_QUEUE: usize = 65_536;

/// The section.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignerConfig {
    /// The address that pays.
    pub wallet: String,
    /// What the agent has instead of the wallet's key.
    #[serde(default)]
    pub agent: Agent,
    /// What it sends in place of a signature (agent `placeholder`); `0xc0de…c0de1b` by default.
    pub placeholder: Option<String>,
    /// A file with the key, as 64 hex digits; nobody but its owner may read it.
    pub key_file: Option<PathBuf>,
    /// An environment variable with the same.
    pub key_env: Option<EnvName>,
    /// A service that has the key.
    pub remote: Option<RemoteConfig>,
}

/// What the agent has instead of the wallet's key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Agent {
    /// Nothing: it knows the address, and sends a fixed text for a signature.
    #[default]
    Placeholder,
    /// A key of its own that owns nothing.
    ThrowawayKey,
}

/// A service that signs.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoteConfig {
    /// Its base URL; over a network only `https`.
    pub url: ServiceUrl,
    /// An environment variable with the bearer token that it wants.
    pub token_env: Option<EnvName>,
    /// From the payment's arrival at the queue to the whole answer.
    #[serde(default = "default_timeout", deserialize_with = "units::duration")]
    pub timeout: Duration,
    /// Questions at the same time.
    #[serde(default = "default_in_flight")]
    pub max_in_flight: NonZeroUsize,
    /// Payments that may wait for one of those; 0 refuses whatever cannot be asked at once.
    #[serde(default = "default_queue")]
    pub queue: usize,
}

const fn default_in_flight() -> NonZeroUsize {
    NonZeroUsize::MIN.saturating_add(3)
}

const fn default_queue() -> usize {
    64
}

const fn default_timeout() -> Duration {
    Duration::from_secs(5)
}

/// What holds for a payment's payer where payments are signed here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignerRule {
    /// Who pays.
    pub wallet: EvmAddress,
    /// What the agent has instead of its key.
    pub agent: Agent,
    /// What it sends, if it has none.
    pub placeholder: Option<Placeholder>,
}

/// A mistake: the member, and what to write instead.
pub type Mistake = (&'static str, String);

impl SignerConfig {
    /// Reads the section; opens no file and dials nobody.
    pub fn rule(&self) -> Result<SignerRule, Vec<Mistake>> {
        let mut mistakes = Vec::new();
        let wallet = EvmAddress::parse(&self.wallet);
        if let Err(error) = &wallet {
            mistakes.push(("wallet", error.to_string()));
        }
        let placeholder = match (self.agent, self.placeholder.as_deref().map(Placeholder::parse)) {
            (Agent::Placeholder, None) => Some(Placeholder::default()),
            (Agent::Placeholder, Some(Some(placeholder))) => Some(placeholder),
            (Agent::Placeholder, Some(None)) => {
                mistakes.push(("placeholder", "expected 0x and 130 hex digits, as long as a signature".to_owned()));
                None
            }
            (Agent::ThrowawayKey, None) => None,
            (Agent::ThrowawayKey, Some(_)) => {
                mistakes.push(("placeholder", "has no effect with `agent: throwaway-key`".to_owned()));
                None
            }
        };
        mistakes.extend(self.misplaced_key());
        match wallet {
            Ok(wallet) if mistakes.is_empty() => Ok(SignerRule {
                wallet,
                agent: self.agent,
                placeholder,
            }),
            _ => Err(mistakes),
        }
    }

    fn misplaced_key(&self) -> Option<Mistake> {
        let given = [self.key_file.is_some(), self.key_env.is_some(), self.remote.is_some()];
        if given.iter().filter(|given| **given).count() != 1 {
            return Some((
                "",
                "exactly one of `key_file`, `key_env` and `remote` says where the key is".to_owned(),
            ));
        }
        let remote = self.remote.as_ref()?;
        if remote.url.is_cleartext_beyond_loopback() {
            return Some((
                "remote/url",
                "signatures are money: write https://, or name a loopback address".to_owned(),
            ));
        }
        if remote.timeout.is_zero() || remote.timeout > MAX_TIMEOUT {
            return Some(("remote/timeout", "from `1ms` to `1m`".to_owned()));
        }
        if remote.max_in_flight.get() > MAX_IN_FLIGHT {
            return Some(("remote/max_in_flight", format!("from 1 to {MAX_IN_FLIGHT}")));
        }
        (remote.queue > MAX_QUEUE).then(|| ("remote/queue", format!("from 0 to {MAX_QUEUE}")))
    }

    /// The environment variables that hold secrets; no child process gets them.
    pub fn secret_variables(&self) -> impl Iterator<Item = &str> {
        let token = self.remote.as_ref().and_then(|remote| remote.token_env.as_ref());
        self.key_env.iter().chain(token).map(EnvName::as_str)
    }
}
