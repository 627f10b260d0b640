//! Lengths, transfer codings, and chunks.

use super::{Draft, SMUGGLED, chunk};

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
pub(super) fn framings() -> Vec<Vec<u8>> {
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
pub(super) fn chunkings() -> Vec<Vec<u8>> {
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
