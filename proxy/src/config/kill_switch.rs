//! `kill_switch:`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, de::Error as _};

/// What closes all egress besides SIGUSR1 and the admin listener.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KillSwitchConfig {
    /// While this file is there, nothing leaves.
    #[serde(deserialize_with = "file")]
    pub file: Option<PathBuf>,
}

impl KillSwitchConfig {
    pub(super) fn resolve(&mut self, base: &Path) {
        if let Some(path) = &mut self.file {
            *path = base.join(&*path);
        }
    }
}

/// An empty name would be the folder itself, which is always there.
fn file<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PathBuf>, D::Error> {
    match String::deserialize(deserializer)?.as_str() {
        "" => Err(D::Error::custom("expected a file")),
        path => Ok(Some(PathBuf::from(path))),
    }
}
