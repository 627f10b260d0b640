//! What a new host costs, and a known one.

#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;
use std::num::NonZeroUsize;

use criterion::{Criterion, criterion_group, criterion_main};
use tollgate_certs::{CertificateAuthority, DEFAULT_CAPACITY, LeafCache, LeafLifetime, LeafName};

fn cache(capacity: NonZeroUsize) -> LeafCache {
    LeafCache::new(CertificateAuthority::generate().unwrap(), LeafLifetime::default(), capacity).unwrap()
}

fn mint(c: &mut Criterion) {
    // Two names that push each other out of a cache of one: every lookup mints.
    let one = cache(NonZeroUsize::MIN);
    let names: [LeafName; 2] = ["a.example.com".parse().unwrap(), "b.example.com".parse().unwrap()];
    let mut turn = names.iter().cycle();
    c.bench_function("certs/mint a leaf", |b| {
        b.iter(|| one.server_config(black_box(turn.next().unwrap())).unwrap());
    });

    let full = cache(DEFAULT_CAPACITY);
    for n in 0..DEFAULT_CAPACITY.get() {
        full.server_config(&format!("host{n}.example.com").parse().unwrap()).unwrap();
    }
    let known = "host512.example.com".parse().unwrap();
    c.bench_function("certs/cached lookup", |b| b.iter(|| full.server_config(black_box(&known)).unwrap()));

    c.bench_function("certs/new authority", |b| b.iter(|| CertificateAuthority::generate().unwrap()));
}

criterion_group!(benches, mint);
criterion_main!(benches);
