//! The files by which clients come to trust the authority.
//!
//! `tollgate-ca.pem` holds the authority alone, for clients that add to their own roots; `ca-bundle.pem` holds the system's
//! roots, the extra ones and the authority, for clients whose setting replaces their roots. Beside them lie the same roots as Java reads
//! them, and the settings of clients (apt, wget) that read their roots from a file of settings and from nowhere else.

use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustls::pki_types::CertificateDer;

use crate::authority::CertificateAuthority;
use crate::roots::{Roots, read_certificates};

pub(crate) mod java;

/// The authority alone.
pub const CA_FILE: &str = "tollgate-ca.pem";
/// Every root, with the authority.
pub const BUNDLE_FILE: &str = "ca-bundle.pem";
/// Every root, with the authority, as a Java key store.
const JAVA_FILE: &str = "truststore.jks";
/// Settings of apt.
const APT_FILE: &str = "apt.conf";
/// Settings of wget.
const WGET_FILE: &str = "wgetrc";

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
    /// A path that no file of settings can name.
    #[error("{:?} is not UTF-8, or has quotes or control characters, and cannot be named in a client's settings", .0)]
    Unnameable(PathBuf),
    /// The roots are no key store.
    #[error(transparent)]
    TooLarge(#[from] java::TooLarge),
}

/// Where the trust files lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustBundle {
    /// The authority alone.
    pub ca: PathBuf,
    /// Every root, with the authority.
    pub bundle: PathBuf,
    /// The same, as a Java key store.
    pub java: PathBuf,
    /// Settings of apt that name `bundle`.
    pub apt: PathBuf,
    /// Settings of wget that name `bundle`.
    pub wget: PathBuf,
}

impl TrustBundle {
    /// The files of `directory`, by absolute paths: clients change their working directory. Nothing is read or written.
    pub fn within(directory: &Path) -> io::Result<Self> {
        let directory = std::path::absolute(directory)?;
        Ok(Self {
            ca: directory.join(CA_FILE),
            bundle: directory.join(BUNDLE_FILE),
            java: directory.join(JAVA_FILE),
            apt: directory.join(APT_FILE),
            wget: directory.join(WGET_FILE),
        })
    }

    /// Writes the files into `directory`, which is made where missing (mode 0755). Each file (mode 0644: clients run as
    /// other users) is replaced in one step, so a reader sees the old or the new one, whole.
    ///
    /// The authority of an earlier run in the same directory is left out, or a process started with `SSL_CERT_FILE` set to
    /// its own bundle would make it longer at every start.
    pub fn write(directory: &Path, authority: &CertificateAuthority, roots: &Roots) -> Result<Self, BundleError> {
        make_directory(directory)?;
        let files = Self::within(directory).map_err(|source| BundleError::Directory {
            path: directory.into(),
            source,
        })?;
        let named = named(&files.bundle)?;
        let earlier = read_certificates(&files.ca).unwrap_or_default();
        let all: Vec<_> = roots
            .certificates()
            .filter(|root| !earlier.contains(root))
            .chain([authority.certificate()])
            .collect();
        write_certificates(&files.bundle, all.iter().copied())?;
        write_file(&files.java, &java::key_store(&all)?)?;
        write_file(&files.apt, format!("Acquire::https::CAInfo \"{named}\";\n").as_bytes())?;
        write_file(&files.wget, format!("ca_certificate = {named}\n").as_bytes())?;
        // Last, because an earlier run's authority is known by it.
        write_certificates(&files.ca, [authority.certificate()])?;
        Ok(files)
    }
}

/// Writes `certificates` as a PEM file with mode 0644, replacing what was there in one step.
pub fn write_certificates<'a>(path: &Path, certificates: impl IntoIterator<Item = &'a CertificateDer<'static>>) -> Result<(), BundleError> {
    let blocks: Vec<_> = certificates
        .into_iter()
        .map(|certificate| pem::Pem::new("CERTIFICATE", certificate.as_ref()))
        .collect();
    let config = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
    write_file(path, pem::encode_many_config(&blocks, config).as_bytes())
}

fn write_file(path: &Path, content: &[u8]) -> Result<(), BundleError> {
    replace(path, content).map_err(|source| BundleError::Write { path: path.into(), source })
}

fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new().prefix(".tollgate-").tempfile_in(directory)?;
    file.write_all(content)?;
    file.as_file().set_permissions(PermissionsExt::from_mode(0o644))?;
    file.persist(path)?;
    Ok(())
}

/// A path for a file of settings, where a quote or a line's end would begin a setting of its own.
fn named(path: &Path) -> Result<&str, BundleError> {
    let usable = |text: &&str| !text.contains(|c: char| c == '"' || c.is_control());
    path.to_str().filter(usable).ok_or_else(|| BundleError::Unnameable(path.into()))
}

fn make_directory(path: &Path) -> Result<(), BundleError> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o755).create(path);
    made.map_err(|source| BundleError::Directory { path: path.into(), source })
}

#[cfg(test)]
mod tests;
