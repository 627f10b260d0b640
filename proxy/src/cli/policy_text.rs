//! A policy that a command works on, together with its text.

use tollgate_policy::load::Limits;
use tollgate_policy::{Diagnostic, Loaded, Policy, Sources, Style, load_within};

use super::CliError;
use crate::config::{Config, ConfigError};
use crate::gate::stanzas::Stanzas;
use crate::serve::PolicyPaths;

/// A loaded policy and what it was loaded from.
pub(super) struct PolicyText {
    /// As it was named: a file, or a folder.
    pub(super) name: String,
    pub(super) sources: Sources,
    pub(super) policy: Policy,
}

impl PolicyText {
    /// Reads a policy, or says in the words of `tollgate check` why it can't be used.
    pub(super) fn read(paths: &PolicyPaths, operator: &Config) -> Result<Self, CliError> {
        let sources = paths.read().map_err(|error| ConfigError::unreadable(&error.path, &error.source))?;
        let policy = load(&sources, operator).map_err(CliError::Policy)?;
        Ok(PolicyText {
            name: paths.to_string(),
            sources,
            policy,
        })
    }
}

/// The policy of these files, or its errors as they are shown.
pub(super) fn load(sources: &Sources, operator: &Config) -> Result<Policy, String> {
    let stanzas = Stanzas {
        operator: &operator.payments,
    };
    let Loaded { policy, diagnostics } = load_within(sources, &stanzas, Limits::default());
    policy.ok_or_else(|| {
        let errors = diagnostics.iter().filter(|diagnostic| Diagnostic::is_error(diagnostic));
        let shown: Vec<String> = errors.map(|error| sources.render(error, Style::Plain)).collect();
        shown.join("\n")
    })
}
