//! Content codings of request bodies (RFC 9110 section 8.4): decoded for judging, within bounds.

use std::io::Read;

use bytes::Bytes;
use http::header::{self, HeaderMap};
use tollgate_policy::Reason;

use super::super::failure::Failure;
use super::sniff::{self, Look, Sniffer};
use super::too_large;
use crate::gate::Denial;

/// How much of a compressed body is decoded to see what it is.
const PEEK: usize = 4 << 10;

/// The one coding of a body; several on top of each other are refused, since nobody honest sends them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    Identity,
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// Decoded bytes.
pub(super) struct Decoded(pub(super) Bytes);

impl Coding {
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, Denial> {
        let mut values = headers.get_all(header::CONTENT_ENCODING).iter();
        let Some(value) = values.next() else { return Ok(Coding::Identity) };
        let coding = value.as_bytes().trim_ascii().to_ascii_lowercase();
        match (coding.as_slice(), values.next()) {
            (b"" | b"identity", None) => Ok(Coding::Identity),
            (b"gzip" | b"x-gzip", None) => Ok(Coding::Gzip),
            (b"deflate", None) => Ok(Coding::Deflate),
            (b"br", None) => Ok(Coding::Brotli),
            (b"zstd", None) => Ok(Coding::Zstd),
            _ => Err(Denial::new(
                Reason::UninspectableTraffic,
                "the body's content coding cannot be read, so what it carries cannot be judged",
            )),
        }
    }

    /// Looks at what the beginning decodes to. `done`: the bytes are the whole body.
    pub(super) fn look(self, sniffer: &mut Sniffer, bytes: &[u8], done: bool) -> Result<Look, Failure> {
        if self == Coding::Identity {
            return Ok(sniffer.look(bytes));
        }
        if self == Coding::Deflate && is_read_in_two_ways(bytes) {
            return Err(undecodable());
        }
        let mut peeked = Vec::with_capacity(PEEK);
        // A prefix of a compressed stream ends in an error; what came out before it is what counts.
        let outcome = self.reader(bytes).take(PEEK as u64).read_to_end(&mut peeked);
        let look = sniff::look(&peeked);
        if done && outcome.is_err() && look != Look::OtherThanJson {
            return Err(undecodable());
        }
        Ok(look)
    }

    /// The whole body, decoded.
    pub(super) fn decode(self, bytes: &Bytes, most: usize) -> Result<Decoded, Failure> {
        if self == Coding::Identity {
            return if bytes.len() > most {
                Err(too_large(most))
            } else {
                Ok(Decoded(bytes.clone()))
            };
        }
        if self == Coding::Deflate && is_read_in_two_ways(bytes) {
            return Err(undecodable());
        }
        let mut decoded = Vec::new();
        // One byte more than allowed tells a bomb from a body of exactly the limit.
        self.reader(bytes)
            .take(most as u64 + 1)
            .read_to_end(&mut decoded)
            .map_err(|_| undecodable())?;
        if decoded.len() > most {
            return Err(too_large(most));
        }
        Ok(Decoded(decoded.into()))
    }

    fn reader<'b>(self, bytes: &'b [u8]) -> Box<dyn Read + Send + 'b> {
        match self {
            Coding::Identity => Box::new(bytes),
            // A gzip body may have several members (RFC 1952 section 2.2); reading only the first would hide the rest.
            Coding::Gzip => Box::new(flate2::read::MultiGzDecoder::new(bytes)),
            Coding::Deflate if is_zlib(bytes) => Box::new(flate2::read::ZlibDecoder::new(bytes)),
            Coding::Deflate => Box::new(flate2::read::DeflateDecoder::new(bytes)),
            Coding::Brotli => Box::new(brotli::Decompressor::new(bytes, PEEK)),
            Coding::Zstd => match zstd::stream::read::Decoder::new(bytes) {
                Ok(decoder) => Box::new(decoder),
                Err(error) => Box::new(Broken(Some(error))),
            },
        }
    }
}

/// HTTP's "deflate" is zlib's format (RFC 9110 section 8.4.1.2); some send the bare one.
fn is_zlib(bytes: &[u8]) -> bool {
    bytes.first().is_some_and(|byte| byte & 0x0F == 8)
}

/// Python's clients read what breaks as zlib's format once more as the bare one: what begins like one may be JSON in the other.
fn is_read_in_two_ways(bytes: &[u8]) -> bool {
    if !is_zlib(bytes) {
        return false;
    }
    let mut peeked = Vec::new();
    // How it ends is no matter.
    let _ = flate2::read::DeflateDecoder::new(bytes).take(PEEK as u64).read_to_end(&mut peeked);
    sniff::look(&peeked) == Look::Json
}

fn undecodable() -> Failure {
    Denial::new(
        Reason::UninspectableTraffic,
        "the body does not decode by its content coding, so it cannot be judged",
    )
    .into()
}

/// A decoder that could not be made.
struct Broken(Option<std::io::Error>);

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(self.0.take().unwrap_or_else(|| std::io::ErrorKind::InvalidData.into()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::io::Write;

    use super::*;

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zlib(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn brotli(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        brotli::CompressorWriter::new(&mut out, 4096, 5, 20).write_all(bytes).unwrap();
        out
    }

    #[test]
    fn a_compressed_rail_call_is_seen_through_every_coding() {
        let body = br#"{"jsonrpc":"2.0","method":"eth_sendRawTransaction","params":["0x"],"id":1}"#;
        let cases = [
            (Coding::Gzip, gzip(body)),
            (Coding::Deflate, zlib(body)),
            (Coding::Brotli, brotli(body)),
            (Coding::Zstd, zstd::encode_all(&body[..], 1).unwrap()),
        ];
        for (coding, encoded) in cases {
            assert_eq!(
                coding.look(&mut Sniffer::default(), &encoded, true).unwrap(),
                Look::Json,
                "{coding:?}"
            );
            assert_eq!(
                coding.decode(&encoded.into(), 1024).map_err(|_| ()).unwrap().0,
                body[..],
                "{coding:?}"
            );
        }
    }

    #[test]
    fn a_second_gzip_member_cannot_hide_a_call() {
        let two = [gzip(b" "), gzip(b"{\"method\":1}")].concat();
        assert_eq!(Coding::Gzip.look(&mut Sniffer::default(), &two, true).unwrap(), Look::Json);
    }

    /// Read as zlib's format it is a letter, repeated, and then breaks; a stored block of JSON to whoever then tries the bare one.
    #[test]
    fn a_deflated_body_that_is_json_only_to_a_second_try_is_refused() {
        let length: u16 = 0x0B01;
        let block = [[0x78].as_slice(), &length.to_le_bytes(), &(!length).to_le_bytes()].concat();
        let json = format!(
            "{:<1$}",
            "\t\r \t \t  \t\n\t{\"x402Version\":1,\"accepts\":[]}",
            usize::from(length)
        );
        let body = [block, json.clone().into_bytes()].concat();
        let mut read = Vec::new();
        assert!(flate2::read::ZlibDecoder::new(&*body).read_to_end(&mut read).is_err());
        assert_eq!(sniff::look(&read), Look::OtherThanJson);
        let mut again = Vec::new();
        let _ = flate2::read::DeflateDecoder::new(&*body).read_to_end(&mut again);
        assert_eq!(String::from_utf8(again).unwrap(), json);
        for done in [true, false] {
            assert!(Coding::Deflate.look(&mut Sniffer::default(), &body, done).is_err());
        }
        assert!(Coding::Deflate.decode(&body.into(), 1 << 20).is_err());
    }

    #[test]
    fn a_decompression_bomb_is_refused_at_the_limit() {
        let bomb = gzip(&vec![b'['; 1 << 20]);
        assert!(matches!(Coding::Gzip.decode(&bomb.into(), 4096), Err(Failure::Denied(d)) if d.reason == Reason::BodyTooLarge));
    }

    #[test]
    fn unknown_and_stacked_codings_are_refused() {
        for value in ["compress", "gzip, gzip", "aes128gcm"] {
            let headers = HeaderMap::from_iter([(header::CONTENT_ENCODING, value.parse().unwrap())]);
            assert_eq!(
                Coding::of(&headers).map_err(|d| d.reason),
                Err(Reason::UninspectableTraffic),
                "{value}"
            );
        }
    }
}
