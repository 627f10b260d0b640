//! The secrets as they are now, and which of them one request may have.

use std::collections::HashMap;
use std::sync::Arc;

use tollgate_policy::{CanonicalPath, Host};

use super::CredentialError;
use super::config::{Binding, EnvName};
use super::placeholder::without_revision;
use super::secret::Secret;

#[derive(Debug)]
pub(super) struct Credential {
    pub(super) secret: Secret,
    pub(super) hosts: Vec<Binding>,
}

/// By the names of their placeholders.
#[derive(Debug, Default, Clone)]
pub(super) struct Held(pub(super) HashMap<EnvName, Arc<Credential>>);

impl Held {
    fn named(&self, name: &EnvName) -> Option<(&EnvName, &Credential)> {
        let unrevised = without_revision(name.as_str()).and_then(EnvName::parse);
        let names = [Some(name), unrevised.as_ref()].into_iter().flatten();
        let found = names.into_iter().find_map(|name| self.0.get_key_value(name));
        found.map(|(name, credential)| (name, &**credential))
    }

    /// The longest name that a text begins with.
    pub(super) fn longest_name_of(&self, text: &str) -> Option<&EnvName> {
        let names = self.0.keys().filter(|name| text.starts_with(name.as_str()));
        names.max_by_key(|name| name.as_str().len())
    }
}

/// Where a request goes.
#[derive(Debug, Clone, Copy)]
pub struct Destination<'a> {
    /// Its host.
    pub host: &'a Host,
    /// Its port.
    pub port: u16,
    /// Its path, as it was judged.
    pub path: &'a CanonicalPath,
    /// Its query, without `?`.
    pub query: Option<&'a str>,
}

/// The secrets that may go there.
pub(super) struct Allowed<'a> {
    pub(super) held: &'a Held,
    pub(super) destination: Destination<'a>,
}

impl Allowed<'_> {
    pub(super) fn secret(&self, name: &EnvName) -> Result<&Secret, CredentialError> {
        let (name, credential) = self.held.named(name).ok_or(CredentialError::Unavailable)?;
        let Destination { host, port, path, .. } = self.destination;
        if credential.hosts.iter().any(|bound| bound.covers(host, port, path)) {
            Ok(&credential.secret)
        } else {
            Err(CredentialError::EndpointMismatch(name.clone()))
        }
    }
}
