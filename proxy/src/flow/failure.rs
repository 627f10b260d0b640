//! Why an exchange did not run to its end, and what of that the client is told.

use pingora::{Error, ErrorSource, ErrorType};
use tollgate_policy::Reason;

use crate::egress::upstream_proxy::ChainError;
use crate::gate::Denial;

/// What stops an exchange.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A rule said no. The origin has nothing of the request, or, where its body streams, not all of it.
    Denied(Box<Denial>),
    /// The client or the origin broke off, or broke the protocol.
    Broken(Box<Error>),
}

impl From<Denial> for Failure {
    fn from(denial: Denial) -> Self {
        Failure::Denied(Box::new(denial))
    }
}

impl From<Box<Error>> for Failure {
    fn from(error: Box<Error>) -> Self {
        Failure::Broken(error)
    }
}

/// What a broken exchange is to the client.
#[derive(Debug)]
pub(crate) enum Broken {
    /// There is someone to tell, and this to say.
    Answer(Denial),
    /// The client has gone.
    ClientGone,
    /// The client took too long to send its request.
    ClientSlow,
}

/// Judges a broken exchange. The texts are ours: pingora's errors quote bytes of the request.
pub(crate) fn judge(error: &Error) -> Broken {
    use ErrorType::{
        ConnectProxyFailure, ConnectTimedout, ConnectionClosed, H2Error, HTTPStatus, InvalidCert, InvalidHTTPHeader, ReadTimedout,
        TLSHandshakeFailure, TLSHandshakeTimedout, WriteError, WriteTimedout,
    };
    let answer = |reason, detail: &str| Broken::Answer(Denial::new(reason, detail));
    match (error.esource(), error.etype()) {
        (ErrorSource::Upstream, ConnectTimedout | TLSHandshakeTimedout) => {
            answer(Reason::UpstreamTimeout, "the origin could not be connected to in time")
        }
        (ErrorSource::Upstream, ConnectProxyFailure) => match ChainError::of(error) {
            Some(error) => answer(Reason::UpstreamUnreachable, &error.to_string()),
            None => answer(Reason::UpstreamUnreachable, "the upstream proxy gave no connection"),
        },
        (ErrorSource::Upstream, ReadTimedout | WriteTimedout) => answer(Reason::UpstreamTimeout, "the origin did not answer in time"),
        (ErrorSource::Upstream, TLSHandshakeFailure | InvalidCert) => answer(
            Reason::UpstreamTlsInvalid,
            "the TLS handshake with the origin failed, or its certificate does not verify",
        ),
        (ErrorSource::Upstream, ConnectionClosed) => {
            answer(Reason::UpstreamUnreachable, "the origin closed the connection without an answer")
        }
        (ErrorSource::Upstream, InvalidHTTPHeader) => answer(Reason::UpstreamUnreachable, "the origin's answer is not valid HTTP"),
        (ErrorSource::Upstream, _) => answer(Reason::UpstreamUnreachable, "the origin could not be reached"),
        (ErrorSource::Downstream, ReadTimedout) => Broken::ClientSlow,
        (ErrorSource::Downstream, ConnectionClosed | WriteError | WriteTimedout | H2Error) => Broken::ClientGone,
        (ErrorSource::Downstream, _) | (_, InvalidHTTPHeader | HTTPStatus(_)) => {
            answer(Reason::MalformedRequest, "the request is not well-formed HTTP")
        }
        _ => answer(Reason::InternalError, "an internal fault"),
    }
}
