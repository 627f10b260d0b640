//! Base64 in its one spelling (RFC 4648 section 4, padded, one line), and a tolerant reader for text that *hides* a payment.
//!
//! Sellers' decoders differ: Python drops every foreign byte and stops at the first padding, Node takes missing padding, Go ignores line
//! breaks. A payment is only what all of them read alike, so the bytes are encoded again and compared.

use base64::Engine;
use base64::alphabet;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use base64::engine::{DecodePaddingMode, general_purpose};

/// Decodes canonical base64; `None` for any other spelling.
pub fn decode_canonical(text: &[u8]) -> Option<Vec<u8>> {
    let bytes = STANDARD.decode(text).ok()?;
    // The decoder is strict already; comparing proves it, whatever version of it is built in.
    (STANDARD.encode(&bytes).as_bytes() == text).then_some(bytes)
}

/// Encodes in the one spelling that [`decode_canonical`] takes.
pub fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

const TOLERANT: GeneralPurposeConfig = general_purpose::NO_PAD
    .with_decode_allow_trailing_bits(true)
    .with_decode_padding_mode(DecodePaddingMode::Indifferent);
const TOLERANT_STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, TOLERANT);
const TOLERANT_URL: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, TOLERANT);

/// Whether the byte is of either base64 alphabet.
pub(crate) fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

/// Decodes a run of either alphabet, with or without padding; the search for hidden payments takes what any decoder might.
pub(crate) fn decode_tolerant(run: &[u8]) -> Option<Vec<u8>> {
    let whole = match run.len() % 4 {
        // No encoder makes this; the rest may still be a document.
        1 => run.get(..run.len() - 1)?,
        _ => run,
    };
    TOLERANT_STANDARD.decode(whole).or_else(|_| TOLERANT_URL.decode(whole)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_canonical_spelling_decodes() {
        assert_eq!(decode_canonical(b"eyJhIjoxfQ=="), Some(b"{\"a\":1}".to_vec()));
        for bad in [
            "eyJhIjoxfQ",
            "eyJhIjoxfQ=",
            "eyJhIjoxfR==",
            "eyJh IjoxfQ==",
            "eyJh\tIjoxfQ==",
            "eyJh-joxfQ==",
            "eyJh.IjoxfQ==",
            "\"eyJhIjoxfQ==\"",
            "eyJhIjoxfQ==QUJD",
            "eyJhIjoxfQ===",
            "eyJhIjoxfQ==\n",
            " eyJhIjoxfQ==",
            "eyJh_joxfQ==",
        ] {
            assert_eq!(decode_canonical(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn the_search_reads_what_lenient_sellers_read() {
        for hidden in ["eyJhIjoxfQ==", "eyJhIjoxfQ", "eyJhIjoxfR", "eyJhIjoxfQ="] {
            assert_eq!(decode_tolerant(hidden.as_bytes()), Some(b"{\"a\":1}".to_vec()), "{hidden}");
        }
        assert_eq!(decode_tolerant(b"-_-_"), decode_tolerant(b"+/+/"));
    }
}
