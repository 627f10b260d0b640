//! Which segments of a path are ids, so that several of them at one place stand for any.
//!
//! An id is a number, a UUID or a hash-like token, with a file extension or without. A word never is one: `/repos/alpha` and
//! `/repos/beta` say nothing about `/repos/gamma`.

use crate::matcher::literal_glob;

/// The shortest hexadecimal text without a UUID's hyphens that counts as a hash: an abbreviated commit.
const SHORTEST_HASH: usize = 7;
/// The shortest token of letters and digits that counts as made by a machine.
const SHORTEST_TOKEN: usize = 16;
/// How audit lines write a segment that is too long to be shown: so many bytes of it, and three dots.
const SHOWN: usize = 12;
const ABBREVIATED: &str = "...";

/// What ids at one place have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct IdShape {
    /// `.json`, or nothing.
    extension: Box<str>,
}

impl IdShape {
    /// The shape, if the segment is an id.
    pub(super) fn of(segment: &str) -> Option<Self> {
        let (stem, extension) = match segment.find('.') {
            Some(at) => segment.split_at(at),
            None => (segment, ""),
        };
        let plain = extension.bytes().all(|b| b == b'.' || b.is_ascii_alphanumeric());
        (is_id(stem) && plain && !is_abbreviated(segment)).then(|| IdShape {
            extension: extension.into(),
        })
    }

    /// Any id of this shape.
    pub(super) fn glob(&self) -> String {
        format!("*{}", self.extension)
    }
}

/// The segment as a glob of itself, or of its beginning where the rest was not written down.
pub(super) fn literal(segment: &str) -> String {
    match segment.strip_suffix(ABBREVIATED).filter(|_| is_abbreviated(segment)) {
        Some(start) => format!("{}*", literal_glob(start)),
        None => literal_glob(segment),
    }
}

/// Whether the segment was too long to be written down whole.
pub(super) fn is_abbreviated(segment: &str) -> bool {
    segment.len() == SHOWN + ABBREVIATED.len() && segment.ends_with(ABBREVIATED)
}

fn is_id(stem: &str) -> bool {
    is_number(stem) || is_uuid(stem) || is_hash(stem) || is_token(stem)
}

fn is_number(stem: &str) -> bool {
    !stem.is_empty() && stem.bytes().all(|b| b.is_ascii_digit())
}

fn is_uuid(stem: &str) -> bool {
    const GROUPS: [usize; 5] = [8, 4, 4, 4, 12];
    let is_group = |(group, length): (&str, usize)| group.len() == length && group.bytes().all(|b| b.is_ascii_hexdigit());
    stem.len() == 36 && stem.split('-').count() == GROUPS.len() && stem.split('-').zip(GROUPS).all(is_group)
}

/// Without a digit it may be a word: `decade`, `facade`, `deadbeef`.
fn is_hash(stem: &str) -> bool {
    stem.len() >= SHORTEST_HASH && stem.bytes().all(|b| b.is_ascii_hexdigit()) && stem.bytes().any(|b| b.is_ascii_digit())
}

/// Base64, base62 or ULID, and ids with a short prefix such as `cus_9s6XKzkNRiz8i3`: letters and digits mixed throughout. A word or a
/// few with a number (`chat-completions-2024`) have all their digits in one run.
fn is_token(stem: &str) -> bool {
    let body = stem.rsplit('_').next().unwrap_or(stem);
    let mixed = |text: &str| {
        let kinds: Vec<bool> = text.bytes().map(|b| b.is_ascii_digit()).collect();
        kinds.windows(2).filter(|pair| pair.first() != pair.last()).count() >= 3
    };
    stem.len() >= SHORTEST_TOKEN && body.len() >= SHORTEST_TOKEN - 4 && body.bytes().all(|b| b.is_ascii_alphanumeric()) && mixed(body)
}
