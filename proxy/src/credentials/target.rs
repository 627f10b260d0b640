//! Placeholders in a request target: in segments of the path and in the query, where APIs take tokens that way (`/bot<token>/send`,
//! `?key=`). A percent-encoded placeholder is one too, since the origin decodes it.
//!
//! In: the target as it was judged. Out: the target with the secrets in it, percent-encoded; all else in it stays byte for byte.

use std::borrow::Cow;
use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use zeroize::Zeroizing;

use super::CredentialError;
use super::held::Allowed;
use super::placeholder::{self, Placeholder};

/// What may stand in a segment of a path as it is (`pchar` of RFC 3986 section 3.3).
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@');

/// In a query only what means nothing to any reader of one.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Path and query with secrets in them.
#[derive(Clone, PartialEq, Eq)]
pub struct FilledTarget(Zeroizing<String>);

impl FilledTarget {
    /// For the wire, and for nothing else.
    pub(crate) fn for_the_wire(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for FilledTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[REDACTED]")
    }
}

/// The target with every placeholder replaced; `None` when it has none.
pub(super) fn fill(allowed: &Allowed<'_>) -> Result<Option<FilledTarget>, CredentialError> {
    let (path, query) = (allowed.destination.path.as_str(), allowed.destination.query);
    let in_path = Decoded::of(path);
    let found_in_path = placeholder::find(&in_path.text, allowed.held)?;
    let in_query = query.map(Decoded::of);
    let found_in_query = in_query
        .as_ref()
        .map_or(Ok(Vec::new()), |query| placeholder::find(&query.text, allowed.held))?;
    if found_in_path.is_empty() && found_in_query.is_empty() {
        return Ok(None);
    }
    let mut filled = Zeroizing::new(String::with_capacity(path.len() + query.map_or(0, str::len) + 4096));
    for Placeholder { name, .. } in &found_in_path {
        // A secret that is a path by itself would lead elsewhere than what was judged.
        if allowed
            .secret(name)?
            .bytes()
            .iter()
            .any(|byte| matches!(byte, b'/' | b'\\' | b'?' | b'#'))
        {
            return Err(CredentialError::NotForPath(name.clone()));
        }
    }
    splice(&mut filled, path, &in_path, &found_in_path, SEGMENT, allowed)?;
    if let Some(Placeholder { name, .. }) = found_in_path.first()
        && filled.split('/').any(|segment| matches!(segment, "." | ".."))
    {
        return Err(CredentialError::NotForPath(name.clone()));
    }
    if let (Some(query), Some(decoded)) = (query, &in_query) {
        filled.push('?');
        splice(&mut filled, query, decoded, &found_in_query, QUERY, allowed)?;
    }
    Ok(Some(FilledTarget(filled)))
}

fn splice(
    filled: &mut String,
    raw: &str,
    decoded: &Decoded<'_>,
    found: &[Placeholder],
    encoding: &'static AsciiSet,
    allowed: &Allowed<'_>,
) -> Result<(), CredentialError> {
    let mut from = 0;
    for Placeholder { place, name } in found {
        let (start, end) = (decoded.raw(place.start), decoded.raw(place.end));
        filled.push_str(raw.get(from..start).unwrap_or_default());
        filled.extend(percent_encode(allowed.secret(name)?.bytes(), encoding));
        from = end;
    }
    filled.push_str(raw.get(from..).unwrap_or_default());
    Ok(())
}

/// A text without its percent-encoding, and where each byte of it came from.
struct Decoded<'t> {
    text: Cow<'t, [u8]>,
    /// Empty where nothing is encoded.
    from: Vec<usize>,
}

impl<'t> Decoded<'t> {
    fn of(raw: &'t str) -> Self {
        if !raw.contains('%') {
            return Decoded {
                text: Cow::Borrowed(raw.as_bytes()),
                from: Vec::new(),
            };
        }
        let (mut text, mut from) = (Vec::with_capacity(raw.len()), Vec::with_capacity(raw.len() + 1));
        let mut at = 0;
        while let Some(byte) = raw.as_bytes().get(at) {
            let encoded = raw
                .get(at + 1..at + 3)
                .filter(|digits| *byte == b'%' && digits.bytes().all(|b| b.is_ascii_hexdigit()));
            let decoded = encoded.and_then(|digits| u8::from_str_radix(digits, 16).ok());
            from.push(at);
            text.push(decoded.unwrap_or(*byte));
            at += if decoded.is_some() { 3 } else { 1 };
        }
        from.push(at);
        Decoded {
            text: Cow::Owned(text),
            from,
        }
    }

    fn raw(&self, at: usize) -> usize {
        self.from.get(at).copied().unwrap_or(at)
    }
}
