//! The corpus: honest requests, bent in every way that has fooled a proxy and its origin into reading different requests, and in some
//! thousand ways that have not yet. In: nothing but a fixed seed. Out: the same requests in every run.

mod framings;
mod heads;

use std::collections::HashSet;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};

use framings::{chunkings, framings};
use heads::{fields, lines, upgrades};

/// Where the request goes: filled in when it is sent.
pub(super) const AUTHORITY: &[u8] = b"@AUTHORITY@";
/// Before the path: the same in absolute form, nothing in origin form.
pub(super) const PREFIX: &[u8] = b"@PREFIX@";
/// The path of this request alone.
pub(super) const PATH: &[u8] = b"@PATH@";
/// What is smuggled. No rule allows this path, so no origin may ever see it.
pub(super) const SMUGGLED: &[u8] = b"GET /forbidden HTTP/1.1\r\nHost: x\r\n\r\n";

/// A request in parts.
#[derive(Clone)]
struct Draft {
    line: Vec<u8>,
    fields: Vec<Vec<u8>>,
    body: Vec<u8>,
}

impl Draft {
    fn new(method: &str, fields: &[&str], body: &[u8]) -> Self {
        let mut all = vec![[b"Host: ", AUTHORITY].concat()];
        all.extend(fields.iter().map(|field| field.as_bytes().to_vec()));
        Self {
            line: [method.as_bytes(), b" ", PREFIX, PATH, b" HTTP/1.1"].concat(),
            fields: all,
            body: body.to_vec(),
        }
    }

    fn with_field(&self, field: &[u8]) -> Self {
        let mut draft = self.clone();
        draft.fields.push(field.to_vec());
        draft
    }

    fn with_line(&self, line: &[u8]) -> Self {
        Self {
            line: line.to_vec(),
            ..self.clone()
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = [&self.line, &b"\r\n"[..]].concat();
        for field in &self.fields {
            bytes.extend_from_slice(field);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// Requests without a fault: all of them have to arrive, or the rest of the corpus proves nothing.
pub(super) fn honest() -> Vec<Vec<u8>> {
    seeds().iter().map(Draft::bytes).collect()
}

fn chunk(content: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", content.len()).as_bytes(), content, b"\r\n"].concat()
}

fn seeds() -> Vec<Draft> {
    let chunks = [chunk(b"hello"), chunk(SMUGGLED), b"0\r\n\r\n".to_vec()].concat();
    let length = format!("Content-Length: {}", SMUGGLED.len());
    vec![
        Draft::new("GET", &["Accept: */*"], b""),
        Draft::new("POST", &["Content-Type: text/plain", &length], SMUGGLED),
        Draft::new("POST", &["Transfer-Encoding: chunked"], &chunks),
        Draft::new("PUT", &["Content-Type: application/json", "Content-Length: 13"], b"{\"some\":true}"),
        Draft::new("HEAD", &["Connection: keep-alive"], b""),
        Draft::new("GET", &[&length], SMUGGLED),
        Draft::new(
            "POST",
            &["Transfer-Encoding: chunked", "Trailer: X-A"],
            &[chunk(b"[1]"), b"0\r\nX-A: b\r\n\r\n".to_vec()].concat(),
        ),
    ]
}

/// What has fooled others before: each of these goes every way in.
pub(super) fn tables() -> Vec<Vec<u8>> {
    once([chunkings(), lines(), fields(), upgrades()].concat())
}

/// Every pair of framings, an odd byte at every seam, and mixtures of all these: each goes one way in, by turns.
pub(super) fn products() -> Vec<Vec<u8>> {
    let mut found = [framings(), odd_bytes()].concat();
    found.extend(mixtures(&[tables(), found.clone()].concat()));
    once(found)
}

fn once(mut requests: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let mut known = HashSet::new();
    requests.retain(|request| known.insert(request.clone()));
    requests
}

const ODD: [&[u8]; 16] = [
    b"\0",
    b"\t",
    b"\n",
    b"\x0b",
    b"\x0c",
    b"\r",
    b"\r\n",
    b" ",
    b"\x7f",
    b"\x80",
    b"\xff",
    b":",
    b",",
    b";",
    b"\r\n ",
    b"\r\n\r\n",
];

/// One odd byte (or line end) at each seam of an honest request.
fn odd_bytes() -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    for seed in &seeds()[..3] {
        let bytes = seed.bytes();
        let is_seam = |at: &usize| {
            let near = |at: usize| bytes.get(at).is_some_and(|byte| b" :\r\n/-".contains(byte));
            near(*at) || at.checked_sub(1).is_some_and(near)
        };
        let seams: Vec<usize> = (0..=bytes.len()).filter(is_seam).collect();
        for seam in seams {
            for odd in ODD {
                found.push([&bytes[..seam], odd, &bytes[seam..]].concat());
            }
        }
    }
    found
}

/// Two requests of the corpus cut and joined, bytes taken out, doubled and swapped.
fn mixtures(corpus: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut random = StdRng::seed_from_u64(0x0007_0113_a7e5);
    let mut found = Vec::new();
    for _ in 0..700 {
        let mut bytes = corpus.choose(&mut random).cloned().unwrap_or_default();
        for _ in 0..random.random_range(1..=3) {
            let at = random.random_range(0..bytes.len().max(1));
            match random.random_range(0..5) {
                0 => drop(bytes.drain(at..(at + random.random_range(1..4)).min(bytes.len()))),
                1 => {
                    let odd = ODD.choose(&mut random).copied().unwrap_or_default();
                    bytes.splice(at..at, odd.iter().copied());
                }
                2 => {
                    let again = bytes[at..(at + random.random_range(1..40)).min(bytes.len())].to_vec();
                    bytes.splice(at..at, again);
                }
                3 => {
                    let other = corpus.choose(&mut random).cloned().unwrap_or_default();
                    let from = random.random_range(0..other.len().max(1));
                    bytes.truncate(at);
                    bytes.extend_from_slice(&other[from..]);
                }
                _ => bytes.extend_from_slice(SMUGGLED),
            }
        }
        found.push(bytes);
    }
    found
}

/// Puts `value` wherever `name` stands.
pub(super) fn fill(bytes: &[u8], name: &[u8], value: &[u8]) -> Vec<u8> {
    let mut filled = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(at) = rest.windows(name.len()).position(|window| window == name) {
        filled.extend_from_slice(&rest[..at]);
        filled.extend_from_slice(value);
        rest = &rest[at + name.len()..];
    }
    filled.extend_from_slice(rest);
    filled
}
