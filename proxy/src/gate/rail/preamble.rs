//! What lenient readers skip before a JSON document: the comments of JSON5 and JSONC, and the prefix against script inclusion. A strict
//! reader refuses a document behind either, so whoever sends one hopes for a lenient one.
//!
//! In: the first bytes of a body. Out: whether a document follows. `"use strict"` behind a licence is none: only `{` and `[` count.

/// Longer preambles are taken for something else than JSON; white space before them does not count.
const LONGEST: usize = 4 << 10;

/// Angular's and Google's.
const PREFIX: &[u8] = b")]}'";

/// What stands before a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Preamble {
    /// White space at most.
    None,
    /// Something that a strict reader refuses.
    Skipped,
    /// It may go on, and a document may follow.
    Unfinished,
    /// No document follows.
    OfAnotherKind,
}

/// Looks at the beginning of a text, after its byte order mark.
pub(crate) fn skip(text: &[u8]) -> Preamble {
    let text = text.trim_ascii_start();
    let mut rest = text;
    if rest.first() == Some(&b'"') {
        return Preamble::None;
    }
    let mut skipped = Preamble::None;
    loop {
        rest = rest.trim_ascii_start();
        if text.len() - rest.len() > LONGEST {
            return Preamble::OfAnotherKind;
        }
        let after = match rest {
            [b'{' | b'[', ..] => return skipped,
            // RFC 7464: a record separator before each document of a sequence.
            [0x1e, after @ ..] => Some(Some(after)),
            [b'/', b'/', comment @ ..] => memchr::memchr(b'\n', comment).map(|end| comment.get(end..)),
            [b'/', b'*', comment @ ..] => memchr::memmem::find(comment, b"*/").map(|end| comment.get(end + 2..)),
            _ if rest.starts_with(PREFIX) => {
                let after = rest.get(PREFIX.len()..).unwrap_or_default();
                Some(Some(after.strip_prefix(b",").unwrap_or(after)))
            }
            _ if rest == b"/" || PREFIX.starts_with(rest) => None,
            _ => return Preamble::OfAnotherKind,
        };
        match after {
            None if text.len() > LONGEST => return Preamble::OfAnotherKind,
            None => return Preamble::Unfinished,
            Some(after) => (rest, skipped) = (after.unwrap_or_default(), Preamble::Skipped),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_found_behind_what_lenient_readers_skip() {
        let long = format!("/*{}*/{{}}", "x".repeat(LONGEST));
        let (blank, blank_first) = (format!("{}{{}}", " ".repeat(1 << 20)), format!("{}//\n{{}}", " ".repeat(1 << 20)));
        for (text, expected) in [
            ("{}", Preamble::None),
            (" \n[1]", Preamble::None),
            ("\"text\"", Preamble::None),
            ("/* a */ {}", Preamble::Skipped),
            ("// a\n// b\r\n\t[1]", Preamble::Skipped),
            ("//{}\n{}", Preamble::Skipped),
            (")]}'\n{}", Preamble::Skipped),
            (")]}',\n[]", Preamble::Skipped),
            (")]}'/**/{}", Preamble::Skipped),
            ("\u{1e}{}\n", Preamble::Skipped),
            ("", Preamble::Unfinished),
            ("/", Preamble::Unfinished),
            ("/* { ", Preamble::Unfinished),
            ("// {", Preamble::Unfinished),
            (")]", Preamble::Unfinished),
            ("/* licence */ \"use strict\";", Preamble::OfAnotherKind),
            ("/* licence */ body { color: red }", Preamble::OfAnotherKind),
            ("/path", Preamble::OfAnotherKind),
            ("# title", Preamble::OfAnotherKind),
            ("a=1&b=2", Preamble::OfAnotherKind),
            (&long, Preamble::OfAnotherKind),
            (&blank, Preamble::None),
            (&blank_first, Preamble::Skipped),
        ] {
            assert_eq!(skip(text.as_bytes()), expected, "{text:.40}");
        }
    }
}
