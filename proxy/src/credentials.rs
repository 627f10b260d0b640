//! Credentials: placeholders in a request become secrets, at the last moment and only for the places that they are bound to.
//!
//! In: the header fields and the target of a request that every rule has let out. Out: what of them changes once each
//! `openshell:resolve:env:KEY` is replaced, or a [`CredentialError`], upon which nothing may be sent. The sandbox never holds the secret; it
//! can only point at it.

mod binding;
pub mod config;
mod held;
mod keeping;
mod placeholder;
mod secret;
mod source;
mod target;

use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwap;
use http::header::{AUTHORIZATION, CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue};
use thiserror::Error;
use tollgate_policy::Reason;

use config::EnvName;
pub use held::Destination;
use held::{Allowed, Held};
pub use keeping::{CredentialLoadError, Keeping, Kept};
pub use target::FilledTarget;

/// A placeholder that can't be replaced; the request must not be sent. Names no more than the sandbox wrote itself.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum CredentialError {
    /// It is bound to other places.
    #[error("the credential `{0}` is not bound to this host, port and path")]
    EndpointMismatch(EnvName),
    /// There is none of this name.
    #[error("there is no credential for a placeholder in the request")]
    Unavailable,
    /// Its value would make another path of the one that was judged.
    #[error("the credential `{0}` cannot stand in a path: its value has a slash, `?`, `#` or dots in it")]
    NotForPath(EnvName),
}

impl CredentialError {
    /// The reason of the denial.
    pub fn reason(&self) -> Reason {
        match self {
            CredentialError::EndpointMismatch(_) => Reason::CredentialMismatch,
            CredentialError::Unavailable | CredentialError::NotForPath(_) => Reason::CredentialUnavailable,
        }
    }

    /// OpenShell's word for it, the denial's `error`.
    pub fn openshell_error(&self) -> &'static str {
        match self {
            CredentialError::EndpointMismatch(_) => "credential_endpoint_mismatch",
            CredentialError::Unavailable | CredentialError::NotForPath(_) => "credential_unavailable",
        }
    }
}

/// What of a request changes on its way out.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Attached {
    /// The fields that held placeholders, with all their values in order and the secrets put in.
    pub fields: Vec<(HeaderName, HeaderValue)>,
    /// Path and query, where they held some.
    pub target: Option<FilledTarget>,
}

/// The secrets of one Tollgate, as they are now.
#[derive(Debug, Default)]
pub struct CredentialStore {
    held: ArcSwap<Held>,
    resolved: AtomicU64,
}

impl CredentialStore {
    fn holding(held: Held) -> Self {
        CredentialStore {
            held: ArcSwap::from_pointee(held),
            resolved: AtomicU64::new(0),
        }
    }

    /// Puts the secrets in for a request. Nothing of it has left yet, and on an error nothing may.
    pub fn attach(&self, destination: Destination<'_>, headers: &HeaderMap) -> Result<Attached, CredentialError> {
        let held = self.held.load();
        if held.0.is_empty() {
            return Ok(Attached::default());
        }
        let allowed = Allowed { held: &held, destination };
        let attached = Attached {
            fields: fields(headers, &allowed)?,
            target: target::fill(&allowed)?,
        };
        if attached != Attached::default() {
            self.resolved.fetch_add(1, Ordering::Relaxed);
        }
        Ok(attached)
    }

    /// How many requests got a secret since the start: stays where it is for a request that was refused.
    pub fn resolved(&self) -> u64 {
        self.resolved.load(Ordering::Relaxed)
    }
}

fn fields(headers: &HeaderMap, allowed: &Allowed<'_>) -> Result<Vec<(HeaderName, HeaderValue)>, CredentialError> {
    let mut changed: Vec<(HeaderName, HeaderValue)> = Vec::new();
    for name in headers.keys().filter(|name| !is_never_rewritten(name)) {
        let mut values = Vec::new();
        let mut rewritten = false;
        for value in headers.get_all(name) {
            let new = filled(name, value, allowed)?;
            rewritten |= new.is_some();
            values.push(new.unwrap_or_else(|| value.clone()));
        }
        if rewritten {
            changed.extend(values.into_iter().map(|value| (name.clone(), value)));
        }
    }
    Ok(changed)
}

fn filled(name: &HeaderName, value: &HeaderValue, allowed: &Allowed<'_>) -> Result<Option<HeaderValue>, CredentialError> {
    let new = if *name == AUTHORIZATION {
        placeholder::replace_in_authorization(value.as_bytes(), allowed)?
    } else {
        placeholder::replace(value.as_bytes(), allowed)?
    };
    let Some(new) = new else { return Ok(None) };
    let mut value = HeaderValue::from_bytes(&new).map_err(|_| CredentialError::Unavailable)?;
    value.set_sensitive(true);
    Ok(Some(value))
}

/// Framing is ours, and a payment leaves byte for byte as it was judged.
fn is_never_rewritten(name: &HeaderName) -> bool {
    [HOST, CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING].contains(name) || matches!(name.as_str(), "x-payment" | "payment-signature")
}

#[cfg(test)]
mod tests;
