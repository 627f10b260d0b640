//! `credentials:`.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Deserializer, de::Error as _};

pub use super::binding::Binding;
use crate::settings::units;

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

/// Where a secret comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A variable of Tollgate's own environment; it is what it was at the start.
    Env(EnvName),
    /// A file that only its owner may read; read again when it changes.
    File(PathBuf),
    /// A program and its arguments; its standard output is the secret.
    Command {
        /// The program first.
        words: Vec<String>,
        /// How often it is run again; otherwise on SIGHUP only.
        refresh: Option<Duration>,
    },
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Env(name) => write!(f, "the environment variable `{name}`"),
            Source::File(path) => write!(f, "the file {}", path.display()),
            // Arguments may be nobody's business.
            Source::Command { words, .. } => write!(f, "the command `{}`", words.first().map_or("", String::as_str)),
        }
    }
}

/// One secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialConfig {
    /// What stands for it in the sandbox, after `openshell:resolve:env:`.
    pub placeholder: EnvName,
    /// Where it comes from.
    pub source: Source,
    /// Where it may be sent; at least one.
    pub hosts: Vec<Binding>,
}

impl<'de> Deserialize<'de> for CredentialConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Written {
            placeholder: EnvName,
            from_env: Option<EnvName>,
            from_file: Option<PathBuf>,
            from_command: Option<Vec<String>>,
            #[serde(default, deserialize_with = "refresh")]
            refresh: Option<Duration>,
            hosts: Vec<Binding>,
        }
        let Written {
            placeholder,
            from_env,
            from_file,
            from_command,
            refresh,
            hosts,
        } = Written::deserialize(deserializer)?;
        let source = match (from_env, from_file, from_command) {
            (Some(name), None, None) => Source::Env(name),
            (None, Some(path), None) => Source::File(path),
            (None, None, Some(words)) if words.first().is_some_and(|program| !program.is_empty()) => Source::Command { words, refresh },
            (None, None, Some(_)) => return Err(D::Error::custom("`from_command` is a list: the program, then its arguments")),
            _ => {
                let what = "takes exactly one of `from_env`, `from_file` and `from_command`";
                return Err(D::Error::custom(format_args!("the credential `{placeholder}` {what}")));
            }
        };
        if refresh.is_some() && !matches!(source, Source::Command { .. }) {
            return Err(D::Error::custom(
                "`refresh` is for `from_command`; a file is read again when it changes, and a variable does not change",
            ));
        }
        if hosts.is_empty() {
            return Err(D::Error::custom("a credential is bound to at least one host"));
        }
        Ok(CredentialConfig {
            placeholder,
            source,
            hosts,
        })
    }
}

fn refresh<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    units::duration(deserializer).map(Some)
}

/// All secrets; no placeholder twice.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CredentialsConfig(pub Vec<CredentialConfig>);

impl CredentialsConfig {
    /// Relative paths start from the folder of the file that they are written in.
    pub fn resolve(&mut self, base: &Path) {
        for credential in &mut self.0 {
            if let Source::File(path) = &mut credential.source {
                *path = base.join(&*path);
            }
        }
    }
}

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
