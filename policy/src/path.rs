//! The one canonical form of a request path.
//!
//! In: the path of a request target as the client sent it. Out: a [`CanonicalPath`], which is both what the policy judges and what
//! the origin receives, or a [`PathError`]. A policy that judges one spelling while the origin routes by another is no policy:
//! `/public/%2e%2e/secret`, `/public/..;/secret` and `//secret` must all be `/secret` before anybody looks (RFC 3986 6.2.2).

mod canonical;

use std::fmt;

use thiserror::Error;

pub(crate) use canonical::{is_loose, means_the_same_unescaped};

/// The longest path, in bytes.
pub const MAX_PATH: usize = 4096;

/// What happens to `%2F` inside a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum EncodedSlash {
    /// The request is refused: origins disagree on whether it separates segments.
    #[default]
    Reject,
    /// It stays as it is (`allow_encoded_slash`), for origins that put paths into one segment.
    Keep,
}

/// Why a path has no canonical form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PathError {
    /// Longer than [`MAX_PATH`].
    #[error("the path is longer than 4096 bytes")]
    TooLong,
    /// Does not begin with `/`, or is `*`.
    #[error("the request target is not a path")]
    NotAPath,
    /// A control character, raw or encoded.
    #[error("the path has a control character")]
    Control,
    /// A byte outside ASCII, or a space: they must be percent-encoded.
    #[error("the path has a character that must be percent-encoded")]
    NotEncoded,
    /// A `#`: fragments are never sent.
    #[error("the request target has a fragment")]
    Fragment,
    /// A `%` without two hex digits.
    #[error("the path has a broken percent-encoding")]
    BrokenEncoding,
    /// `%2F` where it is not allowed.
    #[error("the path has an encoded slash, which the endpoint does not allow")]
    EncodedSlash,
    /// `..` beyond the root.
    #[error("the path climbs above the root")]
    AboveRoot,
    /// A `.` or `..` between encoded slashes, which an origin that decodes them would resolve.
    #[error("the path hides a dot segment behind an encoded slash")]
    HiddenDotSegment,
    /// A backslash, raw or encoded: some origins read it as a slash.
    #[error("the path has a backslash")]
    Backslash,
    /// An absolute-form target whose scheme or authority is missing or malformed.
    #[error("the absolute-form request target is malformed")]
    BadAbsoluteForm,
}

/// A path in canonical form: begins with `/`, without dot segments, empty segments (but a last one), path parameters, control
/// bytes, or encodings that are not needed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CanonicalPath {
    text: Box<str>,
    kept_slash: bool,
    /// The text as origins may read it that decode more, where that differs: printable characters, and slashes too.
    loosened: Option<Box<str>>,
    unslashed: Option<Box<str>>,
}

impl CanonicalPath {
    /// The canonical form of a path without query. An empty path is `/`.
    pub fn parse(raw: impl AsRef<[u8]>, encoded_slash: EncodedSlash) -> Result<Self, PathError> {
        canonical::canonicalise(raw.as_ref(), encoded_slash)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// What deny rules are held against, each: most origins decode `%28` before they route, and some `%2F`, so that neither may
    /// hide a denied path.
    pub(crate) fn readings(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.loosened.as_deref().unwrap_or(&self.text)).chain(self.unslashed.as_deref())
    }

    /// Whether a segment holds `%2F`: only endpoints with `allow_encoded_slash` match then.
    pub fn has_encoded_slash(&self) -> bool {
        self.kept_slash
    }
}

impl fmt::Display for CanonicalPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl AsRef<str> for CanonicalPath {
    fn as_ref(&self) -> &str {
        &self.text
    }
}
