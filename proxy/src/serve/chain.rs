//! The upstream proxy as the operator set it up: its credentials, and whose certificate it may show.

use std::io;
use std::path::Path;
use std::sync::Arc;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use thiserror::Error;
use zeroize::Zeroizing;

use crate::config::UpstreamConfig;
use crate::egress::Resolver;
use crate::egress::upstream_proxy::UpstreamProxy;
use crate::settings::{PrivateFileError, read_private_file};

/// Why the upstream proxy cannot be used.
#[derive(Debug, Error)]
pub enum ChainSetupError {
    /// The file.
    #[error("proxy_credentials: {0}")]
    File(#[from] PrivateFileError),
    /// What is in it.
    #[error("proxy_credentials: {0} has to hold one line `user:password`")]
    NoCredentials(String),
    /// The roots that its certificate would be verified by.
    #[error("proxy: TLS cannot be set up: {0}")]
    Tls(String),
}

/// The proxy of `upstream.proxy`; `None` where none is named.
pub(super) fn upstream_proxy(
    config: &UpstreamConfig,
    roots_pem: &str,
    resolver: &Arc<Resolver>,
) -> Result<Option<Arc<UpstreamProxy>>, ChainSetupError> {
    let Some(url) = &config.proxy else { return Ok(None) };
    let authorization = config.proxy_credentials.as_deref().map(authorization).transpose()?;
    let tls = client_tls(roots_pem).map_err(|error| ChainSetupError::Tls(error.to_string()))?;
    let proxy = UpstreamProxy::new(url.clone(), Arc::new(tls), resolver.clone())
        .asked_for(config.proxy_connect.into())
        .authorized(authorization)
        .except(config.no_proxy.clone());
    Ok(Some(Arc::new(proxy)))
}

/// The Basic scheme (RFC 7617) for what the file holds.
fn authorization(file: &Path) -> Result<Zeroizing<String>, ChainSetupError> {
    let content = read_private_file(file)?;
    let line = content.trim_ascii_end();
    let user = line.iter().position(|byte| *byte == b':');
    if user.is_none_or(|length| length == 0) || line.iter().any(u8::is_ascii_control) {
        return Err(ChainSetupError::NoCredentials(file.display().to_string()));
    }
    let encoded = Zeroizing::new(BASE64_STANDARD.encode(line));
    Ok(Zeroizing::new(format!("Basic {}", *encoded)))
}

fn client_tls(roots_pem: &str) -> Result<ClientConfig, io::Error> {
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_slice_iter(roots_pem.as_bytes()).filter_map(Result::ok);
    roots.add_parsable_certificates(certificates);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Write as _;

    use super::*;

    fn read(content: &str) -> Result<String, ChainSetupError> {
        // Mode 0600, as the crate makes them.
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content.as_bytes()).unwrap();
        authorization(file.path()).map(|value| value.to_string())
    }

    #[test]
    fn one_line_becomes_basic_credentials() {
        // RFC 7617 section 2.
        assert_eq!(read("Aladdin:open sesame\n").unwrap(), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert_eq!(read("agent:a:b").unwrap(), "Basic YWdlbnQ6YTpi");
    }

    #[test]
    fn anything_else_is_refused_and_not_quoted() {
        for content in ["", "user", ":password", "user:pass\nX-Injected: 1", "user:pa\tss"] {
            let error = read(content).unwrap_err();
            assert!(matches!(error, ChainSetupError::NoCredentials(_)), "{content:?}");
            assert!(!error.to_string().contains("pass\n"), "{error}");
        }
    }
}
