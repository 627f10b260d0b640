//! `tollgate schema`: what is printed is what is published, and it tells what fits from what does not.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tollgate_tests::client::Via;
use tollgate_tests::schemas::{against_audit_line, against_config};
use tollgate_tests::tollgate::binary;
use tollgate_tests::world::World;

#[test]
fn each_document_has_its_published_schema() {
    for (document, published) in [
        ("policy", "policy/schema/policy.schema.json"),
        ("config", "proxy/schema/config.schema.json"),
        ("audit", "proxy/schema/audit.schema.json"),
    ] {
        let output = Command::new(binary()).args(["schema", document]).output().unwrap();
        assert!(output.status.success(), "{document}");
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(published);
        assert_eq!(output.stdout, std::fs::read(file).unwrap(), "{published}");
    }
}

/// Every test holds its files against the schemas; this one shows that they can fail.
#[tokio::test]
async fn an_audit_line_that_is_none_is_invalid() {
    let world = World::open().await;
    world.get(Via::AbsoluteForm, "/").await.assert_allowed();
    let line = world.gate.audited(json!({ "decision": "allow", "path": "/" })).await;
    assert_eq!(against_audit_line(&line), [] as [&str; 0]);
    let mut later = line.clone();
    later["of_a_later_version"] = json!({ "any": "thing" });
    assert_eq!(against_audit_line(&later), [] as [&str; 0]);
    for (member, value) in [
        ("decision", json!("maybe")),
        ("decision", Value::Null),
        ("reason_code", json!("because")),
        ("adapter", json!("pigeon")),
        ("port", json!("443")),
        ("port", json!(65536)),
        ("time", json!("yesterday")),
        ("bytes_up", json!(-1)),
        ("addresses", Value::Null),
        ("process", json!({ "binary": "/usr/bin/curl" })),
        (
            "verdict",
            json!({ "backend": "local", "verdict": "GO", "receipt_id": null, "latency_ms": 1 }),
        ),
    ] {
        let mut broken = line.clone();
        broken[member] = value;
        assert!(!against_audit_line(&broken).is_empty(), "{broken}");
    }
    let mut short = line;
    short.as_object_mut().unwrap().remove("rule");
    assert!(!against_audit_line(&short).is_empty());
    assert!(!against_config(&json!({ "listen": { "poxy": "127.0.0.1:0" } })).is_empty());
}
