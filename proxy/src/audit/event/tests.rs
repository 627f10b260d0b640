#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::time::UNIX_EPOCH;

use serde_json::{Value, json};

use super::*;

fn line(event: &Event<'_>) -> Value {
    serde_json::from_str(&serde_json::to_string(event).unwrap()).unwrap()
}

#[test]
fn a_full_event_has_the_published_fields() {
    let host = Host::parse("2001:db8::1").unwrap();
    let addresses = ["2001:db8::1".parse().unwrap()];
    let process = Process {
        binary: "/usr/bin/curl".into(),
        pid: 42,
        ancestors: vec!["/bin/sh".into()],
    };
    let payment = PaymentRecord {
        version: "2".into(),
        payee: "0xabc".into(),
        ..PaymentRecord::default()
    };
    let verdict = VerdictRecord {
        backend: VerdictBackend::Blackwall,
        verdict: VerdictOutcome::Hold,
        receipt_id: Some("bw_1".into()),
        latency: Duration::from_micros(2_125),
    };
    let event = Event {
        time: UNIX_EPOCH + Duration::from_millis(1_700_000_000_007),
        generation: 3,
        process: Some(&process),
        protocol: Some(Protocol::Http2),
        method: Some("GET"),
        scheme: Some(Scheme::Https),
        host: Some(&host),
        port: Some(443),
        path: Some(RequestPath::of("/a\"b?key=sk-secret")),
        reason_code: Some(Reason::VerdictHold),
        policy: Some("api"),
        addresses: &addresses,
        payment: Some(&payment),
        verdict: Some(&verdict),
        status: Some(403),
        bytes_up: 1,
        bytes_down: 2,
        duration: Duration::from_micros(1_500),
        ..Event::new(RequestId::next(), ConnectionId::next(), Adapter::Tunnel, Decision::Deny)
    };
    let mut value = line(&event);
    assert_eq!(value["request_id"], event.request_id.to_string());
    assert_eq!(value["connection"].to_string(), event.connection.to_string());
    let object = value.as_object_mut().unwrap();
    object.remove("request_id");
    object.remove("connection");
    let expected = json!({
        "time": "2023-11-14T22:13:20.007Z", "generation": 3,
        "process": { "binary": "/usr/bin/curl", "pid": 42, "ancestors": ["/bin/sh"] },
        "adapter": "tunnel", "protocol": "h2", "method": "GET", "scheme": "https", "host": "[2001:db8::1]", "port": 443, "path": "/a\"b",
        "decision": "deny", "reason_code": "verdict_hold", "policy": "api", "rule": null, "operation": null, "operations": null, "messages": null,
        "addresses": ["2001:db8::1"],
        "payment": { "version": "2", "scheme": "", "network": "", "asset": "", "amount": "", "payee": "0xabc", "payer": "",
                     "payment_hash": "", "nonce_hash": "", "identifier_hash": null },
        "verdict": { "backend": "blackwall", "verdict": "hold", "receipt_id": "bw_1", "latency_ms": 2.125 },
        "status": 403, "bytes_up": 1, "bytes_down": 2, "duration_ms": 1.5,
    });
    assert_eq!(value, expected);
}

#[test]
fn an_event_that_knows_nothing_has_every_key_all_the_same() {
    let event = Event::new(RequestId::next(), ConnectionId::next(), Adapter::Connect, Decision::Deny);
    let value = line(&event);
    for key in [
        "host",
        "port",
        "path",
        "reason_code",
        "policy",
        "rule",
        "payment",
        "verdict",
        "process",
        "status",
    ] {
        assert_eq!(value.get(key), Some(&Value::Null), "{key}");
    }
    assert_eq!(value["addresses"], json!([]));
}

#[test]
fn secrets_in_query_or_fragment_never_reach_a_line() {
    for (target, path) in [
        ("/a?token=s3cret", "/a"),
        ("/a#s3cret", "/a"),
        ("/a#x?s3cret", "/a"),
        ("?s3cret", ""),
        ("*", "*"),
        ("/a%3Fb", "/a%3Fb"),
    ] {
        assert_eq!(RequestPath::of(target).as_str(), path, "{target}");
    }
}

#[test]
fn an_endless_path_is_cut_between_characters() {
    let path = format!("/{}", "é".repeat(LONGEST_PATH));
    let text = serde_json::to_string(&RequestPath::of(&path)).unwrap();
    assert!(text.len() < LONGEST_PATH + 8 && text.ends_with("…\""));
}

#[test]
fn a_client_cannot_forge_a_line_through_method_or_path() {
    let event = Event {
        method: Some("GET\n{\"decision\":\"allow\"}"),
        path: Some(RequestPath::of("/\r\n\u{2028}{}")),
        ..Event::new(RequestId::next(), ConnectionId::next(), Adapter::Forward, Decision::Deny)
    };
    let text = serde_json::to_string(&event).unwrap();
    assert!(!text.contains(['\n', '\r']), "{text}");
}
