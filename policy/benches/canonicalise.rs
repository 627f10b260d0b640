//! What it costs to bring a target to its canonical form.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use tollgate_policy::{AddressScope, LoopbackDial};
use tollgate_policy::{Authority, CanonicalPath, EncodedSlash, Target, check_addresses};

fn canonicalise(criterion: &mut Criterion) {
    for (name, target) in [
        ("canonical", "/v1/projects/alpha/items/42?page=2&sort=name"),
        ("needs_work", "/v1//projects/./alpha/%7euser/../items%20x/caf%c3%a9;v=1/42?page=2"),
        ("absolute", "http://api.example.com:8080/v1/projects/alpha/items/42?page=2"),
    ] {
        criterion.bench_function(&format!("canonicalise/{name}"), |bencher| {
            bencher.iter(|| {
                let target = Target::parse(black_box(target)).unwrap();
                CanonicalPath::parse(target.path, EncodedSlash::Reject).unwrap()
            });
        });
    }
    criterion.bench_function("canonicalise/authority", |bencher| {
        bencher.iter(|| Authority::parse(black_box("api.example.com:443"), None).unwrap());
    });
    let addresses = ["93.184.216.34".parse().unwrap(), "2606:2800:220:1::1".parse().unwrap()];
    criterion.bench_function("addresses/public", |bencher| {
        bencher.iter(|| check_addresses(black_box(&addresses), &AddressScope::PublicOnly, 443, LoopbackDial::Never).is_ok());
    });
}

criterion_group!(benches, canonicalise);
criterion_main!(benches);
