//! What the payment and rail rules cost: a request without a payment, one with, and a body that has to be looked through.
#![allow(missing_docs, clippy::unwrap_used, clippy::indexing_slicing)]

use std::hint::black_box;
use std::path::PathBuf;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use tollgate::gate::payment::challenges::ChallengeMemory;
use tollgate::gate::payment::{PaymentRequest, PaymentsConfig, Terms, UrlScheme, judge_carried, judge_header};
use tollgate::gate::rail::{Rails, RailsConfig};
use tollgate::x402::carriers::Carrier;
use tollgate::x402::detect;
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

fn unpaid() -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("host", "api.example.com"),
        ("user-agent", "python-requests/2.34.2"),
        ("accept-encoding", "gzip, deflate"),
        ("accept", "*/*"),
        ("connection", "keep-alive"),
        ("content-type", "application/json"),
        ("content-length", "1024"),
        ("authorization", "Bearer sk-0123456789012345678901234567890123456789"),
    ] {
        headers.append(name, HeaderValue::from_static(value));
    }
    headers
}

fn headers(c: &mut Criterion) {
    let rails = Rails::new(&RailsConfig::default()).unwrap();
    let unpaid = unpaid();
    c.bench_function("detect/unpaid_8_headers", |b| {
        b.iter(|| black_box(detect::find(black_box(&unpaid))));
    });
    c.bench_function("rail_scheme/unpaid_8_headers", |b| {
        b.iter(|| black_box(rails.scheme(black_box(&unpaid))));
    });
    let mut cookie = unpaid.clone();
    cookie.insert("cookie", HeaderValue::from_str(&"session=QUJDREVGR0hJSktM; ".repeat(40)).unwrap());
    c.bench_function("detect/unpaid_1kb_cookie", |b| {
        b.iter(|| black_box(detect::find(black_box(&cookie))));
    });
    let host = tollgate_policy::Host::parse("api.eu-west.example.com").unwrap();
    c.bench_function("rail_destination/miss", |b| {
        b.iter(|| black_box(rails.destination(black_box(&host), 443)));
    });
    c.bench_function("rail_target/miss", |b| {
        b.iter(|| black_box(rails.target("POST", "/v1/chat/completions", black_box(&host))));
    });
    let terms = Terms::operator(&PaymentsConfig::default()).unwrap();
    for name in ["v2-exact-evm-eip3009-js-fetch.json", "v1-exact-evm-eip3009-py-requests.json"] {
        let (headers, authority, now) = vector(name);
        let request = PaymentRequest {
            method: "GET",
            scheme: UrlScheme::Http,
            authority: &authority,
            path: "/paid",
            query: None,
            carrier: Carrier::Head,
        };
        c.bench_function(&format!("judge/{}", &name[..2]), |b| {
            b.iter(|| judge_header(detect::find(black_box(&headers)), &request, &terms, now).unwrap());
        });
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

fn bodies(c: &mut Criterion) {
    let rails = Rails::new(&RailsConfig::default()).unwrap();
    let message =
        r#"{"role":"user","content":"Please read the quarterly report and summarise what changed since spring, in plain words."},"#;
    let prose = format!("{{\"messages\":[{}{{}}]}}", message.repeat((1 << 20) / message.len()));
    let escaped = prose.replace("plain", "pl\\u0061in");
    let image = format!("{{\"image\":\"{}\"}}", "iVBORw0KGgoAAAANSUhEUgAA8gZ3".repeat((1 << 20) / 28));
    let mut group = c.benchmark_group("rail_body_1mib");
    let call =
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"weather","arguments":{"city":"Oslo","units":"metric"}}},"#;
    let calls = format!("[{}{{}}]", call.repeat((1 << 20) / call.len()));
    let bodies = [
        ("json", prose),
        ("json_rpc_calls", calls),
        ("json_parsed_for_an_escape", escaped),
        ("base64_image", image),
    ];
    for (name, body) in bodies {
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(name, |b| {
            b.iter(|| black_box(rails.in_body("/v1/messages", black_box(body.as_bytes()))));
        });
    }
    group.finish();
}

criterion_group!(benches, headers, paid_call, bodies);
criterion_main!(benches);
