//! `tollgate.yaml`: the operator's file, which the author of `policy.yaml` never touches.
//!
//! In: a path, or nothing. Out: a [`Config`] in which every value has been parsed, every path is resolved against the file's own
//! folder, and every field that was not written has its default; or a [`ConfigError`] with file, line, column and a hint.
//! Unknown and repeated keys are errors: a misspelt limit must not silently be no limit.

mod audit;
mod error;
mod kill_switch;
mod listen;
mod load;
mod meaning;
mod places;
mod remark;
pub mod schema;
mod tls;
mod upstream;

use serde::Deserialize;

use crate::credentials::config::CredentialsConfig;
use crate::gate::payment::config::PaymentsConfig;
use crate::gate::rail::RailsConfig;
use crate::settings::{Insecure, Limits};
use crate::verdict::config::VerdictConfig;

pub use audit::AuditConfig;
pub use error::ConfigError;
pub(crate) use error::{nearest, position};
pub use kill_switch::KillSwitchConfig;
pub use listen::ListenConfig;
pub use remark::Remark;
pub use tls::TlsConfig;
pub use upstream::{ProxyConnect, UpstreamConfig};

/// The whole file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where Tollgate listens.
    pub listen: ListenConfig,
    /// Its certificate authority, and whose certificates it trusts.
    pub tls: TlsConfig,
    /// Who gives verdicts on payments.
    pub verdict: VerdictConfig,
    /// The operator's bounds on payments.
    pub payments: PaymentsConfig,
    /// Rails beyond the built-in list.
    pub rails: RailsConfig,
    /// How origins are reached.
    pub upstream: UpstreamConfig,
    /// Which placeholders stand for which secrets.
    pub credentials: CredentialsConfig,
    /// Every bound on time, size and number.
    pub limits: Limits,
    /// Where audit lines go.
    pub audit: AuditConfig,
    /// What closes all egress.
    pub kill_switch: KillSwitchConfig,
    /// Every switch that weakens Tollgate.
    pub insecure: Insecure,
}

#[cfg(test)]
mod tests;
