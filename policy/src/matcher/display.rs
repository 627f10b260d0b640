//! Globs back as text, for those who read about them.

use std::fmt::{self, Write as _};

use super::glob::{Glob, Token};
use super::segmented::{Part, SegmentedGlob};
use super::{EndpointPath, MethodMatcher};

impl fmt::Display for MethodMatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MethodMatcher::Any => f.write_str("any method"),
            MethodMatcher::One(method) => f.write_str(method),
        }
    }
}

impl fmt::Display for SegmentedGlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, alternative) in self.alternatives().enumerate() {
            if index > 0 {
                f.write_str(" or ")?;
            }
            match alternative {
                None => f.write_str("**")?,
                Some(parts) => write_parts(parts, char::from(self.separator()), f)?,
            }
        }
        Ok(())
    }
}

impl fmt::Display for EndpointPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EndpointPath::Globs { tokens, .. } = self else {
            return f.write_str("/**");
        };
        for (index, tokens) in tokens.iter().enumerate() {
            if index > 0 {
                f.write_str(" or ")?;
            }
            write_tokens(tokens, f)?;
        }
        Ok(())
    }
}

fn write_parts(parts: &[Part], separator: char, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    // A `**` at the end was read as at least one segment.
    let (parts, ends_in_any) = match parts {
        [before @ .., Part::Segment(Glob::Anything), Part::Any] => (before, true),
        parts => (parts, false),
    };
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            f.write_char(separator)?;
        }
        match part {
            Part::Any => f.write_str("**")?,
            Part::Segment(Glob::Anything) => f.write_char('*')?,
            Part::Segment(Glob::Literal(literal)) => literal.iter().try_for_each(|byte| write_literal(*byte, f))?,
            Part::Segment(Glob::Tokens(tokens)) => write_tokens(tokens, f)?,
        }
    }
    match (ends_in_any, parts.is_empty()) {
        (true, true) => f.write_str("**"),
        (true, false) => write!(f, "{separator}**"),
        (false, _) => Ok(()),
    }
}

fn write_tokens(tokens: &[Token], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    tokens.iter().try_for_each(|token| match token {
        Token::Literal(byte) => write_literal(*byte, f),
        Token::One => f.write_char('?'),
        Token::Star => f.write_char('*'),
        Token::Class { negated, ranges } => {
            f.write_str(if *negated { "[!" } else { "[" })?;
            for (low, high) in ranges {
                f.write_char(char::from(*low))?;
                if low != high {
                    write!(f, "-{}", char::from(*high))?;
                }
            }
            f.write_char(']')
        }
    })
}

fn write_literal(byte: u8, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if matches!(byte, b'*' | b'?' | b'[' | b']' | b'{' | b'}' | b'\\') {
        f.write_char('\\')?;
    }
    f.write_char(char::from(byte))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn globs_are_shown_as_they_were_written() {
        for text in [
            "/v1/**",
            "**",
            "/**",
            "/a/*/b",
            "/**/x",
            "/a?[a-c!]",
            "/\\*",
            "/x*.json",
            "/a/**/b/**",
        ] {
            assert_eq!(SegmentedGlob::parse(text, b'/').unwrap().to_string(), text);
        }
        assert_eq!(SegmentedGlob::parse("/{a,b}", b'/').unwrap().to_string(), "/a or /b");
    }
}
