//! An absolute-form target (RFC 9112 section 3.2.2) and the Host field that comes with it name one authority, or the request is refused.

use tollgate_policy::{Authority, Reason};

use crate::gate::Denial;

/// How a target and a Host field name one authority.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Agreement {
    /// Byte for byte, or the target names none.
    Verbatim,
    /// In two spellings: case, or a port that the scheme implies.
    InTwoSpellings,
}

/// A target taken apart; scheme and authority are empty in origin-form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AbsoluteTarget<'t> {
    /// With `://`.
    pub(crate) scheme: &'t [u8],
    pub(crate) authority: &'t [u8],
    /// Path and query.
    pub(crate) rest: &'t [u8],
}

impl<'t> AbsoluteTarget<'t> {
    /// `None` for an origin-form.
    pub(crate) fn split(target: &'t [u8]) -> Option<Self> {
        if target.starts_with(b"/") {
            return None;
        }
        let (scheme, after) = target.split_at(memchr::memmem::find(target, b"://")? + 3);
        let (authority, rest) = after.split_at(after.iter().position(|b| matches!(b, b'/' | b'?')).unwrap_or(after.len()));
        Some(AbsoluteTarget { scheme, authority, rest })
    }

    /// Holds it against the Host field.
    pub(crate) fn agrees_with(&self, host: &[u8]) -> Result<Agreement, Denial> {
        if host == self.authority {
            return Ok(Agreement::Verbatim);
        }
        let default_port = if self.scheme.eq_ignore_ascii_case(b"https://") { 443 } else { 80 };
        let read = |text: &[u8]| {
            let text = std::str::from_utf8(text).ok()?;
            Authority::parse(text, Some(default_port)).ok()
        };
        match (read(self.authority), read(host)) {
            (Some(named), Some(field)) if named == field => Ok(Agreement::InTwoSpellings),
            (Some(named), Some(field)) => Err(Denial::new(
                Reason::AuthorityMismatch,
                format!("the Host field names {field} where the target names {named}"),
            )),
            _ => Err(Denial::new(
                Reason::MalformedRequest,
                "the target or the Host field is not a host and a port",
            )),
        }
    }
}
