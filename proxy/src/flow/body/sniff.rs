//! Whether a body begins like JSON, in any encoding that some JSON reader accepts.

/// What the first bytes look like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::flow) enum Look {
    /// Only white space so far.
    Undecided,
    /// An object, an array or a string.
    Json,
    /// Nothing that a JSON reader would take.
    OtherThanJson,
}

/// Looks at decoded bytes from the beginning of a body. NUL counts as white space: UTF-16 and UTF-32 text begins with it or follows
/// its first character with it, and Python's `json.loads` reads both; the strict reader refuses them later.
pub(in crate::flow) fn look(bytes: &[u8]) -> Look {
    const MARKS: [&[u8]; 3] = [b"\xEF\xBB\xBF", b"\xFE\xFF", b"\xFF\xFE"];
    let bytes = MARKS.iter().find_map(|mark| bytes.strip_prefix(*mark)).unwrap_or(bytes);
    match bytes
        .iter()
        .find(|b| !matches!(b, b' ' | b'\t' | b'\r' | b'\n' | 0x0B | 0x0C | 0 | 0x1E))
    {
        None => Look::Undecided,
        Some(b'{' | b'[' | b'"') => Look::Json,
        Some(_) => Look::OtherThanJson,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_recognised_in_every_disguise_a_reader_takes() {
        let json: [&[u8]; 9] = [
            b"{}",
            b"[1]",
            b"\"x\"",
            b" \r\n\t {",
            b"\xEF\xBB\xBF{\"a\":1}",
            b"\xFF\xFE{\0\"\0",
            b"\xFE\xFF\0{\0\"",
            b"\0\0\0{",
            b"\x1E{\"seq\":1}",
        ];
        for bytes in json {
            assert_eq!(look(bytes), Look::Json, "{bytes:?}");
        }
        let other: [&[u8]; 5] = [b"0011command=ls-refs", b"PK\x03\x04", b"--boundary\r\n", b"a=1&b=2", b"<xml/>"];
        for bytes in other {
            assert_eq!(look(bytes), Look::OtherThanJson, "{bytes:?}");
        }
        assert_eq!(look(b" \n"), Look::Undecided);
    }
}
