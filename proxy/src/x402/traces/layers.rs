//! Payments behind one encoding more: in hex, or in base64 of base64. Neither has words of its own that text could be searched for.
//!
//! In: text. Out: the trace in what a long run of either decodes to. Every run that is long enough passes one of a few places, and only there
//! is text looked at: it is a run of hex, or one of base64 that decodes to base64.

use super::Trace;
use super::text::in_plain_text;
use crate::x402::base64::is_base64;

/// Fewer characters hold no payment: signed fields with their signature are 380 bytes.
const SHORTEST_RUN: usize = 512;

/// From one place to the next: no run can lie between two.
const STRIDE: usize = SHORTEST_RUN / 2;

/// How much is looked at there: so many groups of base64, wherever the first begins. What other base64 says in as many is base64 itself once
/// in ten million times.
const LOOK: usize = GROUPS * 4 + 3;
const GROUPS: usize = 4;

/// How a run is to be decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Hex,
    /// With a group of four that begins so far from where it was looked at.
    Base64(usize),
}

/// A run of one alphabet.
struct Run<'t> {
    text: &'t [u8],
    coding: Coding,
}

/// Whether text has a run that may hold one.
pub(crate) fn may_be_in_layers(text: &[u8]) -> bool {
    runs(text).next().is_some()
}

/// The trace in what the runs decode to, and in what is encoded there once more, as often as `layers` says.
pub(super) fn in_layers(text: &[u8], layers: u8) -> Option<Trace> {
    runs(text).find_map(|run| match run.coding {
        // Text that runs into it may shift it by one digit.
        Coding::Hex => [0, 1]
            .into_iter()
            .find_map(|from| in_plain_text(&from_hex(run.text.get(from..)?), layers)),
        Coding::Base64(from) => in_plain_text(&from_base64(run.text.get(from..)?), layers),
    })
}

fn runs(text: &[u8]) -> impl Iterator<Item = Run<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let look = text.get(at..at + LOOK)?;
            let Some(coding) = coding_of(look) else {
                at += STRIDE;
                continue;
            };
            let is_digit = match coding {
                Coding::Hex => |byte: &u8| byte.is_ascii_hexdigit(),
                Coding::Base64(_) => |byte: &u8| is_base64(*byte),
            };
            let (before, after) = text.split_at(at);
            let start = before.iter().rposition(|byte| !is_digit(byte)).map_or(0, |last| last + 1);
            let end = after
                .iter()
                .position(|byte| !is_digit(byte))
                .map_or(text.len(), |length| at + length);
            let coding = match coding {
                Coding::Hex => coding,
                Coding::Base64(group) => Coding::Base64((at + group - start) % 4),
            };
            at = end.max(at + STRIDE);
            if end - start >= SHORTEST_RUN {
                return Some(Run {
                    text: text.get(start..end)?,
                    coding,
                });
            }
        }
    })
}

/// Most text has a character of neither alphabet here, and other base64 says what is no base64 at once.
fn coding_of(look: &[u8]) -> Option<Coding> {
    if look.iter().any(|byte| sextet(*byte).is_none()) {
        return None;
    }
    if look.iter().all(u8::is_ascii_hexdigit) {
        return Some(Coding::Hex);
    }
    let is_twice = |from: &usize| {
        let (groups, _) = look.get(*from..).unwrap_or_default().as_chunks::<4>();
        let bytes = groups.iter().take(GROUPS).map(|group| bytes_of(*group));
        bytes.flatten().flatten().all(|byte| sextet(byte).is_some())
    };
    (0..4).find(is_twice).map(Coding::Base64)
}

fn from_hex(run: &[u8]) -> Vec<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, _) = run.as_chunks::<2>();
    pairs
        .iter()
        .filter_map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?))
        .collect()
}

/// Of either alphabet, or both: what runs into it from before may be of the other.
fn from_base64(run: &[u8]) -> Vec<u8> {
    let (groups, rest) = run.as_chunks::<4>();
    let mut last = *b"AAAA";
    last.iter_mut().zip(rest).for_each(|(digit, byte)| *digit = *byte);
    let mut bytes: Vec<u8> = groups
        .iter()
        .chain([&last])
        .filter_map(|group| bytes_of(*group))
        .flatten()
        .collect();
    bytes.truncate(run.len() * 3 / 4);
    bytes
}

fn bytes_of(group: [u8; 4]) -> Option<[u8; 3]> {
    let [a, b, c, d] = group.map(sextet);
    let (a, b, c, d) = (a?, b?, c?, d?);
    Some([a << 2 | b >> 4, b << 4 | c >> 2, c << 6 | d])
}

const NONE: u8 = u8::MAX;

/// A table: comparing takes five times as long, as no branch of it can be foreseen.
#[expect(clippy::indexing_slicing, reason = "computed by the compiler")]
static SEXTETS: [u8; 256] = {
    let alphabet = *b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut sextets = [NONE; 256];
    let mut sextet: u8 = 0;
    while sextet < 64 {
        sextets[alphabet[sextet as usize] as usize] = sextet;
        sextet += 1;
    }
    sextets[b'-' as usize] = 62;
    sextets[b'_' as usize] = 63;
    sextets
};

fn sextet(byte: u8) -> Option<u8> {
    SEXTETS.get(usize::from(byte)).copied().filter(|sextet| *sextet != NONE)
}
