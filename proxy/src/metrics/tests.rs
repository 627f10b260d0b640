#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
// Counts, and sums of powers of two: exact.
#![allow(clippy::float_cmp)]

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, UNIX_EPOCH};

use tollgate_policy::{Group, Reason};

use super::*;
use crate::audit::vocabulary::Vocabulary;
use crate::audit::{Adapter, Decision, PaymentScheme, SignatureOutcome, VerdictBackend, VerdictOutcome, X402Version};

const USDC: &str = "eip155:8453/0x833589fcd6edb6e08f4c7c32d4f71b54bda02913";

fn metrics() -> Metrics {
    Metrics::new([USDC]).unwrap()
}

/// Series and value; panics on a line that is not of the text format.
fn series(metrics: &Metrics) -> BTreeMap<String, f64> {
    let text = metrics.render();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
            let family: String = name.chars().take_while(|c| *c != '{').collect();
            assert!(family.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{line}");
            (name.to_owned(), value.parse().unwrap_or_else(|_| panic!("{line}")))
        })
        .collect()
}

fn everything(metrics: &Metrics, asset: AssetLabel) {
    let short = Duration::from_micros(40);
    for decision in Decision::ALL {
        for adapter in Adapter::ALL {
            metrics.observe_request(*adapter, *decision, None, short, short);
            drop(metrics.connection(*adapter));
        }
        for reason in Reason::ALL {
            for adapter in Adapter::ALL {
                metrics.observe_request(*adapter, *decision, Some(*reason), short, short);
            }
            for version in X402Version::ALL {
                for scheme in PaymentScheme::ALL {
                    metrics.observe_payment(*decision, Some(*reason), *version, *scheme);
                    metrics.observe_payment(*decision, None, *version, *scheme);
                }
            }
            metrics.rail_denied(*reason);
            metrics.upstream_error(*reason);
        }
        metrics.observe_amount(*decision, asset, 0.5);
    }
    for backend in VerdictBackend::ALL {
        for outcome in VerdictOutcome::ALL {
            metrics.count_verdict(*backend, *outcome);
            metrics.observe_verdict_time(*backend, short);
        }
    }
    for outcome in SignatureOutcome::ALL {
        metrics.set_signatures(*outcome, 1);
    }
}

#[test]
fn a_client_cannot_grow_the_series_however_many_hosts_and_assets_it_invents() {
    let metrics = metrics();
    everything(&metrics, metrics.asset_label("eip155:1/0xdead"));
    let before: BTreeSet<String> = series(&metrics).into_keys().collect();
    for round in 0..10_000_u32 {
        let host = format!("h{}.example", round.wrapping_mul(2_654_435_761));
        let asset = metrics.asset_label(&host);
        metrics.observe_amount(Decision::Deny, asset, f64::from(round));
        metrics.observe_request(
            Adapter::Tunnel,
            Decision::Deny,
            Some(Reason::HostNotAllowed),
            Duration::ZERO,
            Duration::ZERO,
        );
        if round % 1_000 == 0 {
            everything(&metrics, asset);
        }
    }
    let after: BTreeSet<String> = series(&metrics).into_keys().collect();
    assert_eq!(before, after);
    assert!(!metrics.render().contains("example"));
}

#[test]
fn every_metric_of_the_reference_is_there_from_the_start_with_its_labels() {
    let metrics = metrics();
    let names: BTreeMap<String, BTreeSet<String>> = series(&metrics).into_keys().fold(BTreeMap::new(), |mut names, series| {
        let (name, labels) = series.split_once('{').unwrap_or((&series, "}"));
        let labels = labels
            .trim_end_matches('}')
            .split("\",")
            .filter_map(|pair| pair.split_once('='))
            .map(|(label, _)| label.to_owned());
        names.entry(name.to_owned()).or_default().extend(labels);
        names
    });
    let reference: &[(&str, &[&str])] = &[
        ("tollgate_requests_total", &["adapter", "decision", "reason_code"]),
        ("tollgate_request_duration_seconds_bucket", &["adapter", "decision", "le"]),
        ("tollgate_overhead_seconds_bucket", &["adapter", "le"]),
        ("tollgate_connections_active", &["adapter"]),
        ("tollgate_connections_total", &["adapter"]),
        ("tollgate_payments_total", &["decision", "reason_code", "scheme", "x402_version"]),
        ("tollgate_payment_amount_units_total", &["asset", "decision"]),
        ("tollgate_verdicts_total", &["backend", "verdict"]),
        ("tollgate_verdict_duration_seconds_bucket", &["backend", "le"]),
        ("tollgate_verdict_in_flight", &["backend"]),
        ("tollgate_verdict_breaker_open", &["backend"]),
        ("tollgate_verdict_reports_total", &["outcome", "result"]),
        ("tollgate_signatures_total", &["outcome"]),
        ("tollgate_payment_store_ready", &[]),
        ("tollgate_payments_remembered", &[]),
        ("tollgate_payment_store_errors_total", &[]),
        ("tollgate_rail_denied_total", &["reason_code"]),
        ("tollgate_policy_reloads_total", &["result"]),
        ("tollgate_policy_generation", &[]),
        ("tollgate_policy_loaded_timestamp_seconds", &[]),
        ("tollgate_credential_reloads_total", &["result"]),
        ("tollgate_egress_closers", &[]),
        ("tollgate_certificates_minted_total", &[]),
        ("tollgate_certificate_cache_entries", &[]),
        ("tollgate_upstream_errors_total", &["reason_code"]),
        ("tollgate_build_info", &["version"]),
        ("tollgate_audit_ready", &[]),
        ("tollgate_audit_unwritten_bytes", &[]),
        ("tollgate_audit_events_total", &[]),
        ("tollgate_audit_write_errors_total", &[]),
    ];
    for (name, labels) in reference {
        let found = names.get(*name).unwrap_or_else(|| panic!("{name} is missing"));
        assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), *labels, "{name}");
    }
    let known = reference.iter().map(|(name, _)| name.trim_end_matches("_bucket"));
    let known: BTreeSet<&str> = known.collect();
    for name in names.keys() {
        let family = ["_bucket", "_sum", "_count"]
            .iter()
            .find_map(|end| name.strip_suffix(end))
            .unwrap_or(name);
        assert!(known.contains(family), "{name} is not in the reference");
    }
}

#[test]
fn every_reason_is_counted_under_its_own_code() {
    let metrics = metrics();
    for reason in Reason::ALL {
        assert_eq!(Reason::ALL[*reason as usize], *reason);
        metrics.observe_request(Adapter::Connect, Decision::Deny, Some(*reason), Duration::ZERO, Duration::ZERO);
    }
    metrics.observe_request(Adapter::Connect, Decision::Allow, None, Duration::ZERO, Duration::ZERO);
    let series = series(&metrics);
    for reason in Reason::ALL {
        let name = format!("tollgate_requests_total{{adapter=\"connect\",decision=\"deny\",reason_code=\"{reason}\"}}");
        assert_eq!(series.get(&name), Some(&1.0), "{name}");
    }
    assert_eq!(
        series["tollgate_requests_total{adapter=\"connect\",decision=\"allow\",reason_code=\"\"}"],
        1.0
    );
    assert_eq!(
        series["tollgate_requests_total{adapter=\"tunnel\",decision=\"allow\",reason_code=\"\"}"],
        0.0
    );
}

#[test]
fn rail_and_payment_and_verdict_refusals_show_at_zero_before_the_first() {
    let series = series(&metrics());
    for reason in Reason::ALL {
        let name = match reason.group() {
            Group::Rail => format!("tollgate_rail_denied_total{{reason_code=\"{reason}\"}}"),
            Group::Upstream => format!("tollgate_upstream_errors_total{{reason_code=\"{reason}\"}}"),
            Group::Payment | Group::Verdict => {
                format!("tollgate_payments_total{{decision=\"deny\",reason_code=\"{reason}\",scheme=\"exact\",x402_version=\"2\"}}")
            }
            _ => continue,
        };
        assert_eq!(series.get(&name), Some(&0.0), "{name}");
    }
}

#[test]
fn durations_fall_into_the_buckets_of_their_adapter() {
    let metrics = metrics();
    metrics.observe_request(
        Adapter::Tunnel,
        Decision::Allow,
        None,
        Duration::from_millis(3),
        Duration::from_micros(30),
    );
    metrics.count_verdict(VerdictBackend::Blackwall, VerdictOutcome::Go);
    metrics.observe_verdict_time(VerdictBackend::Blackwall, Duration::from_millis(4));
    let series = series(&metrics);
    let overhead = |le: &str| series[&format!("tollgate_overhead_seconds_bucket{{adapter=\"tunnel\",le=\"{le}\"}}")];
    assert_eq!((overhead("0.000025"), overhead("0.00005"), overhead("+Inf")), (0.0, 1.0, 1.0));
    assert_eq!(
        series["tollgate_request_duration_seconds_count{adapter=\"tunnel\",decision=\"allow\"}"],
        1.0
    );
    assert_eq!(series["tollgate_overhead_seconds_count{adapter=\"forward\"}"], 0.0);
    assert_eq!(
        series["tollgate_verdict_duration_seconds_bucket{backend=\"blackwall\",le=\"0.005\"}"],
        1.0
    );
    assert_eq!(series["tollgate_verdicts_total{backend=\"blackwall\",verdict=\"go\"}"], 1.0);
}

#[test]
fn guards_count_down_when_they_are_dropped() {
    let metrics = metrics();
    let connection = metrics.connection(Adapter::Forward);
    metrics.set_verdict_service(VerdictBackend::Local, 1, BreakerState::Open);
    let during = series(&metrics);
    assert_eq!(during["tollgate_connections_active{adapter=\"forward\"}"], 1.0);
    assert_eq!(during["tollgate_verdict_in_flight{backend=\"local\"}"], 1.0);
    assert_eq!(during["tollgate_verdict_breaker_open{backend=\"local\"}"], 1.0);
    drop(connection);
    metrics.set_verdict_service(VerdictBackend::Local, 0, BreakerState::Closed);
    let after = series(&metrics);
    assert_eq!(after["tollgate_connections_active{adapter=\"forward\"}"], 0.0);
    assert_eq!(after["tollgate_connections_total{adapter=\"forward\"}"], 1.0);
    assert_eq!(after["tollgate_verdict_in_flight{backend=\"local\"}"], 0.0);
    assert_eq!(after["tollgate_verdict_breaker_open{backend=\"local\"}"], 0.0);
}

#[test]
fn amounts_add_up_per_configured_asset_and_nonsense_does_not_count() {
    let metrics = metrics();
    let (usdc, other) = (metrics.asset_label(USDC), metrics.asset_label("a payee's own token"));
    assert_ne!(usdc, other);
    for units in [0.25, 0.5, f64::NAN, f64::INFINITY, -1.0] {
        metrics.observe_amount(Decision::Allow, usdc, units);
        metrics.observe_amount(Decision::Deny, other, units);
    }
    let series = series(&metrics);
    assert_eq!(
        series[&format!("tollgate_payment_amount_units_total{{asset=\"{USDC}\",decision=\"allow\"}}")],
        0.75
    );
    assert_eq!(
        series["tollgate_payment_amount_units_total{asset=\"other\",decision=\"deny\"}"],
        0.75
    );
}

#[test]
fn values_that_are_kept_elsewhere_are_read_at_the_scrape() {
    let metrics = metrics();
    metrics.on_scrape(|metrics| metrics.set_certificates(7, 9));
    metrics.on_scrape(|metrics| {
        metrics.set_audit(&audit::Status {
            ready: true,
            unwritten: 12,
            events: 3,
            write_errors: 2,
            failure: None,
        });
    });
    metrics.set_policy(4, UNIX_EPOCH + Duration::from_secs(1_700_000_000));
    metrics.policy_reloaded(ReloadResult::Rejected);
    metrics.render();
    let series = series(&metrics);
    for (name, value) in [
        ("tollgate_certificate_cache_entries", 7.0),
        ("tollgate_certificates_minted_total", 9.0),
        ("tollgate_audit_ready", 1.0),
        ("tollgate_audit_unwritten_bytes", 12.0),
        ("tollgate_audit_events_total", 3.0),
        ("tollgate_audit_write_errors_total", 2.0),
        ("tollgate_policy_generation", 4.0),
        ("tollgate_policy_loaded_timestamp_seconds", 1_700_000_000.0),
        ("tollgate_policy_reloads_total{result=\"rejected\"}", 1.0),
        ("tollgate_policy_reloads_total{result=\"applied\"}", 0.0),
    ] {
        assert_eq!(series.get(name), Some(&value), "{name}");
    }
}
