//! What came back for a request, whichever protocol it came by, and what a denial has to look like.

use bytes::Bytes;
use serde_json::Value;

/// How the end of an HTTP/1 body was marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// No body belongs to this answer.
    Bodyless,
    /// `Content-Length`.
    Length,
    /// `Transfer-Encoding: chunked`.
    Chunked,
    /// The end of the connection.
    Close,
    /// HTTP/2's own.
    H2,
}

/// Whether the answer came whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// As its framing promised.
    Complete,
    /// The connection or stream broke off; says how.
    Cut(String),
}

/// An interim (1xx) answer.
#[derive(Debug, Clone)]
pub struct Interim {
    /// 100 to 199.
    pub status: u16,
    /// In order and case of the wire.
    pub headers: Vec<(String, String)>,
}

/// One answer with all that preceded it.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The 1xx that came first.
    pub interim: Vec<Interim>,
    /// 0 for HTTP/1.0, 1 for HTTP/1.1, 2 for HTTP/2.
    pub version: u8,
    /// The final status.
    pub status: u16,
    /// In order and case of the wire.
    pub headers: Vec<(String, String)>,
    /// The content, without framing.
    pub body: Bytes,
    /// Trailer fields.
    pub trailers: Vec<(String, String)>,
    /// How the end was marked.
    pub framing: Framing,
    /// Whether the end came.
    pub ending: Ending,
}

impl Answer {
    /// The first field of that name.
    pub fn header(&self, name: &str) -> Option<&str> {
        field(&self.headers, name)
    }

    /// The content as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The content as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("not JSON ({error}): {self:?}"))
    }

    /// The reason code of a denial.
    pub fn reason(&self) -> Option<&str> {
        self.header("x-tollgate-reason")
    }

    /// Fails unless this is an allowed answer of the origin.
    #[track_caller]
    pub fn assert_allowed(&self) -> &Self {
        assert_eq!((self.status, self.reason()), (200, None), "{}", self.text());
        assert_eq!(self.ending, Ending::Complete);
        self
    }

    /// Fails unless this is a denial of the one published shape with this status and reason. Gives back the body.
    #[track_caller]
    pub fn assert_denied(&self, status: u16, reason: &str) -> Value {
        assert_eq!((self.status, self.reason()), (status, Some(reason)), "{}", self.text());
        assert_eq!(self.header("content-type"), Some("application/json"));
        let body = self.json();
        for member in DENIAL_MEMBERS {
            assert!(body.get(member).is_some(), "{member} is missing in {body}");
        }
        assert_eq!(body["reason_code"], reason);
        assert!(body["request_id"].as_str().is_some_and(|id| !id.is_empty()), "{body}");
        assert!(body["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{body}");
        body
    }
}

impl Answer {
    /// Fails unless this is a denial with this reason and any of these statuses, where the status is a matter of taste.
    #[track_caller]
    pub fn assert_refused(&self, statuses: &[u16], reason: &str) -> Value {
        assert!(
            statuses.contains(&self.status),
            "{} {:?} {}",
            self.status,
            self.reason(),
            self.text()
        );
        self.assert_denied(self.status, reason)
    }
}

/// The rows of a table of refusals whose answers have another reason than the table says: one run shows all of them.
#[derive(Debug, Default)]
#[must_use = "nothing is asserted before `assert_all_refused`"]
pub struct Rows(Vec<String>);

impl Rows {
    /// Holds the answer of one row against its reason.
    pub fn check(&mut self, row: impl std::fmt::Debug, answer: &Answer, reason: &str) {
        if answer.status < 400 || answer.reason() != Some(reason) {
            self.0
                .push(format!("{row:?}: expected {reason}, got {} {:?}", answer.status, answer.reason()));
        }
    }

    /// Fails if there was another reason in any row.
    #[track_caller]
    pub fn assert_all_refused(self) {
        assert!(self.0.is_empty(), "{}", self.0.join("\n"));
    }
}

/// The members that every denial has, in any adapter.
pub const DENIAL_MEMBERS: [&str; 13] = [
    "error",
    "reason_code",
    "detail",
    "layer",
    "policy",
    "rule",
    "method",
    "path",
    "host",
    "port",
    "binary",
    "request_id",
    "next_steps",
];

/// The first field named `name` in `headers`.
pub fn field<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers
        .iter()
        .find(|(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| value.as_str())
}
