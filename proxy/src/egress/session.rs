//! One request on one origin connection, HTTP/1.1 or HTTP/2 alike: write the head, read the answer, read its body.
//!
//! Every step is cancel-safe. The request body's way out is apart from the session ([`BodyWriter`]), so that an answer can come and
//! be relayed while the request is still being sent: early 413, gRPC streams, echo servers.

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header;
use pingora::http::{RequestHeader, ResponseHeader};
use pingora::protocols::Stream;
use pingora::protocols::http::v1::client::HttpSession as H1Client;
use pingora::protocols::http::v2::client::Http2Session as H2Client;
use pingora::upstreams::peer::HttpPeer;
use pingora::{Error, ErrorType, OrErr, Result};
use tokio::io::AsyncWriteExt;

use super::trailers::{Following, TrailerSections, last_chunk};
use super::wire::SharedWire;

/// See the module.
pub(crate) enum OriginSession {
    /// HTTP/1.1, the wire underneath for the upload, and what finds the answer's trailers.
    H1(Box<H1Client>, SharedWire, TrailerSections),
    /// One HTTP/2 stream.
    H2(Box<H2Client>),
}

/// Whether anything follows the request head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterHead {
    /// The head is the whole request.
    Nothing,
    /// A body follows.
    Body,
}

impl OriginSession {
    /// Stands an HTTP/1 session on a stream that `origin` wrapped when it was dialled.
    pub(super) fn h1(stream: Stream, peer: &HttpPeer) -> Result<Self> {
        match stream.into_any().downcast::<SharedWire>() {
            Ok(wire) => {
                let trailers = wire.lock().trailers().clone();
                let session = H1Client::new_with_options(Box::new((*wire).clone()), peer);
                Ok(OriginSession::H1(Box::new(session), *wire, trailers))
            }
            Err(_) => Error::e_explain(ErrorType::InternalError, "an origin stream that is not a shared wire"),
        }
    }

    pub(crate) fn is_h2(&self) -> bool {
        matches!(self, OriginSession::H2(_))
    }

    pub(crate) async fn write_head(&mut self, head: RequestHeader, after: AfterHead) -> Result<BodyWriter> {
        match self {
            OriginSession::H1(session, wire, trailers) => {
                trailers.expect_answer();
                let chunked = head.headers.contains_key(header::TRANSFER_ENCODING);
                session
                    .write_request_header(Box::new(head))
                    .await
                    .map_err(pingora::Error::into_up)?;
                Ok(if chunked {
                    BodyWriter::Chunked(wire.clone())
                } else {
                    BodyWriter::Length(wire.clone())
                })
            }
            OriginSession::H2(session) => {
                let end = after == AfterHead::Nothing;
                session.write_request_header(Box::new(head), end).map_err(pingora::Error::into_up)?;
                Ok(BodyWriter::H2(session.take_request_body_writer().filter(|_| !end)))
            }
        }
    }

    /// The next response head. On HTTP/1 it can be an interim one; then call again.
    pub(crate) async fn head(&mut self) -> Result<Box<ResponseHeader>> {
        match self {
            OriginSession::H1(session, _, trailers) => {
                let head = session.read_resp_header_parts().await;
                if let Ok(head) = &head {
                    trailers.head_read(session.get_headers_raw_bytes().len(), following(head));
                }
                head
            }
            OriginSession::H2(session) => match session.read_response_header().await {
                Ok(()) => match session.response_header() {
                    Some(head) => Ok(Box::new(head.clone())),
                    None => Error::e_explain(ErrorType::H2Error, "no response head"),
                },
                Err(e) => Err(e),
            },
        }
        .map_err(pingora::Error::into_up)
    }

    /// The next piece of the response body; `None` at its proper end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>> {
        match self {
            OriginSession::H1(session, ..) => session.read_body_bytes().await,
            OriginSession::H2(session) => match session.read_response_body().await {
                // Without this check a reset stream would look like the end of the answer.
                Ok(None) => session.check_response_end_or_error().map(|_| None),
                other => other,
            },
        }
        .map_err(pingora::Error::into_up)
    }

    /// Whether nothing of the answer is left to read.
    pub(crate) fn ended(&mut self) -> bool {
        match self {
            OriginSession::H1(session, ..) => session.is_body_done(),
            OriginSession::H2(session) => session.response_finished(),
        }
    }

    /// What came behind the body, once that has ended. A section that cannot be read is as good as none.
    pub(crate) async fn trailers(&mut self) -> Result<Option<HeaderMap>> {
        match self {
            OriginSession::H1(_, _, trailers) => Ok(trailers.take().unwrap_or_default()),
            OriginSession::H2(session) => session.read_trailers().await.map_err(pingora::Error::into_up),
        }
    }
}

fn following(head: &ResponseHeader) -> Following {
    if head.status.is_informational() {
        Following::Head
    } else if head.headers.contains_key(header::TRANSFER_ENCODING) {
        Following::Chunks
    } else {
        Following::NoTrailers
    }
}

/// What a piece of a body is followed by.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Then<'a> {
    /// Another piece.
    More,
    /// The end of the body, and these trailers.
    End(Option<&'a HeaderMap>),
}

/// Where the request body goes.
pub(crate) enum BodyWriter {
    /// HTTP/1 with Content-Length (or nothing to send).
    Length(SharedWire),
    /// HTTP/1 chunked.
    Chunked(SharedWire),
    /// HTTP/2; `None` when the head was the whole request.
    H2(Option<h2::SendStream<Bytes>>),
}

impl BodyWriter {
    /// Frames a piece for the wire.
    pub(crate) fn frame(&self, piece: Bytes, then: Then<'_>) -> Bytes {
        if !matches!(self, BodyWriter::Chunked(_)) {
            return piece;
        }
        let mut framed = BytesMut::with_capacity(piece.len() + 24);
        if !piece.is_empty() {
            framed.extend_from_slice(format!("{:x}\r\n", piece.len()).as_bytes());
            framed.extend_from_slice(&piece);
            framed.extend_from_slice(b"\r\n");
        }
        if let Then::End(trailers) = then {
            framed.extend_from_slice(&last_chunk(trailers));
        }
        framed.freeze()
    }

    /// Pushes until `out` is empty; what has gone is no longer in `out`, so a dropped push can be taken up again. Trailers behind a body of
    /// announced length cannot be carried over HTTP/1, and are left out.
    pub(crate) async fn push(&mut self, out: &mut Bytes, then: Then<'_>) -> Result<()> {
        match (self, then) {
            (BodyWriter::Length(wire) | BodyWriter::Chunked(wire), _) => push_h1(wire, out).await,
            (BodyWriter::H2(None), _) => Ok(()),
            (BodyWriter::H2(Some(stream)), Then::More) => push_h2(stream, out, false).await,
            (BodyWriter::H2(Some(stream)), Then::End(None)) => push_h2(stream, out, true).await,
            (BodyWriter::H2(Some(stream)), Then::End(Some(trailers))) => {
                push_h2(stream, out, false).await?;
                stream
                    .send_trailers(trailers.clone())
                    .or_err(ErrorType::WriteError, "while writing trailers")
            }
        }
        .map_err(|e: Box<Error>| e.into_up())
    }
}

async fn push_h1(wire: &mut SharedWire, out: &mut Bytes) -> Result<()> {
    while !out.is_empty() {
        wire.write_buf(out).await.or_err(ErrorType::WriteError, "while writing body")?;
    }
    Ok(())
}

async fn push_h2(stream: &mut h2::SendStream<Bytes>, out: &mut Bytes, last: bool) -> Result<()> {
    loop {
        if out.is_empty() {
            return if last {
                stream.send_data(Bytes::new(), true).or_err(ErrorType::WriteError, "ending body")
            } else {
                Ok(())
            };
        }
        stream.reserve_capacity(out.len());
        let granted = match std::future::poll_fn(|cx| stream.poll_capacity(cx)).await {
            Some(granted) => granted.or_err(ErrorType::WriteError, "waiting for capacity")?,
            None => return Error::e_explain(ErrorType::WriteError, "stream closed"),
        };
        let piece = out.split_to(granted.min(out.len()));
        let end = last && out.is_empty();
        stream.send_data(piece, end).or_err(ErrorType::WriteError, "while writing body")?;
        if end {
            return Ok(());
        }
    }
}
