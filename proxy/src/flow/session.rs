//! One request of a client and the way of its answer, HTTP/1 or HTTP/2 alike.
//!
//! HTTP/1 stands on pingora's session. HTTP/2 stands on the stream itself: pingora's session over it neither shows a request's trailers nor
//! sends interim answers.

mod h2;

use bytes::{Bytes, BytesMut};
use futures::FutureExt;
use http::{HeaderMap, StatusCode, Version, header};
use pingora::http::{RequestHeader, ResponseHeader};
use pingora::protocols::Stream;
use pingora::protocols::http::v1::server::HttpSession;
use pingora::{Error, ErrorType, Result};

use crate::egress::trailers::TrailerSections;

pub(crate) use h2::H2Request;

/// See the module.
// Not boxed: there is one for each request, and it stays where it was made.
#[allow(clippy::large_enum_variant)]
pub(crate) enum ClientSession {
    /// HTTP/1.
    H1(H1Request),
    /// One stream of HTTP/2.
    H2(H2Request),
}

/// pingora's session, and what finds and writes the trailers that it knows nothing of.
pub(crate) struct H1Request {
    session: HttpSession,
    trailers: TrailerSections,
}

impl H1Request {
    /// A session that has read its request's head. `early` is what of a chunked body came together with that.
    pub(crate) fn new(session: HttpSession, trailers: TrailerSections, early: &[u8]) -> Self {
        if session.req_header().headers.contains_key(header::TRANSFER_ENCODING) {
            trailers.expect_body(early);
        }
        H1Request { session, trailers }
    }

    /// Without what it stood on.
    pub(super) fn into_session(self) -> HttpSession {
        self.session
    }
}

impl ClientSession {
    pub(crate) fn is_h2(&self) -> bool {
        matches!(self, ClientSession::H2(_))
    }

    pub(crate) fn req_header(&self) -> &RequestHeader {
        match self {
            ClientSession::H1(request) => request.session.req_header(),
            ClientSession::H2(request) => request.head(),
        }
    }

    /// The head as it came over HTTP/1.
    pub(super) fn raw_head(&self) -> Option<Bytes> {
        match self {
            ClientSession::H1(request) => Some(request.session.get_headers_raw_bytes()),
            ClientSession::H2(_) => None,
        }
    }

    /// Whether the request has no body at all.
    pub(super) fn is_body_empty(&mut self) -> bool {
        match self {
            ClientSession::H1(request) => request.session.is_body_empty(),
            ClientSession::H2(request) => request.is_body_empty(),
        }
    }

    /// Whether nothing more of the request comes, trailers included.
    pub(super) fn is_body_done(&mut self) -> bool {
        match self {
            ClientSession::H1(request) => request.session.is_body_done(),
            ClientSession::H2(request) => request.is_body_done(),
        }
    }

    /// Whether it asks for another protocol.
    pub(super) fn is_upgrade_req(&self) -> bool {
        matches!(self, ClientSession::H1(request) if request.session.is_upgrade_req())
    }

    /// The next piece of the body; `None` at its end. Cancel-safe.
    pub(super) async fn read_request_body(&mut self) -> Result<Option<Bytes>> {
        match self {
            ClientSession::H1(request) => request.session.read_body_bytes().await,
            ClientSession::H2(request) => request.read_body().await,
        }
        .map_err(Error::into_down)
    }

    /// Bytes of the body that have come.
    pub(super) fn body_bytes_read(&self) -> usize {
        match self {
            ClientSession::H1(request) => request.session.body_bytes_read(),
            ClientSession::H2(request) => request.body_bytes_read(),
        }
    }

    /// The trailers, once the body has been read to its end.
    pub(super) fn take_trailers(&mut self) -> Result<Option<HeaderMap>> {
        match self {
            ClientSession::H1(request) => request.trailers.take().map_err(|error| {
                let error: Box<Error> = Error::because(ErrorType::InvalidHTTPHeader, "trailers", error);
                error.into_down()
            }),
            ClientSession::H2(request) => request.take_trailers(),
        }
    }

    /// Waits until the client has gone. Only after its request has ended.
    pub(super) async fn gone(&mut self) -> Box<Error> {
        match self {
            ClientSession::H1(request) => match request.session.read_body_or_idle(true).await {
                Err(error) => error.into_down(),
                Ok(_) => std::future::pending().await,
            },
            ClientSession::H2(request) => request.gone().await,
        }
    }

    /// Asks for the body (RFC 9110 section 10.1.1).
    pub(super) async fn write_continue(&mut self) -> Result<()> {
        match self {
            ClientSession::H1(request) => {
                // pingora counts any head written before the end of the body, even this one, as a reason to close.
                request.session.set_close_on_response_before_downstream_finish(false);
                request.session.write_continue_response().await.map_err(Error::into_down)?;
                request.session.set_close_on_response_before_downstream_finish(true);
                Ok(())
            }
            ClientSession::H2(request) => request.write_interim(ResponseHeader::build(StatusCode::CONTINUE, Some(0))?),
        }
    }

    /// Passes on an interim answer; HTTP/1.0 knows none.
    pub(super) async fn write_interim(&mut self, head: Box<ResponseHeader>) -> Result<()> {
        match self {
            ClientSession::H1(request) if request.session.req_header().version == Version::HTTP_11 => {
                request.session.write_response_header(head).await.map_err(Error::into_down)
            }
            ClientSession::H1(_) => Ok(()),
            ClientSession::H2(request) => request.write_interim(*head),
        }
    }

    /// Writes the head of an answer that has a body, or of one that switches protocols.
    pub(super) async fn write_response_header(&mut self, head: Box<ResponseHeader>) -> Result<()> {
        match self {
            ClientSession::H1(request) => request.session.write_response_header(head).await.map_err(Error::into_down),
            ClientSession::H2(request) => request.write_head(head, false),
        }
    }

    /// Writes a head that is the whole answer.
    pub(super) async fn write_whole_answer(&mut self, head: Box<ResponseHeader>) -> Result<()> {
        match self {
            ClientSession::H1(request) => {
                request.session.write_response_header(head).await.map_err(Error::into_down)?;
                self.end_response().await
            }
            ClientSession::H2(request) => request.write_head(head, true),
        }
    }

    /// Writes a piece of an answer's body.
    pub(super) async fn write_response_body(&mut self, piece: Bytes) -> Result<()> {
        if piece.is_empty() {
            // On HTTP/1 a chunk of no bytes would be the last.
            return Ok(());
        }
        match self {
            ClientSession::H1(request) => request.session.write_body(&piece).await.map(|_| ()).map_err(Error::into_down),
            ClientSession::H2(request) => request.write_body(piece, false).await,
        }
    }

    /// Ends an answer.
    pub(super) async fn end_response(&mut self) -> Result<()> {
        match self {
            ClientSession::H1(request) => request.session.finish_body().await.map(|_| ()).map_err(Error::into_down),
            ClientSession::H2(request) => request.write_body(Bytes::new(), true).await,
        }
    }

    /// Ends an answer with trailers. They are left out where its framing cannot carry them: HTTP/1 without chunks.
    pub(super) async fn end_response_with(&mut self, trailers: HeaderMap) -> Result<()> {
        match self {
            ClientSession::H1(request) => {
                request.trailers.end_with(&trailers);
                let ended = request.session.finish_body().await;
                request.trailers.has_ended();
                ended.map(|_| ()).map_err(Error::into_down)
            }
            ClientSession::H2(request) => request.write_trailers(trailers),
        }
    }

    /// Whether the client can still be given a status.
    pub(crate) fn is_unanswered(&self) -> bool {
        match self {
            ClientSession::H1(request) => {
                let written = request.session.response_written();
                written.is_none_or(|head| head.status.is_informational())
            }
            ClientSession::H2(request) => request.is_unanswered(),
        }
    }

    /// Ends an answer that cannot be completed so that the client sees it was cut: neither the last chunk nor the TLS goodbye on HTTP/1,
    /// RST_STREAM on HTTP/2. What came so far is let out first.
    pub(super) fn cut(&mut self) {
        self.close_after();
        match self {
            ClientSession::H1(request) => drop(request.session.read_body_or_idle(true).now_or_never()),
            ClientSession::H2(request) => request.reset(),
        }
    }

    /// Has the connection end after this answer. Streams of HTTP/2 end one by one.
    pub(super) fn close_after(&mut self) {
        if let ClientSession::H1(request) = self {
            request.session.set_server_keepalive(None);
        }
    }

    /// The end. Gives back a connection that may be used again, and what has been read of its next request.
    pub(crate) async fn finish(self) -> Option<(Stream, BytesMut)> {
        match self {
            ClientSession::H1(H1Request { mut session, .. }) => {
                session.finish_body().await.ok()?;
                let (stream, pipelined) = session.reuse().await.ok()??.into_parts();
                Some((stream, pipelined.unwrap_or_default()))
            }
            ClientSession::H2(request) => {
                request.finish();
                None
            }
        }
    }
}
