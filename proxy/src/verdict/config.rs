//! The `verdict:` section of `tollgate.yaml`.
//!
//! In: the section as the operator wrote it. Out: an open [`Desk`], or the first thing that is wrong with it. Without a section the backend is
//! `local` with empty lists, so every payment is held: nothing about a payment leaves the host until the operator names a service.

#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use thiserror::Error;

use super::action_safety::{ActionSafetyConfig, ActionSafetyError};
use super::blackwall::{AgentId, Blackwall, UnusableUrl};
use super::breaker::BreakerConfig;
use super::desk::{Asker, Desk, DeskLimits};
use super::local::{ListError, Local};
use super::report::Reports;
use super::unanimous::Unanimous;
use super::{Backend, BackendName};
use crate::egress::fetch::{Fetcher, ServiceUrl};
use crate::settings::units;

/// Most calls that may be in flight; the reference service loses connections far below this.
pub(crate) const MAX_IN_FLIGHT: usize = 256;
/// Most payments that may wait.
pub(crate) const MAX_QUEUE: usize = 65_536;
/// A payment's client will not wait longer than this.
const MAX_TIMEOUT: Duration = Duration::from_secs(120);
/// A service that is back is not left alone for longer than this.
const MAX_PAUSE: Duration = Duration::from_secs(3_600);

/// The section. Every field has a default, unknown ones are errors.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VerdictConfig {
    /// Who is asked.
    pub backend: BackendName,
    /// The service's base URL (backend `blackwall`).
    pub url: Option<ServiceUrl>,
    /// From a payment's arrival to its verdict, queueing included.
    #[serde(deserialize_with = "units::duration")]
    pub timeout: Duration,
    /// Calls at the same time. A Blackwall service answers 4 without delay and loses connections from about 50.
    pub max_in_flight: NonZeroUsize,
    /// Payments that may wait for a call.
    pub queue: usize,
    /// Whether the service hears what became of the payments that it judged (backend `blackwall`). Default `true`.
    pub report_outcomes: Option<bool>,
    /// When a service that fails is no longer asked (backend `blackwall`).
    pub breaker: Option<BreakerConfig>,
    /// Known payees with their usual price (backend `local`). A relative path starts at the configuration file's directory.
    pub payees: Option<PathBuf>,
    /// Refused addresses (backend `local`). A relative path starts at the configuration file's directory.
    pub refused: Option<PathBuf>,
    /// The name of this sandbox that the service is told (backend `blackwall`).
    pub agent_id: Option<AgentId>,
    /// Somebody else who has to have nothing against a GO. Being there, it is the permission to tell them.
    pub action_safety: Option<ActionSafetyConfig>,
}

impl Default for VerdictConfig {
    fn default() -> Self {
        VerdictConfig {
            backend: BackendName::default(),
            url: None,
            timeout: Duration::from_secs(5),
            max_in_flight: NonZeroUsize::MIN.saturating_add(3),
            queue: 64,
            report_outcomes: None,
            breaker: None,
            payees: None,
            refused: None,
            agent_id: None,
            action_safety: None,
        }
    }
}

/// How the calls that may be in flight are dealt out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seating {
    /// Half of them (at least one) are for offers that are screened, so that neither kind can keep the other waiting.
    Shared,
    /// Screening is off: all of them are for payments.
    PayingOnly,
}

/// The desks before one backend.
#[derive(Debug)]
pub struct Desks {
    /// For payments.
    pub paying: Arc<Desk>,
    /// For offers that nobody has signed for yet.
    pub screening: Desk,
    /// For what became of payments.
    pub reports: Reports,
}

/// Why a desk cannot be opened.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// `blackwall` without a `url`.
    #[error("verdict.url is required with backend blackwall")]
    UrlMissing,
    /// A setting of the other backend, which would be silently without effect.
    #[error("verdict.{setting} has no effect with backend {}", .backend.as_str())]
    NoEffect {
        /// The setting.
        setting: &'static str,
        /// The backend that is configured.
        backend: BackendName,
    },
    /// A number outside its range.
    #[error("verdict.{setting} must be {range}")]
    OutOfRange {
        /// The setting.
        setting: &'static str,
        /// What it may be.
        range: &'static str,
    },
    /// The URL does not make a request target.
    #[error("verdict.url: {0}")]
    Url(#[from] UnusableUrl),
    /// The second opinion.
    #[error(transparent)]
    ActionSafety(#[from] ActionSafetyError),
    /// One of the local backend's files.
    #[error(transparent)]
    List(#[from] ListError),
}

impl VerdictConfig {
    /// Whether the settings fit together. Reads no file and dials nobody.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let out_of_range = |setting, range| Err(ConfigError::OutOfRange { setting, range });
        if self.timeout.is_zero() || self.timeout > MAX_TIMEOUT {
            return out_of_range("timeout", "from 1ms to 2m");
        }
        if self.max_in_flight.get() > MAX_IN_FLIGHT {
            return out_of_range("max_in_flight", "from 1 to 256");
        }
        if self.queue > MAX_QUEUE {
            return out_of_range("queue", "from 0 to 65536");
        }
        if self.breaker.is_some_and(|breaker| breaker.pause > MAX_PAUSE) {
            return out_of_range("breaker.pause", "from 1ms to 1h");
        }
        let foreign: &[(&'static str, bool)] = match self.backend {
            BackendName::Blackwall => &[("payees", self.payees.is_some()), ("refused", self.refused.is_some())],
            BackendName::Local | BackendName::ActionSafety => &[
                ("url", self.url.is_some()),
                ("agent_id", self.agent_id.is_some()),
                ("breaker", self.breaker.is_some()),
                ("report_outcomes", self.report_outcomes.is_some()),
            ],
        };
        if let Some((setting, _)) = foreign.iter().copied().find(|(_, set)| *set) {
            let backend = self.backend;
            return Err(ConfigError::NoEffect { setting, backend });
        }
        if self.backend == BackendName::Blackwall && self.url.is_none() {
            return Err(ConfigError::UrlMissing);
        }
        Ok(self.action_safety.as_ref().map_or(Ok(()), ActionSafetyConfig::validate)?)
    }

    /// Whether the operator names somebody to ask.
    pub fn is_configured(&self) -> bool {
        *self != VerdictConfig::default()
    }

    /// Validates, reads the local backend's files, and opens the desks. `directory` is the configuration file's. Dials nobody.
    pub fn open(&self, directory: &Path, fetcher: &Fetcher, seating: Seating) -> Result<Desks, ConfigError> {
        self.validate()?;
        let backend: Arc<dyn Backend> = match self.backend {
            BackendName::Blackwall => {
                let service = self.url.clone().ok_or(ConfigError::UrlMissing)?;
                if service.is_cleartext_beyond_loopback() {
                    tracing::warn!(%service, "the verdict service is asked in clear: whoever is on the way can answer in its name");
                }
                Arc::new(Blackwall::new(fetcher.clone(), service, self.agent_id.clone(), self.timeout)?)
            }
            BackendName::Local | BackendName::ActionSafety => {
                let at = |file: &Option<PathBuf>| file.as_ref().map(|file| directory.join(file));
                Arc::new(Local::open(at(&self.payees).as_deref(), at(&self.refused).as_deref())?)
            }
        };
        let backend = match &self.action_safety {
            None => backend,
            Some(second) => Arc::new(Unanimous {
                backend,
                objector: Arc::new(second.open(fetcher, self.timeout)?),
            }),
        };
        let half = NonZeroUsize::new(self.max_in_flight.get() / 2).unwrap_or(NonZeroUsize::MIN);
        let rest = NonZeroUsize::new(self.max_in_flight.get() - half.get()).unwrap_or(NonZeroUsize::MIN);
        let desk = |max_in_flight, asker| {
            let limits = DeskLimits {
                max_in_flight,
                queue: self.queue,
                timeout: self.timeout,
                breaker: self.breaker.unwrap_or_default(),
            };
            Desk::new(backend.clone(), limits, asker)
        };
        let seats = match seating {
            Seating::Shared => rest,
            Seating::PayingOnly => self.max_in_flight,
        };
        let paying = Arc::new(desk(seats, Asker::Payments));
        let reports = match (self.backend, self.report_outcomes) {
            (BackendName::Blackwall, None | Some(true)) => Reports::to(paying.clone()),
            (BackendName::Blackwall, Some(false)) | (BackendName::Local | BackendName::ActionSafety, _) => Reports::off(),
        };
        Ok(Desks {
            paying,
            screening: desk(half, Asker::Offers),
            reports,
        })
    }
}
