//! The ephemeral certificate authority.
//!
//! A new one is made at every start. Its private key exists in memory only: it is not written, not printed, and gone when the value is
//! dropped. What leaves is the certificate; the key only to a successor of this process, where the operator asks for that.

use std::fmt;

use rcgen::{BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use time::{Duration, OffsetDateTime};
use zeroize::Zeroizing;

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
    /// What was handed over is none.
    #[error("what the process before has handed over is no certificate authority")]
    TakeOver,
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
        let params = params(now);
        let certificate = params.self_signed(&key)?;
        Ok(Self {
            pem: certificate.pem(),
            certificate: certificate.into(),
            not_after: params.not_after,
            issuer: Issuer::new(params, key),
        })
    }

    /// Everything that a successor of this process needs to go on as the same authority: when it was made, the key (PKCS #8, with its
    /// length in front), the certificate.
    pub fn hand_over(&self) -> Zeroizing<Vec<u8>> {
        let made = (self.not_after - LIFETIME).unix_timestamp();
        let key = Zeroizing::new(self.issuer.key().serialize_der());
        let length = u32::try_from(key.len()).unwrap_or_default();
        let mut all = Zeroizing::new(Vec::with_capacity(12 + key.len() + self.certificate.len()));
        all.extend_from_slice(&made.to_be_bytes());
        all.extend_from_slice(&length.to_be_bytes());
        all.extend_from_slice(&key);
        all.extend_from_slice(&self.certificate);
        all
    }

    /// The authority that [`Self::hand_over`] gave away.
    pub fn take_over(all: &[u8]) -> Result<Self, AuthorityError> {
        let (made, rest) = all.split_first_chunk().ok_or(AuthorityError::TakeOver)?;
        let (length, rest) = rest.split_first_chunk().ok_or(AuthorityError::TakeOver)?;
        let length = usize::try_from(u32::from_be_bytes(*length)).map_err(|_| AuthorityError::TakeOver)?;
        let (key, certificate) = rest.split_at_checked(length).ok_or(AuthorityError::TakeOver)?;
        let made = OffsetDateTime::from_unix_timestamp(i64::from_be_bytes(*made)).map_err(|_| AuthorityError::TakeOver)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key));
        let key = KeyPair::from_der_and_sign_algo(&key, &rcgen::PKCS_ECDSA_P256_SHA256)?;
        let params = params(made);
        let block = pem::Pem::new("CERTIFICATE", certificate);
        Ok(Self {
            pem: pem::encode_config(&block, pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF)),
            certificate: CertificateDer::from(certificate.to_vec()),
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

fn params(now: OffsetDateTime) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, "Tollgate");
    params.distinguished_name.push(DnType::CommonName, COMMON_NAME);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.not_before = now - BACKDATE;
    params.not_after = now + LIFETIME;
    params
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
