//! Whether two globs have a text in common: for the ambiguity check, which is about all requests and not about one.

use super::glob::{Glob, Token};
use super::segmented::Part;

/// Whether some text matches both.
pub(super) fn globs_intersect(a: &[Token], b: &[Token]) -> bool {
    // Most pairs of a policy already differ in the letters before the first wildcard, or after the last.
    let both_literal = |(a, b): (&Token, &Token)| match (a, b) {
        (Token::Literal(a), Token::Literal(b)) => Some(a == b),
        _ => None,
    };
    let front = a.iter().zip(b).map_while(both_literal).all(|same| same);
    let back = a.iter().rev().zip(b.iter().rev()).map_while(both_literal).all(|same| same);
    if !front || !back {
        return false;
    }
    intersect(a, b, |token| *token == Token::Star, tokens_intersect)
}

/// Whether some sequence of segments matches both.
pub(super) fn parts_intersect(a: &[Part], b: &[Part]) -> bool {
    let fixed = |parts: &[Part]| parts.iter().all(|part| *part != Part::Any);
    if fixed(a) && fixed(b) {
        return a.len() == b.len() && a.iter().zip(b).all(|(a, b)| segments_intersect(a, b));
    }
    intersect(a, b, |part| *part == Part::Any, segments_intersect)
}

fn tokens_intersect(a: &Token, b: &Token) -> bool {
    match (a, b) {
        (Token::Literal(a), Token::Literal(b)) => a == b,
        (Token::Literal(literal), Token::Class { negated, ranges }) | (Token::Class { negated, ranges }, Token::Literal(literal)) => {
            ranges.iter().any(|(low, high)| (*low..=*high).contains(literal)) != *negated
        }
        (
            Token::Class {
                negated: false,
                ranges: own,
            },
            Token::Class {
                negated: false,
                ranges: other,
            },
        ) => own
            .iter()
            .any(|(low, high)| other.iter().any(|(least, most)| low <= most && least <= high)),
        // Two classes may be disjoint; calling them overlapping only asks the author to be clearer.
        _ => true,
    }
}

fn segments_intersect(a: &Part, b: &Part) -> bool {
    let (Part::Segment(a), Part::Segment(b)) = (a, b) else {
        return true;
    };
    match (a, b) {
        (Glob::Anything, _) | (_, Glob::Anything) => true,
        (Glob::Literal(a), Glob::Literal(b)) => a == b,
        (Glob::Literal(literal), glob @ Glob::Tokens(_)) | (glob @ Glob::Tokens(_), Glob::Literal(literal)) => glob.matches(literal),
        (Glob::Tokens(a), Glob::Tokens(b)) => globs_intersect(a, b),
    }
}

/// `reachable[j]` says whether the patterns from the current place of `a` and from place `j` of `b` have a text in common.
fn intersect<T>(a: &[T], b: &[T], repeats: impl Fn(&T) -> bool, meet: impl Fn(&T, &T) -> bool) -> bool {
    let mut below: Vec<bool> = Vec::new();
    for i in (0..=a.len()).rev() {
        let mut row = vec![false; b.len() + 1];
        for j in (0..=b.len()).rev() {
            let at = |row: &[bool], j: usize| row.get(j).copied().unwrap_or(false);
            let value = match (a.get(i), b.get(j)) {
                (None, None) => true,
                (Some(x), y) if repeats(x) => at(&below, j) || (y.is_some() && at(&row, j + 1)),
                (x, Some(y)) if repeats(y) => at(&row, j + 1) || (x.is_some() && at(&below, j)),
                (Some(x), Some(y)) => meet(x, y) && at(&below, j + 1),
                _ => false,
            };
            if let Some(slot) = row.get_mut(j) {
                *slot = value;
            }
        }
        below = row;
    }
    below.first().copied().unwrap_or(false)
}
