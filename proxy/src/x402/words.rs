//! Searching bytes for many words at once, at memory speed where the processor allows.

use aho_corasick::{AhoCorasick, BuildError, packed};

/// How many words are searched for in one pass: with more, text of the wrong letters raises one false alarm after the other.
const IN_ONE_PASS: usize = 40;

/// A set of words.
#[derive(Debug)]
pub(crate) struct Words {
    /// Some ten times as fast; missing where the processor has no instructions for it.
    vectorised: Option<Vec<packed::Searcher>>,
    automaton: AhoCorasick,
}

/// A word that was found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WordAt {
    /// Its place in the set.
    pub(crate) word: usize,
    /// Where it begins.
    pub(crate) start: usize,
}

impl Words {
    pub(crate) fn new(words: &[String]) -> Result<Self, BuildError> {
        let vectorised = |words: &[String]| packed::Searcher::new(words);
        Ok(Words {
            vectorised: words.chunks(IN_ONE_PASS).map(vectorised).collect(),
            automaton: AhoCorasick::new(words)?,
        })
    }

    /// Whether any is there.
    pub(crate) fn any(&self, text: &[u8]) -> bool {
        match &self.vectorised {
            Some(searchers) => searchers.iter().any(|searcher| searcher.find(text).is_some()),
            None => self.automaton.is_match(text),
        }
    }

    /// Each that is there, overlapping or not.
    pub(crate) fn each(&self, text: &[u8]) -> impl Iterator<Item = WordAt> {
        self.automaton.find_overlapping_iter(text).map(|found| WordAt {
            word: found.pattern().as_usize(),
            start: found.start(),
        })
    }
}

/// Undoes the `\u00…` escapes of ASCII characters and `\/`, without regard to structure.
pub(crate) fn without_escapes(body: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(body.len());
    let mut rest = body;
    while let Some((first, after)) = rest.split_first() {
        let escaped = match (first, after) {
            (b'\\', [b'/', after @ ..]) => Some((b'/', after)),
            (b'\\', [b'u', b'0', b'0', high, low, after @ ..]) => std::str::from_utf8(&[*high, *low])
                .ok()
                .and_then(|digits| u8::from_str_radix(digits, 16).ok())
                .filter(u8::is_ascii)
                .map(|byte| (byte, after)),
            _ => None,
        };
        let (byte, after) = escaped.unwrap_or((*first, after));
        plain.push(byte);
        rest = after;
    }
    plain
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn both_searchers_agree(text in "[abc\"]{0,80}", words in prop::collection::vec("[abc\"]{3,6}", 1..120)) {
            let set = Words::new(&words).unwrap();
            let expected = words.iter().any(|word| text.contains(word));
            prop_assert_eq!(set.any(text.as_bytes()), expected);
            prop_assert_eq!(set.each(text.as_bytes()).next().is_some(), expected);
        }
    }
}
