//! `tls:`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Deserializer, de::Error as _};
use tollgate_certs::LeafLifetime;

use crate::settings::units;

/// The ephemeral certificate authority, and the roots that origins are verified against.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TlsConfig {
    /// The folder that gets `tollgate-ca.pem`, `ca-bundle.pem` and the other files that clients are told of; a temporary one when there is none.
    pub ca_dir: Option<PathBuf>,
    /// How long a minted leaf is valid.
    #[serde(deserialize_with = "leaf_lifetime")]
    pub leaf_lifetime: Duration,
    /// Whether the process that takes over in a hot restart goes on as the same authority.
    pub hand_over_ca: bool,
    /// PEM files with roots to trust beside the system's.
    pub extra_upstream_roots: Vec<PathBuf>,
}

impl Default for TlsConfig {
    fn default() -> Self {
        TlsConfig {
            ca_dir: None,
            hand_over_ca: false,
            leaf_lifetime: Duration::from_secs(86_400),
            extra_upstream_roots: Vec::new(),
        }
    }
}

impl TlsConfig {
    pub(super) fn resolve(&mut self, base: &Path) {
        for path in self.ca_dir.iter_mut().chain(&mut self.extra_upstream_roots) {
            *path = base.join(&*path);
        }
    }
}

fn leaf_lifetime<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let lifetime = units::duration(deserializer)?;
    LeafLifetime::try_from(lifetime).map(|_| lifetime).map_err(D::Error::custom)
}
