//! A query read as the field's origins read it: `&`-separated, percent-decoded, `+` as space.
//!
//! In: the query verbatim. Out: its decoded pairs, for matching only; what is forwarded is never rewritten.

use std::borrow::Cow;

#[cfg(test)]
mod tests;

/// The decoded name and value pairs, in order. A part without `=` is a name with an empty value.
pub fn pairs(query: &str) -> impl Iterator<Item = (Cow<'_, [u8]>, Cow<'_, [u8]>)> {
    query.split('&').filter(|part| !part.is_empty()).map(|part| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        (decode(name), decode(value))
    })
}

/// Decodes `%XX` and `+`; a broken escape stays as it is.
pub fn decode(text: &str) -> Cow<'_, [u8]> {
    let bytes = text.as_bytes();
    if !bytes.iter().any(|b| matches!(b, b'%' | b'+')) {
        return Cow::Borrowed(bytes);
    }
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [first, tail @ ..] = rest {
        rest = tail;
        match (first, tail) {
            (b'%', [high, low, after @ ..]) if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                let value = |digit: &u8| char::from(*digit).to_digit(16).unwrap_or(0);
                out.push(u8::try_from(value(high) << 4 | value(low)).unwrap_or(0));
                rest = after;
            }
            (b'+', _) => out.push(b' '),
            (other, _) => out.push(*other),
        }
    }
    Cow::Owned(out)
}
