//! Tollgate put together as for `run`, but serving nobody and dialling nobody: what a dry run is judged by.
//!
//! In: the operator's settings and the policy's files. Out: the same gate with the same policy in force; or what keeps `run` from starting
//! with them.

use thiserror::Error;
use tollgate_policy::{Severity, Sources, Style};

use super::{Judged, Settings, StartError, Unreadable, assemble};
use crate::credentials::CredentialStore;
use crate::egress::connector;
use crate::flow::{Binaries, DryEngine};
use crate::gate::stanzas::Stanzas;

/// See the module.
pub struct Rehearsal {
    /// The rules and all that they ask.
    pub engine: DryEngine,
    /// The policy's files, which places in explanations point into.
    pub sources: Sources,
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
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
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
        let connector = connector::connector("", None, &config.limits).map_err(|e| StartError::Certificates(e.to_string()))?;
        let gate = assemble::gate(settings, &connector, &resolver)?;
        gate.set_own_addresses(
            [config.listen.proxy, config.listen.admin]
                .into_iter()
                .filter(|own| own.port() != 0)
                .collect(),
        );
        let sources = settings.policy.read()?;
        let stanzas = Stanzas {
            operator: &config.payments,
        };
        let judged = Judged::of(&sources, stanzas, &gate.standing().rails);
        let rendered = |severity| sources.render_all(judged.findings_of(severity), Style::Plain);
        let (errors, warnings) = (rendered(Severity::Error), rendered(Severity::Warning));
        let Some(policy) = judged.policy else {
            return Err(RehearsalError::Policy(errors));
        };
        gate.replace(stanzas.ruleset(1, policy));
        let engine = DryEngine {
            gate,
            resolver,
            credentials: CredentialStore::blank(&config.credentials),
            limits: config.limits,
            binaries: Binaries::of(&config.insecure),
        };
        Ok(Rehearsal { engine, sources, warnings })
    }
}
