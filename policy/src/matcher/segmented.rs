//! A glob over segments: `*` stays inside one, `**` as a whole segment crosses.
//!
//! The separator is `/` for paths and binaries, `.` for query values and hosts. A final `**` takes at least one segment, which may
//! be empty: `/repos/**` matches `/repos/` and all below it, not `/repos`.

use super::glob::{Glob, Token, tokenise};
use super::{GlobError, MAX_GLOB, braces};

/// One or more alternatives (braces).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SegmentedGlob {
    alternatives: Box<[Segments]>,
    separator: u8,
}

/// One alternative.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Segments {
    /// `**` alone.
    Anything,
    Parts(Box<[Part]>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    Segment(Glob),
    /// Any number of segments, none included.
    Any,
}

impl SegmentedGlob {
    pub(crate) fn parse(glob: &str, separator: u8) -> Result<Self, GlobError> {
        if glob.len() > MAX_GLOB {
            return Err(GlobError::TooLong);
        }
        let alternatives = braces::expand(glob)?
            .iter()
            .map(|alternative| Segments::parse(alternative, separator))
            .collect::<Result<_, _>>()?;
        Ok(SegmentedGlob { alternatives, separator })
    }

    pub(crate) fn matches(&self, text: &[u8]) -> bool {
        self.alternatives.iter().any(|alternative| match alternative {
            Segments::Anything => true,
            Segments::Parts(parts) => walk(parts, text, self.separator),
        })
    }

    /// The parts of each alternative; `None` for any text.
    pub(super) fn alternatives(&self) -> impl Iterator<Item = Option<&[Part]>> {
        self.alternatives.iter().map(|alternative| match alternative {
            Segments::Anything => None,
            Segments::Parts(parts) => Some(&**parts),
        })
    }

    pub(super) fn separator(&self) -> u8 {
        self.separator
    }

    /// Whether it matches every text that begins with the separator.
    pub(crate) fn matches_everything(&self) -> bool {
        self.alternatives.iter().any(|alternative| match alternative {
            Segments::Anything => true,
            Segments::Parts(parts) => {
                matches!(&**parts, [Part::Segment(Glob::Literal(root)), Part::Segment(Glob::Anything), Part::Any] if root.is_empty())
            }
        })
    }
}

impl Segments {
    fn parse(glob: &str, separator: u8) -> Result<Self, GlobError> {
        let tokens = tokenise(glob)?;
        if tokens == [Token::Star, Token::Star] {
            return Ok(Segments::Anything);
        }
        Ok(Segments::Parts(parts(&tokens, separator)))
    }
}

fn parts(tokens: &[Token], separator: u8) -> Box<[Part]> {
    let mut parts = Vec::new();
    let mut segments = tokens.split(|token| *token == Token::Literal(separator)).peekable();
    while let Some(segment) = segments.next() {
        if segment != [Token::Star, Token::Star] {
            parts.push(Part::Segment(Glob::from_tokens(segment.to_vec())));
            continue;
        }
        if segments.peek().is_none() {
            parts.push(Part::Segment(Glob::Anything));
        }
        if parts.last() != Some(&Part::Any) {
            parts.push(Part::Any);
        }
    }
    parts.into_boxed_slice()
}

/// The same walk as over one segment, one level up: only the last `**` is taken up again.
pub(super) fn walk(parts: &[Part], text: &[u8], separator: u8) -> bool {
    let mut pattern = parts;
    // `None` once every segment is taken; `Some("")` is one empty segment.
    let mut rest = Some(text);
    let mut retry: Option<(&[Part], Option<&[u8]>)> = None;
    loop {
        match (pattern, rest) {
            ([], None) | ([Part::Any], _) => return true,
            ([Part::Any, after @ ..], _) => {
                pattern = after;
                retry = Some((after, rest));
                continue;
            }
            ([Part::Segment(_), ..], None) => return false,
            ([Part::Segment(glob), after @ ..], Some(text)) => {
                let (segment, tail) = split_first(text, separator);
                if glob.matches(segment) {
                    pattern = after;
                    rest = tail;
                    continue;
                }
            }
            ([], Some(_)) => {}
        }
        match retry {
            Some((after, Some(text))) => {
                let (_, tail) = split_first(text, separator);
                pattern = after;
                rest = tail;
                retry = Some((after, tail));
            }
            _ => return false,
        }
    }
}

fn split_first(text: &[u8], separator: u8) -> (&[u8], Option<&[u8]>) {
    match text.iter().position(|byte| *byte == separator) {
        Some(at) => match text.split_at_checked(at) {
            Some((segment, [_, tail @ ..])) => (segment, Some(tail)),
            _ => (text, None),
        },
        None => (text, None),
    }
}
