//! Whose certificates origins may show, and the files by which clients trust ours.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use tollgate_certs::{CertificateAuthority, DEFAULT_CAPACITY, LeafCache, LeafLifetime, Roots, TrustBundle, write_certificates};

use super::StartError;
use crate::config::TlsConfig;

/// Everything about certificates.
pub(super) struct Certificates {
    pub(super) leaves: Arc<LeafCache>,
    pub(super) trust: TrustBundle,
    /// PEM of all roots that an origin may chain to.
    pub(super) roots_pem: String,
    /// Where the files are, if nobody named a place.
    pub(super) folder: Option<tempfile::TempDir>,
}

/// Makes the authority or goes on as the one that was handed over, writes the trust files and reads the roots.
pub(super) fn certificates(config: &TlsConfig, handed_over: Option<&[u8]>) -> Result<Certificates, StartError> {
    let failed = |error: &dyn std::fmt::Display| StartError::Certificates(error.to_string());
    let roots = Roots::load(&config.extra_upstream_roots).map_err(|e| failed(&e))?;
    for warning in &roots.warnings {
        tracing::warn!("{warning}");
    }
    let authority = handed_over.map_or_else(CertificateAuthority::generate, CertificateAuthority::take_over);
    let authority = authority.map_err(|e| failed(&e))?;
    let folder = match &config.ca_dir {
        Some(_) => None,
        None => Some(tempfile::Builder::new().prefix("tollgate-").tempdir().map_err(|e| failed(&e))?),
    };
    let place: &Path = match (&config.ca_dir, &folder) {
        (Some(named), _) => named,
        (None, Some(folder)) => {
            open_to_all(folder.path()).map_err(|e| failed(&e))?;
            folder.path()
        }
        (None, None) => Path::new("."),
    };
    let trust = TrustBundle::write(place, &authority, &roots).map_err(|e| failed(&e))?;
    let roots_pem = pem(&roots).map_err(|e| failed(&e))?;
    let lifetime = LeafLifetime::try_from(config.leaf_lifetime).map_err(|e| failed(&e))?;
    let capacity: NonZeroUsize = DEFAULT_CAPACITY;
    let leaves = LeafCache::new(authority, lifetime, capacity).map_err(|e| failed(&e))?;
    Ok(Certificates {
        leaves: Arc::new(leaves),
        trust,
        roots_pem,
        folder,
    })
}

/// Clients run as other users than Tollgate, and only read public certificates here.
fn open_to_all(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755))
}

fn pem(roots: &Roots) -> Result<String, Box<dyn std::error::Error>> {
    let file = tempfile::NamedTempFile::new()?;
    write_certificates(file.path(), roots.certificates())?;
    Ok(std::fs::read_to_string(file.path())?)
}
