//! A policy that a command works on, together with its text.

use std::path::Path;

use tollgate_policy::{Diagnostic, Loaded, Policy};

use super::CliError;
use crate::config::{Config, ConfigError};
use crate::gate::stanzas::Stanzas;

/// A loaded policy and what it was loaded from.
pub(super) struct PolicyText {
    pub(super) file: String,
    pub(super) source: String,
    pub(super) policy: Policy,
}

impl PolicyText {
    /// Reads a policy, or says in the words of `tollgate check` why it can't be used.
    pub(super) fn read(path: &Path, operator: &Config) -> Result<Self, CliError> {
        let bytes = std::fs::read(path).map_err(|error| ConfigError::unreadable(path, &error))?;
        let source =
            String::from_utf8(bytes).map_err(|_| ConfigError::whole_file(path, "unreadable", "the file is not UTF-8".to_owned()))?;
        let file = path.display().to_string();
        let policy = load(&source, operator).map_err(|errors| {
            let rendered: Vec<String> = errors.iter().map(|error| error.render(&file, &source)).collect();
            CliError::Policy(rendered.join("\n"))
        })?;
        Ok(PolicyText { file, source, policy })
    }
}

/// The policy of a text, or its errors.
pub(super) fn load(source: &str, operator: &Config) -> Result<Policy, Vec<Diagnostic>> {
    let stanzas = Stanzas {
        operator: &operator.payments,
    };
    let Loaded { policy, diagnostics } = tollgate_policy::load(source, &stanzas);
    policy.ok_or_else(|| diagnostics.into_iter().filter(Diagnostic::is_error).collect())
}
