//! hudsucker's `examples/noop.rs`, but for what a loopback bench needs: it trusts one more root, takes a free port and says which.
//!
//! usage: `hudsucker-noop CA_CERT CA_KEY UPSTREAM_ROOT`

use std::error::Error;
use std::fs;
use std::sync::Arc;

use hudsucker::certificate_authority::RcgenAuthority;
use hudsucker::rcgen::{Issuer, KeyPair};
use hudsucker::rustls::crypto::aws_lc_rs;
use hudsucker::rustls::{ClientConfig, RootCertStore};
use hudsucker::Proxy;
use hyper_util::client::legacy::connect::HttpConnector;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().ok_or("usage: hudsucker-noop CA_CERT CA_KEY UPSTREAM_ROOT");
    let (cert, key, root) = (fs::read_to_string(next()?)?, fs::read_to_string(next()?)?, fs::read(next()?)?);
    let issuer = Issuer::from_ca_cert_pem(&cert, KeyPair::from_pem(&key)?)?;
    let authority = RcgenAuthority::new(issuer, 1_000, aws_lc_rs::default_provider());

    let mut roots = RootCertStore::empty();
    for certificate in rustls_pemfile::certs(&mut root.as_slice()) {
        roots.add(certificate?)?;
    }
    let tls = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let mut http = HttpConnector::new();
    http.enforce_http(false);
    // Its own connector leaves Nagle's algorithm on; that would only measure delayed acknowledgements.
    http.set_nodelay(true);
    let connector = hyper_rustls::HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().wrap_connector(http);

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    let proxy = Proxy::builder().with_listener(listener).with_ca(authority).with_http_connector(connector).build()?;
    proxy.start().await?;
    Ok(())
}
