//! Content codings of bodies that stream: undone piece by piece, so that an event can be read as soon as it is there, and a payment seen
//! before it has left.

use std::io::Write;

use bytes::Bytes;
use http::header::HeaderMap;
use tollgate_policy::Reason;

use super::decode::Coding;
use super::over;
use crate::flow::failure::Failure;
use crate::gate::Denial;

/// See the module.
pub(in crate::flow) struct StreamDecoder {
    coding: Coding,
    /// Made with the first byte, which tells zlib from raw deflate.
    decoder: Option<Box<dyn Unpacks + Send>>,
}

trait Unpacks {
    /// Takes a piece, gives what it decodes to.
    fn unpack(&mut self, piece: &[u8], most: usize) -> std::io::Result<Vec<u8>>;
}

/// What has come out and not been taken.
struct Out {
    bytes: Vec<u8>,
    most: usize,
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.bytes.len() + bytes.len() > self.most {
            return Err(std::io::ErrorKind::StorageFull.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

macro_rules! unpacks {
    ($($decoder:ty),+) => {$(
        impl Unpacks for $decoder {
            fn unpack(&mut self, piece: &[u8], most: usize) -> std::io::Result<Vec<u8>> {
                self.get_mut().most = most;
                self.write_all(piece)?;
                self.flush()?;
                Ok(std::mem::take(&mut self.get_mut().bytes))
            }
        }
    )+};
}
unpacks!(
    flate2::write::MultiGzDecoder<Out>,
    flate2::write::ZlibDecoder<Out>,
    flate2::write::DeflateDecoder<Out>,
    zstd::stream::write::Decoder<'static, Out>
);

impl Unpacks for brotli::DecompressorWriter<Out> {
    fn unpack(&mut self, piece: &[u8], most: usize) -> std::io::Result<Vec<u8>> {
        self.get_mut().most = most;
        self.write_all(piece)?;
        // It keeps back what does not fit its buffer, and flushing does not change that: it is asked until nothing more comes.
        let mut before = usize::MAX;
        while self.get_ref().bytes.len() != before {
            before = self.get_ref().bytes.len();
            let _ = self.write(&[])?;
        }
        Ok(std::mem::take(&mut self.get_mut().bytes))
    }
}

/// The window and buffer of a Brotli decoder.
const BROTLI_BUFFER: usize = 4 << 10;

impl StreamDecoder {
    /// For a body with this head.
    pub(in crate::flow) fn of(headers: &HeaderMap) -> Result<Self, Denial> {
        Ok(StreamDecoder {
            coding: Coding::of(headers)?,
            decoder: None,
        })
    }

    /// Whether pieces come out as they went in.
    pub(in crate::flow) fn is_identity(&self) -> bool {
        self.coding == Coding::Identity
    }

    /// The next piece, decoded; at most so many bytes at once, however small the piece is.
    pub(in crate::flow) fn take(&mut self, piece: Bytes, most: usize) -> Result<Bytes, Failure> {
        let Some(first) = piece.first().copied().filter(|_| !self.is_identity()) else {
            return Ok(piece);
        };
        if self.decoder.is_none() {
            self.decoder = Some(decoder(self.coding, first).map_err(|_| undecodable())?);
        }
        let Some(decoder) = &mut self.decoder else {
            return Err(undecodable());
        };
        match decoder.unpack(&piece, most) {
            Ok(bytes) => Ok(bytes.into()),
            Err(error) if error.kind() == std::io::ErrorKind::StorageFull => Err(over(most).into()),
            Err(_) => Err(undecodable()),
        }
    }
}

fn decoder(coding: Coding, first: u8) -> std::io::Result<Box<dyn Unpacks + Send>> {
    let out = Out {
        bytes: Vec::new(),
        most: 0,
    };
    Ok(match coding {
        Coding::Gzip => Box::new(flate2::write::MultiGzDecoder::new(out)),
        Coding::Deflate if first & 0x0F == 8 => Box::new(flate2::write::ZlibDecoder::new(out)),
        Coding::Deflate | Coding::Identity => Box::new(flate2::write::DeflateDecoder::new(out)),
        Coding::Brotli => Box::new(brotli::DecompressorWriter::new(out, BROTLI_BUFFER)),
        Coding::Zstd => Box::new(zstd::stream::write::Decoder::new(out)?),
    })
}

fn undecodable() -> Failure {
    let detail = "a body does not decode by its content coding, so what it says cannot be judged";
    Denial::new(Reason::UninspectableTraffic, detail).into()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use http::header;

    use super::*;

    fn stream(coding: &'static str) -> StreamDecoder {
        StreamDecoder::of(&HeaderMap::from_iter([(header::CONTENT_ENCODING, coding.parse().unwrap())])).unwrap()
    }

    #[derive(Clone, Default)]
    struct Shared(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);
    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    /// The events, each flushed by its server.
    fn coded(coding: &str, events: &[String]) -> Vec<Vec<u8>> {
        let each = |encoder: &mut dyn Write, taken: &dyn Fn() -> Vec<u8>| {
            let flushed = events.iter().map(|event| {
                encoder.write_all(event.as_bytes()).unwrap();
                encoder.flush().unwrap();
                taken()
            });
            flushed.collect()
        };
        let shared = Shared::default();
        let taken = || std::mem::take(&mut *shared.0.lock().unwrap());
        let level = flate2::Compression::fast();
        match coding {
            "gzip" => each(&mut flate2::write::GzEncoder::new(shared.clone(), level), &taken),
            "deflate" => each(&mut flate2::write::ZlibEncoder::new(shared.clone(), level), &taken),
            "br" => each(&mut brotli::CompressorWriter::new(shared.clone(), 4096, 5, 20), &taken),
            _ => each(&mut zstd::stream::write::Encoder::new(shared.clone(), 1).unwrap(), &taken),
        }
    }

    #[test]
    fn an_event_comes_out_as_soon_as_it_is_there_however_large_it_is() {
        let numbers: Vec<String> = (0..40_000).map(|number| (number * 7919 % 65_537).to_string()).collect();
        let numbers = numbers.join(" ");
        let events = ["one", "two", &numbers, &"three".repeat(50_000), "four"].map(|data| format!("data: {data}\n\n"));
        for coding in ["gzip", "deflate", "br", "zstd"] {
            let mut decoder = stream(coding);
            for (piece, event) in coded(coding, &events).into_iter().zip(&events) {
                let out = decoder.take(piece.into(), 1 << 20).map_err(|_| coding).unwrap();
                assert!(out == *event, "{coding}: {} of {} bytes", out.len(), event.len());
            }
        }
        assert_eq!(stream("identity").take("x".into(), 0).map_err(|_| ()).unwrap(), "x");
    }

    #[test]
    fn a_bomb_or_junk_in_a_stream_is_refused() {
        let reason = |outcome: Result<Bytes, Failure>| match outcome {
            Err(Failure::Denied(denial)) => Some(denial.reason),
            _ => None,
        };
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(&vec![b' '; 1 << 20]).unwrap();
        let bomb = encoder.finish().unwrap();
        assert_eq!(reason(stream("gzip").take(bomb.into(), 4096)), Some(Reason::BodyTooLarge));
        assert_eq!(
            reason(stream("gzip").take("junk that is no gzip".into(), 4096)),
            Some(Reason::UninspectableTraffic)
        );
        assert!(StreamDecoder::of(&HeaderMap::from_iter([(header::CONTENT_ENCODING, "compress".parse().unwrap())])).is_err());
    }
}
