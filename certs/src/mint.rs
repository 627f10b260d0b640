//! Minting: one leaf certificate, and the TLS configuration that presents it.

use std::sync::Arc;
use std::time::Duration as StdDuration;

use rcgen::{CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose, SanType, SerialNumber};
use rustls::crypto::CryptoProvider;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{NoServerSessionStorage, ProducesTickets};
use rustls::sign::{CertifiedKey, SigningKey, SingleCertAndKey};
use rustls::{CipherSuite, ServerConfig};
use time::{Duration, OffsetDateTime};

use crate::authority::{BACKDATE, CertificateAuthority};
use crate::name::LeafName;

/// RFC 5280, appendix A.1: `ub-common-name`.
const COMMON_NAME_MAX: usize = 64;

/// The common name where the host's own does not fit: a name cut short would be another host's.
const COMMON_NAME_LONG: &str = "Tollgate Sandbox Leaf";

/// Why there is no leaf.
#[derive(Debug, thiserror::Error)]
pub enum LeafError {
    /// The configured lifetime is outside what clients accept.
    #[error("a leaf certificate must live between one minute and 397 days")]
    Lifetime,
    /// The certificate could not be built or signed.
    #[error("the leaf certificate could not be signed: {0}")]
    Sign(#[from] rcgen::Error),
    /// The TLS library refused the key or the configuration.
    #[error("the leaf certificate could not be put to use: {0}")]
    Tls(#[from] rustls::Error),
    /// The system has no randomness to give.
    #[error("no randomness for a certificate's serial number")]
    Random,
}

/// How long a leaf is valid, counted from its minting: one minute to 397 days (clients refuse more), 24 hours by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeafLifetime(Duration);

impl LeafLifetime {
    const MIN: Duration = Duration::minutes(1);
    const MAX: Duration = Duration::days(397);
}

impl Default for LeafLifetime {
    fn default() -> Self {
        Self(Duration::hours(24))
    }
}

impl TryFrom<StdDuration> for LeafLifetime {
    type Error = LeafError;

    fn try_from(lifetime: StdDuration) -> Result<Self, LeafError> {
        Duration::try_from(lifetime)
            .ok()
            .filter(|lifetime| (Self::MIN..=Self::MAX).contains(lifetime))
            .map(Self)
            .ok_or(LeafError::Lifetime)
    }
}

/// ring's algorithms with AES-128 first. Most clients put AES-256 first, whose SHA-384 key schedule has no help from the processor and
/// costs a tenth of a new tunnel; nobody breaks AES-128.
fn quick_first() -> CryptoProvider {
    let mut provider = ring::default_provider();
    provider
        .cipher_suites
        .sort_by_key(|suite| suite.suite() != CipherSuite::TLS13_AES_128_GCM_SHA256);
    provider
}

/// A leaf in use.
#[derive(Debug)]
pub(crate) struct Leaf {
    pub(crate) config: Arc<ServerConfig>,
    not_before: OffsetDateTime,
    renew_after: OffsetDateTime,
}

impl Leaf {
    /// Whether a client that connects now will find it valid, and for a good while. A clock set back counts as well.
    pub(crate) fn is_fresh(&self, now: OffsetDateTime) -> bool {
        self.not_before <= now && now < self.renew_after
    }
}

/// The authority and all that its leaves have in common: one key, one ticket key, one set of algorithms.
pub(crate) struct Mint {
    authority: CertificateAuthority,
    lifetime: LeafLifetime,
    leaf_key: KeyPair,
    signing_key: Arc<dyn SigningKey>,
    provider: Arc<CryptoProvider>,
    tickets: Arc<dyn ProducesTickets>,
}

impl Mint {
    pub(crate) fn new(authority: CertificateAuthority, lifetime: LeafLifetime) -> Result<Self, LeafError> {
        let leaf_key = KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256)?;
        let pkcs8 = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(leaf_key.serialized_der()));
        Ok(Self {
            authority,
            lifetime,
            signing_key: ring::sign::any_ecdsa_type(&pkcs8)?,
            leaf_key,
            provider: Arc::new(quick_first()),
            tickets: ring::Ticketer::new()?,
        })
    }

    pub(crate) fn authority(&self) -> &CertificateAuthority {
        &self.authority
    }

    /// Signs a certificate for `name` and builds its configuration.
    pub(crate) fn mint(&self, name: &LeafName, now: OffsetDateTime) -> Result<Leaf, LeafError> {
        let params = self.params(name, now)?;
        Ok(Leaf {
            config: Arc::new(self.config(self.sign(&params)?)?),
            not_before: params.not_before,
            renew_after: now + (params.not_after - now) * 2 / 3,
        })
    }

    fn sign(&self, params: &CertificateParams) -> Result<CertificateDer<'static>, LeafError> {
        Ok(params.signed_by(&self.leaf_key, self.authority.issuer())?.into())
    }

    fn config(&self, leaf: CertificateDer<'static>) -> Result<ServerConfig, LeafError> {
        // Some clients show or pin the issuer they were sent and complain of a chain of one.
        let chain = vec![leaf, self.authority.certificate().clone()];
        let certified = CertifiedKey::new(chain, self.signing_key.clone());
        let mut config = ServerConfig::builder_with_provider(self.provider.clone())
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        // Tickets hold the session at the client: resumption without a store per host, which a client could fill. Early
        // data stays off (rustls' default): it can be replayed.
        config.ticketer = self.tickets.clone();
        // A client that resumes gets a new ticket each time, so that one is enough.
        config.send_tls13_tickets = 1;
        config.ignore_client_order = true;
        config.session_storage = Arc::new(NoServerSessionStorage {});
        Ok(config)
    }

    fn params(&self, name: &LeafName, now: OffsetDateTime) -> Result<CertificateParams, LeafError> {
        let mut params = CertificateParams::default();
        let text = name.to_string();
        params.distinguished_name = DistinguishedName::new();
        let common_name = if text.len() <= COMMON_NAME_MAX {
            text.as_str()
        } else {
            COMMON_NAME_LONG
        };
        params.distinguished_name.push(DnType::CommonName, common_name);
        params.subject_alt_names = vec![match name {
            LeafName::Dns(_) => SanType::DnsName(text.try_into()?),
            LeafName::Ip(address) => SanType::IpAddress(*address),
        }];
        params.serial_number = Some(self.serial_number()?);
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        params.not_before = now - BACKDATE;
        params.not_after = (now + self.lifetime.0).min(self.authority.not_after());
        Ok(params)
    }

    /// rcgen derives the serial number from the public key, which all our leaves share; NSS (Firefox) refuses an authority
    /// that uses a number twice.
    fn serial_number(&self) -> Result<SerialNumber, LeafError> {
        let mut serial = [0; 16];
        self.provider.secure_random.fill(&mut serial).map_err(|_| LeafError::Random)?;
        Ok(SerialNumber::from(serial.to_vec()))
    }

    #[cfg(test)]
    pub(crate) fn leaf_key(&self) -> &KeyPair {
        &self.leaf_key
    }
}

#[cfg(test)]
mod tests;
