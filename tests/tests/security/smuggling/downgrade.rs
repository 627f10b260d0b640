//! The same over HTTP/2 towards origins that speak HTTP/1.1: what is a length on one side is a delimiter on the other, so a line end in a
//! field, or a length beside the frames, smuggles requests where a gateway copies them (RFC 9113 section 10.3).

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::Semaphore;
use tollgate_tests::authority::Alpn;
use tollgate_tests::h2_requests::{Field, Stream, is_over};
use tollgate_tests::policy::HOST;
use tollgate_tests::wire::H1;

use super::reading::Read;
use super::{CROWD, LISTENS, Smuggling, assert_one_to_one, beginning, path_of, reached};

const SMUGGLED: &str = "GET /forbidden HTTP/1.1\r\nHost: x\r\n\r\n";

fn field(name: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Field {
    (name.as_ref().to_vec(), value.as_ref().to_vec())
}

fn request(method: &str, authority: &str, path: &str) -> Stream {
    let fields = [
        (":method", method),
        (":scheme", "https"),
        (":authority", authority),
        (":path", path),
    ];
    Stream {
        fields: fields.map(|(name, value)| field(name, value)).to_vec(),
        ..Stream::default()
    }
}

/// Names that have no place behind the pseudo-fields, or none at all.
const NAMES: [&str; 12] = [
    "X-Upper",
    "",
    "x a",
    "x\u{e9}",
    "x(a)",
    ":x",
    ":status",
    ":protocol",
    ":path",
    ":method",
    ":authority",
    ":scheme",
];

/// Every case; `@` stands for its path.
fn cases(authority: &str) -> Vec<Stream> {
    let get = request("GET", authority, "@");
    let mut post = request("POST", authority, "@");
    post.data = vec![b"hello".to_vec()];
    let mut found = vec![get.clone(), post.clone()];
    for base in [&get, &post] {
        let added = [framings(), fields_of_one_hop(), line_ends()].concat();
        for fields in added {
            let mut stream = base.clone();
            stream.fields.extend(fields);
            found.push(stream);
        }
        for name in NAMES {
            for place in [0, base.fields.len()] {
                let mut stream = base.clone();
                stream.fields.insert(place, field(name, "/forbidden"));
                found.push(stream);
            }
        }
    }
    // The same with what is smuggled for a body.
    let bodies = found.clone().into_iter().map(|mut stream| {
        stream.data = vec![b"0\r\n\r\n".to_vec(), SMUGGLED.as_bytes().to_vec()];
        stream
    });
    found.extend(bodies);
    found.extend(pseudo_fields(&get, &post));
    found
}

/// Lengths and codings beside the frames' own.
fn framings() -> Vec<Vec<Field>> {
    let mut added = Vec::new();
    for coding in ["chunked", "Chunked", "identity", "gzip, chunked", "", " chunked", "chunked\r\nX: y"] {
        let coding = field("transfer-encoding", coding);
        added.push(vec![coding.clone()]);
        added.push(vec![field("x-a", "b"), coding, field("content-length", "5")]);
    }
    for name in [
        "Transfer-Encoding",
        "transfer-encoding ",
        " transfer-encoding",
        "transfer-encoding:",
        "transfer-encoding\0",
    ] {
        added.push(vec![field(name, "chunked")]);
    }
    for length in [
        "0",
        "4",
        "5",
        "6",
        "500",
        "+5",
        "-5",
        "05",
        "0x5",
        "5 ",
        " 5",
        "5,5",
        "5, 5",
        "5\r\nX: y",
        "",
        "18446744073709551621",
    ] {
        added.push(vec![field("content-length", length)]);
        added.push(vec![field("content-length", length), field("content-length", "5")]);
    }
    added
}

fn fields_of_one_hop() -> Vec<Vec<Field>> {
    let names = [
        "connection",
        "keep-alive",
        "proxy-connection",
        "upgrade",
        "te",
        "trailer",
        "host",
        "http2-settings",
    ];
    let values = [
        "close",
        "content-length",
        "x",
        "trailers",
        "chunked",
        "h2c",
        "evil.test",
        "transfer-encoding",
    ];
    names.iter().flat_map(|name| values.map(|value| vec![field(name, value)])).collect()
}

/// What ends a line, a name or a value on the other side.
fn line_ends() -> Vec<Vec<Field>> {
    let mut added = Vec::new();
    for odd in ["\r\n", "\r", "\n", "\0", "\r\n ", "\r\n\r\n", "\u{b}", "\u{7f}", " ", "\t", ":"] {
        let line = format!("b{odd}{SMUGGLED}");
        added.push(vec![field("x-a", &line)]);
        added.push(vec![field("x-a", format!("b{odd}Transfer-Encoding: chunked"))]);
        added.push(vec![field("cookie", &line), field("cookie", "c=d")]);
        added.push(vec![field(format!("x-a{odd}"), "b")]);
        added.push(vec![field(format!("x-a: b{odd}{SMUGGLED}x"), "b")]);
        added.push(vec![field(format!("{odd}x-a"), "b")]);
        added.push(vec![field("x-a", odd)]);
    }
    added
}

/// Values of the four pseudo-fields; `A` stands for the honest one.
const VALUES: [(usize, &[&str]); 4] = [
    (
        0,
        &[
            "",
            "get",
            "GET ",
            "GET /forbidden HTTP/1.1\r\nHost: x\r\nX: y",
            "GET /forbidden",
            "G\0T",
            "CONNECT",
            "PRI",
            "OPTIONS",
            "G\tT",
            "GET\r\n",
        ],
    ),
    (
        1,
        &[
            "",
            "http",
            "HTTPS",
            "ftp",
            "https://evil.test",
            "https ",
            "https\r\nX: y",
            "https /forbidden HTTP/1.1\r\nX:",
        ],
    ),
    (
        2,
        &[
            "",
            "evil.test",
            "@evil.test",
            "user@A",
            "A.",
            "A:443",
            "A, evil.test",
            "A\r\nX: y",
            "A/x",
            " A",
            "A ",
            "a\\b",
            "A?x",
            "A#x",
        ],
    ),
    (
        3,
        &[
            "",
            "*",
            "x",
            "//evil.test/x",
            "https://evil.test/x",
            "@ ",
            "@ HTTP/1.1\r\nHost: x\r\n\r\nGET /forbidden",
            "@\r\nX: y",
            "@ x",
            "@\tx",
            "@\0",
            "@#x",
            "@?a b",
            "@?a\r\nb",
            "@/../../forbidden",
            "@/%2e%2e/%2e%2e/forbidden",
            "@\\..\\forbidden",
            "@\u{e9}",
            "@%0d%0ax",
            "@;x/../..//forbidden",
        ],
    ),
];

/// Pseudo-fields with other values, twice, missing, and behind others.
fn pseudo_fields(get: &Stream, post: &Stream) -> Vec<Stream> {
    let mut found = Vec::new();
    for base in [get, post] {
        for (place, values) in VALUES {
            let honest = String::from_utf8_lossy(&base.fields[place].1).into_owned();
            for value in values {
                let value = value.replace('A', &honest);
                let mut changed = base.clone();
                changed.fields[place].1 = value.clone().into_bytes();
                found.push(changed);
                let mut twice = base.clone();
                twice.fields.insert(place + 1, field(&base.fields[place].0, &value));
                found.push(twice);
                let mut behind = base.clone();
                behind.fields.push(field("x-a", "b"));
                behind.fields.push(field(&base.fields[place].0, &value));
                found.push(behind);
            }
            let mut missing = base.clone();
            missing.fields.remove(place);
            found.push(missing.clone());
            missing.fields.push(field("host", &honest));
            found.push(missing);
        }
        for (name, value) in [
            ("x-a", "b"),
            ("content-length", "500"),
            ("transfer-encoding", "chunked"),
            (":path", "/forbidden"),
            ("host", "evil.test"),
            ("x-a", "b\r\n\r\nGET /forbidden HTTP/1.1"),
            ("connection", "close"),
            ("X-A", "b"),
            ("", "b"),
        ] {
            let mut trailing = base.clone();
            trailing.trailers = vec![field(name, value)];
            found.push(trailing);
        }
        for cut in [1, 5, 20, 40] {
            let mut cut_up = base.clone();
            cut_up.cut = Some(cut);
            found.push(cut_up);
        }
    }
    found
}

fn written(stream: &Stream, path: &str) -> Vec<u8> {
    let mut stream = stream.clone();
    for (_, value) in &mut stream.fields {
        *value = super::corpus::fill(value, b"@", path.as_bytes());
    }
    stream.bytes()
}

async fn throw(world: &Smuggling, bytes: &[u8]) {
    let authority = format!("{HOST}:{}", world.tls.port());
    let mut connection = H1::new(world.gate.tls_stream(&authority, Alpn::H2).await.unwrap());
    let _ = connection.try_send(bytes).await;
    let listen = async {
        let mut heard = Vec::new();
        loop {
            let more = connection.next_bytes().await;
            heard.extend_from_slice(&more);
            if more.is_empty() || is_over(&heard) {
                return;
            }
        }
    };
    let heard = tokio::time::timeout(LISTENS, listen).await;
    assert!(heard.is_ok(), "nobody ends the stream after {}", beginning(bytes));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_http2_frames_say_is_what_an_http1_origin_reads() {
    let world = Arc::new(Smuggling::start().await);
    let cases = cases(&format!("{HOST}:{}", world.tls.port()));
    assert!(cases.len() > 700, "only {} requests", cases.len());
    let mut meant = HashMap::new();
    let seats = Arc::new(Semaphore::new(CROWD));
    let mut clients = tokio::task::JoinSet::new();
    for (case, stream) in cases.iter().enumerate() {
        let path = format!("/case/{case}");
        let bytes = written(stream, &path);
        meant.insert(path, stream);
        let (world, seat) = (Arc::clone(&world), Arc::clone(&seats).acquire_owned().await.unwrap());
        clients.spawn(async move {
            throw(&world, &bytes).await;
            drop(seat);
        });
    }
    while let Some(client) = clients.join_next().await {
        client.unwrap();
    }

    let events = world.settled().await;
    let (whole, cut) = reached(&world.tls);
    assert_one_to_one(&events, &whole);
    let is_meant = |read: &Read, whole: bool| {
        let Some(stream) = meant.get(path_of(&read.target)) else {
            return false;
        };
        let value = |wanted: &str| {
            stream
                .fields
                .iter()
                .find(|(name, _)| name == wanted.as_bytes())
                .map(|(_, value)| value.as_slice())
        };
        let mut body = stream.data.concat();
        let Some(method) = value(":method") else { return false };
        // A head that announces nothing is a request by itself, whatever its client sends after it.
        if value("content-length") == Some(b"0") {
            body.clear();
        }
        method == read.method.as_bytes() && if whole { body == read.body } else { body.starts_with(&read.body) }
    };
    let odd: Vec<&Read> = whole
        .iter()
        .filter(|read| !is_meant(read, true))
        .chain(cut.iter().filter(|read| !is_meant(read, false)))
        .collect();
    assert!(odd.is_empty(), "{} requests that no client has framed so: {odd:?}", odd.len());
    for honest in ["/case/0", "/case/1"] {
        assert!(whole.iter().any(|read| read.target == honest), "{honest} has not arrived");
    }
    assert!(whole.len() < cases.len() / 2, "{} of {} have passed", whole.len(), cases.len());
}
