//! `tollgate demo`, the program itself.
#![allow(clippy::unwrap_used, clippy::tests_outside_test_module)]

use std::process::Command;
use std::time::{Duration, Instant};

/// The promise of the README: one command, no network, under five seconds.
const PROMISE: Duration = Duration::from_secs(5);

#[test]
fn the_demo_shows_all_three_rules_in_time_and_ends_well() {
    let started = Instant::now();
    // A name that resolves by no file and no server would show here; so would a proxy variable that is obeyed.
    let demo = Command::new(env!("CARGO_BIN_EXE_tollgate"))
        .arg("demo")
        .env("HTTPS_PROXY", "http://192.0.2.1:9")
        .output()
        .unwrap();
    let elapsed = started.elapsed();
    let (out, err) = (String::from_utf8(demo.stdout).unwrap(), String::from_utf8(demo.stderr).unwrap());
    assert_eq!(demo.status.code(), Some(0), "{out}\n{err}");
    assert!(elapsed < PROMISE, "{elapsed:?}\n{out}");
    for part in [
        "path_not_allowed",
        "host_not_allowed",
        "GO: pass",
        "verdict_hold",
        "verdict_stop",
        "verdict_unavailable",
        "rail_destination",
        "rail_broadcast",
        "rail_facilitator_call",
        "12 of 12 as expected",
    ] {
        assert!(out.contains(part), "no {part} in\n{out}");
    }
    assert!(out.is_ascii() && !out.contains('\x1b') && err.is_empty(), "{out}\n{err}");
}
