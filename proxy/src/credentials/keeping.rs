//! Keeping the secrets as their sources have them: taken at start, and again when a file changes, a command is due, or the operator asks.
//!
//! A source that cannot be read at start stops the start. Later it leaves the last good secret in place, and says so.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use thiserror::Error;
use zeroize::Zeroizing;

use super::CredentialStore;
use super::config::{CredentialConfig, CredentialsConfig, EnvName, Source};
use super::held::{Credential, Held};
use super::secret::Secret;
use super::source::{self, SourceError, Stamp};

/// A secret that cannot be taken from its source.
#[derive(Debug, Error)]
#[error("the credential `{placeholder}` cannot be taken from {source_name}: {why}")]
pub struct CredentialLoadError {
    placeholder: EnvName,
    source_name: Source,
    why: SourceError,
}

/// What became of sources that were read again.
#[derive(Debug, Default)]
pub struct Kept {
    /// How many secrets are new.
    pub taken: usize,
    /// Those that stay as they were.
    pub failed: Vec<CredentialLoadError>,
}

/// See the module.
pub struct Keeping {
    config: CredentialsConfig,
    store: Arc<CredentialStore>,
    seen: Mutex<Vec<Seen>>,
}

/// How a source stood when it was last looked at.
#[derive(Debug, Clone, Copy)]
struct Seen {
    /// A file's state when it was read.
    read: Option<Stamp>,
    /// Its state at the last look: one that is being written is not read halfway.
    looked: Option<Stamp>,
    at: Instant,
}

impl CredentialStore {
    /// Secrets that are only words, for a look at what would happen.
    pub fn blank(config: &CredentialsConfig) -> Self {
        let blank = |credential: &CredentialConfig| {
            Some((
                credential.placeholder.clone(),
                credential.with(Secret::new(Zeroizing::new(b"blank".to_vec()))?),
            ))
        };
        Self::holding(Held(config.0.iter().filter_map(blank).collect()))
    }
}

impl CredentialConfig {
    fn with(&self, secret: Secret) -> Arc<Credential> {
        Arc::new(Credential {
            secret,
            hosts: self.hosts.clone(),
        })
    }

    fn take(&self, variable: impl Fn(&str) -> Option<OsString>) -> Result<Arc<Credential>, CredentialLoadError> {
        let secret = source::take(&self.source, variable).map_err(|why| CredentialLoadError {
            placeholder: self.placeholder.clone(),
            source_name: self.source.clone(),
            why,
        })?;
        Ok(self.with(secret))
    }

    fn file(&self) -> Option<&PathBuf> {
        match &self.source {
            Source::File(path) => Some(path),
            Source::Env(_) | Source::Command { .. } => None,
        }
    }

    fn seen_now(&self) -> Seen {
        let stamp = self.file().and_then(|path| Stamp::of(path));
        Seen {
            read: stamp,
            looked: stamp,
            at: Instant::now(),
        }
    }

    fn refresh(&self) -> Option<Duration> {
        match &self.source {
            Source::Command { refresh, .. } => *refresh,
            Source::Env(_) | Source::File(_) => None,
        }
    }
}

impl Keeping {
    /// Takes every secret; variables from wherever `variable` finds them.
    pub fn start(config: CredentialsConfig, variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, CredentialLoadError> {
        let (mut held, mut seen) = (HashMap::new(), Vec::new());
        for credential in &config.0 {
            seen.push(credential.seen_now());
            held.insert(credential.placeholder.clone(), credential.take(&variable)?);
        }
        Ok(Keeping {
            config,
            store: Arc::new(CredentialStore::holding(Held(held))),
            seen: Mutex::new(seen),
        })
    }

    /// Where they are kept.
    pub fn store(&self) -> &Arc<CredentialStore> {
        &self.store
    }

    /// Whether any of them may ever change.
    pub fn may_change(&self) -> bool {
        self.config.0.iter().any(|credential| !matches!(credential.source, Source::Env(_)))
    }

    /// Takes every file and command again.
    pub fn take_all(&self) -> Kept {
        self.take_where(|credential, _| !matches!(credential.source, Source::Env(_)))
    }

    /// Takes again what has changed and then rested for one look, and what is due.
    pub fn look(&self) -> Kept {
        self.take_where(|credential, seen| {
            if let Some(path) = credential.file() {
                let now = Stamp::of(path);
                let settled = now == seen.looked && now != seen.read;
                seen.looked = now;
                return settled;
            }
            credential.refresh().is_some_and(|refresh| seen.at.elapsed() >= refresh)
        })
    }

    fn take_where(&self, mut due: impl FnMut(&CredentialConfig, &mut Seen) -> bool) -> Kept {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut kept = Kept::default();
        let mut held: Option<Held> = None;
        for (credential, seen) in self.config.0.iter().zip(seen.iter_mut()) {
            if !due(credential, seen) {
                continue;
            }
            *seen = credential.seen_now();
            match credential.take(|_| None) {
                Ok(new) => {
                    let held = held.get_or_insert_with(|| Held::clone(&self.store.held.load()));
                    held.0.insert(credential.placeholder.clone(), new);
                    kept.taken += 1;
                }
                Err(error) => kept.failed.push(error),
            }
        }
        if let Some(held) = held {
            self.store.held.store(Arc::new(held));
        }
        kept
    }
}

#[cfg(test)]
mod tests;
