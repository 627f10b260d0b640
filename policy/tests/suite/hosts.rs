//! Hosts, ports and binaries: OpenShell's table A, by number.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use crate::judge::{connect, connect_as, policy, process, rule};
use tollgate_policy::{Caller, Facts, Host, HostPattern, Policy, Process};

const CURL: &str = "/usr/bin/curl";

fn for_binary(path: &str) -> Policy {
    policy(&format!(
        "version: 1\nnetwork_policies:\n  claude:\n    endpoints: [ {{ host: api.anthropic.com, port: 443 }} ]\n    binaries: [ {{ path: '{path}' }} ]\n"
    ))
}

#[test]
fn a1_to_a5_an_exact_endpoint() {
    let policy = for_binary("/usr/local/bin/claude");
    let claude = "/usr/local/bin/claude";
    for (number, host, port, binary, expected) in [
        ("A1", "api.anthropic.com", 443, claude, "allow"),
        ("A2", "api.anthropic.com", 443, "/usr/bin/python3", "deny:binary_not_allowed"),
        ("A3", "evil.com", 443, claude, "deny:host_not_allowed"),
        ("A4", "api.anthropic.com", 80, claude, "deny:port_not_allowed"),
        ("A5", "API.Anthropic.COM", 443, claude, "allow"),
    ] {
        assert_eq!(connect(&policy, host, port, binary), expected, "{number}");
    }
}

#[test]
fn a1_the_matched_policy_is_reported() {
    let policy = for_binary(CURL);
    let (host, process) = (Host::parse("api.anthropic.com").unwrap(), process(CURL));
    let decision = policy.decide(&Facts {
        host: &host,
        port: 443,
        caller: Caller::Identified(&process),
        request: None,
    });
    assert_eq!(decision.policy, Some("claude"));
    assert!(decision.treatment.is_some());
}

#[test]
fn a2_the_refusal_names_binary_policy_and_symlinks() {
    let policy = for_binary("/usr/local/bin/claude");
    let host = Host::parse("api.anthropic.com").unwrap();
    let process = Process {
        binary: "/usr/bin/python3".into(),
        ancestors: vec!["/bin/bash".into()],
    };
    let facts = Facts {
        host: &host,
        port: 443,
        caller: Caller::Identified(&process),
        request: None,
    };
    let decision = policy.decide(&facts);
    let refusal = decision.refusal().unwrap();
    let detail = refusal.detail(&facts);
    for part in ["/usr/bin/python3", "'claude'", "/bin/bash"] {
        assert!(detail.contains(part), "{detail}");
    }
    assert!(refusal.next_steps(&facts).join("\n").contains("symlink"));
    assert_eq!(decision.policy, Some("claude"));
    assert!(decision.treatment.is_none());
}

#[test]
fn a3_the_refusal_names_the_endpoint() {
    let policy = for_binary(CURL);
    let host = Host::parse("evil.com").unwrap();
    let facts = Facts {
        host: &host,
        port: 443,
        caller: Caller::NotEnforced,
        request: None,
    };
    assert_eq!(
        policy.decide(&facts).refusal().unwrap().detail(&facts),
        "endpoint evil.com:443 is not allowed by any policy"
    );
}

/// A6.
#[test]
fn a6_an_empty_policy_denies_everything() {
    for source in ["version: 1\nnetwork_policies: {}\n", "version: 1\n"] {
        let policy = policy(source);
        assert!(policy.is_empty());
        assert_eq!(connect(&policy, "example.com", 443, CURL), "deny:no_policy");
        assert_eq!(connect(&policy, "10.0.0.1", 80, CURL), "deny:no_policy");
    }
    assert_eq!(connect(&Policy::deny_all(), "example.com", 443, CURL), "deny:no_policy");
}

#[test]
fn a7_to_a18_wildcards() {
    for (number, pattern, host, port, expected) in [
        ("A7", "*.example.com", "api.example.com", 443, "allow"),
        ("A8", "*.example.com", "deep.api.example.com", 443, "deny:host_not_allowed"),
        ("A9", "*.example.com", "example.com", 443, "deny:host_not_allowed"),
        ("A10", "*.example.com", "API.EXAMPLE.COM", 443, "allow"),
        ("A10", "*.EXAMPLE.com", "api.example.com", 443, "allow"),
        ("A11", "*.example.com", "api.example.com", 80, "deny:port_not_allowed"),
        ("A12", "**.example.com", "deep.api.example.com", 443, "allow"),
        ("A12", "**.example.com", "api.example.com", 443, "allow"),
        ("A12", "**.example.com", "example.com", 443, "deny:host_not_allowed"),
        ("A12", "**.example.com", "notexample.com", 443, "deny:host_not_allowed"),
        (
            "A13",
            "*-aiplatform.googleapis.com",
            "us-central1-aiplatform.googleapis.com",
            443,
            "allow",
        ),
        (
            "A14",
            "*-aiplatform.googleapis.com",
            "us-central1.aiplatform.googleapis.com",
            443,
            "deny:host_not_allowed",
        ),
        ("A15", "*.s3.*.amazonaws.com", "my-bucket.s3.us-east-1.amazonaws.com", 443, "allow"),
        (
            "A16",
            "*.s3.*.amazonaws.com",
            "s3.us-east-1.amazonaws.com",
            443,
            "deny:host_not_allowed",
        ),
        (
            "A16",
            "*.s3.*.amazonaws.com",
            "my-bucket.s3.dualstack.us-east-1.amazonaws.com",
            443,
            "deny:host_not_allowed",
        ),
        ("A17", "*.example.com", "evil\0.example.com", 443, "unparsable"),
        ("A18", "*.example.com", "evil%2eexample.com", 443, "unparsable"),
        ("8.4", "api.example.com", "api.example.com.", 443, "unparsable"),
    ] {
        let policy = rule(&format!("host: '{pattern}'\nport: 443"));
        assert_eq!(connect(&policy, host, port, CURL), expected, "{number}: {pattern} and {host}");
    }
}

/// A19.
#[test]
fn a19_several_ports() {
    let policy = rule("host: example.com\nports: [8443, 443]");
    for (port, expected) in [(443, "allow"), (8443, "allow"), (80, "deny:port_not_allowed")] {
        assert_eq!(connect(&policy, "example.com", port, CURL), expected);
    }
}

/// A20.
#[test]
fn a20_two_rules_for_one_endpoint_report_the_smallest_key() {
    let rule =
        |key: &str| format!("  {key}:\n    endpoints: [ {{ host: example.com, port: 443 }} ]\n    binaries: [ {{ path: {CURL} }} ]\n");
    for keys in [["b", "a"], ["a", "b"]] {
        let policy = policy(&format!("version: 1\nnetwork_policies:\n{}{}", rule(keys[0]), rule(keys[1])));
        let (host, process) = (Host::parse("example.com").unwrap(), process(CURL));
        let decision = policy.decide(&Facts {
            host: &host,
            port: 443,
            caller: Caller::Identified(&process),
            request: None,
        });
        assert!(decision.action.passes());
        assert_eq!(decision.policy, Some("a"));
    }
}

#[test]
fn a21_to_a24_binaries() {
    let claude = |binary: &str| Process {
        binary: binary.into(),
        ancestors: vec!["/bin/sh".into(), "/usr/local/bin/claude".into()],
    };
    for (number, pattern, caller, expected) in [
        ("A21", "/usr/bin/*", process("/usr/bin/node"), "allow"),
        ("A21", "/usr/bin/*", process("/usr/bin/subdir/node"), "deny:binary_not_allowed"),
        (
            "A22",
            "/sandbox/.uv/python/**/python*",
            process("/sandbox/.uv/python/3.12/bin/python3"),
            "allow",
        ),
        ("A23", "/usr/local/bin/claude", claude("/usr/bin/node"), "allow"),
        ("A24", "/usr/local/bin/claude", process("/usr/bin/node"), "deny:binary_not_allowed"),
        // A glob only where there is a `*`: brackets in a path are brackets.
        ("1.7", "/opt/[x]/tool", process("/opt/x/tool"), "deny:binary_not_allowed"),
        ("1.7", "/opt/[x]/tool", process("/opt/[x]/tool"), "allow"),
    ] {
        let policy = for_binary(pattern);
        let verdict = connect_as(&policy, "api.anthropic.com", 443, Caller::Identified(&caller));
        assert_eq!(verdict, expected, "{number}: {pattern}");
    }
}

/// A26.
#[test]
fn a26_relaxed_identity_still_asks_for_a_declared_endpoint() {
    let policy = for_binary("/usr/local/bin/claude");
    assert_eq!(connect_as(&policy, "api.anthropic.com", 443, Caller::NotEnforced), "allow");
    assert_eq!(connect_as(&policy, "evil.com", 443, Caller::NotEnforced), "deny:host_not_allowed");
}

#[test]
fn an_unidentified_caller_matches_only_rules_for_any_binary() {
    let listed = for_binary("/usr/local/bin/claude");
    assert_eq!(
        connect_as(&listed, "api.anthropic.com", 443, Caller::Unidentified),
        "deny:binary_not_allowed"
    );
    let anybody = for_binary("/**");
    assert_eq!(connect_as(&anybody, "api.anthropic.com", 443, Caller::Unidentified), "allow");
    let host = Host::parse("api.anthropic.com").unwrap();
    assert!(listed.needs_caller(&host, 443));
    assert!(!anybody.needs_caller(&host, 443));
    assert!(!listed.needs_caller(&host, 80));
}

#[test]
fn a_rule_without_binaries_never_matches() {
    let policy = policy("version: 1\nnetwork_policies:\n  api:\n    endpoints: [ { host: example.com, port: 443 } ]\n");
    assert_eq!(connect(&policy, "example.com", 443, CURL), "deny:binary_not_allowed");
    assert_eq!(
        connect_as(&policy, "example.com", 443, Caller::Unidentified),
        "deny:binary_not_allowed"
    );
    assert!(!policy.needs_caller(&Host::parse("example.com").unwrap(), 443));
}

#[test]
fn a27_an_endpoint_of_addresses_only_is_for_any_host_on_its_port() {
    let policy = rule("port: 8080\nallowed_ips: [10.0.0.0/8]");
    for (host, port, expected) in [
        ("anything.internal", 8080, "allow"),
        ("10.1.2.3", 8080, "allow"),
        ("anything.internal", 8081, "deny:host_not_allowed"),
    ] {
        assert_eq!(connect(&policy, host, port, CURL), expected);
    }
}

#[test]
fn an_address_matches_only_the_endpoint_that_names_it() {
    let literal = rule("host: 10.200.0.1\nport: 443");
    assert_eq!(connect(&literal, "10.200.0.1", 443, CURL), "allow");
    assert_eq!(connect(&literal, "10.200.0.2", 443, CURL), "deny:host_not_allowed");
    let v6 = rule("host: '2001:db8::1'\nport: 443");
    assert_eq!(connect(&v6, "[2001:0db8:0::1]", 443, CURL), "allow");
    let wildcard = rule("host: '*.0.0.example.com'\nport: 443");
    assert_eq!(connect(&wildcard, "10.0.0.1", 443, CURL), "deny:host_not_allowed");
}

/// A29.
#[test]
fn a29_hosts_too_broad_for_an_endpoint() {
    for pattern in [
        "*.com",
        "*",
        "**",
        "**.com",
        "foo.*.com",
        "foo.**.com",
        "a.**.example.com",
        "api.x*.example.com",
        "*.*",
    ] {
        assert!(HostPattern::parse_endpoint(pattern).is_err(), "{pattern}");
    }
}

/// A30.
#[test]
fn a30_selectors_that_are_no_host_patterns() {
    for pattern in [
        "api**.example.com",
        "*.{a,b}.example.com",
        "api .example.com",
        "",
        "*.[a].com",
        "a..*",
        "*.example.com.",
    ] {
        assert!(HostPattern::parse_selector(pattern).is_err(), "{pattern}");
    }
}

#[test]
fn a31_and_a32_selectors() {
    let matches =
        |pattern: &str, host: &str| Host::parse(host).is_ok_and(|host| HostPattern::parse_selector(pattern).unwrap().matches(&host));
    for host in ["localhost", "com", "192.168.1.1", "[::1]"] {
        assert!(matches("**", host), "A31: {host}");
    }
    for host in ["", "api.example.com.", "api..example.com"] {
        assert!(!matches("**", host), "A31: {host}");
    }
    assert!(matches("api.**.com", "api.x.y.com"), "A32");
    assert!(!matches("api.**.com", "api.com"), "A32");
}

/// A33.
#[test]
fn a33_overlapping_patterns() {
    let overlap = |a: &str, b: &str| {
        let (a, b) = (HostPattern::parse_selector(a).unwrap(), HostPattern::parse_selector(b).unwrap());
        assert_eq!(a.overlaps(&b), b.overlaps(&a), "{a} and {b}");
        a.overlaps(&b)
    };
    for (a, b, expected) in [
        ("**.example.com", "*.api.example.com", true),
        ("*.example.com", "*.other.com", false),
        ("*.example.com", "api.example.com", true),
        ("*.example.com", "example.com", false),
        ("*.example.com", "a.b.example.com", false),
        ("a*.example.com", "*b.example.com", true),
        ("a*.example.com", "b*.example.com", false),
        ("*.s3.*.amazonaws.com", "x.s3.*.amazonaws.com", true),
        ("**", "10.0.0.1", true),
        ("**.example.com", "*.example.com", true),
    ] {
        assert_eq!(overlap(a, b), expected, "{a} and {b}");
    }
}

#[test]
fn an_apex_or_www_next_to_a_listed_host_is_pointed_out() {
    let steps = |listed: &str, wanted: &str| {
        let policy = rule(&format!("host: '{listed}'\nport: 443"));
        let host = Host::parse(wanted).unwrap();
        let facts = Facts {
            host: &host,
            port: 443,
            caller: Caller::NotEnforced,
            request: None,
        };
        let decision = policy.decide(&facts);
        assert_eq!(decision.policy, Some("api"), "{listed} and {wanted}");
        decision.refusal().unwrap().next_steps(&facts).join("\n")
    };
    assert!(steps("*.example.com", "example.com").contains("never example.com itself"));
    assert!(steps("*.example.com", "a.b.example.com").contains("one label"));
    assert!(steps("gitlab.com", "www.gitlab.com").contains("www.gitlab.com is another host"));
    assert!(steps("www.gitlab.com", "gitlab.com").contains("gitlab.com is another host"));
}
