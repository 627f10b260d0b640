//! One stream of an HTTP/2 client (RFC 9113 section 8.1).

use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use h2::server::SendResponse;
use h2::{RecvStream, SendStream};
use http::{HeaderMap, Request, Response, header};
use pingora::http::{RequestHeader, ResponseHeader};
use pingora::protocols::http::date::get_cached_date;
use pingora::protocols::http::v2::write_body;
use pingora::{Error, ErrorType, OrErr, Result};

/// See the module.
pub(crate) struct H2Request {
    head: RequestHeader,
    body: RecvStream,
    respond: SendResponse<Bytes>,
    /// Where the answer's body goes, once its head has been written.
    answer: Option<SendStream<Bytes>>,
    ended: bool,
    read: usize,
    /// How long the client may leave the answer unread.
    patience: Duration,
}

impl H2Request {
    /// A stream that was accepted.
    pub(crate) fn new(request: Request<RecvStream>, respond: SendResponse<Bytes>, patience: Duration) -> Self {
        let (head, body) = request.into_parts();
        H2Request {
            head: head.into(),
            body,
            respond,
            answer: None,
            ended: false,
            read: 0,
            patience,
        }
    }

    pub(super) fn head(&self) -> &RequestHeader {
        &self.head
    }

    pub(super) fn is_body_empty(&self) -> bool {
        let length = self.head.headers.get(header::CONTENT_LENGTH);
        self.read == 0 && (self.body.is_end_stream() || length.is_some_and(|length| length == "0"))
    }

    pub(super) fn is_body_done(&self) -> bool {
        self.is_body_empty() || self.body.is_end_stream()
    }

    pub(super) fn body_bytes_read(&self) -> usize {
        self.read
    }

    pub(super) async fn read_body(&mut self) -> Result<Option<Bytes>> {
        let piece = self.body.data().await.transpose();
        let piece = piece.or_err(ErrorType::ReadError, "while reading the request's body")?;
        if let Some(piece) = &piece {
            self.read += piece.len();
            let _ = self.body.flow_control().release_capacity(piece.len());
        }
        Ok(piece)
    }

    /// They are there as soon as the body has ended: in the frame that ends it.
    pub(super) fn take_trailers(&mut self) -> Result<Option<HeaderMap>> {
        let trailers = tokio::task::unconstrained(self.body.trailers()).now_or_never();
        trailers
            .unwrap_or(Ok(None))
            .or_err(ErrorType::ReadError, "while reading the request's trailers")
            .map_err(Error::into_down)
    }

    pub(super) async fn gone(&mut self) -> Box<Error> {
        let reset = std::future::poll_fn(|context| match &mut self.answer {
            Some(answer) => answer.poll_reset(context),
            None => self.respond.poll_reset(context),
        });
        let error: Box<Error> = match reset.await {
            Ok(reason) => Error::explain(ErrorType::H2Error, format!("the client reset the stream: {reason}")),
            Err(error) => Error::because(ErrorType::H2Error, "the client's connection broke", error),
        };
        error.into_down()
    }

    pub(super) fn write_interim(&mut self, mut head: ResponseHeader) -> Result<()> {
        if self.answer.is_some() || self.ended {
            return Ok(());
        }
        remove_connection_fields(&mut head);
        let sent = self.respond.send_informational(Response::from_parts(head.into(), ()));
        sent.or_err(ErrorType::WriteError, "while writing an interim answer")
            .map_err(Error::into_down)
    }

    pub(super) fn write_head(&mut self, mut head: Box<ResponseHeader>, whole: bool) -> Result<()> {
        remove_connection_fields(&mut head);
        if !head.headers.contains_key(header::DATE) {
            // RFC 9110 section 6.6.1.
            head.insert_header(header::DATE, get_cached_date())?;
        }
        let sent = self.respond.send_response(Response::from_parts((*head).into(), ()), whole);
        self.answer = Some(
            sent.or_err(ErrorType::WriteError, "while writing an answer's head")
                .map_err(Error::into_down)?,
        );
        self.ended = whole;
        Ok(())
    }

    pub(super) async fn write_body(&mut self, piece: Bytes, last: bool) -> Result<()> {
        let Some(answer) = self.answer.as_mut().filter(|_| !self.ended) else {
            return Ok(());
        };
        match tokio::time::timeout(self.patience, write_body(answer, piece, last, None)).await {
            Ok(written) => written.map_err(Error::into_down)?,
            Err(_) => return Err(Error::explain(ErrorType::WriteTimedout, "the client does not read").into_down()),
        }
        self.ended = last;
        Ok(())
    }

    pub(super) fn write_trailers(&mut self, trailers: HeaderMap) -> Result<()> {
        let Some(answer) = self.answer.as_mut().filter(|_| !self.ended) else {
            return Ok(());
        };
        let sent = answer.send_trailers(trailers);
        self.ended = true;
        sent.or_err(ErrorType::WriteError, "while writing an answer's trailers")
            .map_err(Error::into_down)
    }

    pub(super) fn is_unanswered(&self) -> bool {
        self.answer.is_none()
    }

    pub(super) fn reset(&mut self) {
        if !self.ended {
            self.respond.send_reset(h2::Reason::INTERNAL_ERROR);
        }
    }

    pub(super) fn finish(mut self) {
        if let Some(answer) = self.answer.as_mut().filter(|_| !self.ended) {
            let _ = answer.send_data(Bytes::new(), true);
        }
    }
}

/// RFC 9113 section 8.2.2.
fn remove_connection_fields(head: &mut ResponseHeader) {
    for name in ["transfer-encoding", "connection", "upgrade", "keep-alive", "proxy-connection"] {
        head.remove_header(name);
    }
}
