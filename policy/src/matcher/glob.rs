//! A glob over one piece of text without separators: `*`, `?`, `[a-z]`, `[!a-z]`, `\x`.

use super::GlobError;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token {
    Literal(u8),
    /// `?`: one byte.
    One,
    /// `*`: any number of bytes.
    Star,
    Class {
        negated: bool,
        ranges: Box<[(u8, u8)]>,
    },
}

impl Token {
    pub(super) fn matches(&self, byte: u8) -> bool {
        match self {
            Token::Literal(literal) => *literal == byte,
            Token::One => true,
            Token::Star => false,
            Token::Class { negated, ranges } => ranges.iter().any(|(low, high)| (*low..=*high).contains(&byte)) != *negated,
        }
    }
}

impl Token {
    /// Of a glob in lower case: what matches in either case too. Never less.
    pub(super) fn in_any_case(&self) -> Self {
        let class = |ranges: Vec<(u8, u8)>| Token::Class {
            negated: false,
            ranges: ranges.into_boxed_slice(),
        };
        match self {
            Token::Literal(byte) if byte.is_ascii_lowercase() => {
                class(vec![(*byte, *byte), (byte.to_ascii_uppercase(), byte.to_ascii_uppercase())])
            }
            Token::Class { negated: true, .. } => Token::One,
            Token::Class { negated: false, ranges } => {
                let letters = ranges
                    .iter()
                    .map(|(low, high)| (*low.max(&b'a'), *high.min(&b'z')))
                    .filter(|(low, high)| low <= high);
                let upper = letters.map(|(low, high)| (low.to_ascii_uppercase(), high.to_ascii_uppercase()));
                class(ranges.iter().copied().chain(upper).collect())
            }
            token => token.clone(),
        }
    }
}

/// Reads a whole glob, separators included.
pub(super) fn tokenise(glob: &str) -> Result<Vec<Token>, GlobError> {
    let mut tokens = Vec::with_capacity(glob.len());
    let mut rest = glob.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        tokens.push(match first {
            b'*' => Token::Star,
            b'?' => Token::One,
            b'[' => {
                let (class, after) = class(tail)?;
                rest = after;
                class
            }
            b'\\' => {
                let [escaped, after @ ..] = tail else {
                    return Err(GlobError::DanglingEscape);
                };
                rest = after;
                Token::Literal(*escaped)
            }
            literal => Token::Literal(*literal),
        });
    }
    Ok(tokens)
}

fn class(text: &[u8]) -> Result<(Token, &[u8]), GlobError> {
    let (negated, mut rest) = match text {
        [b'!' | b'^', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let mut ranges: Vec<(u8, u8)> = Vec::new();
    loop {
        match rest {
            [] => return Err(GlobError::UnclosedClass),
            // A `]` in the first place is a member.
            [b']', tail @ ..] if !ranges.is_empty() => {
                rest = tail;
                break;
            }
            [low, b'-', high, tail @ ..] if *high != b']' => {
                if high < low {
                    return Err(GlobError::BackwardsRange);
                }
                ranges.push((*low, *high));
                rest = tail;
            }
            [member, tail @ ..] => {
                ranges.push((*member, *member));
                rest = tail;
            }
        }
    }
    let ranges = ranges.into_boxed_slice();
    Ok((Token::Class { negated, ranges }, rest))
}

/// Shapes that need no walk are told apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Glob {
    Anything,
    Literal(Box<[u8]>),
    Tokens(Box<[Token]>),
}

impl Glob {
    pub(super) fn from_tokens(mut tokens: Vec<Token>) -> Self {
        tokens.dedup_by(|a, b| *a == Token::Star && *b == Token::Star);
        if tokens == [Token::Star] {
            return Glob::Anything;
        }
        let literal: Option<Box<[u8]>> = tokens
            .iter()
            .map(|token| match token {
                Token::Literal(byte) => Some(*byte),
                _ => None,
            })
            .collect();
        match literal {
            Some(literal) => Glob::Literal(literal),
            None => Glob::Tokens(tokens.into_boxed_slice()),
        }
    }

    pub(super) fn matches(&self, text: &[u8]) -> bool {
        match self {
            Glob::Anything => true,
            Glob::Literal(literal) => **literal == *text,
            Glob::Tokens(tokens) => walk(tokens, text),
        }
    }
}

/// Only the last star is ever taken up again: what an earlier one could give, a later one can too. At most `tokens × text` steps.
fn walk(tokens: &[Token], text: &[u8]) -> bool {
    let mut pattern = tokens;
    let mut rest = text;
    let mut retry: Option<(&[Token], &[u8])> = None;
    loop {
        match (pattern, rest) {
            ([], []) | ([Token::Star], _) => return true,
            ([Token::Star, after @ ..], _) => {
                pattern = after;
                retry = Some((after, rest));
                continue;
            }
            ([token, after @ ..], [byte, tail @ ..]) if token.matches(*byte) => {
                pattern = after;
                rest = tail;
                continue;
            }
            // Giving the star more would leave even less text for what follows.
            ([_, ..], []) => return false,
            _ => {}
        }
        match retry {
            Some((after, [_, tail @ ..])) => {
                pattern = after;
                rest = tail;
                retry = Some((after, tail));
            }
            _ => return false,
        }
    }
}
