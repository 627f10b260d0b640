//! Certificates that are trusted already: the system's, and those in extra PEM files.

use std::io;
use std::path::{Path, PathBuf};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject};

/// Why a file of root certificates cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RootsError {
    /// The file cannot be read.
    #[error("cannot read root certificates from {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A PEM block in the file is broken.
    #[error("{} is not a PEM file of certificates: {reason}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file has no certificate in it.
    #[error("no certificate in {}: expected at least one `-----BEGIN CERTIFICATE-----` block", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

/// Reads all certificates of a PEM file; other blocks, such as keys, are passed over.
///
/// Each must be a certificate that can serve as a trust anchor: a file that only looks right would otherwise fail later, as
/// an unexplained handshake error.
pub fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, RootsError> {
    let malformed = |reason: String| RootsError::Malformed { path: path.into(), reason };
    let text = std::fs::read(path).map_err(|source| RootsError::Read { path: path.into(), source })?;
    let certificates = CertificateDer::pem_slice_iter(&text)
        .collect::<Result<Vec<_>, pem::Error>>()
        .map_err(|error| malformed(error.to_string()))?;
    if certificates.is_empty() {
        return Err(RootsError::Empty { path: path.into() });
    }
    let mut store = rustls::RootCertStore::empty();
    for (number, certificate) in certificates.iter().enumerate() {
        store
            .add(certificate.clone())
            .map_err(|error| malformed(format!("certificate {} in it: {error}", number + 1)))?;
    }
    Ok(certificates)
}

/// Root certificates of one host.
#[derive(Debug, Clone, Default)]
pub struct Roots {
    /// The system's own (`SSL_CERT_FILE` and `SSL_CERT_DIR` are honoured).
    pub system: Vec<CertificateDer<'static>>,
    /// Those from extra files.
    pub extra: Vec<CertificateDer<'static>>,
    /// What could not be read of the system's, one sentence each. Worth a warning, not an end: a container without
    /// certificates can still reach the hosts that the extra files vouch for.
    pub warnings: Vec<String>,
}

impl Roots {
    /// The system's roots and those of `extra`, which must all be usable.
    pub fn load(extra: &[PathBuf]) -> Result<Self, RootsError> {
        let native = rustls_native_certs::load_native_certs();
        let mut roots = Self {
            system: native.certs,
            extra: Vec::new(),
            warnings: native
                .errors
                .iter()
                .map(|error| format!("system root certificates: {error}"))
                .collect(),
        };
        if roots.system.is_empty() {
            roots
                .warnings
                .push("the system has no root certificates; install ca-certificates or set SSL_CERT_FILE".into());
        }
        for path in extra {
            roots.extra.append(&mut read_certificates(path)?);
        }
        Ok(roots)
    }

    /// All of them, the system's first, each once.
    pub fn certificates(&self) -> impl Iterator<Item = &CertificateDer<'static>> {
        let mut seen = std::collections::HashSet::new();
        self.system
            .iter()
            .chain(&self.extra)
            .filter(move |certificate| seen.insert(*certificate))
    }
}

#[cfg(test)]
mod tests;
