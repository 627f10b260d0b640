//! `credentials:`.

use std::fmt;

use serde::{Deserialize, Deserializer, de::Error as _};
use tollgate_policy::{Authority, Host, HostError};

/// The name of an environment variable, or of a placeholder for one: a letter or `_`, then letters, digits or `_`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EnvName(Box<str>);

impl EnvName {
    /// `None` when it is not a name.
    pub fn parse(text: &str) -> Option<Self> {
        let starts_well = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        (starts_well && text.bytes().all(Self::holds)).then(|| EnvName(text.into()))
    }

    /// Whether a name can hold this byte.
    pub const fn holds(byte: u8) -> bool {
        byte.is_ascii_alphanumeric() || byte == b'_'
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EnvName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for EnvName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        EnvName::parse(&text).ok_or_else(|| D::Error::custom("expected a name of letters, digits and `_` that does not start with a digit"))
    }
}

/// A host that a credential may be sent to; on one port or on every port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundHost {
    /// The host, exactly: a pattern would send the secret to whoever registers a name under it.
    pub host: Host,
    /// `None`: every port.
    pub port: Option<u16>,
}

impl BoundHost {
    /// Parses `name`, `name:port`, an address, or `[v6]:port`.
    pub fn parse(text: &str) -> Result<Self, HostError> {
        if let Ok(host) = Host::parse(text) {
            return Ok(BoundHost { host, port: None });
        }
        Authority::parse(text, None).map(|Authority { host, port }| BoundHost { host, port: Some(port) })
    }

    /// Whether the credential may go there.
    pub fn covers(&self, host: &Host, port: u16) -> bool {
        self.host == *host && self.port.is_none_or(|bound| bound == port)
    }
}

impl<'de> Deserialize<'de> for BoundHost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        BoundHost::parse(&text).map_err(|error| D::Error::custom(format_args!("`{text}` is not a host, nor host and port: {error}")))
    }
}

/// One secret.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CredentialConfig {
    /// What stands for it in the sandbox, after `openshell:resolve:env:`.
    pub placeholder: EnvName,
    /// The variable of Tollgate's own environment that holds it.
    pub from_env: EnvName,
    /// Where it may be sent; at least one.
    #[serde(deserialize_with = "at_least_one")]
    pub hosts: Vec<BoundHost>,
}

/// All secrets; no placeholder twice.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CredentialsConfig(pub Vec<CredentialConfig>);

impl<'de> Deserialize<'de> for CredentialsConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let list = Vec::<CredentialConfig>::deserialize(deserializer)?;
        for (at, credential) in list.iter().enumerate() {
            if list.iter().take(at).any(|earlier| earlier.placeholder == credential.placeholder) {
                let name = &credential.placeholder;
                return Err(D::Error::custom(format_args!("the placeholder `{name}` is listed twice")));
            }
        }
        Ok(CredentialsConfig(list))
    }
}

fn at_least_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<BoundHost>, D::Error> {
    let hosts = Vec::<BoundHost>::deserialize(deserializer)?;
    if hosts.is_empty() {
        return Err(D::Error::custom("a credential is bound to at least one host"));
    }
    Ok(hosts)
}
