//! Credentials: placeholders in header values become secrets, at the last moment and only for the hosts they are bound to.
//!
//! In: the header fields of a request that every rule has let out. Out: the same fields with `openshell:resolve:env:KEY` replaced,
//! or a [`CredentialError`], upon which nothing may be sent. The sandbox never holds the secret; it can only point at it.

pub mod config;
mod placeholder;
mod secret;

use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::atomic::{AtomicU64, Ordering};

use http::header::{AUTHORIZATION, CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue};
use thiserror::Error;
use tollgate_policy::{Host, Reason};

use config::{BoundHost, CredentialConfig, CredentialsConfig, EnvName};
use secret::Secret;

/// A secret that can't be taken from the environment, at start.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CredentialLoadError {
    /// The variable is not set.
    #[error("the environment variable `{from_env}` for the credential `{placeholder}` is not set")]
    Missing {
        /// The credential.
        placeholder: EnvName,
        /// Its variable.
        from_env: EnvName,
    },
    /// The variable is empty, or holds a byte that no header value may hold.
    #[error(
        "the environment variable `{from_env}` for the credential `{placeholder}` is empty, or holds a line break or another control character"
    )]
    Unusable {
        /// The credential.
        placeholder: EnvName,
        /// Its variable.
        from_env: EnvName,
    },
}

/// A placeholder that can't be replaced; the request must not be sent. Names no more than the sandbox wrote itself.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CredentialError {
    /// It is bound to other hosts.
    #[error("the credential `{0}` is not bound to this host and port")]
    EndpointMismatch(EnvName),
    /// There is none of this name.
    #[error("there is no credential for a placeholder in the request's header")]
    Unavailable,
}

impl CredentialError {
    /// The reason of the denial.
    pub fn reason(&self) -> Reason {
        match self {
            CredentialError::EndpointMismatch(_) => Reason::CredentialMismatch,
            CredentialError::Unavailable => Reason::CredentialUnavailable,
        }
    }

    /// OpenShell's word for it, the denial's `error`.
    pub fn openshell_error(&self) -> &'static str {
        match self {
            CredentialError::EndpointMismatch(_) => "credential_endpoint_mismatch",
            CredentialError::Unavailable => "credential_unavailable",
        }
    }
}

#[derive(Debug)]
struct Credential {
    secret: Secret,
    hosts: Vec<BoundHost>,
}

/// The secrets of one Tollgate.
#[derive(Debug, Default)]
pub struct CredentialStore {
    credentials: HashMap<EnvName, Credential>,
    resolved: AtomicU64,
}

impl CredentialStore {
    /// Takes the secrets from the environment of this process.
    pub fn from_env(config: &CredentialsConfig) -> Result<Self, CredentialLoadError> {
        Self::load(config, |name| std::env::var_os(name.as_str()))
    }

    /// Takes the secrets from wherever `lookup` finds them.
    pub fn load(config: &CredentialsConfig, lookup: impl Fn(&EnvName) -> Option<OsString>) -> Result<Self, CredentialLoadError> {
        let mut credentials = HashMap::new();
        for CredentialConfig {
            placeholder,
            from_env,
            hosts,
        } in &config.0
        {
            let value = lookup(from_env).ok_or_else(|| CredentialLoadError::Missing {
                placeholder: placeholder.clone(),
                from_env: from_env.clone(),
            })?;
            let secret = Secret::new(value).ok_or_else(|| CredentialLoadError::Unusable {
                placeholder: placeholder.clone(),
                from_env: from_env.clone(),
            })?;
            let hosts = hosts.clone();
            credentials.insert(placeholder.clone(), Credential { secret, hosts });
        }
        Ok(CredentialStore {
            credentials,
            resolved: AtomicU64::new(0),
        })
    }

    /// Replaces the placeholders in all header values for a request to `host` and `port`, and says how many there were. On an error
    /// nothing is replaced.
    pub fn attach(&self, host: &Host, port: u16, headers: &mut HeaderMap) -> Result<usize, CredentialError> {
        if self.credentials.is_empty() {
            return Ok(0);
        }
        let mut replaced: Vec<(usize, HeaderValue)> = Vec::new();
        let mut count = 0;
        for (position, (name, value)) in headers.iter().enumerate() {
            if is_never_rewritten(name) {
                continue;
            }
            let mut resolve = |name: &EnvName| {
                count += 1;
                self.resolve(name, host, port)
            };
            let new = if *name == AUTHORIZATION {
                placeholder::replace_in_authorization(value.as_bytes(), &mut resolve)?
            } else {
                placeholder::replace(value.as_bytes(), &mut resolve)?
            };
            if let Some(new) = new {
                let mut value = HeaderValue::from_bytes(&new).map_err(|_| CredentialError::Unavailable)?;
                value.set_sensitive(true);
                replaced.push((position, value));
            }
        }
        let mut replaced = replaced.into_iter().peekable();
        for (position, (_, value)) in headers.iter_mut().enumerate() {
            if let Some((_, new)) = replaced.next_if(|(at, _)| *at == position) {
                *value = new;
            }
        }
        Ok(count)
    }

    /// The fields that hold placeholders, with all their values in order and the secrets put in; empty where there is none.
    pub fn resolve_all(&self, host: &Host, port: u16, headers: &HeaderMap) -> Result<Vec<(HeaderName, HeaderValue)>, CredentialError> {
        if self.credentials.is_empty() {
            return Ok(Vec::new());
        }
        let mut with_secrets = headers.clone();
        if self.attach(host, port, &mut with_secrets)? == 0 {
            return Ok(Vec::new());
        }
        let changed = |name: &HeaderName| headers.get_all(name).iter().ne(with_secrets.get_all(name).iter());
        let fields = with_secrets.iter().filter(|(name, _)| changed(name));
        Ok(fields.map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    /// How often a secret was looked up since the start: stays where it is for a request that was refused.
    pub fn resolved(&self) -> u64 {
        self.resolved.load(Ordering::Relaxed)
    }

    fn resolve(&self, name: &EnvName, host: &Host, port: u16) -> Result<&Secret, CredentialError> {
        let (name, credential) = [Some(name.clone()), placeholder::without_revision(name)]
            .into_iter()
            .flatten()
            .find_map(|name| self.credentials.get_key_value(&name))
            .ok_or(CredentialError::Unavailable)?;
        if !credential.hosts.iter().any(|bound| bound.covers(host, port)) {
            return Err(CredentialError::EndpointMismatch(name.clone()));
        }
        self.resolved.fetch_add(1, Ordering::Relaxed);
        Ok(&credential.secret)
    }
}

/// Framing is ours, and a payment leaves byte for byte as it was judged.
fn is_never_rewritten(name: &HeaderName) -> bool {
    [HOST, CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING].contains(name) || matches!(name.as_str(), "x-payment" | "payment-signature")
}

#[cfg(test)]
mod tests;
