//! Whether one path glob, as written, has every path of another. Errs on the side of no: a warning that is wrong teaches authors to
//! look away.

/// See the module.
pub(super) fn covers(wide: &str, narrow: &str) -> bool {
    if wide == narrow || wide == "**" || (wide == "/**" && narrow.starts_with('/')) {
        return true;
    }
    if [wide, narrow].iter().any(|glob| glob.contains(['{', '\\', '['])) {
        return false;
    }
    let (wide, narrow): (Vec<&str>, Vec<&str>) = (wide.split('/').collect(), narrow.split('/').collect());
    let mut left = STEPS;
    segments(&wide, &narrow, &mut left)
}

/// Enough for every path that people write; several `**` could take exponentially long otherwise.
const STEPS: usize = 2_000;

fn segments(wide: &[&str], narrow: &[&str], left: &mut usize) -> bool {
    *left = left.saturating_sub(1);
    if *left == 0 {
        return false;
    }
    match (wide, narrow) {
        // At the end, `**` takes at least one segment.
        ([], []) | (["**"], [_, ..]) => true,
        (["**", after @ ..], _) if !after.is_empty() => (0..=narrow.len()).any(|taken| {
            let rest = narrow.get(taken..).unwrap_or_default();
            segments(after, rest, left)
        }),
        ([own, wide @ ..], [other, narrow @ ..]) => segment(own, other) && segments(wide, narrow, left),
        _ => false,
    }
}

fn segment(wide: &str, narrow: &str) -> bool {
    if narrow == "**" {
        return false;
    }
    match wide.split_once('*') {
        Some(("", "")) => true,
        // `a*` has `a…`, with or without a wildcard in what follows.
        Some((before, "")) => narrow.strip_prefix(before).is_some() && !narrow.contains("**"),
        Some(("", after)) if !after.contains(['*', '?']) => narrow.strip_suffix(after).is_some() && !narrow.contains("**"),
        _ => wide == narrow,
    }
}

#[cfg(test)]
mod tests {
    use super::covers;

    #[test]
    fn what_is_said_to_be_covered_is() {
        for (wide, narrow, expected) in [
            ("**", "/a/*", true),
            ("/**", "/a/**", true),
            ("/a/**", "/a/b/c", true),
            ("/a/**", "/a/**", true),
            ("/a/**", "/a/*/c", true),
            ("/a/**", "/a", false),
            ("/a/**", "/ab/c", false),
            ("/a/*", "/a/b", true),
            ("/a/*", "/a/b/c", false),
            ("/a/*", "/a/**", false),
            ("/a/*/c", "/a/b/c", true),
            ("/**/refs*", "/o/r/refs", true),
            ("/**/refs*", "/o/refs/x", false),
            ("/a?", "/ab", false),
            ("/{a,b}", "/a", false),
            ("/a", "/a*", false),
            ("/a*", "/a", true),
            ("/a*", "/ab*", true),
            ("/*.git", "/x.git", true),
            ("/x/**/**/**/**/**/**/**/y", "/x/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/z", false),
        ] {
            assert_eq!(covers(wide, narrow), expected, "{wide} {narrow}");
        }
    }
}
