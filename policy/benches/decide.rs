//! What a decision costs, and that it does not grow with the policy.
#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use std::fmt::Write as _;
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use tollgate_policy::{
    Caller, CanonicalPath, ConfigFault, EncodedSlash, Facts, Host, HttpFacts, Limits, MiddlewareSchema, Policy, Process, Sources,
    load_within,
};

struct AnyMiddleware;

impl MiddlewareSchema for AnyMiddleware {
    fn validate(&self, _: &str, _: &serde_json::Value) -> Result<(), Vec<ConfigFault>> {
        Ok(())
    }
}

/// Exact hosts, with every tenth a wildcard; four endpoints to a rule.
fn policy(endpoints: usize) -> Policy {
    let mut source = String::from("version: 1\nnetwork_policies:\n");
    for rule in 0..endpoints.div_ceil(4) {
        let _ = write!(
            source,
            "  rule{rule}:\n    binaries: [ {{ path: /usr/bin/curl }} ]\n    endpoints:\n"
        );
        for index in (rule * 4)..(rule * 4 + 4).min(endpoints) {
            let host = if index % 10 == 9 {
                format!("'*.wild{index}.example.com'")
            } else {
                format!("host{index}.example.com")
            };
            let _ = write!(
                source,
                "      - host: {host}\n        port: 443\n        protocol: rest\n        enforcement: enforce\n        rules:\n          - allow: {{ method: GET, path: /v1/** }}\n          - allow: {{ method: POST, path: '/v1/*/items' }}\n        deny_rules: [ {{ method: '*', path: /v1/admin }} ]\n",
            );
        }
    }
    let limits = Limits {
        bytes: 1 << 30,
        nodes: 100_000_000,
        ..Limits::default()
    };
    load_within(&Sources::one("policy.yaml", source), &AnyMiddleware, limits)
        .policy
        .expect("a policy")
}

fn decide(criterion: &mut Criterion) {
    let curl = Process {
        binary: "/usr/bin/curl".into(),
        ancestors: vec!["/bin/bash".into()],
    };
    let path = CanonicalPath::parse("/v1/a/b/c", EncodedSlash::Reject).unwrap();
    let admin = CanonicalPath::parse("/v1/admin", EncodedSlash::Reject).unwrap();
    let get = |path| {
        Some(HttpFacts {
            method: "GET",
            path,
            query: Some("page=2"),
            operation: None,
        })
    };
    for size in [10, 1_000, 100_000] {
        let policy = policy(size);
        let middle = size / 20 * 10;
        let exact = Host::parse(&format!("host{}.example.com", middle + 5)).unwrap();
        let wildcard = Host::parse(&format!("a.wild{}.example.com", middle + 9)).unwrap();
        let unknown = Host::parse("evil.example.net").unwrap();
        let mut group = criterion.benchmark_group("decide");
        for (name, host, request, passes) in [
            ("connect_allow", &exact, None, true),
            ("connect_wildcard", &wildcard, None, true),
            ("connect_deny", &unknown, None, false),
            ("request_allow", &exact, get(&path), true),
            ("request_wildcard", &wildcard, get(&path), true),
            ("request_deny", &exact, get(&admin), false),
        ] {
            let facts = Facts {
                host,
                port: 443,
                caller: Caller::Identified(&curl),
                request,
            };
            assert_eq!(policy.decide(&facts).action.passes(), passes, "{name} {host}");
            group.bench_function(BenchmarkId::new(name, size), |bencher| {
                bencher.iter(|| policy.decide(black_box(&facts)).action.passes());
            });
        }
        group.finish();
    }
}

fn loading(criterion: &mut Criterion) {
    criterion.bench_function("load/1000", |bencher| bencher.iter(|| policy(black_box(1_000)).endpoint_count()));
}

criterion_group! { name = benches; config = Criterion::default().sample_size(30); targets = decide, loading }
criterion_main!(benches);
