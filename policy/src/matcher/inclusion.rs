//! Whether every text of one glob is a text of others: what makes one rule wider than another.
//!
//! Globs become automata over bytes, and the automata of both sides are walked together over all texts at once, one byte of each kind
//! at a time. The answer is exact, also where it takes several globs to cover one, unless the walk gets too long.

use std::collections::{HashMap, HashSet};

use super::endpoint_path::EndpointPath;
use super::glob::{Glob, Token};
use super::segmented::{Part, SegmentedGlob};

/// Whether it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inclusion {
    Included,
    NotIncluded,
    /// Finding out would take too long.
    Unknown,
}

/// A set of texts.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Language<'a> {
    Segmented(&'a SegmentedGlob),
    Endpoint(&'a EndpointPath),
    /// Any text at all.
    Anything,
    /// Any text without this byte.
    Without(u8),
    /// One text.
    Text(&'a str),
    Parts {
        parts: &'a [Part],
        separator: u8,
    },
}

/// More different situations than this are not walked through.
const MAX_SITUATIONS: usize = 10_000;

/// Whether every text that is in all of `inner` is, for one of `outer`, in all of that one. Only texts that begin with `begins` are
/// looked at, as no others are ever matched.
pub(crate) fn included(inner: &[Language<'_>], outer: &[Vec<Language<'_>>], begins: Option<u8>) -> Inclusion {
    let inner: Vec<Automaton> = inner.iter().map(Automaton::of).collect();
    let outer: Vec<Vec<Automaton>> = outer.iter().map(|all| all.iter().map(Automaton::of).collect()).collect();
    let everyone: Vec<&Automaton> = inner.iter().chain(outer.iter().flatten()).collect();
    let bytes = representatives(&everyone);
    let step = |situation: &Situation, byte: u8| -> Situation {
        let moved = everyone
            .iter()
            .zip(situation)
            .map(|(automaton, states)| automaton.step(states, byte));
        moved.collect()
    };
    let mut start: Situation = everyone.iter().map(|automaton| automaton.closed(vec![0])).collect();
    if let Some(byte) = begins {
        start = step(&start, byte);
    }
    let mut seen: HashSet<Situation> = HashSet::from([start.clone()]);
    let mut open = vec![start];
    while let Some(situation) = open.pop() {
        let (own, others) = situation.split_at(inner.len().min(situation.len()));
        if own.iter().any(Vec::is_empty) {
            continue;
        }
        if inner.iter().zip(own).all(|(automaton, states)| automaton.accepts(states)) {
            let mut rest = others.iter();
            let accepting =
                |all: &Vec<Automaton>| all.iter().zip(rest.by_ref()).filter(|(own, states)| own.accepts(states)).count() == all.len();
            // All of them, so that each takes its own share of the rest.
            let covering = outer.iter().map(accepting).filter(|covers| *covers).count();
            let covered = covering > 0;
            if !covered {
                return Inclusion::NotIncluded;
            }
        }
        for byte in &bytes {
            let next = step(&situation, *byte);
            if !seen.contains(&next) {
                if seen.len() >= MAX_SITUATIONS {
                    return Inclusion::Unknown;
                }
                seen.insert(next.clone());
                open.push(next);
            }
        }
    }
    Inclusion::Included
}

/// For each automaton the states that it may be in, sorted.
type Situation = Vec<Vec<u32>>;

/// Which bytes.
type Bytes = [u64; 4];

const NONE: Bytes = [0; 4];
const ALL: Bytes = [u64::MAX; 4];

fn with(mut set: Bytes, byte: u8) -> Bytes {
    if let Some(word) = set.get_mut(usize::from(byte >> 6)) {
        *word |= 1 << (byte & 63);
    }
    set
}

fn has(set: &Bytes, byte: u8) -> bool {
    set.get(usize::from(byte >> 6)).is_some_and(|word| word >> (byte & 63) & 1 == 1)
}

fn without(set: Bytes, byte: u8) -> Bytes {
    let one = with(NONE, byte);
    let mut left = set;
    for (word, gone) in left.iter_mut().zip(one) {
        *word &= !gone;
    }
    left
}

#[derive(Debug, Default)]
struct State {
    edges: Vec<(Bytes, u32)>,
    /// Taken without a byte.
    skips: Vec<u32>,
}

/// Begins in state 0 and accepts in state 1.
#[derive(Debug)]
struct Automaton {
    states: Vec<State>,
    /// Follows every segment, also the last one, so that all segments are alike.
    separator: Option<u8>,
}

impl Automaton {
    fn of(language: &Language<'_>) -> Self {
        let mut automaton = Automaton {
            states: vec![State::default(), State::default()],
            separator: None,
        };
        match *language {
            Language::Segmented(glob) => {
                automaton.separator = Some(glob.separator());
                for alternative in glob.alternatives() {
                    automaton.parts(alternative.unwrap_or(&[Part::Any]), glob.separator());
                }
            }
            Language::Parts { parts, separator } => {
                automaton.separator = Some(separator);
                automaton.parts(parts, separator);
            }
            Language::Without(byte) => {
                let end = automaton.sequence(0, &[Token::Star], without(ALL, byte));
                automaton.skip(end, 1);
            }
            Language::Text(text) => automaton.tokens(&text.bytes().map(Token::Literal).collect::<Vec<_>>()),
            Language::Anything | Language::Endpoint(EndpointPath::Any) => automaton.tokens(&[Token::Star]),
            Language::Endpoint(EndpointPath::Globs { tokens, .. }) => tokens.iter().for_each(|tokens| automaton.tokens(tokens)),
        }
        automaton
    }

    fn state(&mut self) -> u32 {
        self.states.push(State::default());
        u32::try_from(self.states.len() - 1).unwrap_or(u32::MAX)
    }

    fn edge(&mut self, from: u32, bytes: Bytes, to: u32) {
        if let Some(state) = self.states.get_mut(from as usize) {
            state.edges.push((bytes, to));
        }
    }

    fn skip(&mut self, from: u32, to: u32) {
        if let Some(state) = self.states.get_mut(from as usize) {
            state.skips.push(to);
        }
    }

    fn parts(&mut self, parts: &[Part], separator: u8) {
        let mut at = 0;
        let inside = without(ALL, separator);
        for part in parts {
            at = match part {
                Part::Segment(glob) => {
                    let end = self.glob(at, glob, inside);
                    let next = self.state();
                    self.edge(end, with(NONE, separator), next);
                    next
                }
                Part::Any => {
                    let (between, within) = (self.state(), self.state());
                    self.skip(at, between);
                    self.edge(between, inside, within);
                    self.edge(within, inside, within);
                    for from in [between, within] {
                        self.edge(from, with(NONE, separator), between);
                    }
                    between
                }
            };
        }
        self.skip(at, 1);
    }

    fn tokens(&mut self, tokens: &[Token]) {
        let end = self.sequence(0, tokens, ALL);
        self.skip(end, 1);
    }

    fn glob(&mut self, at: u32, glob: &Glob, alphabet: Bytes) -> u32 {
        match glob {
            Glob::Anything => self.sequence(at, &[Token::Star], alphabet),
            Glob::Literal(literal) => {
                let tokens: Vec<Token> = literal.iter().map(|byte| Token::Literal(*byte)).collect();
                self.sequence(at, &tokens, alphabet)
            }
            Glob::Tokens(tokens) => self.sequence(at, tokens, alphabet),
        }
    }

    fn sequence(&mut self, mut at: u32, tokens: &[Token], alphabet: Bytes) -> u32 {
        for token in tokens {
            let next = self.state();
            match token {
                Token::Star => {
                    self.skip(at, next);
                    self.edge(next, alphabet, next);
                }
                token => {
                    let bytes = (0..=u8::MAX)
                        .filter(|byte| token.matches(*byte) && has(&alphabet, *byte))
                        .fold(NONE, with);
                    self.edge(at, bytes, next);
                }
            }
            at = next;
        }
        at
    }

    fn closed(&self, mut states: Vec<u32>) -> Vec<u32> {
        let mut index = 0;
        while let Some(state) = states.get(index).and_then(|state| self.states.get(*state as usize)) {
            for skip in &state.skips {
                if !states.contains(skip) {
                    states.push(*skip);
                }
            }
            index += 1;
        }
        states.sort_unstable();
        states
    }

    fn step(&self, states: &[u32], byte: u8) -> Vec<u32> {
        let mut next: Vec<u32> = states
            .iter()
            .filter_map(|state| self.states.get(*state as usize))
            .flat_map(|state| &state.edges)
            .filter(|(bytes, _)| has(bytes, byte))
            .map(|(_, to)| *to)
            .collect();
        next.sort_unstable();
        next.dedup();
        self.closed(next)
    }

    fn accepts(&self, states: &[u32]) -> bool {
        match self.separator {
            None => states.contains(&1),
            Some(separator) => self.step(states, separator).contains(&1),
        }
    }
}

/// One byte of each kind: bytes that every edge treats alike need not all be tried.
fn representatives(automata: &[&Automaton]) -> Vec<u8> {
    let edges = automata
        .iter()
        .flat_map(|automaton| &automaton.states)
        .flat_map(|state| &state.edges);
    let mut sets: Vec<Bytes> = edges.map(|(bytes, _)| *bytes).collect();
    sets.extend(
        automata
            .iter()
            .filter_map(|automaton| automaton.separator)
            .map(|byte| with(NONE, byte)),
    );
    sets.sort_unstable();
    sets.dedup();
    let mut kinds: HashMap<Vec<bool>, u8> = HashMap::new();
    for byte in 0..=u8::MAX {
        kinds.entry(sets.iter().map(|set| has(set, byte)).collect()).or_insert(byte);
    }
    let mut bytes: Vec<u8> = kinds.into_values().collect();
    bytes.sort_unstable();
    bytes
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn paths(inner: &str, outer: &[&str]) -> Inclusion {
        let glob = |text: &str| SegmentedGlob::parse(text, b'/').unwrap();
        let (inner, outer): (_, Vec<SegmentedGlob>) = (glob(inner), outer.iter().map(|text| glob(text)).collect());
        let outer: Vec<Vec<Language<'_>>> = outer.iter().map(|glob| vec![Language::Segmented(glob)]).collect();
        included(&[Language::Segmented(&inner)], &outer, Some(b'/'))
    }

    #[test]
    fn globs_are_compared_by_what_they_match() {
        for (inner, outer, expected) in [
            ("/a", &["/a"][..], true),
            ("/a", &["/*"], true),
            ("/*", &["/a"], false),
            ("/a/b", &["/*"], false),
            ("/a/b", &["/**"], true),
            ("**", &["/**"], true),
            ("/**", &["**"], true),
            ("/a/**", &["/a/*"], false),
            ("/a/*", &["/a/**"], true),
            ("/a", &["/a/**"], false),
            ("/{a,b}", &["/a", "/b"], true),
            ("/{a,b}", &["/a"], false),
            ("/[a-c]", &["/[a-b]", "/c"], true),
            ("/**/x", &["/**"], true),
            ("/**", &["/**/x", "/**/y"], false),
            ("/a*/b", &["/a*/b", "/c"], true),
            ("/ab*c", &["/a*c"], true),
            ("/a*c", &["/ab*c"], false),
            ("/a?", &["/a*"], true),
            ("/\\*", &["/*"], true),
            ("/*", &["/\\*"], false),
        ] {
            assert_eq!(paths(inner, outer) == Inclusion::Included, expected, "{inner} in {outer:?}");
        }
    }

    #[test]
    fn texts_are_compared_whatever_their_separator() {
        let glob = |text: &str| SegmentedGlob::parse(text, b'.').unwrap();
        let (star, stars, letter) = (glob("*"), glob("**"), glob("a*"));
        let (star, stars, letter) = (
            Language::Segmented(&star),
            Language::Segmented(&stars),
            Language::Segmented(&letter),
        );
        for (inner, outer, expected) in [
            (Language::Anything, stars, true),
            (stars, Language::Anything, true),
            (Language::Anything, star, false),
            (Language::Without(b'.'), star, true),
            (star, Language::Without(b'.'), true),
            (Language::Text("a.b"), letter, false),
            (Language::Text("ab"), letter, true),
            (letter, Language::Text("ab"), false),
        ] {
            assert_eq!(
                included(&[inner], &[vec![outer]], None) == Inclusion::Included,
                expected,
                "{inner:?} in {outer:?}"
            );
        }
    }

    #[test]
    fn what_would_take_too_long_is_not_known() {
        let hard = format!("/*a{}", "?".repeat(40));
        let other = format!("/*b{}", "?".repeat(40));
        assert_eq!(paths("/*", &[&hard, &other]), Inclusion::NotIncluded);
        let inner = format!("/*[ab]{}", "[ab]".repeat(40));
        assert_eq!(paths(&inner, &[&hard, &other]), Inclusion::Unknown);
    }

    proptest! {
        #[test]
        fn what_is_included_matches_wherever_the_inner_does(
            inner in "/[ab*?]{0,4}(/(\\*\\*|[ab*]{1,2})){0,2}",
            outer in proptest::collection::vec("/[ab*?]{0,4}(/(\\*\\*|[ab*]{1,2})){0,2}", 1..3),
            texts in proptest::collection::vec("/[abc]{0,3}(/[abc]{0,2}){0,2}", 20),
        ) {
            let glob = |text: &str| SegmentedGlob::parse(text, b'/').unwrap();
            let found = paths(&inner, &outer.iter().map(String::as_str).collect::<Vec<_>>());
            let (inner, outer) = (glob(&inner), outer.iter().map(|text| glob(text)).collect::<Vec<_>>());
            if found == Inclusion::Included {
                for text in texts {
                    let covered = outer.iter().any(|glob| glob.matches(text.as_bytes()));
                    prop_assert!(!inner.matches(text.as_bytes()) || covered, "{}", text);
                }
            }
        }
    }
}
