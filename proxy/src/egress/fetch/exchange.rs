//! One request and its answer on a fresh HTTP/1.1 connection, over pingora's client session.

use bytes::{Bytes, BytesMut};
use http::header::{self, HeaderValue};
use http::{StatusCode, Version};
use pingora::ErrorType;
use pingora::http::RequestHeader;
use pingora::protocols::Stream;
use pingora::protocols::http::v1::client::HttpSession;

use super::{FetchError, Request, Response};

/// Interim answers that are read over; a service that sends more is not answering.
const MAX_INTERIM: usize = 8;

/// The head as it will be written.
pub(super) fn head(request: &Request) -> Result<Box<RequestHeader>, FetchError> {
    let bad = |_| FetchError::BadRequest;
    let fields = request.headers.len() + 3;
    let mut head = RequestHeader::build(request.method.clone(), request.target.as_str().as_bytes(), Some(fields)).map_err(bad)?;
    head.set_version(Version::HTTP_11);
    for (name, value) in &request.headers {
        head.append_header(name.clone(), value.clone()).map_err(bad)?;
    }
    head.insert_header(header::HOST, request.destination.host_field().clone())
        .map_err(bad)?;
    head.insert_header(header::CONTENT_LENGTH, request.body.len()).map_err(bad)?;
    head.insert_header(header::CONNECTION, HeaderValue::from_static("close"))
        .map_err(bad)?;
    Ok(Box::new(head))
}

/// Writes the request, reads the answer to its end.
pub(super) async fn run(stream: Stream, head: Box<RequestHeader>, body: &Bytes, max_response: usize) -> Result<Response, FetchError> {
    let mut session = HttpSession::new(stream);
    let failed = |error: Box<pingora::Error>| cause(&error);
    session.write_request_header(head).await.map_err(failed)?;
    if !body.is_empty() {
        session.write_body(body).await.map_err(failed)?;
    }
    session.finish_body().await.map_err(failed)?;
    let (status, headers) = final_head(&mut session).await?;
    let body = whole_body(&mut session, max_response).await?;
    Ok(Response { status, headers, body })
}

async fn final_head(session: &mut HttpSession) -> Result<(StatusCode, http::HeaderMap), FetchError> {
    for _ in 0..=MAX_INTERIM {
        let head = session.read_resp_header_parts().await.map_err(|error| cause(&error))?;
        if head.status == StatusCode::SWITCHING_PROTOCOLS {
            return Err(FetchError::Malformed);
        }
        if !head.status.is_informational() {
            return Ok((head.status, head.headers.clone()));
        }
    }
    Err(FetchError::Malformed)
}

async fn whole_body(session: &mut HttpSession, max_response: usize) -> Result<Bytes, FetchError> {
    let mut body = BytesMut::new();
    while let Some(piece) = session.read_body_ref().await.map_err(|error| cause(&error))? {
        if piece.len() > max_response - body.len() {
            return Err(FetchError::TooLarge);
        }
        body.extend_from_slice(piece);
    }
    Ok(body.freeze())
}

/// pingora's error texts quote what was received, so only the kind is taken.
fn cause(error: &pingora::Error) -> FetchError {
    match error.etype() {
        ErrorType::ConnectionClosed | ErrorType::ReadError | ErrorType::WriteError => FetchError::Closed,
        ErrorType::ReadTimedout | ErrorType::WriteTimedout => FetchError::Timeout,
        _ => FetchError::Malformed,
    }
}
