//! The readers of this room as functions of bytes alone, for the fuzz targets: the same code that a connection drives.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, header};
use pingora::http::RequestHeader;
use tollgate_policy::{Authority, Reason};

use super::body::{self, Need, StreamDecoder};
use super::challenge::splitter::{self, Part, Splitter};
use super::failure::Failure;
use super::head::{Head, Scope};
use crate::egress::{Destination, Security};
use crate::settings::Limits;

/// What has to be judged of a request's body, its content coding undone; `None` for one that begins like no JSON. An error is why it is
/// refused. `most` is in bytes, as sent and decoded.
pub fn body(headers: &HeaderMap, bytes: &Bytes, most: usize) -> Result<Option<Bytes>, Reason> {
    let mut request = RequestHeader::build("POST", b"/", None).map_err(|_| Reason::InternalError)?;
    for (name, value) in headers {
        request
            .append_header(name.clone(), value.clone())
            .map_err(|_| Reason::InternalError)?;
    }
    body::whole(&request, &head()?, bytes, Need::IfJson(most)).map_err(reason)
}

/// Any endpoint's: what is found in a body does not depend on it, only what it is refused as.
fn head() -> Result<Arc<Head>, Reason> {
    let authority = Authority::parse("origin.test:443", None).map_err(|_| Reason::InternalError)?;
    let destination = Arc::new(Destination::new(authority, Security::Tls));
    let mut request = RequestHeader::build("POST", b"/", None).map_err(|_| Reason::InternalError)?;
    let host = request.insert_header(header::HOST, destination.host_field().clone());
    host.map_err(|_| Reason::InternalError)?;
    let head = Head::read(Scope::Tunnel(&destination), &request, None, &Limits::default());
    head.map(Arc::new).map_err(|denial| denial.reason)
}

/// What the pieces of an answer that streams decode to, one after the other.
pub fn stream<'p>(headers: &HeaderMap, pieces: impl IntoIterator<Item = &'p [u8]>, most: usize) -> Result<Vec<u8>, Reason> {
    let mut decoder = StreamDecoder::of(headers).map_err(|denial| denial.reason)?;
    let mut plain = Vec::new();
    for piece in pieces {
        plain.extend_from_slice(&decoder.take(Bytes::copy_from_slice(piece), most).map_err(reason)?);
    }
    Ok(plain)
}

fn reason(failure: Failure) -> Reason {
    match failure {
        Failure::Denied(denial) => denial.reason,
        Failure::Broken(_) => Reason::InternalError,
    }
}

/// A part of an event stream, as it is passed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventPart {
    /// All of it.
    pub bytes: Bytes,
    /// What is judged of it; `None` for what clients do not act on.
    pub data: Option<Vec<u8>>,
}

/// The parts of an event stream that comes in these pieces and then ends.
pub fn events<'p>(pieces: impl IntoIterator<Item = &'p [u8]>) -> Vec<EventPart> {
    let mut splitter = Splitter::default();
    let mut parts = Vec::new();
    for piece in pieces {
        splitter.feed(piece);
        parts.extend(std::iter::from_fn(|| splitter.next_part()));
    }
    parts.extend(std::iter::from_fn(|| splitter.rest()));
    parts
        .into_iter()
        .map(|part| match part {
            Part::Passing(bytes) => EventPart { bytes, data: None },
            Part::Event(bytes) => EventPart {
                data: Some(splitter::data(&bytes).into_owned()),
                bytes,
            },
        })
        .collect()
}

/// The same event with other data.
pub fn with_data(event: &[u8], data: &str) -> Bytes {
    splitter::with_data(event, data)
}
