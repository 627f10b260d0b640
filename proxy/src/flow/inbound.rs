//! The response head as the client gets it.

use http::Version;
use http::header;
use pingora::http::ResponseHeader;
use pingora::{Error, ErrorType, Result};

use super::answer::REASON_FIELD;
use super::head::nominated;
use super::outbound::HOP_BY_HOP;
use super::trailers::announced;

/// Whether a body can follow at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyRule {
    /// To HEAD, or with 204 or 304: never one (RFC 9110 section 6.4.1).
    Never,
    /// As the framing says.
    ByFraming,
}

/// Refuses an answer whose end its client, or a cache between, could look for in another place than we do (response splitting), and one
/// whose content is coded for the transfer in a way that nobody here undoes.
pub(crate) fn check_framing(head: &mut ResponseHeader) -> Result<()> {
    let refused = |why: &'static str| Error::e_explain(ErrorType::InvalidHTTPHeader, why).map_err(Error::into_up);
    let mut codings = head.headers.get_all(header::TRANSFER_ENCODING).iter();
    if codings
        .next()
        .is_some_and(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"chunked"))
        || codings.next().is_some()
    {
        return refused("a transfer coding other than chunked");
    }
    let mut lengths = head.headers.get_all(header::CONTENT_LENGTH).iter();
    if !lengths.all(|length| !length.is_empty() && length.as_bytes().iter().all(u8::is_ascii_digit)) {
        return refused("a length that is not one number");
    }
    let mut lengths = head.headers.get_all(header::CONTENT_LENGTH).iter();
    if let (Some(first), Some(_)) = (lengths.next().cloned(), lengths.next()) {
        // pingora has made sure that all are the same number.
        head.insert_header(header::CONTENT_LENGTH, first)?;
    }
    Ok(())
}

/// Makes an origin's head fit the client's connection.
pub(crate) fn inbound(head: &mut ResponseHeader, client: Version, body: BodyRule) -> Result<()> {
    let trailers = announced(&head.headers).filter(|_| body == BodyRule::ByFraming);
    strip(head)?;
    if let Some(names) = trailers
        && client != Version::HTTP_10
    {
        head.insert_header(header::TRAILER, names)?;
    }
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

/// Makes an interim head (1xx) fit the client's connection: it has no content (RFC 9110 section 15.2), whatever it says.
pub(crate) fn interim(head: &mut ResponseHeader) -> Result<()> {
    strip(head)?;
    head.remove_header(&header::CONTENT_LENGTH);
    head.remove_header(&header::TRANSFER_ENCODING);
    head.set_version(Version::HTTP_11);
    Ok(())
}

fn strip(head: &mut ResponseHeader) -> Result<()> {
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
    // Only Tollgate itself says why it refused.
    head.remove_header(REASON_FIELD);
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn head(status: u16, fields: &[(&'static str, &'static str)]) -> ResponseHeader {
        let mut head = ResponseHeader::build(status, None).unwrap();
        for (name, value) in fields {
            head.append_header(*name, *value).unwrap();
        }
        head
    }

    #[test]
    fn answers_fit_the_clients_connection() {
        let close_delimited = || head(200, &[("X-A", "1")]);
        let mut to_11 = close_delimited();
        inbound(&mut to_11, Version::HTTP_11, BodyRule::ByFraming).unwrap();
        assert_eq!(to_11.headers.get("transfer-encoding").unwrap(), "chunked");
        let mut to_10 = head(200, &[("Transfer-Encoding", "chunked")]);
        inbound(&mut to_10, Version::HTTP_10, BodyRule::ByFraming).unwrap();
        assert!(!to_10.headers.contains_key("transfer-encoding"), "HTTP/1.0 knows no chunks");
        let mut bodyless = close_delimited();
        inbound(&mut bodyless, Version::HTTP_11, BodyRule::Never).unwrap();
        assert!(!bodyless.headers.contains_key("transfer-encoding"));
    }

    #[test]
    fn an_interim_answer_has_no_content_and_no_word_of_ours() {
        let mut hints = head(
            103,
            &[
                ("Link", "</a.css>; rel=preload"),
                ("Content-Length", "6"),
                ("Transfer-Encoding", "chunked"),
                ("Connection", "close, X-Hop"),
                ("X-Hop", "1"),
                ("Alt-Svc", "h3=\":443\""),
                ("X-Tollgate-Reason", "host_not_allowed"),
            ],
        );
        interim(&mut hints).unwrap();
        let names: Vec<&str> = hints.headers.keys().map(http::HeaderName::as_str).collect();
        assert_eq!(names, ["link"]);
    }

    #[test]
    fn an_answer_has_one_framing_or_none() {
        for (fields, expected) in [
            (&[][..], Some(None)),
            (&[("Content-Length", "2")], Some(Some("2"))),
            (&[("Content-Length", "2"), ("Content-Length", "2")], Some(Some("2"))),
            (&[("Transfer-Encoding", "Chunked")], Some(None)),
            (&[("Content-Length", "2, 2")], None),
            (&[("Content-Length", "+2")], None),
            (&[("Content-Length", "")], None),
            (&[("Transfer-Encoding", "gzip, chunked")], None),
            (&[("Transfer-Encoding", "identity")], None),
            (&[("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "chunked")], None),
        ] {
            let mut answer = head(200, fields);
            let length = check_framing(&mut answer).ok().map(|()| {
                let lengths: Vec<_> = answer.headers.get_all("content-length").iter().collect();
                assert!(lengths.len() < 2, "{fields:?}");
                lengths.first().map(|length| length.to_str().unwrap())
            });
            assert_eq!(length, expected, "{fields:?}");
        }
    }

    #[test]
    fn trailers_are_announced_where_they_can_come() {
        let answer = || head(200, &[("Transfer-Encoding", "chunked"), ("Trailer", "X-Sum, Set-Cookie")]);
        for (client, body, expected) in [
            (Version::HTTP_11, BodyRule::ByFraming, Some("x-sum")),
            (Version::HTTP_2, BodyRule::ByFraming, Some("x-sum")),
            (Version::HTTP_10, BodyRule::ByFraming, None),
            (Version::HTTP_11, BodyRule::Never, None),
        ] {
            let mut answer = answer();
            inbound(&mut answer, client, body).unwrap();
            let announced = answer.headers.get("trailer").map(|value| value.to_str().unwrap());
            assert_eq!(announced, expected, "{client:?} {body:?}");
        }
    }

    #[test]
    fn hop_by_hop_ways_around_and_our_own_words_are_stripped() {
        let mut answer = head(
            200,
            &[
                ("Connection", "close, X-Hop"),
                ("X-Hop", "1"),
                ("Keep-Alive", "timeout=5"),
                ("Alt-Svc", "h3=\":443\""),
                ("X-Tollgate-Reason", "host_not_allowed"),
                ("Content-Length", "0"),
                ("X-Kept", "1"),
            ],
        );
        inbound(&mut answer, Version::HTTP_11, BodyRule::ByFraming).unwrap();
        let names: Vec<&str> = answer.headers.keys().map(http::HeaderName::as_str).collect();
        assert_eq!(names, ["content-length", "x-kept"]);
    }
}
