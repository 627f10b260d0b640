//! Tollgate put together as for `run`, but serving nobody and dialling nobody: what a dry run is judged by.
//!
//! In: the operator's settings and the policy file. Out: the same gate with the same policy in force; or what keeps `run` from starting
//! with them.

use thiserror::Error;
use tollgate_policy::Severity;

use super::policy_file::{self, Judged};
use super::{Settings, StartError, assemble};
use crate::config::ConfigError;
use crate::credentials::CredentialStore;
use crate::egress::connector;
use crate::flow::{Binaries, DryEngine};
use crate::gate::stanzas::Stanzas;

/// See the module.
pub struct Rehearsal {
    /// The rules and all that they ask.
    pub engine: DryEngine,
    /// What the policy's author should hear of, in the words of `tollgate check`.
    pub warnings: String,
}

/// Why there is nothing to judge by.
#[derive(Debug, Error)]
pub enum RehearsalError {
    /// The operator's settings.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The policy cannot be read.
    #[error("{0}")]
    Unreadable(ConfigError),
    /// The policy cannot be used: its findings, in the words of `tollgate check`.
    #[error("{0}")]
    Policy(String),
}

impl Rehearsal {
    /// Puts it together.
    pub fn new(settings: &Settings) -> Result<Self, RehearsalError> {
        let config = &settings.config;
        let resolver = assemble::resolver(config);
        // No roots: nothing is dialled, and if it were, nothing would verify.
        let connector = connector::connector("", &config.limits).map_err(|e| StartError::Certificates(e.to_string()))?;
        let gate = assemble::gate(settings, &connector, &resolver)?;
        gate.set_own_addresses(
            [config.listen.proxy, config.listen.admin]
                .into_iter()
                .filter(|own| own.port() != 0)
                .collect(),
        );
        let blank = CredentialStore::load(&config.credentials, |_| Some("blank".into()));
        let source = policy_file::read(&settings.policy).map_err(|error| {
            RehearsalError::Unreadable(ConfigError::whole_file(
                &settings.policy,
                "unreadable",
                format!("cannot be read: {error}"),
            ))
        })?;
        let stanzas = Stanzas {
            operator: &config.payments,
        };
        let Judged { policy, findings } = policy_file::judge(&source, stanzas, &gate.standing().rails);
        let of = |severity| -> Vec<_> { findings.iter().filter(|finding| finding.severity == severity).cloned().collect() };
        let Some(policy) = policy else {
            return Err(RehearsalError::Policy(policy_file::rendered(
                &of(Severity::Error),
                &settings.policy,
                &source,
            )));
        };
        gate.replace(stanzas.ruleset(1, policy));
        let warnings = policy_file::rendered(&of(Severity::Warning), &settings.policy, &source);
        let credentials = blank.map_err(StartError::Credentials)?;
        let engine = DryEngine {
            gate,
            resolver,
            credentials,
            limits: config.limits,
            binaries: Binaries::of(&config.insecure),
        };
        Ok(Rehearsal { engine, warnings })
    }
}
