//! `tollgate diff`: what reviewers and their pipelines are told of a change.

use serde_json::json;
use tempfile::TempDir;

use crate::{document, tollgate, write};

const OLD: &str = "\
version: 1
network_policies:
  api:
    endpoints:
      - host: api.example.com
        port: 443
        protocol: rest
        enforcement: enforce
        access: read-only
        deny_rules:
          - { method: \"*\", path: \"/secrets/**\" }
    binaries: [ { path: /usr/bin/curl } ]
network_middlewares:
  payments:
    middleware: tollgate/x402
    order: 10
    config: { networks: [ \"eip155:8453\" ], max_amount: \"1.00\" }
    endpoints: { include: [\"**\"] }
";

/// The same in other words.
const SAME: &str = "\
version: 1
network_middlewares:
  payments:
    middleware: tollgate/x402
    order: 20
    config: { max_amount: \"1\", networks: [ \"eip155:8453\" ] }
    endpoints: { include: [\"**\"] }
network_policies:
  service:
    binaries: [ { path: /usr/bin/curl } ]
    endpoints:
      - ports: [443]
        host: API.example.com
        protocol: rest
        enforcement: enforce
        rules:
          - allow: { method: OPTIONS, path: \"**\" }
          - allow: { method: GET, path: \"/**\" }
          - allow: { method: HEAD, path: \"/**\" }
        deny_rules:
          - { path: \"/secrets/**\", method: \"*\" }
";

#[tokio::test]
async fn widening_changes_are_named_with_their_places_and_can_fail_a_pipeline() {
    let dir = TempDir::new().unwrap();
    let new = OLD
        .replace("read-only", "read-write")
        .replace("/secrets/**", "/secrets/*")
        .replace("1.00", "5.00")
        .replace("/usr/bin/curl } ", "/usr/bin/curl }, { path: /usr/bin/git } ");
    let (old, new) = (write(&dir, "old.yaml", OLD), write(&dir, "new.yaml", &new));
    let output = tollgate(dir.path(), &["diff", &old, &new, "--format", "json", "--fail-on-widening"]).await;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let found = document(&output);
    let told: Vec<&str> = found["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["message"].as_str().unwrap())
        .collect();
    for message in [
        "POST, PUT, PATCH ** becomes allowed on api.example.com:443 for /usr/bin/curl",
        "/usr/bin/git may use api.example.com:443: GET, HEAD, OPTIONS, POST, PUT, PATCH **, but not any method /secrets/*",
        "the deny rule for any method /secrets/** on api.example.com:443 is gone, or stops less than it did",
    ] {
        assert!(told.contains(&message), "{message} is not among {told:#?}");
    }
    assert!(
        told.iter()
            .any(|told| told.starts_with("middleware `payments`: up to 5 of eip155:8453/0x")),
        "{told:#?}"
    );
    assert_eq!((&found["narrowing"], &found["widening"]), (&json!(0), &json!(told.len())));
    let finding = found["findings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|finding| finding["kind"] == "binary")
        .unwrap();
    let place = |file: &str, line: u32, column: u32| json!({ "file": file, "line": line, "column": column, "rule": "api" });
    assert_eq!(finding["old"], place(&old, 5, 9), "{finding}");
    assert_eq!(finding["new"]["file"], json!(new), "{finding}");
    for member in ["effect", "certainty", "kind", "message", "matcher", "old", "new"] {
        assert!(finding.get(member).is_some(), "{member} is missing in {finding}");
    }
    // The other way round it narrows, and nobody is stopped.
    let output = tollgate(dir.path(), &["diff", &new, &old, "--fail-on-widening"]).await;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("NARROWS") && !text.contains("WIDENS"), "{text}");
    assert!(
        text.contains(&format!("{new}:12 (api)")) || text.contains(&format!("{new}:5 (api)")),
        "{text}"
    );
}

#[tokio::test]
async fn tools_that_may_be_called_anew_are_named() {
    let dir = TempDir::new().unwrap();
    let policy = |tool: &str| {
        format!(
            "version: 1
network_policies:
  tools:
    endpoints:
      - host: mcp.example.com
        port: 443
        path: /mcp
        protocol: mcp
        enforcement: enforce
        rules:
          - allow: {{ method: tools/call, tool: {tool} }}
    binaries: [ {{ path: /usr/bin/node }} ]
"
        )
    };
    let (old, new) = (
        write(&dir, "old.yaml", &policy("read_file")),
        write(&dir, "new.yaml", &policy("{ any: [ read_file, 'search_*' ] }")),
    );
    let output = tollgate(dir.path(), &["diff", &old, &new, "--format", "json", "--fail-on-widening"]).await;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let found = document(&output);
    let finding = &found["findings"][0];
    assert_eq!(found["findings"].as_array().map(Vec::len), Some(1), "{found:#}");
    assert_eq!(
        finding["message"],
        "tools/call of read_file or search_* under /mcp becomes allowed on mcp.example.com:443 for /usr/bin/node"
    );
    assert_eq!(
        (&finding["effect"], &finding["certainty"], &finding["kind"]),
        (&json!("widening"), &json!("known"), &json!("operations"))
    );
    assert_eq!(
        finding["matcher"],
        json!({ "method": "tools/call", "tool": { "any": ["read_file", "search_*"] } })
    );
    assert_eq!(finding["new"]["line"], json!(11), "{finding}");
    let output = tollgate(dir.path(), &["diff", &new, &old, "--fail-on-widening"]).await;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(
        text.contains("  - tools/call of read_file or search_* under /mcp is no longer allowed on"),
        "{text}"
    );
}

#[tokio::test]
async fn the_same_in_other_words_is_no_change() {
    let dir = TempDir::new().unwrap();
    let (old, same) = (write(&dir, "old.yaml", OLD), write(&dir, "same.yaml", SAME));
    let output = tollgate(dir.path(), &["diff", &old, &old]).await;
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{old} and {old} mean the same\n"));
    let output = tollgate(dir.path(), &["diff", &old, &same, "--format", "json", "--fail-on-widening"]).await;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let found = document(&output);
    let findings = found["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1, "{found:#}");
    assert_eq!((&findings[0]["effect"], &findings[0]["kind"]), (&json!("none"), &json!("renamed")));
}

#[tokio::test]
async fn policies_that_do_not_load_cannot_be_compared() {
    let dir = TempDir::new().unwrap();
    let (good, bad) = (write(&dir, "good.yaml", OLD), write(&dir, "bad.yaml", crate::BAD));
    for arguments in [["diff", &good, &bad], ["diff", &bad, &good], ["diff", &good, "nowhere.yaml"]] {
        let output = tollgate(dir.path(), &arguments).await;
        assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(2), true), "{output:?}");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            error.contains("bad.yaml:5:9: error[unknown-key]") || error.contains("nowhere.yaml: error[unreadable]"),
            "{error}"
        );
    }
}
