#![allow(clippy::unwrap_used)]
use std::sync::Barrier;
use std::sync::atomic::AtomicI64;
use std::time::Duration as StdDuration;

use time::Duration;

use super::*;
use crate::authority::tests::spellings;

fn cache(capacity: usize) -> LeafCache {
    let authority = CertificateAuthority::generate().unwrap();
    LeafCache::new(authority, LeafLifetime::default(), NonZeroUsize::new(capacity).unwrap()).unwrap()
}

fn name(text: &str) -> LeafName {
    text.parse().unwrap()
}

/// A cache of leaves that live three hours, and the hand that moves its clock.
fn with_time() -> (LeafCache, impl Fn(Duration)) {
    let start = OffsetDateTime::now_utc();
    let passed = Arc::new(AtomicI64::new(0));
    let read = passed.clone();
    let clock = Box::new(move || start + Duration::seconds(read.load(Ordering::SeqCst)));
    let lifetime = LeafLifetime::try_from(StdDuration::from_secs(3 * 3_600)).unwrap();
    let authority = CertificateAuthority::generate_at(start).unwrap();
    let cache = LeafCache::with_clock(authority, lifetime, DEFAULT_CAPACITY, clock).unwrap();
    (cache, move |since: Duration| passed.store(since.whole_seconds(), Ordering::SeqCst))
}

#[test]
fn a_known_host_is_not_minted_again() {
    let cache = cache(8);
    let first = cache.server_config(&name("example.com")).unwrap();
    let second = cache.server_config(&name("EXAMPLE.com.")).unwrap();
    assert!(Arc::ptr_eq(&first, &second));
    assert_eq!((cache.minted(), cache.cached()), (1, 1));
}

#[test]
fn many_connections_to_a_new_host_mint_once() {
    const CONNECTIONS: usize = 32;
    let cache = cache(8);
    let start = Barrier::new(CONNECTIONS);
    std::thread::scope(|scope| {
        for _ in 0..CONNECTIONS {
            scope.spawn(|| {
                start.wait();
                cache.server_config(&name("example.com")).unwrap();
            });
        }
    });
    assert_eq!(cache.minted(), 1);
}

#[test]
fn a_host_that_is_being_minted_holds_up_no_other() {
    let cache = cache(8);
    let slow = cache.slot(&name("slow.example.com"));
    let _signing = lock(&slow);
    cache.server_config(&name("quick.example.com")).unwrap();
    assert_eq!(cache.cached(), 2);
}

/// The client chooses the names: a flood of them must neither grow memory nor push out a host in use.
#[test]
fn twenty_thousand_names_stay_within_the_bound() {
    let cache = cache(64);
    let used = cache.server_config(&name("used.example.com")).unwrap();
    for n in 0_u32..20_000 {
        // Neither in order nor alike: a Weyl sequence.
        let label = n.wrapping_mul(2_654_435_769);
        cache.server_config(&name(&format!("{label:08x}.example.com"))).unwrap();
        if n % 50 == 0 {
            assert!(Arc::ptr_eq(&used, &cache.server_config(&name("used.example.com")).unwrap()));
            assert!(cache.cached() <= 64);
        }
    }
    assert_eq!((cache.cached(), cache.minted()), (64, 20_001));
}

#[test]
fn a_host_that_was_pushed_out_is_minted_again() {
    let cache = cache(2);
    for host in ["a.example", "b.example", "c.example", "a.example"] {
        cache.server_config(&name(host)).unwrap();
    }
    assert_eq!((cache.minted(), cache.cached()), (4, 2));
}

#[test]
fn a_leaf_is_replaced_when_a_third_of_its_life_is_left() {
    let (cache, at) = with_time();
    let host = name("example.com");
    let first = cache.server_config(&host).unwrap();
    for (when, minted) in [
        (Duration::minutes(119), 1),
        (Duration::minutes(120), 2),
        (Duration::minutes(239), 2),
        (Duration::days(30), 3),
    ] {
        at(when);
        cache.server_config(&host).unwrap();
        assert_eq!(cache.minted(), minted, "after {when}");
    }
    assert!(!Arc::ptr_eq(&first, &cache.server_config(&host).unwrap()));
    assert_eq!(cache.cached(), 1);
}

#[test]
fn a_clock_set_back_does_not_leave_a_leaf_from_the_future() {
    let (cache, at) = with_time();
    let host = name("example.com");
    at(Duration::hours(10));
    cache.server_config(&host).unwrap();
    at(Duration::hours(8));
    cache.server_config(&host).unwrap();
    assert_eq!(cache.minted(), 2);
}

#[test]
fn no_leaf_outlives_the_authority() {
    let (cache, at) = with_time();
    at(Duration::days(3_650) - Duration::hours(1));
    cache.server_config(&name("example.com")).unwrap();
    at(Duration::days(3_650) - Duration::minutes(20));
    cache.server_config(&name("example.com")).unwrap();
    assert_eq!(cache.minted(), 2, "two thirds of the one remaining hour have passed");
}

#[test]
fn a_lifetime_that_clients_refuse_is_refused_at_once() {
    for (seconds, good) in [
        (0, false),
        (59, false),
        (60, true),
        (86_400, true),
        (397 * 86_400, true),
        (398 * 86_400, false),
        (u64::MAX, false),
    ] {
        assert_eq!(LeafLifetime::try_from(StdDuration::from_secs(seconds)).is_ok(), good, "{seconds}");
    }
    assert_eq!(
        LeafLifetime::default(),
        LeafLifetime::try_from(StdDuration::from_secs(86_400)).unwrap()
    );
}

#[test]
fn no_key_is_ever_in_debug_output() {
    let cache = cache(8);
    let config = cache.server_config(&name("example.com")).unwrap();
    let printed = format!("{cache:?} {cache:#?} {config:?} {:?}", config.cert_resolver);
    let keys = [cache.mint.leaf_key(), cache.authority().issuer().key()];
    for secret in keys.iter().flat_map(|key| spellings(key.serialized_der())) {
        assert!(!printed.contains(&secret));
    }
}
