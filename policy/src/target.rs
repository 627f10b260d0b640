//! A request target taken apart (RFC 9112 3.2).
//!
//! In: the target of a request line in origin-form or absolute-form. Out: path and query as sent, and the authority of an
//! absolute-form. The query is never rewritten.

use crate::path::PathError;

#[cfg(test)]
mod tests;

/// A request target; the parts are slices of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target<'a> {
    /// The scheme and authority of an absolute-form.
    pub absolute: Option<AbsoluteForm<'a>>,
    /// The path as sent; may be empty in an absolute-form.
    pub path: &'a str,
    /// What follows the first `?`, verbatim.
    pub query: Option<&'a str>,
}

/// Where an absolute-form points.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AbsoluteForm<'a> {
    /// As sent.
    pub scheme: &'a str,
    /// As sent; parse it with [`Authority`](crate::Authority).
    pub authority: &'a str,
}

impl<'a> Target<'a> {
    /// Splits a target. `*` and the authority-form are not taken.
    pub fn parse(raw: &'a str) -> Result<Self, PathError> {
        if let Some(bad) = raw.bytes().find(|b| !(0x21..=0x7e).contains(b) || *b == b'#') {
            return Err(match bad {
                b'#' => PathError::Fragment,
                b' ' | 0x80.. => PathError::NotEncoded,
                _ => PathError::Control,
            });
        }
        if raw.starts_with('/') {
            return Ok(Self::split(None, raw));
        }
        let Some((scheme, rest)) = raw.split_once("://") else {
            return Err(PathError::NotAPath);
        };
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path_and_query) = rest.split_at_checked(end).ok_or(PathError::BadAbsoluteForm)?;
        let scheme_is_token = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
        if authority.is_empty() || !scheme_is_token {
            return Err(PathError::BadAbsoluteForm);
        }
        Ok(Self::split(Some(AbsoluteForm { scheme, authority }), path_and_query))
    }

    fn split(absolute: Option<AbsoluteForm<'a>>, path_and_query: &'a str) -> Self {
        let (path, query) = match path_and_query.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (path_and_query, None),
        };
        Target { absolute, path, query }
    }
}
