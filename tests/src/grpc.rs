//! A gRPC server and client by tonic, a stack of the real world. Messages are plain text: what protobuf would make of them is not the
//! proxy's business.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::{Buf as _, BufMut as _};
use futures::{Stream, StreamExt as _, stream};
use http::Uri;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ServerConfig;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;
use tonic::codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder};
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Response, Status, Streaming};

use crate::authority::Alpn;
use crate::policy::HOST;
use crate::tollgate::Tollgate;

/// Messages of text.
#[derive(Debug, Clone, Copy, Default)]
pub struct Text;

impl Codec for Text {
    type Encode = String;
    type Decode = String;
    type Encoder = Text;
    type Decoder = Text;

    fn encoder(&mut self) -> Text {
        Text
    }

    fn decoder(&mut self) -> Text {
        Text
    }
}

impl Encoder for Text {
    type Item = String;
    type Error = Status;

    fn encode(&mut self, item: String, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        out.put_slice(item.as_bytes());
        Ok(())
    }
}

impl Decoder for Text {
    type Item = String;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<String>, Status> {
        let bytes = from.copy_to_bytes(from.remaining());
        String::from_utf8(bytes.to_vec())
            .map(Some)
            .map_err(|_| Status::invalid_argument("not text"))
    }
}

type Messages = Pin<Box<dyn Stream<Item = Result<String, Status>> + Send>>;

/// A listening server of `/echo.Echo`; ends with this value.
pub struct GrpcServer {
    /// Where it listens, over TLS as [`HOST`].
    pub address: SocketAddr,
    calls: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl GrpcServer {
    /// Starts it.
    pub async fn start(tls: Arc<ServerConfig>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let calls = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&calls);
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (tls, count) = (Arc::clone(&tls), Arc::clone(&count));
                connections.spawn(async move {
                    let Ok(stream) = TlsAcceptor::from(tls).accept(stream).await else {
                        return;
                    };
                    let service = service_fn(move |request| {
                        count.fetch_add(1, Ordering::SeqCst);
                        async move { Ok::<_, Infallible>(answer(request).await) }
                    });
                    let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                        .serve_connection(TokioIo::new(stream), service)
                        .await;
                });
            }
        });
        Self { address, calls, task }
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// How many calls have reached it.
    pub fn calls(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }
}

impl Drop for GrpcServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(request: http::Request<Incoming>) -> http::Response<tonic::body::Body> {
    let mut grpc = tonic::server::Grpc::new(Text);
    match request.uri().path() {
        "/echo.Echo/Say" => grpc.unary(tower::service_fn(say), request).await,
        "/echo.Echo/Count" => grpc.server_streaming(tower::service_fn(count), request).await,
        "/echo.Echo/Join" => grpc.client_streaming(tower::service_fn(join), request).await,
        "/echo.Echo/Talk" => grpc.streaming(tower::service_fn(talk), request).await,
        path => Status::unimplemented(path.to_owned()).into_http(),
    }
}

/// Says it back; `fail` is an error without an answer, `slow` takes ten seconds.
async fn say(request: Request<String>) -> Result<Response<String>, Status> {
    match request.into_inner().as_str() {
        "fail" => {
            let mut status = Status::not_found("no such thing: ü");
            status.metadata_mut().insert("x-detail", "from the server".parse().unwrap());
            Err(status)
        }
        "slow" => {
            tokio::time::sleep(Duration::from_secs(10)).await;
            Ok(Response::new("too late".to_owned()))
        }
        text => Ok(Response::new(format!("re: {text}"))),
    }
}

/// Counts up to a number; `3!` fails after that.
async fn count(request: Request<String>) -> Result<Response<Messages>, Status> {
    let text = request.into_inner();
    let most: u32 = text
        .trim_end_matches('!')
        .parse()
        .map_err(|_| Status::invalid_argument("no number"))?;
    let numbers = stream::iter((1..=most).map(|number| Ok(number.to_string())));
    let end = stream::iter(text.ends_with('!').then(|| Err(Status::data_loss("broken off"))));
    Ok(Response::new(Box::pin(numbers.chain(end))))
}

/// Joins what it gets.
async fn join(request: Request<Streaming<String>>) -> Result<Response<String>, Status> {
    let parts: Vec<Result<String, Status>> = request.into_inner().collect().await;
    let parts: Result<Vec<String>, Status> = parts.into_iter().collect();
    Ok(Response::new(parts?.join("+")))
}

/// Answers each message as it comes.
async fn talk(request: Request<Streaming<String>>) -> Result<Response<Messages>, Status> {
    let answers = request.into_inner().map(|message| message.map(|text| format!("re: {text}")));
    Ok(Response::new(Box::pin(answers)))
}

/// tonic's client, by a tunnel through the proxy.
pub async fn channel(gate: &Tollgate, port: u16) -> tonic::client::Grpc<Channel> {
    let authority = format!("{HOST}:{port}");
    let stream = gate.tls_stream(&authority, Alpn::H2).await;
    let stream = stream.unwrap_or_else(|refusal| panic!("CONNECT refused: {refusal:?}"));
    let mut once = Some(TokioIo::new(stream));
    let connector = tower::service_fn(move |_: Uri| {
        let stream = once.take().ok_or_else(|| std::io::Error::other("the tunnel has ended"));
        async move { stream }
    });
    let endpoint = Endpoint::from_shared(format!("https://{authority}")).unwrap();
    let mut grpc = tonic::client::Grpc::new(endpoint.connect_with_connector(connector).await.unwrap());
    grpc.ready().await.unwrap();
    grpc
}
