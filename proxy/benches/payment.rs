//! What the payment and rail rules cost: a request without a payment, one with, and a body that has to be looked through.
#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing)]

use std::hint::black_box;
use std::path::PathBuf;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use http::{HeaderMap, HeaderName, HeaderValue};
use rand::rngs::StdRng;
use rand::{RngCore, SeedableRng};
use serde_json::Value;
use tollgate::gate::payment::challenges::ChallengeMemory;
use tollgate::gate::payment::{PaymentRequest, PaymentsConfig, Terms, UrlScheme, judge_carried, judge_header};
use tollgate::gate::rail::{Rails, RailsConfig};
use tollgate::x402::carriers::Carrier;
use tollgate::x402::detect::{self, Found};
use tollgate_policy::Authority;

fn vector(name: &str) -> (HeaderMap, Authority, u64) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/x402").join(name);
    let vector: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let mut headers = HeaderMap::new();
    for pair in vector["exchanges"].as_array().unwrap().last().unwrap()["request"]["headers"]
        .as_array()
        .unwrap()
    {
        headers.append(
            HeaderName::from_bytes(pair[0].as_str().unwrap().as_bytes()).unwrap(),
            HeaderValue::from_str(pair[1].as_str().unwrap()).unwrap(),
        );
    }
    let authority = Authority::parse(headers["host"].to_str().unwrap(), None).unwrap();
    let before: u64 = vector["expected_claim"]["valid_before"].as_str().unwrap().parse().unwrap();
    (headers, authority, before - 60)
}

/// What an SDK sends with a call of a model, a browser with a session, `curl` with a token.
fn unpaid(fields: usize) -> HeaderMap {
    let token = format!(
        "Bearer {}.{}.{}",
        "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9",
        "eyJzdWIiOiIxMjM0NTY3ODkw".repeat(20),
        "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".repeat(8)
    );
    let cookie = "session=QUJDREVGR0hJSktM; _ga=GA1.1.1234567890; ".repeat(20);
    let all = [
        ("host", "api.example.com"),
        ("user-agent", "OpenAI/Python 2.8.1"),
        ("accept", "application/json"),
        ("accept-encoding", "gzip, deflate, br, zstd"),
        ("connection", "keep-alive"),
        ("content-type", "application/json"),
        ("content-length", "1024"),
        ("authorization", &token),
        ("x-stainless-lang", "python"),
        ("x-stainless-package-version", "2.8.1"),
        ("x-stainless-os", "Linux"),
        ("x-stainless-arch", "x64"),
        ("x-stainless-runtime", "CPython"),
        ("x-stainless-retry-count", "0"),
        ("idempotency-key", "stainless-python-retry-3f7b4f0e-5a58-4b0e-9d7e-0d8b8f1c2a3b"),
        ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        ("origin", "https://app.example.com"),
        ("referer", "https://app.example.com/chat?thread=0190f1c2-7d3e"),
        ("accept-language", "en-US,en;q=0.9"),
        ("cookie", &cookie),
    ];
    let all = all.into_iter().take(fields);
    all.map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap()))
        .collect()
}

/// All that a request without a body goes through because it might pay.
fn unpaid_requests(c: &mut Criterion) {
    let mut group = c.benchmark_group("unpaid");
    let (path, query) = ("/v1/projects/0190f1c2/chat/completions", "stream=true&api-version=2026-10-01");
    for fields in [8, 14, 20] {
        let headers = unpaid(fields);
        assert_eq!(headers.len(), fields);
        group.bench_function(format!("{fields}_fields"), |b| {
            b.iter(|| {
                let found = detect::find(black_box(&headers));
                let target = [path, query].into_iter().find_map(|part| detect::find_in_target(black_box(part)));
                assert!(matches!(found, Found::Nothing) && target.is_none());
            });
        });
    }
    group.finish();
}

/// The same for the ways to pay that are no payment's.
fn rails_of_a_head(c: &mut Criterion) {
    let rails = Rails::new(&RailsConfig::default()).unwrap();
    let headers = unpaid(14);
    c.bench_function("rail_scheme/14_fields", |b| {
        b.iter(|| black_box(rails.scheme(black_box(&headers))));
    });
    let host = tollgate_policy::Host::parse("api.eu-west.example.com").unwrap();
    c.bench_function("rail_destination/miss", |b| {
        b.iter(|| black_box(rails.destination(black_box(&host), 443)));
    });
    c.bench_function("rail_target/miss", |b| {
        b.iter(|| black_box(rails.target("POST", "/v1/chat/completions", black_box(&host))));
    });
}

/// A payment in a header: found, decoded, held against everything, its signer recovered. Only the verdict is left.
fn paid_requests(c: &mut Criterion) {
    let terms = Terms::operator(&PaymentsConfig::default()).unwrap();
    for name in ["v2-exact-evm-eip3009-js-fetch.json", "v1-exact-evm-eip3009-py-requests.json"] {
        let (captured, authority, now) = vector(name);
        for fields in [captured.len(), 20] {
            let mut headers = captured.clone();
            for (name, value) in &unpaid(20) {
                if headers.len() < fields {
                    headers.entry(name).or_insert_with(|| value.clone());
                }
            }
            let request = PaymentRequest {
                method: "GET",
                scheme: UrlScheme::Http,
                authority: &authority,
                path: "/paid",
                query: None,
                carrier: Carrier::Head,
            };
            c.bench_function(&format!("judge/{}_{fields}_fields", &name[..2]), |b| {
                b.iter(|| {
                    judge_header(detect::find(black_box(&headers)), &request, &terms, now)
                        .unwrap()
                        .unwrap()
                });
            });
        }
    }
}

fn paid_call(c: &mut Criterion) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/x402/mcp-v2-exact-evm-py.json");
    let vector: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let body = vector["exchanges"][1]["request"]["body"].as_str().unwrap();
    let before: u64 = vector["expected_claim"]["valid_before"].as_str().unwrap().parse().unwrap();
    let rails = Rails::new(&RailsConfig::default()).unwrap();
    let terms = Terms::operator(&PaymentsConfig::default()).unwrap();
    let authority = Authority::parse("127.0.0.1:80", None).unwrap();
    let request = PaymentRequest {
        method: "POST",
        scheme: UrlScheme::Http,
        authority: &authority,
        path: "/mcp",
        query: None,
        carrier: Carrier::Head,
    };
    let challenges = ChallengeMemory::default();
    c.bench_function("judge/mcp", |b| {
        b.iter(|| {
            let carried = rails.in_body("/mcp", black_box(body.as_bytes())).unwrap().unwrap();
            let request = request.carrying(carried.call.carrier());
            judge_carried(&carried, &request, &terms, &challenges, before - 60).unwrap()
        });
    });
}

/// JSON bodies as agents send them, of about so many bytes.
fn bodies_of(size: usize) -> [(&'static str, String); 6] {
    let repeat = |text: &str| text.repeat(size.div_ceil(text.len()));
    let said = repeat(
        r#"{"role":"user","content":"Please read the quarterly report and summarise what changed since spring.\n\n- in \"plain\" words\n"},"#,
    );
    let code = repeat(r#"{"role":"tool","content":"fn main() {\n\tprintln!(\"{}\", 1 + 1);\n}\n// na\u00efve \u2014 \u4f60\u597d\n"},"#);
    let html = repeat(r#"{"html":"\u003cp class=\"a\"\u003eTom \u0026 Jerry, and a sentence of some length about both\u003c/p\u003e"},"#);
    let calls = repeat(
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"weather","arguments":{"city":"Oslo","units":"metric"}}},"#,
    );
    let mut image = vec![0; size * 3 / 4];
    StdRng::seed_from_u64(402).fill_bytes(&mut image);
    let image = BASE64_STANDARD.encode(image);
    [
        ("messages", format!("{{\"model\":\"m\",\"messages\":[{said}{{}}]}}")),
        ("code_with_escapes", format!("{{\"model\":\"m\",\"messages\":[{code}{{}}]}}")),
        ("escaped_for_html", format!("[{html}{{}}]")),
        ("json_rpc_calls", format!("[{calls}{{}}]")),
        ("base64_image", format!("{{\"image\":\"data:image/png;base64,{image}\"}}")),
        // Nobody honest escapes a letter: what it costs to be sure.
        (
            "read_for_an_escaped_letter",
            format!("{{\"messages\":[{}{{}}]}}", said.replacen("plain", "pl\\u0061in", 1)),
        ),
    ]
}

/// A body in which nobody pays.
fn bodies(c: &mut Criterion) {
    let rails = Rails::new(&RailsConfig::default()).unwrap();
    for (named, size) in [("1kib", 1 << 10), ("64kib", 64 << 10), ("1mib", 1 << 20)] {
        let mut group = c.benchmark_group(format!("unpaid_body_{named}"));
        for (name, body) in bodies_of(size) {
            serde_json::from_str::<serde::de::IgnoredAny>(&body).unwrap();
            group.throughput(Throughput::Bytes(body.len() as u64));
            group.bench_function(name, |b| {
                b.iter(|| assert!(rails.in_body("/v1/messages", black_box(body.as_bytes())).unwrap().is_none()));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, unpaid_requests, rails_of_a_head, paid_requests, paid_call, bodies);
criterion_main!(benches);
