//! HTTP/2 towards the proxy, with the frames' order in the test's hands.

use bytes::{Bytes, BytesMut};
use h2::client::{ResponseFuture, SendRequest};
use h2::{RecvStream, SendStream};
use http::{Request, Response};
use tokio::task::JoinHandle;

use crate::answer::{Answer, Ending, Framing};
use crate::client::Ask;
use crate::wire::Stream;
use crate::within;

/// One HTTP/2 connection.
pub struct H2 {
    /// Opens streams.
    pub sender: SendRequest<Bytes>,
    /// Runs the connection; its end is the connection's end.
    pub connection: JoinHandle<Result<(), h2::Error>>,
}

impl H2 {
    /// Shakes hands over `stream`.
    pub async fn new(stream: Stream) -> Self {
        let mut builder = h2::client::Builder::new();
        builder.initial_window_size(1 << 20).initial_connection_window_size(8 << 20);
        let (sender, connection) = within("HTTP/2 handshake", builder.handshake(stream)).await.unwrap();
        Self {
            sender,
            connection: tokio::spawn(connection),
        }
    }

    /// Opens a stream.
    pub async fn open(&mut self, request: Request<()>, end: bool) -> (ResponseFuture, SendStream<Bytes>) {
        std::future::poll_fn(|context| self.sender.poll_ready(context)).await.unwrap();
        self.sender.send_request(request, end).unwrap()
    }

    /// The head of `ask` in HTTP/2's terms.
    pub fn head(ask: &Ask<'_>) -> Request<()> {
        let mut request = Request::builder()
            .method(ask.method)
            .uri(format!("https://{}{}", ask.authority(), ask.target))
            .version(http::Version::HTTP_2);
        for (name, value) in &ask.headers {
            request = request.header(*name, value);
        }
        request.body(()).unwrap()
    }

    /// One whole exchange.
    pub async fn ask(&mut self, ask: &Ask<'_>) -> Answer {
        self.try_ask(ask)
            .await
            .unwrap_or_else(|error| panic!("no answer but {error}: {} {}", ask.method, ask.target))
    }

    /// One whole exchange, or the error that took its place.
    pub async fn try_ask(&mut self, ask: &Ask<'_>) -> Result<Answer, h2::Error> {
        let (response, mut body) = self.open(Self::head(ask), ask.body.is_empty()).await;
        if !ask.body.is_empty() {
            let body_sent = send_all(&mut body, Bytes::copy_from_slice(ask.body));
            let _ = within("sending", body_sent).await;
        }
        within("answer over HTTP/2", collect(response)).await
    }
}

/// Sends content within the peer's windows, then ends the stream.
pub async fn send_all(stream: &mut SendStream<Bytes>, mut content: Bytes) -> Result<(), h2::Error> {
    while !content.is_empty() {
        stream.reserve_capacity(content.len());
        match std::future::poll_fn(|context| stream.poll_capacity(context)).await {
            Some(Ok(0)) => {}
            Some(Ok(room)) => stream.send_data(content.split_to(room.min(content.len())), false)?,
            Some(Err(error)) => return Err(error),
            None => return Ok(()),
        }
    }
    stream.send_data(Bytes::new(), true)
}

/// Reads an answer to its end.
pub async fn collect(response: ResponseFuture) -> Result<Answer, h2::Error> {
    let (head, mut stream) = response.await?.into_parts();
    let (body, ending) = read(&mut stream).await;
    let trailers = match ending {
        Ending::Complete => stream.trailers().await?.unwrap_or_default(),
        Ending::Cut(_) => http::HeaderMap::new(),
    };
    Ok(answer(&Response::from_parts(head, ()), body, &trailers, ending))
}

/// Reads content until its end or a break.
pub async fn read(stream: &mut RecvStream) -> (Bytes, Ending) {
    let mut body = BytesMut::new();
    while let Some(piece) = stream.data().await {
        match piece {
            Ok(piece) => {
                let _ = stream.flow_control().release_capacity(piece.len());
                body.extend_from_slice(&piece);
            }
            Err(error) => return (body.freeze(), Ending::Cut(error.to_string())),
        }
    }
    (body.freeze(), Ending::Complete)
}

fn answer(head: &Response<()>, body: Bytes, trailers: &http::HeaderMap, ending: Ending) -> Answer {
    Answer {
        interim: Vec::new(),
        version: 2,
        status: head.status().as_u16(),
        headers: pairs(head.headers()),
        body,
        trailers: pairs(trailers),
        framing: Framing::H2,
        ending,
    }
}

fn pairs(map: &http::HeaderMap) -> Vec<(String, String)> {
    map.iter()
        .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect()
}
