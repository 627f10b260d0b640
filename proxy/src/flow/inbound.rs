//! The response head as the client gets it.

use http::Version;
use http::header;
use pingora::http::ResponseHeader;
use pingora::{Error, ErrorType, Result};

use super::head::nominated;
use super::outbound::HOP_BY_HOP;

/// Whether a body can follow at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyRule {
    /// To HEAD, or with 204 or 304: never one (RFC 9110 section 6.4.1).
    Never,
    /// As the framing says.
    ByFraming,
}

/// Makes an origin's head fit the client's connection.
pub(crate) fn inbound(head: &mut ResponseHeader, client: Version, body: BodyRule) -> Result<()> {
    if head.headers.contains_key(header::CONNECTION) {
        let names = nominated(&head.headers).map_err(|denial| Error::explain(ErrorType::InvalidHTTPHeader, denial.detail))?;
        for name in &names {
            head.remove_header(name);
        }
    }
    for name in &HOP_BY_HOP {
        head.remove_header(name);
    }
    // An alternative service would be HTTP/3 or another port: a way around the proxy.
    head.remove_header("alt-svc");
    if client == Version::HTTP_2 {
        return Ok(());
    }
    head.set_version(Version::HTTP_11);
    if client == Version::HTTP_11 && body == BodyRule::ByFraming && !head.headers.contains_key(header::CONTENT_LENGTH) {
        head.insert_header(header::TRANSFER_ENCODING, "chunked")?;
    } else {
        head.remove_header(&header::TRANSFER_ENCODING);
    }
    Ok(())
}
