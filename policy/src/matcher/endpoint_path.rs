//! An endpoint's `path`: which of several endpoints on one host and port a request belongs to.
//!
//! Unlike in rules, `*` crosses `/` here, and a trailing `/**` also matches the path before it.

use super::glob::{Glob, Token, tokenise};
use super::intersect::globs_intersect;
use super::{GlobError, MAX_ALTERNATIVES, MAX_GLOB, braces};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EndpointPath {
    /// Left out, `**` or `/**`.
    Any,
    Globs {
        globs: Box<[Glob]>,
        tokens: Box<[Box<[Token]>]>,
        specificity: u32,
    },
}

impl EndpointPath {
    pub(crate) fn parse(text: &str) -> Result<Self, GlobError> {
        if matches!(text, "" | "**" | "/**") {
            return Ok(EndpointPath::Any);
        }
        if text.len() > MAX_GLOB {
            return Err(GlobError::TooLong);
        }
        let mut tokens = Vec::new();
        for glob in braces::expand(text)? {
            for plain in without_directories(&glob)? {
                tokens.push(tokenise(&plain)?.into_boxed_slice());
            }
        }
        if tokens.len() > MAX_ALTERNATIVES {
            return Err(GlobError::TooManyAlternatives);
        }
        Ok(EndpointPath::Globs {
            globs: tokens.iter().map(|tokens| Glob::from_tokens(tokens.to_vec())).collect(),
            tokens: tokens.into_boxed_slice(),
            specificity: u32::try_from(text.chars().filter(|c| *c != '*').count()).unwrap_or(u32::MAX),
        })
    }

    pub(crate) fn matches(&self, path: &str) -> bool {
        match self {
            EndpointPath::Any => true,
            EndpointPath::Globs { globs, .. } => globs.iter().any(|glob| glob.matches(path.as_bytes())),
        }
    }

    /// The characters that are not `*`: the endpoint with more of them decides how a request is read and enforced.
    pub(crate) fn specificity(&self) -> u32 {
        match self {
            EndpointPath::Any => 0,
            EndpointPath::Globs { specificity, .. } => *specificity,
        }
    }

    /// For a path in lower case: those that a server may take for the same, in any case and with a slash behind them. Never fewer.
    pub(crate) fn in_any_spelling(&self) -> Self {
        let EndpointPath::Globs { tokens, specificity, .. } = self else {
            return EndpointPath::Any;
        };
        let in_any_case = tokens
            .iter()
            .map(|tokens| tokens.iter().map(Token::in_any_case).collect::<Vec<_>>());
        let spellings = in_any_case.flat_map(|tokens| [tokens.clone(), [tokens, vec![Token::Literal(b'/')]].concat()]);
        let tokens: Box<[Box<[Token]>]> = spellings.map(Vec::into_boxed_slice).collect();
        EndpointPath::Globs {
            globs: tokens.iter().map(|tokens| Glob::from_tokens(tokens.to_vec())).collect(),
            tokens,
            specificity: *specificity,
        }
    }

    /// Whether some path matches both.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        match (self, other) {
            (EndpointPath::Globs { tokens: a, .. }, EndpointPath::Globs { tokens: b, .. }) => {
                a.iter().any(|a| b.iter().any(|b| globs_intersect(a, b)))
            }
            _ => true,
        }
    }
}

/// `a/**/b` is `a/b` or `a/*/b`; `a/**` is `a` or `a/*`.
fn without_directories(glob: &str) -> Result<Vec<String>, GlobError> {
    let mut done = Vec::new();
    let mut open = vec![glob.to_owned()];
    while let Some(glob) = open.pop() {
        if done.len() + open.len() >= MAX_ALTERNATIVES {
            return Err(GlobError::TooManyAlternatives);
        }
        if let Some((before, after)) = glob.split_once("/**/") {
            open.push(format!("{before}/*/{after}"));
            open.push(format!("{before}/{after}"));
        } else if let Some(base) = glob.strip_suffix("/**") {
            done.push(base.to_owned());
            done.push(format!("{base}/*"));
        } else {
            done.push(glob);
        }
    }
    Ok(done)
}
