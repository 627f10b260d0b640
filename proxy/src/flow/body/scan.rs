//! A body that no rule reads, searched for payments as it passes: a form, a multipart body, plain text, anything that is not JSON.
//!
//! In: its bytes, in order, each before it leaves. Out: a denial as soon as a payment is complete in them; then the piece that completes it
//! stays here, and the origin never has a whole request. Memory stays the same however long the body is.

use std::sync::Arc;

use bytes::Bytes;
use http::header::HeaderMap;

use super::stream::StreamDecoder;
use crate::flow::failure::Failure;
use crate::flow::head::Head;
use crate::gate::{Denial, denied_trace};
use crate::x402::traces::Passing;

/// How much of a compressed body is decoded at once, and what may come out of that: zeros in Zstandard.
const CODED_STEP: usize = 128;
const MOST_DECODED: usize = 4 << 20;
/// And out of what is read at once: what DEFLATE makes of 64 KiB at best.
const MOST_TOGETHER: usize = 68 << 20;

/// See the module.
pub(crate) struct Scan {
    head: Arc<Head>,
    decoder: StreamDecoder,
    passing: Passing,
}

impl Scan {
    /// Of the body of a request with this head and these fields.
    pub(crate) fn of(head: &Arc<Head>, headers: &HeaderMap) -> Result<Self, Denial> {
        Ok(Scan {
            head: head.clone(),
            decoder: StreamDecoder::of(headers)?,
            passing: Passing::default(),
        })
    }

    /// The next bytes, before they leave.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let Scan { head, decoder, passing } = self;
        search(decoder, bytes, |text| match passing.take(text) {
            None => Ok(()),
            Some(trace) => Err(denied_trace(head.path.as_str(), trace).into()),
        })
    }
}

/// Shows what bytes decode to, bit by bit.
fn search(decoder: &mut StreamDecoder, bytes: &[u8], mut look: impl FnMut(&[u8]) -> Result<(), Failure>) -> Result<(), Failure> {
    if decoder.is_identity() {
        return look(bytes);
    }
    let mut left = MOST_TOGETHER;
    for piece in bytes.chunks(CODED_STEP) {
        let text = decoder.take(Bytes::copy_from_slice(piece), MOST_DECODED.min(left))?;
        left -= text.len();
        look(&text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Write as _;

    use http::header;
    use tollgate_policy::Reason;

    use super::*;

    fn taken(coding: &'static str, body: &[u8]) -> Option<Reason> {
        let mut decoder = StreamDecoder::of(&HeaderMap::from_iter([(header::CONTENT_ENCODING, coding.parse().unwrap())])).unwrap();
        let mut passing = Passing::default();
        match search(&mut decoder, body, |text| {
            passing.take(text).map_or(Ok(()), |trace| Err(denied_trace("/", trace).into()))
        }) {
            Ok(()) => None,
            Err(Failure::Denied(denial)) => Some(denial.reason),
            Err(Failure::Broken(_)) => Some(Reason::InternalError),
        }
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_compressed_body_is_searched_and_a_bomb_or_junk_is_refused() {
        let form = format!("{}&validBefore=9&signature=0x{}", "a=b".repeat(9_000), "1b".repeat(65));
        for (coding, body, expected) in [
            ("identity", form.clone().into_bytes(), Some(Reason::RailBroadcast)),
            ("gzip", gzip(form.as_bytes()), Some(Reason::RailBroadcast)),
            ("zstd", zstd::encode_all(form.as_bytes(), 1).unwrap(), Some(Reason::RailBroadcast)),
            ("gzip", gzip(&vec![0; 16 << 20]), None),
            ("zstd", zstd::encode_all(&vec![0; 16 << 20][..], 1).unwrap(), None),
            ("gzip", gzip(&vec![0; 128 << 20]), Some(Reason::BodyTooLarge)),
            ("gzip", b"no gzip at all".to_vec(), Some(Reason::UninspectableTraffic)),
        ] {
            assert_eq!(taken(coding, &body), expected, "{coding} of {} bytes", body.len());
        }
    }
}
