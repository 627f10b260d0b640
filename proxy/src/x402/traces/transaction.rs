//! Signed Solana transactions in text: the money of whoever sends one off. Base64 and base58 are how nodes take them.
//!
//! Other bytes are not taken for one by chance, as every length in a transaction has to come out even.

use num_bigint::BigUint;

use super::text::encoded_at;
use crate::x402::base64::decode_tolerant;
use crate::x402::solana::TokenProgram;
use crate::x402::solana::transaction::{MAX_BYTES, Transaction};

/// How many words [`words`] has.
pub(super) const WORDS: usize = TokenProgram::ALL.len() * 3;

/// The longest transaction in base64, without padding.
const LONGEST_BASE64: usize = MAX_BYTES.div_ceil(3) * 4;

/// Fewer characters of base58 are no transaction that moves anything: a signature, two accounts, a block's hash and an instruction.
const SHORTEST_BASE58: usize = 200;

/// Each byte takes `log 256 / log 58` characters: 1.3657.
const LONGEST_BASE58: usize = MAX_BYTES * 13658 / 10000 + 1;

/// What transactions that transfer tokens have in common in base64: the address of a token program at each of the three offsets.
pub(crate) fn words() -> Vec<String> {
    TokenProgram::ALL
        .into_iter()
        .flat_map(|program| (0..3).map(move |offset| encoded_at(&program.address().0, offset)))
        .collect()
}

fn is_signed(bytes: &[u8]) -> bool {
    let transaction = Transaction::read(bytes);
    transaction.is_ok_and(|transaction| transaction.signatures.iter().any(|signature| **signature != [0; 64]))
}

/// Whether a run of base64 is one as a whole. In base58, [`in_base58`] finds it.
pub(super) fn is_hidden_in(run: &[u8]) -> bool {
    run.len() <= LONGEST_BASE64 && decode_tolerant(run).is_some_and(|bytes| is_signed(&bytes))
}

/// Whether a run of base64 ends in one, whatever runs into it from before. Groups of four begin with the run.
pub(super) fn ends_base64(run: &[u8]) -> bool {
    let surplus = run.len().saturating_sub(LONGEST_BASE64).next_multiple_of(4);
    let tail = run.get(surplus.min(run.len() / 4 * 4)..).unwrap_or_default();
    decode_tolerant(tail).is_some_and(|bytes| (0..bytes.len()).any(|from| is_signed(bytes.get(from..).unwrap_or_default())))
}

/// Whether text has a run of base58 that is as long as one.
pub(crate) fn may_be_in_base58(text: &[u8]) -> bool {
    runs(text).next().is_some()
}

/// Whether a run of base58 is one.
pub(super) fn in_base58(text: &[u8]) -> bool {
    runs(text).any(|run| from_base58(run).is_some_and(|bytes| is_signed(&bytes)))
}

/// As a number, which is fifty times as fast as byte by byte: a body made of nothing but such runs must not cost seconds. Leading zero
/// bytes are lost; no transaction has any, as the number of its signatures comes first.
fn from_base58(run: &[u8]) -> Option<Vec<u8>> {
    let digits: Vec<u8> = run.iter().filter_map(|byte| base58_digit(*byte)).collect();
    BigUint::from_radix_be(&digits, 58).map(|number| number.to_bytes_be())
}

/// Runs of base58 of a transaction's length. Where every run that is long enough would have to pass is looked at first, so that most of a
/// text never is.
fn runs(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let (begin, after) = rest.split_at_checked(SHORTEST_BASE58)?;
            if let Some(at) = begin.iter().rposition(|byte| !is_base58(*byte)) {
                rest = rest.get(at + 1..)?;
                continue;
            }
            let more = after.iter().position(|byte| !is_base58(*byte)).unwrap_or(after.len());
            let run = rest.get(..SHORTEST_BASE58 + more)?;
            rest = after.get(more..)?;
            if run.len() <= LONGEST_BASE58 {
                return Some(run);
            }
        }
    })
}

/// Of Bitcoin's alphabet, which is Solana's: digits, capitals and small letters but for `0`, `O`, `I` and `l`.
const fn base58_digit(byte: u8) -> Option<u8> {
    match byte {
        b'1'..=b'9' => Some(byte - b'1'),
        b'A'..=b'H' => Some(byte - b'A' + 9),
        b'J'..=b'N' => Some(byte - b'J' + 17),
        b'P'..=b'Z' => Some(byte - b'P' + 22),
        b'a'..=b'k' => Some(byte - b'a' + 33),
        b'm'..=b'z' => Some(byte - b'm' + 44),
        _ => None,
    }
}

const fn is_base58(byte: u8) -> bool {
    base58_digit(byte).is_some()
}
