#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing)]

use std::collections::HashMap;

use tollgate_policy::Reason;

use super::*;
use crate::egress::Resolver;
use crate::egress::fetch::scripted::{ScriptedServer, Step};
use crate::verdict::sample;

fn parse(text: &str) -> Result<VerdictConfig, String> {
    serde_saphyr::from_str(text).map_err(|error| error.to_string())
}

fn fetcher() -> Fetcher {
    Fetcher::new(Arc::default(), Arc::new(Resolver::new(HashMap::new(), Duration::from_secs(2))))
}

#[test]
fn without_a_section_the_backend_is_local_and_nothing_is_told_to_anybody() {
    let config = parse("{}").unwrap();
    assert_eq!(config, VerdictConfig::default());
    assert_eq!((config.backend, &config.url), (BackendName::Local, &None));
    assert_eq!(
        (config.timeout, config.max_in_flight.get(), config.queue),
        (Duration::from_secs(5), 4, 64)
    );
    let desk = config.open(Path::new("/nowhere"), &fetcher(), Seating::PayingOnly).unwrap().paying;
    assert_eq!(desk.backend(), BackendName::Local);
}

#[test]
fn a_service_is_named_by_url() {
    let config =
        parse("backend: blackwall\nurl: http://127.0.0.1:8402\ntimeout: 500ms\nmax_in_flight: 2\nqueue: 0\nagent_id: sandbox-1\n").unwrap();
    assert_eq!(config.url.as_ref().unwrap().to_string(), "http://127.0.0.1:8402");
    assert_eq!(
        (config.timeout, config.max_in_flight.get(), config.queue),
        (Duration::from_millis(500), 2, 0)
    );
    assert_eq!(
        config
            .open(Path::new("/nowhere"), &fetcher(), Seating::PayingOnly)
            .unwrap()
            .paying
            .backend(),
        BackendName::Blackwall
    );
}

#[test]
fn relative_lists_start_at_the_configuration_file() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(
        directory.path().join("payees.yaml"),
        "- payee: \"0x02c2fcafce36b4aadb39625866bc6b1699d83043\"\n  price: \"1\"\n",
    )
    .unwrap();
    let config = parse("payees: payees.yaml").unwrap();
    assert!(config.open(directory.path(), &fetcher(), Seating::PayingOnly).is_ok());
    let error = config.open(Path::new("/nowhere"), &fetcher(), Seating::PayingOnly).unwrap_err();
    assert!(error.to_string().starts_with("/nowhere/payees.yaml: "), "{error}");
}

#[test]
fn text_that_cannot_mean_anything_is_refused_when_read() {
    for (text, message) in [
        ("backend: Blackwall", "Blackwall"),
        ("backend: none", "none"),
        ("uri: http://a.example", "uri"),
        ("timeout: 5", "whole number and a unit"),
        ("timeout: 0s", "zero"),
        ("max_in_flight: 0", "zero"),
        ("queue: -1", "-1"),
        ("url: ftp://a.example", "http://"),
        ("url: http://user:secret@a.example", "user information"),
        ("url: https://a.example/?key=1", "no query"),
        ("url: https://a.example/#x", "no query"),
        ("agent_id: two words", "agent_id"),
    ] {
        let error = parse(text).expect_err(text);
        assert!(error.contains(message), "{text}: {error}");
    }
}

#[test]
fn settings_that_do_not_fit_together_are_refused() {
    for (text, message) in [
        ("backend: blackwall", "verdict.url is required with backend blackwall"),
        ("url: http://a.example", "verdict.url has no effect with backend local"),
        ("agent_id: x", "verdict.agent_id has no effect with backend local"),
        ("breaker: { failures: 3 }", "verdict.breaker has no effect with backend local"),
        ("report_outcomes: true", "verdict.report_outcomes has no effect with backend local"),
        (
            "{backend: blackwall, url: \"http://a.example\", breaker: { pause: 2h }}",
            "verdict.breaker.pause must be from 1ms to 1h",
        ),
        (
            "{backend: blackwall, url: \"http://a.example\", refused: x.yaml}",
            "verdict.refused has no effect with backend blackwall",
        ),
        (
            "{backend: blackwall, url: \"http://a.example\", payees: x.yaml}",
            "verdict.payees has no effect with backend blackwall",
        ),
        ("timeout: 1h", "verdict.timeout must be from 1ms to 2m"),
        ("max_in_flight: 257", "verdict.max_in_flight must be from 1 to 256"),
        ("queue: 65537", "verdict.queue must be from 0 to 65536"),
    ] {
        assert_eq!(parse(text).expect(text).validate().unwrap_err().to_string(), message, "{text}");
    }
}

#[tokio::test]
async fn a_desk_from_the_configuration_lets_a_payment_out_on_go_only() {
    let answer = |verdict: &str| {
        let body = format!(r#"{{"verdict":"{verdict}","hard_stop":false,"receipt_id":"bw_0123456789abcdef01234567"}}"#);
        vec![Step::send(format!("HTTP/1.0 200 OK\r\n\r\n{body}"))]
    };
    for (verdict, refusal) in [
        ("GO", None),
        ("HOLD", Some(Reason::VerdictHold)),
        ("STOP", Some(Reason::VerdictStop)),
    ] {
        let server = ScriptedServer::plain(answer(verdict)).await;
        let config = parse(&format!("backend: blackwall\nurl: http://{}\n", server.address)).unwrap();
        let desk = config.open(Path::new("/nowhere"), &fetcher(), Seating::PayingOnly).unwrap().paying;
        let ruling = desk.judge(&sample::question()).await;
        assert_eq!((ruling.refusal(), ruling.backend), (refusal, BackendName::Blackwall), "{verdict}");
    }
}
