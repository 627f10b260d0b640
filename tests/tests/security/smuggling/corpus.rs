//! The corpus: honest requests, bent in every way that has fooled a proxy and its origin into reading different requests, and in some
//! thousand ways that have not yet. In: nothing but a fixed seed. Out: the same requests in every run.

use std::collections::HashSet;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom as _;
use rand::{Rng as _, SeedableRng as _};

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

/// More than is held of a body that no rule has to read.
const LARGE: usize = 100_000;

const LENGTHS: [&[u8]; 34] = [
    b"Content-Length: 5",
    b"Content-Length: 0",
    b"Content-Length: 500",
    b"Content-Length: +5",
    b"Content-Length: -5",
    b"Content-Length: -0",
    b"Content-Length: 0x5",
    b"Content-Length: 05",
    b"Content-Length: 5 ",
    b"Content-Length:5",
    b"Content-Length:\t5",
    b"Content-Length: \x0b5",
    b"Content-Length: 5\x0c",
    b"Content-Length: 5, 5",
    b"Content-Length: 5, 0",
    b"Content-Length: 5;0",
    b"Content-Length: 5 0",
    b"Content-Length: 5.0",
    b"Content-Length: 5e0",
    b"Content-Length: \"5\"",
    b"Content-Length: ",
    b"Content-Length: 18446744073709551616",
    b"Content-Length: 18446744073709551621",
    b"Content-Length: 9223372036854775808",
    b"Content-Length: 99999999999999999999999999999999",
    b"Content-Length: \xd9\xa5",
    b"Content-Length : 5",
    b"Content-Length\t: 5",
    b" Content-Length: 5",
    b"Content-Length\0: 5",
    b"CONTENT-LENGTH: 5",
    b"Content-Length: 5\r\nContent-Length: 5",
    b"Content-Length: 5\r\ncontent-length: 0",
    b"Content-Length: 0\r\nX: y\r\nContent-Length: 5",
];

const CODINGS: [&[u8]; 35] = [
    b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: Chunked",
    b"Transfer-Encoding: cHuNkEd",
    b"Transfer-Encoding: chunked ",
    b"Transfer-Encoding:chunked",
    b"Transfer-Encoding:\tchunked",
    b"Transfer-Encoding: chunked\t",
    b"Transfer-Encoding: \x0bchunked",
    b"Transfer-Encoding: chunked\x0c",
    b"Transfer-Encoding: chunked\0",
    b"Transfer-Encoding: \xffchunked",
    b"Transfer-Encoding: chunked;q=1",
    b"Transfer-Encoding: xchunked",
    b"Transfer-Encoding: chunkedx",
    b"Transfer-Encoding: chunk",
    b"Transfer-Encoding: chunked,",
    b"Transfer-Encoding: ,chunked",
    b"Transfer-Encoding: identity",
    b"Transfer-Encoding: identity, chunked",
    b"Transfer-Encoding: chunked, identity",
    b"Transfer-Encoding: chunked, chunked",
    b"Transfer-Encoding: gzip, chunked",
    b"Transfer-Encoding: \"chunked\"",
    b"Transfer-Encoding: ",
    b"Transfer-Encoding: chunked\r\nTransfer-Encoding: x",
    b"Transfer-Encoding: x\r\nTransfer-Encoding: chunked",
    b"Transfer-Encoding:\r\n chunked",
    b"Transfer-Encoding: chunked\r\n , x",
    b"Transfer-Encoding : chunked",
    b"Transfer-Encoding\t: chunked",
    b" Transfer-Encoding: chunked",
    b"Transfer Encoding: chunked",
    b"Transfer-Encoding\0: chunked",
    b"X: y\nTransfer-Encoding: chunked",
    b"X: y\rTransfer-Encoding: chunked",
];

/// Every length by itself, every coding by itself, and each with each in both orders (CL.TE, TE.CL, TE.TE).
fn framings() -> Vec<Vec<u8>> {
    let bodies: [Vec<u8>; 3] = [
        [b"0\r\n\r\n", SMUGGLED].concat(),
        [chunk(SMUGGLED), b"0\r\n\r\n".to_vec()].concat(),
        [b"hello", SMUGGLED].concat(),
    ];
    let mut found = Vec::new();
    // Large enough to be passed on as it comes, under the length that came with it.
    let large = b"x".repeat(LARGE);
    for length in [
        "@",
        "@, @",
        "0@",
        "@\r\nContent-Length: @",
        "@\r\nContent-Length: 0@",
        "@,",
        "+@",
        "@ @",
        "0x@",
    ] {
        let field = format!("Content-Length: {}", length.replace('@', &LARGE.to_string()));
        found.push(Draft::new("POST", &["Content-Type: text/plain", &field], &large).bytes());
    }
    for body in &bodies {
        let post = Draft::new("POST", &[], body);
        found.extend(LENGTHS.iter().map(|length| post.with_field(length).bytes()));
        found.extend(CODINGS.iter().map(|coding| post.with_field(coding).bytes()));
    }
    for (index, length) in LENGTHS.iter().enumerate() {
        for (nth, coding) in CODINGS.iter().enumerate() {
            let post = Draft::new("POST", &[], &bodies[(index + nth) % 2]);
            let (first, second) = if nth % 2 == 0 { (length, coding) } else { (coding, length) };
            found.push(post.with_field(first).with_field(second).bytes());
        }
    }
    found
}

/// Chunk sizes, extensions, ends of chunks, ends of bodies and trailers.
fn chunkings() -> Vec<Vec<u8>> {
    let sizes: [&[u8]; 34] = [
        b"5;a",
        b"5;a=b",
        b"5;a=\"b\"",
        b"5 ;a",
        b"5;",
        b"5 ",
        b" 5",
        b"\t5",
        b"5\t",
        b"+5",
        b"-5",
        b"0x5",
        b"05",
        b"0000000000000000005",
        b"ffffffffffffffff",
        b"10000000000000005",
        b"8000000000000005",
        b"7fffffffffffffff",
        b"5g",
        b"g",
        b"",
        b"5\0",
        b"5\r",
        b"5;a\r",
        b"5;\nx",
        b"5;a=\"\r\n\"",
        b"5,5",
        b"5.0",
        b"\"5\"",
        b"5\x0b",
        b"\x0c5",
        b"\xef\xbc\x95",
        b"5;\0",
        b"5;\x7f",
    ];
    let ends: [&[u8]; 8] = [b"\n", b"\r", b"", b"\r\r\n", b"\n\r", b"X\r\n", b"X", b"\r\nX"];
    let lasts: [&[u8]; 30] = [
        b"0\r\n",
        b"0\n\n",
        b"0\r\n\n",
        b"0\n\r\n",
        b"0\r\r",
        b"00\r\n\r\n",
        b"0;a\r\n\r\n",
        b"0 \r\n\r\n",
        b"-0\r\n\r\n",
        b"0x0\r\n\r\n",
        b"0\r\nX-A: b\r\n\r\n",
        b"0\r\nX-A : b\r\n\r\n",
        b"0\r\n X-A: b\r\n\r\n",
        b"0\r\nX-A\r\n\r\n",
        b"0\r\n: b\r\n\r\n",
        b"0\r\nContent-Length: 50\r\n\r\n",
        b"0\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"0\r\nHost: evil.test\r\n\r\n",
        b"0\r\nX: y\n\r\n",
        b"0\r\nX: y\r\n z\r\n\r\n",
        b"0\r\nX: y\rZ: a\r\n\r\n",
        b"0\r\nX: \0\r\n\r\n",
        b"0\r\nX: y\r\n\n",
        b"\r\n0\r\n\r\n",
        b"\r\n\r\n",
        b"",
        b"0\r\n\rX",
        b"0\r\nX: y",
        b"0\r\n\r\n\r\n",
        b"0\0\r\n\r\n",
    ];
    let mut found = Vec::new();
    for field in ["Accept: */*", "Content-Type: application/json"] {
        let draft = |body: &[&[u8]]| Draft::new("POST", &[field, "Transfer-Encoding: chunked"], &body.concat()).bytes();
        found.extend(sizes.iter().map(|size| draft(&[size, b"\r\nhello\r\n0\r\n\r\n"])));
        found.extend(
            sizes
                .iter()
                .map(|size| draft(&[b"1\r\n[\r\n", size, b"\r\nhello\r\n0\r\n\r\n", SMUGGLED])),
        );
        found.extend(ends.iter().map(|end| draft(&[b"5\r\nhello", end, b"0\r\n\r\n"])));
        found.extend(ends.iter().map(|end| draft(&[b"5", end, b"hello\r\n0\r\n\r\n", SMUGGLED])));
        found.extend(lasts.iter().map(|last| draft(&[b"5\r\nhello\r\n", last])));
        found.extend(lasts.iter().map(|last| draft(&[b"5\r\n[1,2]\r\n", last, SMUGGLED])));
    }
    found
}

/// Request lines.
fn lines() -> Vec<Vec<u8>> {
    let shapes: [&[u8]; 66] = [
        b"@METHOD@  @TARGET@ HTTP/1.1",
        b"@METHOD@ @TARGET@  HTTP/1.1",
        b"@METHOD@\t@TARGET@ HTTP/1.1",
        b"@METHOD@ @TARGET@\tHTTP/1.1",
        b" @METHOD@ @TARGET@ HTTP/1.1",
        b"\t@METHOD@ @TARGET@ HTTP/1.1",
        b"@METHOD@ @TARGET@ HTTP/1.1 ",
        b"@METHOD@ @TARGET@ HTTP/1.1\t",
        b"@METHOD@ @TARGET@",
        b"@METHOD@ @TARGET@ ",
        b"@METHOD@ @TARGET@ HTTP/0.9",
        b"@METHOD@ @TARGET@ HTTP/1.2",
        b"@METHOD@ @TARGET@ HTTP/1.0",
        b"@METHOD@ @TARGET@ HTTP/2.0",
        b"@METHOD@ @TARGET@ HTTP/2",
        b"@METHOD@ @TARGET@ HTTP/1.10",
        b"@METHOD@ @TARGET@ HTTP/1.1x",
        b"@METHOD@ @TARGET@ http/1.1",
        b"@METHOD@ @TARGET@ HTTP /1.1",
        b"@METHOD@ @TARGET@ HTTP/ 1.1",
        b"@METHOD@ @TARGET@ HTTP/1,1",
        b"@METHOD@ @TARGET@ HTTP/+1.1",
        b"@METHOD@ @TARGET@ ICAP/1.0",
        b"@METHOD@ @TARGET@ HTTP/1.1 HTTP/1.1",
        b"@METHOD@ @TARGET@ /forbidden HTTP/1.1",
        b"@METHOD@ /forbidden @TARGET@ HTTP/1.1",
        b"@METHOD@ @TARGET@\r HTTP/1.1",
        b"@METHOD@ @TARGET@\n HTTP/1.1",
        b"@METHOD@ @TARGET@\0 HTTP/1.1",
        b"@METHOD@ @TARGET@\x0b HTTP/1.1",
        b"@METHOD@ @TARGET@#x HTTP/1.1",
        b"@METHOD@ @TARGET@\\..\\forbidden HTTP/1.1",
        b"@METHOD@ @TARGET@/../../forbidden HTTP/1.1",
        b"@METHOD@ @TARGET@%0d%0aX:y HTTP/1.1",
        b"@METHOD@ @TARGET@%00 HTTP/1.1",
        b"@METHOD@ @TARGET@\xc3\xa9 HTTP/1.1",
        b"@METHOD@ @TARGET@?a b HTTP/1.1",
        b"@METHOD@ @TARGET@ HTTP/1.1\rGET /forbidden HTTP/1.1",
        b"@METHOD@ @TARGET@ HTTP/1.1\nGET /forbidden HTTP/1.1",
        b"@METHOD@ @TARGET@ HTTP/1.1\r\n\nGET /forbidden HTTP/1.1",
        b"\r\n@METHOD@ @TARGET@ HTTP/1.1",
        b"\r\n\r\n\r\n@METHOD@ @TARGET@ HTTP/1.1",
        b"\n@METHOD@ @TARGET@ HTTP/1.1",
        b"\r@METHOD@ @TARGET@ HTTP/1.1",
        b"\0@METHOD@ @TARGET@ HTTP/1.1",
        b"\xef\xbb\xbf@METHOD@ @TARGET@ HTTP/1.1",
        b"@METHOD@ http://evil.test@PATH@ HTTP/1.1",
        b"@METHOD@ HTTP://@AUTHORITY@@PATH@ HTTP/1.1",
        b"@METHOD@ https://@AUTHORITY@@PATH@ HTTP/1.1",
        b"@METHOD@ http://user@@AUTHORITY@@PATH@ HTTP/1.1",
        b"@METHOD@ http:@PATH@ HTTP/1.1",
        b"@METHOD@ http:///@AUTHORITY@@PATH@ HTTP/1.1",
        b"@METHOD@ //@AUTHORITY@@PATH@ HTTP/1.1",
        b"@METHOD@ @AUTHORITY@ HTTP/1.1",
        b"@METHOD@ * HTTP/1.1",
        b"@METHOD@ http://@AUTHORITY@?x=y HTTP/1.1",
        b"@METHOD@ http://@AUTHORITY@\\@evil.test@PATH@ HTTP/1.1",
        b"CONNECT @AUTHORITY@ HTTP/1.1",
        b"CONNECT @PATH@ HTTP/1.1",
        b"PRI * HTTP/2.0\r\n\r\nSM",
        b"@TARGET@ HTTP/1.1",
        b"HTTP/1.1 200 OK",
        b"@METHOD@",
        b"",
        b"@METHOD@ @TARGET@ HTTP/1.1\r\n",
        b"@METHOD@ @TARGET@ HTTP/1.1\r\nGET /forbidden HTTP/1.1",
    ];
    let methods: [&[u8]; 18] = [
        b"get",
        b"Get",
        b"G ET",
        b"GE\tT",
        b"GET\0",
        b"G\xc9T",
        b"G@T",
        b"G:T",
        b"\"GET\"",
        b"GET,POST",
        b"GET/",
        b"TRACE",
        b"OPTIONS",
        b"BREW",
        b"M-SEARCH",
        b"GET\x7f",
        b"\x80",
        b"X-Y!#$%&'*+-.^_`|~",
    ];
    let seeds = seeds();
    let mut found = Vec::new();
    for seed in &seeds[..3] {
        let method = seed.line.split(|byte| *byte == b' ').next().unwrap_or_default();
        for shape in shapes {
            let line = fill(shape, b"@METHOD@", method);
            found.push(seed.with_line(&fill(&line, b"@TARGET@", b"@PREFIX@@PATH@")).bytes());
        }
    }
    for method in methods {
        let line = [method, b" ", PREFIX, PATH, b" HTTP/1.1"].concat();
        found.extend(seeds[..3].iter().map(|seed| seed.with_line(&line).bytes()));
    }
    let long = [b"A".repeat(5000).as_slice(), b" ", PREFIX, PATH, b" HTTP/1.1"].concat();
    found.push(seeds[0].with_line(&long).bytes());
    found
}

/// Fields beside an honest framing: hosts, nominations, expectations, folds, names that are none.
fn fields() -> Vec<Vec<u8>> {
    let odd: [&[u8]; 57] = [
        b"Host: @AUTHORITY@",
        b"Host: evil.test",
        b"host: evil.test",
        b"Host:",
        b"Host : evil.test",
        b"Host\t: evil.test",
        b" Host: evil.test",
        b"Host\0: evil.test",
        b"X-Forwarded-Host: evil.test",
        b"X-Host: evil.test",
        b"Forwarded: host=evil.test",
        b"X-Original-URL: /forbidden",
        b"X-Rewrite-URL: /forbidden",
        b"X-HTTP-Method-Override: DELETE",
        b"Connection: close, host",
        b"Connection: content-length",
        b"Connection: transfer-encoding",
        b"Connection: content-length, keep-alive",
        b"Connection: upgrade, x-a",
        b"Connection: \0",
        b"Connection: close\r\nConnection: keep-alive",
        b"Keep-Alive: timeout=5, max=1",
        b"Proxy-Connection: keep-alive",
        b"Expect: 100-continue",
        b"Expect: 100-Continue, x",
        b"Expect: 200-ok",
        b"Expect:",
        b"Expect: 100-continue\r\nExpect: 100-continue",
        b"Expect : 100-continue",
        b"Upgrade: h2c\r\nConnection: Upgrade",
        b"Upgrade: websocket\r\nConnection: Upgrade",
        b"Upgrade: TLS/1.0\r\nConnection: Upgrade",
        b"HTTP2-Settings: AAMAAABkAAQAAP__",
        b"TE: trailers",
        b"TE: chunked",
        b"Trailer: Content-Length",
        b"X-A: b\r\n c",
        b"X-A: b\r\n\tc",
        b"X-A:\r\n\r",
        b"X-A",
        b": b",
        b"X A: b",
        b"X-A : b",
        b"X-A\x0b: b",
        b"X\xc3\xa9: b",
        b"X-A: \xc3\xa9",
        b"X-A: b\0",
        b"X-A: b\x7f",
        b"X-A: b\x08",
        b"X-A: b\x1b[2J",
        b"X-A: b\nX-C: d",
        b"X-A: b\rX-C: d",
        b"X-A: b\r\n\r",
        b"X_A: b",
        b"Content_Length: 500",
        b"Transfer_Encoding: chunked",
        b"Content-Encoding: chunked",
    ];
    let mut found = Vec::new();
    for seed in seeds() {
        for field in odd {
            found.push(seed.with_field(field).bytes());
        }
    }
    for seed in &seeds()[..3] {
        for field in odd {
            let mut first = seed.clone();
            first.fields.insert(0, field.to_vec());
            found.push(first.bytes());
        }
        for host in [
            &b"Host:"[..],
            b"Host: ",
            b"host:\t@AUTHORITY@",
            b"Host: @AUTHORITY@ ",
            b"Host: @AUTHORITY@, evil.test",
            b"Host: a@@AUTHORITY@",
            b"Host: evil.test",
            b"Host: @AUTHORITY@/x",
            b"Host: @AUTHORITY@.",
            b"Host:\r\n @AUTHORITY@",
            b"Host: \"@AUTHORITY@\"",
            b"X: y",
        ] {
            let mut other = seed.clone();
            other.fields[0] = host.to_vec();
            found.push(other.bytes());
        }
    }
    found
}

/// Upgrades with something behind them.
fn upgrades() -> Vec<Vec<u8>> {
    let socket = Draft::new(
        "GET",
        &[
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        ],
        b"",
    );
    let with = |field: &str, body: &[u8]| {
        Draft {
            body: body.to_vec(),
            ..socket.with_field(field.as_bytes())
        }
        .bytes()
    };
    let length = format!("Content-Length: {}", SMUGGLED.len());
    vec![
        with("X: y", b""),
        with("X: y", SMUGGLED),
        with(&length, SMUGGLED),
        with("Content-Length: 0", SMUGGLED),
        with("Transfer-Encoding: chunked", &[b"0\r\n\r\n", SMUGGLED].concat()),
        with("Sec-WebSocket-Version: 12", SMUGGLED),
        with("Upgrade: h2c", SMUGGLED),
        with("Upgrade: websocket, h2c", SMUGGLED),
        Draft {
            body: SMUGGLED.to_vec(),
            ..socket.with_line(b"POST @PREFIX@@PATH@ HTTP/1.1")
        }
        .bytes(),
        Draft {
            body: SMUGGLED.to_vec(),
            ..socket.with_line(b"GET @PREFIX@@PATH@ HTTP/1.0")
        }
        .bytes(),
        [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", SMUGGLED].concat(),
        [&seeds()[0].bytes()[..], b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"].concat(),
        [&seeds()[0].bytes()[..], SMUGGLED].concat(),
        [&seeds()[1].bytes()[..], b"\r\n\r\n", SMUGGLED].concat(),
    ]
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
