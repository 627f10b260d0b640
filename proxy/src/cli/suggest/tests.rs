#![allow(clippy::unwrap_used)]

use serde_json::json;

use tollgate_policy::{Group, Reason};

use super::*;

const POLICY: &str = "\
# The team's policy.
version: 1
network_policies:
    api:   # ours
        endpoints:
          - { host: api.example.com, port: 443, protocol: rest, enforcement: audit, rules: [ { allow: { method: GET, path: /a } } ], deny_rules: [ { method: '*', path: /secret } ] }
        binaries: [ { path: /usr/bin/curl } ]

# The end.
";

fn line(method: &str, path: &str, binary: Option<&str>, decision: &str, reason: Option<&str>) -> String {
    let process = binary.map(|binary| json!({ "binary": binary, "pid": 1, "ancestors": [] }));
    json!({ "process": process, "adapter": "tunnel", "protocol": "h2", "method": method, "host": "api.example.com", "port": 443,
        "path": path, "decision": decision, "reason_code": reason, "something_new": [1] })
    .to_string()
}

fn loaded(source: &str) -> tollgate_policy::Policy {
    policy_text::load(&Sources::one("p.yaml", source), &Config::default()).unwrap()
}

fn suggest(lines: &[String], policy: Option<&str>) -> String {
    let operator = Config::default();
    let standing = policy.map(|source| PolicyText {
        name: "p.yaml".into(),
        sources: Sources::one("p.yaml", source),
        policy: loaded(source),
    });
    let mut lesson = Lesson::new(standing.as_ref().map(|standing| &standing.policy));
    let mut reader = Lines::new(io::Cursor::new(lines.join("\n") + "\n"));
    while let Some(entry) = reader.next().unwrap() {
        assert!(lesson.learn(&entry.unwrap()).is_ok(), "line {}", reader.number());
    }
    suggestion(&lesson, standing.as_ref(), &operator).unwrap()
}

#[test]
fn a_policy_keeps_its_text_and_gains_what_it_lacks() {
    let curl = Some("/usr/bin/curl");
    let joined = suggest(
        &[
            line("GET", "/a", curl, "allow", None),
            line("GET", "/b", curl, "would_deny", Some("path_not_allowed")),
            line("GET", "/secret", curl, "would_deny", Some("denied_by_rule")),
            line("GET", "/a", None, "allow", None),
        ],
        Some(POLICY),
    );
    let (kept, after) = POLICY.split_once("\n# The end.").unwrap();
    assert!(joined.starts_with(kept) && joined.ends_with("\n# The end.\n"), "{joined}");
    assert!(!after.is_empty());
    let added = &joined[kept.len()..];
    assert!(
        added.contains("    api-example-com:\n") && added.contains("enforcement: audit") && added.contains("path: /b"),
        "{added}"
    );
    assert!(!added.contains("path: /a") && !added.contains("path: /secret"), "{added}");
    assert!(
        added.contains("1 x denied_by_rule") && added.contains("1 x requests of an unknown program"),
        "{added}"
    );
}

#[test]
fn a_policy_in_flow_style_is_written_anew() {
    let flow =
        "{ version: 1, network_policies: { api: { endpoints: [ { host: a.example.com, port: 443 } ], binaries: [ { path: /bin/x } ] } } }";
    let joined = suggest(&[line("GET", "/b", None, "allow", None)], Some(flow));
    let policy = loaded(&joined);
    assert_eq!(policy.rule_keys().collect::<Vec<_>>(), ["api", "api-example-com"]);
    for empty in ["version: 1\n", "version: 1\nnetwork_policies: {}\n"] {
        let joined = suggest(&[line("GET", "/b", None, "allow", None)], Some(empty));
        assert!(joined.contains("network_policies:\n") && joined.contains("path: /b"), "{joined}");
    }
}

#[test]
fn nothing_is_suggested_for_what_no_rule_may_allow() {
    for reason in Reason::ALL {
        let suggestion = suggest(&[line("GET", "/b", None, "deny", Some(reason.as_str()))], None);
        let allowed = suggestion.contains("path: /b");
        let may = matches!(reason.group(), Group::Upstream)
            || matches!(
                reason.as_str(),
                "no_policy"
                    | "host_not_allowed"
                    | "port_not_allowed"
                    | "binary_not_allowed"
                    | "method_not_allowed"
                    | "path_not_allowed"
                    | "query_not_allowed"
                    | "operation_not_allowed"
            );
        assert_eq!(allowed, may, "{suggestion}");
        assert_eq!(suggestion.contains(&format!("1 x {reason}: ")), !may, "{suggestion}");
    }
}

#[test]
fn a_method_that_means_any_in_rules_is_not_suggested() {
    let suggestion = suggest(&[line("*", "/b", None, "allow", None)], None);
    assert!(
        suggestion.contains("network_policies: {}") && suggestion.contains("1 x the method `*`"),
        "{suggestion}"
    );
}

#[test]
fn broken_lines_are_told_apart() {
    let long = "x".repeat((1 << 20) + 10);
    for (text, expected) in [
        ("{}\n", Broken::Json("missing field `adapter`".into())),
        ("{\n", Broken::Json("it is not JSON".into())),
        ("{\"adapter\":", Broken::Cut),
        (&long, Broken::TooLong),
    ] {
        let mut lines = Lines::new(io::Cursor::new(format!("\n{text}")));
        let Err(broken) = lines.next().unwrap().unwrap() else {
            panic!("{text:.20}")
        };
        assert_eq!((broken, lines.number()), (expected, 2));
        assert!(lines.next().unwrap().is_none());
    }
}

#[test]
fn what_a_body_asked_for_and_what_could_not_be_read_is_counted_and_not_suggested() {
    let operation = json!({ "adapter": "tunnel", "protocol": "h2", "method": "POST", "host": "api.example.com", "port": 443,
        "path": "/graphql", "operation": "query { viewer }", "operations": null, "decision": "allow", "reason_code": null });
    let unread = json!({ "adapter": "tunnel", "protocol": "http/1.1", "method": null, "host": null, "port": null, "path": null,
        "decision": "deny", "reason_code": "method_not_allowed" });
    let policy = suggest(&[operation.to_string(), unread.to_string()], None);
    assert!(!policy.contains("/graphql") && policy.contains("network_policies: {}"), "{policy}");
    assert!(
        policy.contains("1 x requests for more operations") && policy.contains("1 x method_not_allowed"),
        "{policy}"
    );
}
