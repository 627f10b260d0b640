//! HTTP/1.1 and HTTP/2 on either side, in all four pairings.

use std::io::Write as _;

use http::Version;
use tollgate_tests::answer::{Answer, Framing};
use tollgate_tests::authority::{Alpn, Authority};
use tollgate_tests::client::{Ask, Via};
use tollgate_tests::origin::Origin;
use tollgate_tests::policy;
use tollgate_tests::tollgate::{Setup, Tollgate};

async fn before(alpn: Alpn) -> (Tollgate, Origin) {
    let authority = Authority::default();
    let origin = Origin::tls(&authority, alpn).await;
    let gate = Setup::new(policy::open(&[origin.port()])).local_host().trust(&authority).start();
    (gate, origin)
}

/// An origin that takes both is spoken to in the client's own protocol.
const PAIRINGS: [(Via, Alpn, Version); 5] = [
    (Via::TlsH1, Alpn::H1, Version::HTTP_11),
    (Via::TlsH1, Alpn::H2, Version::HTTP_11),
    (Via::TlsH1, Alpn::H2Only, Version::HTTP_2),
    (Via::TlsH2, Alpn::H1, Version::HTTP_11),
    (Via::TlsH2, Alpn::H2, Version::HTTP_2),
];

#[tokio::test]
async fn bodies_pass_both_ways_in_every_pairing() {
    for (via, alpn, version) in PAIRINGS {
        let (gate, origin) = before(alpn).await;
        let large = vec![b'u'; 300_000];
        let bodies: [&[u8]; 4] = [b"", b"x", b"hello, world", &large];
        for body in bodies {
            let mut ask = Ask::get(origin.port(), "/echo")
                .method(if body.is_empty() { "GET" } else { "POST" })
                .header("content-type", "application/octet-stream");
            ask.body = body;
            let answer = gate.fetch(via, &ask).await;
            answer.assert_allowed();
            let seen = origin.last();
            assert_eq!((seen.version, seen.body.len()), (version, body.len()), "{via:?} {alpn:?}");
            if !body.is_empty() {
                assert!(
                    answer.body == body,
                    "{via:?} {alpn:?}: {} of {} bytes",
                    answer.body.len(),
                    body.len()
                );
            }
        }
        for size in [0_usize, 1, 16_384, 65_536, 1_000_000] {
            let target = format!("/bytes/{size}");
            let answer = gate.fetch(via, &Ask::get(origin.port(), &target)).await;
            answer.assert_allowed();
            assert_eq!(answer.body.len(), size, "{via:?} {alpn:?}");
        }
    }
}

#[tokio::test]
async fn answers_of_unknown_length_end_properly_in_every_pairing() {
    for (via, alpn, _) in PAIRINGS {
        let (gate, origin) = before(alpn).await;
        let answer = gate.fetch(via, &Ask::get(origin.port(), "/chunked")).await;
        answer.assert_allowed();
        assert_eq!(answer.text(), "one two three");
        let framing = if via == Via::TlsH1 { Framing::Chunked } else { Framing::H2 };
        assert_eq!(answer.framing, framing, "{via:?} {alpn:?}");
    }
}

/// E14.
#[tokio::test]
async fn bodyless_answers_keep_the_connection_in_every_pairing() {
    for alpn in [Alpn::H1, Alpn::H2] {
        let (gate, origin) = before(alpn).await;
        let mut h1 = gate.tls_h1(origin.port()).await;
        for (method, target, status) in [
            ("HEAD", "/bytes/500", 200),
            ("GET", "/status/204", 204),
            ("GET", "/status/304", 304),
            ("GET", "/bytes/3", 200),
        ] {
            let answer = h1.request(Ask::get(origin.port(), target).method(method).h1(Via::TlsH1)).await;
            assert_eq!(answer.status, status, "{method} {target} {alpn:?}");
            assert_length(&answer, method, status);
            if status == 204 {
                assert_eq!(answer.header("transfer-encoding"), None);
            }
        }
        let mut h2 = gate.tls_h2(origin.port()).await;
        for (method, target, status) in [
            ("HEAD", "/bytes/500", 200),
            ("GET", "/status/204", 204),
            ("GET", "/status/304", 304),
            ("GET", "/bytes/3", 200),
        ] {
            let answer = h2.ask(&Ask::get(origin.port(), target).method(method)).await;
            assert_eq!(answer.status, status, "{method} {target} {alpn:?}");
            assert_length(&answer, method, status);
        }
    }
}

fn assert_length(answer: &Answer, method: &str, status: u16) {
    let length = if status == 200 && method == "GET" { 3 } else { 0 };
    assert_eq!(answer.body.len(), length, "{method} {status}: {answer:?}");
    if method == "HEAD" {
        assert_eq!(answer.header("content-length"), Some("500"), "what a GET would have had");
    }
}

#[tokio::test]
async fn compressed_bodies_pass_byte_for_byte_both_ways_in_every_pairing() {
    let plain: Vec<u8> = (0..20_000_u32).flat_map(|number| number.to_string().into_bytes()).collect();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    gzip.write_all(&plain).unwrap();
    let mut brotli = Vec::new();
    brotli::BrotliCompress(&mut &plain[..], &mut brotli, &brotli::enc::BrotliEncoderParams::default()).unwrap();
    let coded = [
        ("gzip", gzip.finish().unwrap()),
        ("br", brotli),
        ("zstd", zstd::encode_all(&plain[..], 3).unwrap()),
    ];
    for (via, alpn, _) in PAIRINGS {
        let authority = Authority::default();
        let tls = authority.server(policy::HOST, alpn);
        let origin = Origin::start(Some(tls), |seen| {
            let mut reply = tollgate_tests::origin::reply(http::StatusCode::OK, seen.body.clone());
            let coding = seen.header("content-encoding").unwrap_or_default().parse().unwrap();
            reply.headers_mut().insert("content-encoding", coding);
            reply
        })
        .await;
        let gate = Setup::new(policy::open(&[origin.port()])).local_host().trust(&authority).start();
        for (coding, bytes) in &coded {
            for content_type in ["application/octet-stream", "text/plain"] {
                let mut ask = Ask::get(origin.port(), "/")
                    .method("POST")
                    .header("content-type", content_type)
                    .header("content-encoding", *coding)
                    .header("accept-encoding", *coding);
                ask.body = bytes;
                let answer = gate.fetch(via, &ask).await;
                assert_eq!(
                    (answer.status, answer.header("content-encoding")),
                    (200, Some(*coding)),
                    "{via:?} {alpn:?}"
                );
                assert!(origin.last().body == *bytes, "{coding} on the way out, {via:?} {alpn:?}");
                assert!(answer.body == *bytes, "{coding} on the way back, {via:?} {alpn:?}");
            }
        }
    }
}

#[tokio::test]
async fn cookies_split_by_http2_are_joined_for_http1() {
    let (gate, origin) = before(Alpn::H1).await;
    let ask = Ask::get(origin.port(), "/")
        .header("cookie", "a=1")
        .header("cookie", "b=2")
        .header("cookie", "c=3");
    gate.fetch(Via::TlsH2, &ask).await.assert_allowed();
    let cookies: Vec<String> = origin
        .last()
        .headers
        .into_iter()
        .filter(|(name, _)| name == "cookie")
        .map(|(_, value)| value)
        .collect();
    assert_eq!(cookies, ["a=1; b=2; c=3"]);
}

#[tokio::test]
async fn te_trailers_reaches_an_http2_origin() {
    let (gate, origin) = before(Alpn::H2).await;
    gate.fetch(Via::TlsH2, &Ask::get(origin.port(), "/").header("te", "trailers"))
        .await
        .assert_allowed();
    assert_eq!(origin.last().header("te"), Some("trailers"));
}

#[tokio::test]
async fn repeated_fields_keep_their_number_and_order() {
    for (via, alpn, _) in PAIRINGS {
        let (gate, origin) = before(alpn).await;
        let ask = Ask::get(origin.port(), "/")
            .header("x-tag", "1")
            .header("x-tag", "2")
            .header("x-tag", "3");
        gate.fetch(via, &ask).await.assert_allowed();
        let tags: Vec<String> = origin
            .last()
            .headers
            .into_iter()
            .filter(|(name, _)| name == "x-tag")
            .map(|(_, value)| value)
            .collect();
        assert_eq!(tags, ["1", "2", "3"], "{via:?} {alpn:?}");
    }
}

#[tokio::test]
async fn many_streams_share_one_origin_connection() {
    let (gate, origin) = before(Alpn::H2).await;
    let mut h2 = gate.tls_h2(origin.port()).await;
    h2.ask(&Ask::get(origin.port(), "/")).await.assert_allowed();
    let mut answers = Vec::new();
    for number in 0..60 {
        let target = format!("/slow/50?n={number}");
        let (response, _) = h2
            .open(tollgate_tests::h2_client::H2::head(&Ask::get(origin.port(), &target)), true)
            .await;
        answers.push(tokio::spawn(tollgate_tests::h2_client::collect(response)));
    }
    for answer in answers {
        tollgate_tests::within("answer", answer).await.unwrap().unwrap().assert_allowed();
    }
    assert_eq!(origin.requests().len(), 61);
    assert!(origin.connections() <= 2, "{} connections", origin.connections());
}

#[tokio::test]
async fn a_burst_of_streams_on_a_new_tunnel_does_not_dial_once_per_stream() {
    let (gate, origin) = before(Alpn::H2).await;
    let mut h2 = gate.tls_h2(origin.port()).await;
    let mut answers = Vec::new();
    for _ in 0..60 {
        let (response, _) = h2
            .open(tollgate_tests::h2_client::H2::head(&Ask::get(origin.port(), "/slow/50")), true)
            .await;
        answers.push(tokio::spawn(tollgate_tests::h2_client::collect(response)));
    }
    for answer in answers {
        tollgate_tests::within("answer", answer).await.unwrap().unwrap().assert_allowed();
    }
    assert!(origin.connections() <= 4, "{} connections for 60 streams", origin.connections());
}

#[tokio::test]
async fn many_streams_fan_out_to_an_http1_origin() {
    let (gate, origin) = before(Alpn::H1).await;
    let mut h2 = gate.tls_h2(origin.port()).await;
    let mut answers = Vec::new();
    for number in 0..30 {
        let target = format!("/slow/20?n={number}");
        let (response, _) = h2
            .open(tollgate_tests::h2_client::H2::head(&Ask::get(origin.port(), &target)), true)
            .await;
        answers.push((target, tokio::spawn(tollgate_tests::h2_client::collect(response))));
    }
    for (target, answer) in answers {
        let answer = tollgate_tests::within("answer", answer).await.unwrap().unwrap();
        assert_eq!(answer.text(), format!("GET {target}"), "answers are mixed up");
    }
}

#[tokio::test]
async fn alt_svc_is_taken_out_so_that_clients_stay() {
    let authority = Authority::default();
    let origin = Origin::start(Some(authority.server(policy::HOST, Alpn::H2)), |_| {
        let mut reply = tollgate_tests::origin::reply(http::StatusCode::OK, "x");
        reply.headers_mut().insert("alt-svc", http::HeaderValue::from_static("h3=\":443\""));
        reply
    })
    .await;
    let gate = Setup::new(policy::open(&[origin.port()])).local_host().trust(&authority).start();
    for via in [Via::TlsH1, Via::TlsH2] {
        assert_eq!(gate.fetch(via, &Ask::get(origin.port(), "/")).await.header("alt-svc"), None);
    }
}
