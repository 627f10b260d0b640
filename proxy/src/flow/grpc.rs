//! What a gRPC client is told of a denial: an answer of a head only, gRPC's `Trailers-Only`.
//!
//! Without `grpc-status` its library makes a status up from the HTTP one and leaves the reason out; with it, and with a body, libraries take
//! the body for a broken message (gRPC over HTTP/2, "Responses"; gRPC's mapping of HTTP statuses).

use http::{StatusCode, Version, header};
use pingora::Result;
use pingora::http::{RequestHeader, ResponseHeader};

use crate::gate::Denial;

/// Whether it is a call of gRPC.
pub(super) fn is_grpc(request: &RequestHeader) -> bool {
    let declared = request.headers.get(header::CONTENT_TYPE);
    request.version == Version::HTTP_2 && declared.is_some_and(|v| v.as_bytes().starts_with(b"application/grpc"))
}

/// Says the status and the reason.
pub(super) fn say(head: &mut ResponseHeader, denial: &Denial) -> Result<()> {
    head.insert_header(header::CONTENT_TYPE, "application/grpc")?;
    head.insert_header("grpc-status", code(denial.status()))?;
    head.insert_header("grpc-message", percent_encoded(&format!("{}: {}", denial.reason, denial.detail)))
}

/// The numbers of `google.rpc.Code`.
fn code(status: StatusCode) -> &'static str {
    match status {
        StatusCode::FORBIDDEN | StatusCode::MISDIRECTED_REQUEST => "7",
        StatusCode::PAYLOAD_TOO_LARGE | StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => "8",
        StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => "14",
        StatusCode::UNAUTHORIZED => "16",
        _ => "13",
    }
}

/// As gRPC wants it: printable ASCII, everything else by its bytes.
fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if matches!(byte, b' '..=b'$' | b'&'..=b'~') {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            encoded.push_str(&hex::encode_upper([byte]));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]
    use tollgate_policy::Reason;

    use super::*;

    #[test]
    fn a_denial_is_a_status_that_grpc_libraries_report() {
        for (reason, detail, status, message) in [
            (Reason::PathNotAllowed, "not here", "7", "path_not_allowed: not here"),
            (
                Reason::UpstreamUnreachable,
                "100% ü\n",
                "14",
                "upstream_unreachable: 100%25 %C3%BC%0A",
            ),
            (Reason::HeadersTooLarge, "", "8", "headers_too_large: "),
            (Reason::MalformedRequest, "", "13", "malformed_request: "),
        ] {
            let mut head = ResponseHeader::build(403, None).unwrap();
            say(&mut head, &Denial::new(reason, detail)).unwrap();
            assert_eq!(
                (&head.headers["grpc-status"], &head.headers["grpc-message"]),
                (&status.parse().unwrap(), &message.parse().unwrap())
            );
        }
    }
}
