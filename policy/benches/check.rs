//! What checking a policy of 10,000 lines costs: an editor does it at every save, and a gate at every reload.
#![allow(missing_docs, clippy::unwrap_used)]

use std::fmt::Write as _;
use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use tollgate_policy::effective::effective;
use tollgate_policy::{ConfigFault, Limits, MiddlewareSchema, Sources, Style, load_within};

const LINES: usize = 10_000;

struct AnyMiddleware;

impl MiddlewareSchema for AnyMiddleware {
    fn validate(&self, _: &str, _: &serde_json::Value) -> Result<(), Vec<ConfigFault>> {
        Ok(())
    }
}

/// Rules of twenty lines, each like a real one; `access` is the name of that key.
fn policy(access: &str) -> String {
    let mut source = String::from("version: 1\nnetwork_policies:\n");
    for rule in 0.. {
        let _ = write!(
            source,
            "  rule{rule}:\n    endpoints:\n      - host: api{rule}.example.com\n        port: 443\n        protocol: rest\n        enforcement: enforce\n        \
             rules:\n          - allow: {{ method: GET, path: /v1/** }}\n          - allow:\n              method: POST\n              path: /v1/*/items\n              \
             query: {{ page: '1' }}\n        deny_rules:\n          - {{ method: '*', path: /v1/admin }}\n      - host: '*.wild{rule}.example.com'\n        \
             ports: [443, 8443]\n        protocol: rest\n        {access}: read-only\n    binaries:\n      - path: /usr/bin/curl\n"
        );
        if source.lines().count() >= LINES {
            break;
        }
    }
    source
}

fn check(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("check/10000_lines");
    for (name, access, loads) in [("with_warnings", "access", true), ("with_errors", "acces", false)] {
        let text = policy(access);
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                let sources = Sources::one("policy.yaml", black_box(text.as_str()));
                let loaded = load_within(&sources, &AnyMiddleware, Limits::default());
                assert_eq!(loaded.policy.is_some(), loads);
                assert!(!loaded.diagnostics.is_empty());
                sources.render_all(&loaded.diagnostics, Style::Coloured).len()
            });
        });
    }
    let sources = Sources::one("policy.yaml", policy("access"));
    group.bench_function("effective", |bencher| {
        bencher.iter(|| effective(black_box(&sources), Limits::default()).unwrap().len());
    });
    group.finish();
}

criterion_group! { name = benches; config = Criterion::default().sample_size(20); targets = check }
criterion_main!(benches);
