//! Content codings. A body that was coded is judged by what it was before, or is too large; and what comes of any bytes is what another
//! decoder makes of them. The first byte says which coding, the second how a stream is cut.

#![no_main]

use std::io::{Read, Write};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, header};
use libfuzzer_sys::fuzz_target;
use tollgate::flow::decoders::{body, stream};
use tollgate_policy::Reason;

const MOST: usize = 64 << 10;
const CODINGS: [&str; 4] = ["gzip", "deflate", "br", "zstd"];

fn coded(coding: &str, bytes: &[u8]) -> Vec<u8> {
    let level = flate2::Compression::fast();
    match coding {
        "gzip" => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
            encoder.write_all(bytes).and_then(|()| encoder.finish())
        }
        "deflate" => {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
            encoder.write_all(bytes).and_then(|()| encoder.finish())
        }
        "br" => {
            let mut encoder = brotli::CompressorWriter::new(Vec::new(), 4096, 1, 18);
            encoder.write_all(bytes).map(|()| encoder.into_inner())
        }
        _ => zstd::encode_all(bytes, 1),
    }
    .expect("memory takes all")
}

/// What another server may read: all that comes out before an error.
fn readings(coding: &str, bytes: &[u8]) -> Vec<Vec<u8>> {
    let all = |mut reader: Box<dyn Read + '_>| {
        let mut out = Vec::new();
        let whole = reader.by_ref().take(MOST as u64 + 1).read_to_end(&mut out).is_ok();
        whole.then_some(out)
    };
    let read = match coding {
        "gzip" => vec![
            all(Box::new(flate2::read::GzDecoder::new(bytes))),
            all(Box::new(flate2::read::MultiGzDecoder::new(bytes))),
        ],
        // Some take the one for the other, as HTTP's "deflate" has been both.
        "deflate" => vec![
            all(Box::new(flate2::read::ZlibDecoder::new(bytes))),
            all(Box::new(flate2::read::DeflateDecoder::new(bytes))),
        ],
        "br" => vec![all(Box::new(brotli::Decompressor::new(bytes, 512)))],
        _ => vec![
            zstd::stream::read::Decoder::new(bytes)
                .ok()
                .and_then(|decoder| all(Box::new(decoder))),
        ],
    };
    read.into_iter().flatten().collect()
}

fn begins_like_json(bytes: &[u8]) -> bool {
    matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'[' | b'"'))
}

fuzz_target!(|input: &[u8]| {
    let [choice, step, bytes @ ..] = input else { return };
    let coding = CODINGS[usize::from(*choice) % 4];
    let headers = HeaderMap::from_iter([(header::CONTENT_ENCODING, HeaderValue::from_static(coding))]);
    let step = usize::from(*step).max(1);

    let there = Bytes::from(coded(coding, bytes));
    assert_eq!(stream(&headers, there.chunks(step), MOST).as_deref(), Ok(bytes));
    match body(&headers, &there, MOST) {
        Ok(Some(judged)) => assert_eq!(judged, bytes),
        Ok(None) => assert!(!begins_like_json(bytes), "JSON was passed over"),
        Err(reason) => assert!(reason == Reason::BodyTooLarge, "{reason:?}"),
    }

    let judged = body(&headers, &Bytes::copy_from_slice(bytes), MOST);
    let readings = readings(coding, bytes);
    match &judged {
        Err(_) => {}
        Ok(None) => assert!(!readings.iter().any(|reading| begins_like_json(reading)), "JSON was passed over"),
        Ok(Some(judged)) => {
            for reading in readings.iter().filter(|reading| begins_like_json(reading)) {
                // Who reads only the first of several members reads a beginning of what is judged.
                assert!(judged.starts_with(reading), "others read something else");
            }
        }
    }
    let whole = stream(&headers, [bytes], MOST);
    let cut = stream(&headers, bytes.chunks(step), MOST);
    if let (Ok(whole), Ok(cut)) = (&whole, &cut) {
        assert_eq!(whole, cut);
    }
});
