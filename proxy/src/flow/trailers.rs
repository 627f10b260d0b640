//! Trailer fields (RFC 9110 section 6.5): judged on the way out, sifted on the way back.
//!
//! Some frameworks merge trailers into the header section, where every rule has been asked already. So none may have a name that says
//! where a message goes, where it ends, how it is read, or in whose name it comes (section 6.5.1), or that pays. A request with such a
//! trailer is refused; an answer goes on without it.

use std::sync::Arc;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use tollgate_policy::Reason;

use super::failure::Failure;
use super::outbound::{HOP_BY_HOP, rewrites_target};
use super::session::ClientSession;
use crate::gate::{Denial, Gate};
use crate::settings::Limits;

/// Whoever reads one of these only behind the body has been lied to.
const NOT_BEHIND_A_BODY: [HeaderName; 33] = [
    // Where it goes and where it ends.
    header::HOST,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    // How it is read.
    header::CONTENT_TYPE,
    header::CONTENT_ENCODING,
    header::CONTENT_RANGE,
    header::CONTENT_LOCATION,
    header::RANGE,
    header::CACHE_CONTROL,
    header::PRAGMA,
    header::EXPECT,
    header::MAX_FORWARDS,
    header::IF_MATCH,
    header::IF_NONE_MATCH,
    header::IF_MODIFIED_SINCE,
    header::IF_UNMODIFIED_SINCE,
    header::IF_RANGE,
    header::AGE,
    header::DATE,
    header::EXPIRES,
    header::LOCATION,
    header::RETRY_AFTER,
    header::VARY,
    header::WARNING,
    header::ALT_SVC,
    // In whose name.
    header::AUTHORIZATION,
    header::COOKIE,
    header::SET_COOKIE,
    header::WWW_AUTHENTICATE,
    HeaderName::from_static("http2-settings"),
    HeaderName::from_static("x-http-method-override"),
    HeaderName::from_static("x-http-method"),
    HeaderName::from_static("x-method-override"),
];

/// Whether a field may stand behind a body.
pub(super) fn may_trail(name: &HeaderName) -> bool {
    let refused = NOT_BEHIND_A_BODY.contains(name) || HOP_BY_HOP.contains(name) || rewrites_target(name);
    let text = name.as_str();
    !refused && !text.ends_with("-authorization") && !["payment", "x402", "x-tollgate-"].iter().any(|word| text.contains(word))
}

/// Judges the trailers of one request.
#[derive(Clone)]
pub(crate) struct TrailerJudge {
    gate: Arc<Gate>,
    limits: Limits,
}

impl TrailerJudge {
    pub(crate) fn new(gate: &Arc<Gate>, limits: &Limits) -> Self {
        TrailerJudge {
            gate: gate.clone(),
            limits: *limits,
        }
    }

    /// The trailers of a request whose body has been read to its end, before any of them leaves.
    pub(crate) fn read(&self, down: &mut ClientSession) -> Result<Option<HeaderMap>, Failure> {
        let trailers = down.take_trailers()?.filter(|trailers| !trailers.is_empty());
        if let Some(trailers) = &trailers {
            self.judge(trailers)?;
        }
        Ok(trailers)
    }

    fn judge(&self, trailers: &HeaderMap) -> Result<(), Denial> {
        if size(trailers) > self.limits.header_bytes || trailers.len() > self.limits.header_count {
            let most = format!("{} bytes and {} fields", self.limits.header_bytes, self.limits.header_count);
            let detail = format!("the trailer section is over the limit of {most}");
            return Err(Denial::new(Reason::HeadersTooLarge, detail));
        }
        self.gate.judge_stray_fields(trailers, "in a trailer section")?;
        match trailers.keys().find(|name| !may_trail(name)) {
            Some(name) => {
                let detail = format!("{name} in a trailer section, where no rule has seen it (RFC 9110 section 6.5.1)");
                Err(Denial::new(Reason::MalformedRequest, detail))
            }
            None => Ok(()),
        }
    }
}

/// The names that a message announces in `Trailer` (RFC 9110 section 6.6.2), those that may stand there.
pub(super) fn announced(headers: &HeaderMap) -> Option<HeaderValue> {
    let values = headers.get_all(header::TRAILER).iter();
    let names = values.flat_map(|value| value.as_bytes().split(|b| *b == b','));
    let names = names.filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok());
    let names: Vec<String> = names.filter(may_trail).map(|name| name.to_string()).collect();
    if names.is_empty() {
        return None;
    }
    HeaderValue::try_from(names.join(", ")).ok()
}

/// What of an answer's trailers the client gets; `None`: nothing.
pub(super) fn sifted(mut trailers: HeaderMap) -> Option<HeaderMap> {
    let refused: Vec<HeaderName> = trailers.keys().filter(|name| !may_trail(name)).cloned().collect();
    for name in refused {
        trailers.remove(name);
    }
    (!trailers.is_empty()).then_some(trailers)
}

fn size(fields: &HeaderMap) -> usize {
    fields.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_decides_about_a_message_cannot_stand_behind_its_body() {
        let cases = [
            ("grpc-status", true),
            ("grpc-message", true),
            ("grpc-status-details-bin", true),
            ("server-timing", true),
            ("x-amz-checksum-crc32", true),
            ("etag", true),
            ("content-digest", true),
            ("host", false),
            ("content-length", false),
            ("transfer-encoding", false),
            ("trailer", false),
            ("connection", false),
            ("te", false),
            ("content-encoding", false),
            ("if-match", false),
            ("set-cookie", false),
            ("authorization", false),
            ("proxy-authorization", false),
            ("payment-authorization", false),
            ("x-forwarded-host", false),
            ("x-http-method-override", false),
            ("payment-signature", false),
            ("payment-required", false),
            ("x-payment-response", false),
            ("x-402-anything", true),
            ("x-tollgate-reason", false),
        ];
        for (name, expected) in cases {
            assert_eq!(may_trail(&HeaderName::from_static(name)), expected, "{name}");
        }
        let fields = |names: &[&'static str]| {
            let fields = names.iter().map(|name| (HeaderName::from_static(name), "1".parse().unwrap()));
            fields.collect::<HeaderMap>()
        };
        assert_eq!(sifted(fields(&["grpc-status", "set-cookie"])), Some(fields(&["grpc-status"])));
        assert_eq!(sifted(fields(&["payment-required"])), None);
    }
}
