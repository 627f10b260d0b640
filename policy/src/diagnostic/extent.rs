//! How much of a line a finding is about: the key or the value that begins at its column.

/// The number of characters; at least one.
pub(super) fn extent(line: &str, column: u32) -> u32 {
    let rest: Vec<char> = line.chars().skip((column as usize).saturating_sub(1)).collect();
    let length = match rest.as_slice() {
        [quote @ ('"' | '\''), inside @ ..] => quoted(*quote, inside).map_or(1, |length| length + 1),
        // A list, a map or an alias: its beginning is enough.
        [] | ['{' | '[' | '-' | '|' | '>' | '&' | '*' | '\t', ..] => 1,
        rest => plain(rest),
    };
    u32::try_from(length.max(1)).unwrap_or(u32::MAX)
}

/// Up to and with the closing quote.
fn quoted(quote: char, inside: &[char]) -> Option<usize> {
    let mut escaped = false;
    inside
        .iter()
        .position(|c| {
            let closes = *c == quote && !escaped;
            escaped = quote == '"' && *c == '\\' && !escaped;
            closes
        })
        .map(|at| at + 1)
}

/// A plain scalar or key.
fn plain(rest: &[char]) -> usize {
    let ends = |(at, c): (usize, &char)| match c {
        ',' | ']' | '}' => true,
        ':' => rest.get(at + 1).is_none_or(|next| next.is_whitespace()),
        '#' => at > 0 && rest.get(at - 1).is_some_and(|before| before.is_whitespace()),
        _ => false,
    };
    let end = rest.iter().enumerate().position(ends).unwrap_or(rest.len());
    let text = rest.get(..end).unwrap_or_default();
    text.iter().rposition(|c| !c.is_whitespace()).map_or(1, |last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::extent;

    #[test]
    fn keys_and_values_are_measured() {
        for (line, column, length) in [
            ("hosst: a.example", 1, 5),
            ("hosst: a.example  # why", 8, 9),
            ("  - { method: GET, path: \"/a, b\" }", 15, 3),
            ("  - { method: GET, path: \"/a, b\" }", 26, 7),
            ("x: 'it''s'", 4, 4),
            ("x: \"a\\\"b\" # c", 4, 6),
            ("x: \"never closed", 4, 1),
            ("x: [a, b]", 4, 1),
            ("url: https://a:1/x", 6, 13),
            ("a", 90, 1),
            ("", 1, 1),
            ("x:", 1, 1),
        ] {
            assert_eq!(extent(line, column), length, "{line} at {column}");
        }
    }
}
