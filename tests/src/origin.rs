//! Well-behaved origins that record everything: connections, requests, bodies. For ill-behaved ones see [`crate::scripted`].

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode, Version};
use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use hyper::body::{Body, Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ServerConfig;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::answer::field;
use crate::authority::{Alpn, Authority};

/// What an origin answers with.
pub type Reply = Response<BoxBody<Bytes, Infallible>>;

/// A request as it reached the origin.
#[derive(Debug, Clone)]
pub struct Seen {
    /// Which connection it came by, counted from 0.
    pub connection: usize,
    /// HTTP version.
    pub version: Version,
    /// Method.
    pub method: String,
    /// Target as sent: origin-form over HTTP/1, path and query over HTTP/2.
    pub target: String,
    /// `Host`, or `:authority` over HTTP/2.
    pub authority: Option<String>,
    /// Fields in order of arrival, names in lower case.
    pub headers: Vec<(String, String)>,
    /// Content.
    pub body: Bytes,
    /// Trailer fields.
    pub trailers: Option<HeaderMap>,
}

impl Seen {
    /// The first field of that name.
    pub fn header(&self, name: &str) -> Option<&str> {
        field(&self.headers, name)
    }
}

#[derive(Default)]
struct Log {
    connections: AtomicUsize,
    requests: Mutex<Vec<Seen>>,
}

/// A listening origin; ends with this value.
pub struct Origin {
    /// Where it listens.
    pub address: SocketAddr,
    log: Arc<Log>,
    task: JoinHandle<()>,
}

impl Origin {
    /// A cleartext origin that answers by [`standard`].
    pub async fn plain() -> Self {
        Self::start(None, standard).await
    }

    /// A TLS origin certified as [`crate::policy::HOST`] that answers by [`standard`].
    pub async fn tls(authority: &Authority, alpn: Alpn) -> Self {
        Self::start(Some(authority.server(crate::policy::HOST, alpn)), standard).await
    }

    /// An origin that answers with `reply`.
    pub async fn start(tls: Option<Arc<ServerConfig>>, reply: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        Self::start_at("127.0.0.1:0", tls, reply).await
    }

    /// An origin at a chosen address.
    pub async fn start_at(at: &str, tls: Option<Arc<ServerConfig>>, reply: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(at).await.unwrap();
        let address = listener.local_addr().unwrap();
        let log = Arc::new(Log::default());
        let task = tokio::spawn(accept(listener, tls.map(TlsAcceptor::from), Arc::clone(&log), Arc::new(reply)));
        Self { address, log, task }
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// How many connections were accepted.
    pub fn connections(&self) -> usize {
        self.log.connections.load(Ordering::SeqCst)
    }

    /// The requests that arrived whole.
    pub fn requests(&self) -> Vec<Seen> {
        self.log.requests.lock().unwrap().clone()
    }

    /// The last request that arrived.
    #[track_caller]
    pub fn last(&self) -> Seen {
        self.requests().pop().expect("the origin has seen no request")
    }

    /// Fails if anything at all reached this origin, were it only a connection.
    #[track_caller]
    pub fn assert_untouched(&self) {
        assert_eq!(self.connections(), 0, "the origin was connected to; it saw {:?}", self.requests());
    }

    /// Fails if a request reached this origin; a connection may have.
    #[track_caller]
    pub fn assert_no_request(&self) {
        assert!(self.requests().is_empty(), "the origin saw {:?}", self.requests());
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept<F>(listener: TcpListener, tls: Option<TlsAcceptor>, log: Arc<Log>, reply: Arc<F>)
where
    F: Fn(&Seen) -> Reply + Send + Sync + 'static,
{
    // Dropping the set ends the connections with the listener.
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        let connection = log.connections.fetch_add(1, Ordering::SeqCst);
        let (tls, log, reply) = (tls.clone(), Arc::clone(&log), Arc::clone(&reply));
        connections.spawn(async move {
            let service = service_fn(move |request| answer(connection, request, Arc::clone(&log), Arc::clone(&reply)));
            match tls {
                None => {
                    let _ = h1().serve_connection(TokioIo::new(stream), service).with_upgrades().await;
                }
                Some(tls) => {
                    let Ok(stream) = tls.accept(stream).await else { return };
                    if stream.get_ref().1.alpn_protocol() == Some(b"h2") {
                        let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                            .serve_connection(TokioIo::new(stream), service)
                            .await;
                    } else {
                        let _ = h1().serve_connection(TokioIo::new(stream), service).with_upgrades().await;
                    }
                }
            }
        });
        while connections.try_join_next().is_some() {}
    }
}

fn h1() -> hyper::server::conn::http1::Builder {
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder.max_buf_size(1 << 20);
    builder
}

async fn answer<F: Fn(&Seen) -> Reply>(
    connection: usize,
    request: Request<Incoming>,
    log: Arc<Log>,
    reply: Arc<F>,
) -> Result<Reply, Infallible> {
    let (head, body) = request.into_parts();
    let headers: Vec<(String, String)> = head
        .headers
        .iter()
        .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect();
    let authority = head
        .uri
        .authority()
        .map(ToString::to_string)
        .or_else(|| field(&headers, "host").map(ToOwned::to_owned));
    let target = head.uri.path_and_query().map_or_else(|| head.uri.to_string(), ToString::to_string);
    let collected = body.collect().await;
    let (body, trailers) = match collected {
        Ok(collected) => {
            let trailers = collected.trailers().cloned();
            (collected.to_bytes(), trailers)
        }
        Err(_) => (Bytes::from_static(b"<broken off>"), None),
    };
    let seen = Seen {
        connection,
        version: head.version,
        method: head.method.to_string(),
        target,
        authority,
        headers,
        body,
        trailers,
    };
    let wait = seen.target.strip_prefix("/slow/").and_then(|millis| millis.parse().ok());
    log.requests.lock().unwrap().push(seen.clone());
    if let Some(millis) = wait {
        tokio::time::sleep(Duration::from_millis(millis)).await;
    }
    Ok(reply(&seen))
}

/// Answers by path: `/status/204`, `/bytes/70000`, `/chunked`, `/trailers`, `/slow/250` (milliseconds), anything else is echoed.
pub fn standard(seen: &Seen) -> Reply {
    let path = seen.target.split('?').next().unwrap_or_default();
    let mut parts = path.trim_start_matches('/').split('/');
    match (parts.next(), parts.next()) {
        (Some("status"), Some(code)) => {
            let code = code
                .parse()
                .ok()
                .and_then(|code| StatusCode::from_u16(code).ok())
                .unwrap_or(StatusCode::NOT_FOUND);
            reply(code, "")
        }
        (Some("bytes"), Some(count)) => reply(StatusCode::OK, vec![b'x'; count.parse().unwrap_or(0)]),
        (Some("chunked"), _) => streamed(["one ", "two ", "three"].map(|piece| Frame::data(Bytes::from_static(piece.as_bytes())))),
        (Some("trailers"), _) => {
            let mut trailers = HeaderMap::new();
            trailers.insert("x-checksum", http::HeaderValue::from_static("abc"));
            streamed([Frame::data(Bytes::from_static(b"body")), Frame::trailers(trailers)])
        }
        _ if seen.body.is_empty() => reply(StatusCode::OK, format!("{} {}", seen.method, seen.target)),
        _ => reply(StatusCode::OK, seen.body.clone()),
    }
}

/// A whole answer.
pub fn reply(status: StatusCode, body: impl Into<Bytes>) -> Reply {
    let mut response = Response::new(Full::new(body.into()).boxed());
    *response.status_mut() = status;
    response
}

/// An answer of these frames; its length is not announced.
pub fn streamed<const N: usize>(frames: [Frame<Bytes>; N]) -> Reply {
    Response::new(Frames(frames.into_iter().collect()).boxed())
}

/// A body of these frames; its length is not announced.
struct Frames(VecDeque<Frame<Bytes>>);

impl Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.pop_front().map(Ok))
    }
}
