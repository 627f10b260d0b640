//! Path globs as the author writes them, brought to the spelling that canonical paths have.

use std::fmt::Write as _;

use crate::path::{is_loose, means_the_same_unescaped};

/// A space, a non-ASCII character or a needless escape in a glob would never match a canonical path: `/café` stands for `/caf%C3%A9`.
pub(crate) fn canonical(glob: &str) -> String {
    rewrite(glob, means_the_same_unescaped)
}

/// For deny rules, which are held against the path with every printable escape decoded.
pub(super) fn loosened(glob: &str) -> String {
    rewrite(glob, is_loose)
}

fn rewrite(glob: &str, decodes: impl Fn(u8) -> bool) -> String {
    let mut out = String::with_capacity(glob.len());
    let mut rest = glob;
    while let Some(c) = rest.chars().next() {
        let (one, tail) = rest.split_at(c.len_utf8());
        rest = tail;
        match (c, escape(tail)) {
            ('%', Some(byte)) => {
                rest = tail.get(2..).unwrap_or_default();
                if !decodes(byte) {
                    let _ = write!(out, "%{byte:02X}");
                    continue;
                }
                // Decoded, it is still the character and not a wildcard.
                if matches!(byte, b'*' | b'[' | b']' | b'{' | b'}' | b'!' | b',') {
                    out.push('\\');
                }
                out.push(char::from(byte));
            }
            (c, _) if c.is_ascii() && c != ' ' => out.push(c),
            _ => one.bytes().for_each(|byte| {
                let _ = write!(out, "%{byte:02X}");
            }),
        }
    }
    out
}

fn escape(text: &str) -> Option<u8> {
    let digits = text.get(..2).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))?;
    u8::from_str_radix(digits, 16).ok()
}

/// Why no canonical path can match, if so.
pub(super) fn unreachable(glob: &str) -> Option<&'static str> {
    if !glob.starts_with(['/', '{', '[']) && glob != "**" && !glob.starts_with("**/") {
        return Some("does not start with `/`");
    }
    if glob.contains("//") {
        return Some("has an empty segment, which requests never have");
    }
    if glob.split('/').any(|segment| segment == "." || segment == "..") {
        return Some("has a dot segment, which requests never have");
    }
    if glob.contains(['#', ';']) {
        return Some("has a `#` or `;`, which requests never have in their path");
    }
    let lower = glob.to_ascii_lowercase();
    if ["%00", "%0a", "%0d", "%5c", "%3b"].iter().any(|escape| lower.contains(escape)) {
        return Some("has an escape that requests never have");
    }
    None
}
