//! A client that does as every proxied client does: CONNECT, TLS with the proxy's certificate trusted, one request.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::DemoError;

/// Larger answers are none of the demo's.
const LARGEST: usize = 1 << 20;

/// Why there is no answer.
#[derive(Debug, Error)]
pub(super) enum ClientError {
    #[error("the connection failed: {0}")]
    Io(#[from] std::io::Error),
    #[error("no answer: {0}")]
    Http(#[from] hyper::Error),
    #[error("the request cannot be written: {0}")]
    Request(#[from] http::Error),
    #[error("the answer's body broke off: {0}")]
    Body(#[from] axum::Error),
    #[error("`{0}` is no name for TLS")]
    Name(String),
}

/// What came back.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
}

/// What is asked for.
pub(super) struct Ask<'a> {
    pub(super) method: Method,
    pub(super) host: &'a str,
    pub(super) port: u16,
    pub(super) path: &'a str,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// See the module.
pub(super) struct Client {
    proxy: SocketAddr,
    tls: TlsConnector,
}

impl Client {
    /// A client of the proxy at `proxy` that trusts the certificates in the file `ca`, and no others.
    pub(super) fn new(proxy: SocketAddr, ca: &Path) -> Result<Self, DemoError> {
        let failed = |error: &dyn std::fmt::Display| DemoError::Certificates(error.to_string());
        let mut roots = RootCertStore::empty();
        for certificate in tollgate_certs::read_certificates(ca).map_err(|e| failed(&e))? {
            roots.add(certificate).map_err(|e| failed(&e))?;
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| failed(&e))?;
        let config = config.with_root_certificates(roots).with_no_client_auth();
        Ok(Client {
            proxy,
            tls: TlsConnector::from(Arc::new(config)),
        })
    }

    /// One request in a tunnel of its own. A refused CONNECT is an answer too.
    pub(super) async fn ask(&self, ask: Ask<'_>) -> Result<Answer, ClientError> {
        let Ask {
            method,
            host,
            port,
            path,
            headers,
            body,
        } = ask;
        let authority = format!("{host}:{port}");
        let connect = Request::builder()
            .method(Method::CONNECT)
            .uri(&authority)
            .header("host", &authority)
            .body(Body::empty())?;
        let connected = send(TcpStream::connect(self.proxy).await?, connect).await?;
        if connected.status() != StatusCode::OK {
            return read(connected).await;
        }
        let tunnel = TokioIo::new(hyper::upgrade::on(connected).await?);
        let name = ServerName::try_from(host.to_owned()).map_err(|_| ClientError::Name(host.to_owned()))?;
        let tls = self.tls.connect(name, tunnel).await?;
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", &authority)
            .body(Body::from(body))?;
        request.headers_mut().extend(headers);
        read(send(tls, request).await?).await
    }
}

async fn send(io: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, request: Request<Body>) -> Result<Response<Incoming>, ClientError> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(io)).await?;
    tokio::spawn(connection.with_upgrades());
    Ok(sender.send_request(request).await?)
}

async fn read(response: Response<Incoming>) -> Result<Answer, ClientError> {
    let (head, body) = response.into_parts();
    axum::body::to_bytes(Body::new(body), LARGEST).await?;
    Ok(Answer {
        status: head.status,
        headers: head.headers,
    })
}
