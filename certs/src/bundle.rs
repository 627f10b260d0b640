//! The two files by which clients come to trust the authority.
//!
//! `tollgate-ca.pem` holds the authority alone, for clients that add to their own roots; `ca-bundle.pem` holds the system's
//! roots, the extra ones and the authority, for clients whose setting replaces their roots.

use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustls::pki_types::CertificateDer;

use crate::authority::CertificateAuthority;
use crate::roots::{Roots, read_certificates};

/// The authority alone.
pub const CA_FILE: &str = "tollgate-ca.pem";
/// Every root, with the authority.
pub const BUNDLE_FILE: &str = "ca-bundle.pem";

/// Why the files are not there.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The directory cannot be made.
    #[error("cannot create the directory {}: {source}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Where the trust files lie and what is in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustBundle {
    /// Absolute path of the authority's file.
    pub ca: PathBuf,
    /// Absolute path of the combined file.
    pub bundle: PathBuf,
    /// Certificates in the combined file, the authority included.
    pub certificates: usize,
}

impl TrustBundle {
    /// Writes both files into `directory`, which is made where missing (mode 0755). Each file (mode 0644: clients run as
    /// other users) is replaced in one step, so a reader sees the old or the new one, whole.
    ///
    /// The authority of an earlier run in the same directory is left out, or a process started with `SSL_CERT_FILE` set to
    /// its own bundle would make it longer at every start.
    pub fn write(directory: &Path, authority: &CertificateAuthority, roots: &Roots) -> Result<Self, BundleError> {
        let directory = make_directory(directory)?;
        let (ca, bundle) = (directory.join(CA_FILE), directory.join(BUNDLE_FILE));
        let earlier = read_certificates(&ca).unwrap_or_default();
        let all: Vec<_> = roots
            .certificates()
            .filter(|root| !earlier.contains(root))
            .chain([authority.certificate()])
            .collect();
        write_certificates(&bundle, all.iter().copied())?;
        write_certificates(&ca, [authority.certificate()])?;
        Ok(Self {
            ca,
            bundle,
            certificates: all.len(),
        })
    }
}

/// Writes `certificates` as a PEM file with mode 0644, replacing what was there in one step.
pub fn write_certificates<'a>(path: &Path, certificates: impl IntoIterator<Item = &'a CertificateDer<'static>>) -> Result<(), BundleError> {
    let blocks: Vec<_> = certificates
        .into_iter()
        .map(|certificate| pem::Pem::new("CERTIFICATE", certificate.as_ref()))
        .collect();
    let config = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
    let text = pem::encode_many_config(&blocks, config);
    replace(path, text.as_bytes()).map_err(|source| BundleError::Write { path: path.into(), source })
}

fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".tollgate-").tempfile_in(directory)?;
    file.write_all(content)?;
    file.as_file().set_permissions(PermissionsExt::from_mode(0o644))?;
    file.persist(path)?;
    Ok(())
}

fn make_directory(path: &Path) -> Result<PathBuf, BundleError> {
    let failed = |source| BundleError::Directory { path: path.into(), source };
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(path)
        .map_err(failed)?;
    // Clients change their working directory; a relative path in their environment would point elsewhere.
    std::path::absolute(path).map_err(failed)
}

#[cfg(test)]
mod tests;
