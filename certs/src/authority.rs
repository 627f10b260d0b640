//! The ephemeral certificate authority.
//!
//! A new one is made at every start. Its private key exists in this process only: it is not written, not exported, not
//! printed, and gone when the value is dropped. What leaves is the certificate.

use std::fmt;

use rcgen::{BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::pki_types::CertificateDer;
use time::{Duration, OffsetDateTime};

/// The common name of every authority.
pub(crate) const COMMON_NAME: &str = "Tollgate Sandbox CA";

/// How far certificates reach back, for clients whose clock is slow.
pub(crate) const BACKDATE: Duration = Duration::hours(1);

/// An authority cannot be replaced while clients run: they read their trust store once. So it outlives every process that
/// could hold its key. The length gives an attacker nothing, for the key dies with the process.
const LIFETIME: Duration = Duration::days(3_650);

/// Why there is no authority.
#[derive(Debug, thiserror::Error)]
pub enum AuthorityError {
    /// The key could not be generated, or the certificate not be signed with it.
    #[error("the certificate authority could not be made: {0}")]
    Generate(#[from] rcgen::Error),
}

/// An ECDSA P-256 authority that may sign leaves, but no further authorities (path length 0).
pub struct CertificateAuthority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
    pem: String,
    not_after: OffsetDateTime,
}

impl CertificateAuthority {
    /// A new authority with a new key, valid from an hour ago for ten years.
    pub fn generate() -> Result<Self, AuthorityError> {
        Self::generate_at(OffsetDateTime::now_utc())
    }

    pub(crate) fn generate_at(now: OffsetDateTime) -> Result<Self, AuthorityError> {
        let key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?;
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::OrganizationName, "Tollgate");
        params.distinguished_name.push(DnType::CommonName, COMMON_NAME);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.not_before = now - BACKDATE;
        params.not_after = now + LIFETIME;
        let certificate = params.self_signed(&key)?;
        Ok(Self {
            pem: certificate.pem(),
            certificate: certificate.into(),
            not_after: params.not_after,
            issuer: Issuer::new(params, key),
        })
    }

    /// The certificate, for a trust store.
    pub fn certificate(&self) -> &CertificateDer<'static> {
        &self.certificate
    }

    /// The certificate as one PEM block.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    pub(crate) fn issuer(&self) -> &Issuer<'static, KeyPair> {
        &self.issuer
    }

    /// No leaf may outlive its authority.
    pub(crate) fn not_after(&self) -> OffsetDateTime {
        self.not_after
    }
}

impl fmt::Debug for CertificateAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CertificateAuthority")
            .field("not_after", &self.not_after)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(crate) mod tests;
