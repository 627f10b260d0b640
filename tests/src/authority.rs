//! A certificate authority per test, and the TLS configurations that come from it. Goes in: names. Comes out: rustls configs and a PEM.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, pem::PemObject as _};
use rustls::{ClientConfig, RootCertStore, ServerConfig};

/// The protocols that one side of a TLS connection offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alpn {
    /// `http/1.1` only.
    H1,
    /// `h2`, then `http/1.1`.
    H2,
    /// `h2` only.
    H2Only,
    /// No ALPN extension.
    Absent,
}

impl Alpn {
    fn protocols(self) -> Vec<Vec<u8>> {
        match self {
            Alpn::H1 => vec![b"http/1.1".to_vec()],
            Alpn::H2 => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
            Alpn::H2Only => vec![b"h2".to_vec()],
            Alpn::Absent => Vec::new(),
        }
    }
}

/// The authority that the origins of a test are certified by.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Default for Authority {
    fn default() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, "Origins of a test");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        Self { issuer }
    }
}

impl Authority {
    /// The certificate that a verifier has to trust.
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// A leaf for `names` and its key, both PEM, for servers that are not ours.
    pub fn leaf_pem(&self, names: &[&str]) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(names.iter().map(ToString::to_string).collect::<Vec<_>>())
            .unwrap()
            .signed_by(&key, &self.issuer)
            .unwrap();
        (leaf.pem(), key.serialize_pem())
    }

    /// A server that is certified as `name`.
    pub fn server(&self, name: &str, alpn: Alpn) -> Arc<ServerConfig> {
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(vec![name.to_owned()])
            .unwrap()
            .signed_by(&key, &self.issuer)
            .unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![leaf.der().clone()], key)
            .unwrap();
        config.alpn_protocols = alpn.protocols();
        Arc::new(config)
    }
}

/// A client that trusts exactly the certificates in `pem`.
pub fn client(pem: &str, alpn: Alpn) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        roots.add(certificate.unwrap()).unwrap();
    }
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = alpn.protocols();
    Arc::new(config)
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}
