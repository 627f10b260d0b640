//! Methods, paths and queries: OpenShell's table D and its recorded behaviour (8.4), by number.
#![allow(clippy::unwrap_used)]

use crate::judge::{policy, request, request_as, rule};
use tollgate_policy::{Caller, CanonicalPath, EncodedSlash, Facts, Host, HttpFacts, Inspection, Policy};

fn rest(rest: &str) -> Policy {
    rule(&format!(
        "host: api.example.com\nport: 443\nprotocol: rest\nenforcement: enforce\n{rest}"
    ))
}

fn table(policy: &Policy, rows: &[(&str, &str, &str)]) {
    for (number, line, expected) in rows {
        assert_eq!(request(policy, line), *expected, "{number}: {line}");
    }
}

#[test]
fn d1_to_d3_allow_rules() {
    let policy = rest("rules:\n  - allow: { method: GET, path: '/repos/**' }\n  - allow: { method: POST, path: '/repos/*/issues' }");
    table(
        &policy,
        &[
            ("D1", "GET /repos/org/repo", "allow"),
            ("D2", "POST /repos/myorg/issues", "allow"),
            ("D3", "DELETE /repos/x", "deny:method_not_allowed"),
            ("D3", "GET /other", "deny:path_not_allowed"),
            ("D2", "POST /repos/a/b/issues", "deny:method_not_allowed"),
        ],
    );
}

#[test]
fn d4_and_d5_access_presets() {
    table(
        &rest("access: read-only"),
        &[
            ("D4", "GET /x", "allow"),
            ("D4", "HEAD /x", "allow"),
            ("D4", "OPTIONS /", "allow"),
            ("D4", "POST /x", "deny:method_not_allowed"),
            ("D4", "DELETE /x", "deny:method_not_allowed"),
        ],
    );
    table(
        &rest("access: read-write"),
        &[
            ("1.5", "PATCH /x", "allow"),
            ("1.5", "PUT /x/y", "allow"),
            ("1.5", "POST /", "allow"),
            ("1.5", "DELETE /x", "deny:method_not_allowed"),
        ],
    );
    table(
        &rest("access: full"),
        &[("D5", "DELETE /x", "allow"), ("D5", "BREW /pot/1", "allow")],
    );
}

#[test]
fn d6_to_d9_methods() {
    let get = rest("rules: [ { allow: { method: GET, path: '/x' } } ]");
    table(
        &get,
        &[
            ("D6", "get /x", "allow"),
            ("D7", "HEAD /x", "allow"),
            ("D7", "OPTIONS /x", "deny:method_not_allowed"),
        ],
    );
    let post = rest("rules: [ { allow: { method: POST, path: '/x' } } ]");
    table(&post, &[("D8", "HEAD /x", "deny:method_not_allowed")]);
    let deny = rest("access: full\ndeny_rules: [ { method: GET, path: /x } ]");
    table(&deny, &[("D9", "HEAD /x", "deny:denied_by_rule"), ("D9", "POST /x", "allow")]);
}

#[test]
fn d10_to_d12_deny_rules() {
    let reviews = rest("access: read-write\ndeny_rules: [ { method: POST, path: '/repos/*/pulls/*/reviews' } ]");
    table(
        &reviews,
        &[
            ("D10", "POST /repos/myorg/pulls/123/reviews", "deny:denied_by_rule"),
            ("D10", "POST /repos/myorg/issues", "allow"),
        ],
    );
    let rulesets = rest("access: full\ndeny_rules: [ { method: '*', path: '/repos/*/rulesets' } ]");
    table(
        &rulesets,
        &[
            ("D11", "GET /repos/a/rulesets", "deny:denied_by_rule"),
            ("D11", "DELETE /repos/a/rulesets", "deny:denied_by_rule"),
        ],
    );
    let force = rest("access: full\ndeny_rules: [ { method: POST, path: '/admin/**', query: { force: 'true' } } ]");
    table(
        &force,
        &[
            ("D12", "POST /admin/x?force=true", "deny:denied_by_rule"),
            ("D12", "POST /admin/x?force=false", "allow"),
            ("D12", "POST /admin/x", "allow"),
            ("D12", "POST /admin/x?force=false&force=true", "deny:denied_by_rule"),
            ("D12", "POST /admin/x?%66orce=%74rue", "deny:denied_by_rule"),
        ],
    );
}

#[test]
fn d13_to_d15_queries() {
    let tag = rest("rules: [ { allow: { method: GET, path: '/x', query: { tag: 'foo-*' } } } ]");
    table(
        &tag,
        &[
            ("D13", "GET /x?tag=foo-a&tag=foo-b", "allow"),
            ("D13", "GET /x?tag=foo-a&tag=evil", "deny:query_not_allowed"),
            ("D13", "GET /x", "deny:query_not_allowed"),
            ("D13", "GET /x?tag=foo-a&other=1", "allow"),
            ("8.4", "GET /x?tag=foo-a/b", "allow"),
            ("8.4", "GET /x?tag=foo-a.b", "deny:query_not_allowed"),
            ("8.4", "GET /x?tag=foo-+x", "allow"),
            ("1.5", "GET /x?TAG=foo-a", "deny:query_not_allowed"),
        ],
    );
    let any = rest("rules: [ { allow: { method: GET, path: '/x', query: { tag: { any: ['foo-*', 'bar-*'] } } } } ]");
    table(
        &any,
        &[
            ("D14", "GET /x?tag=foo-a&tag=bar-b", "allow"),
            ("D14", "GET /x?tag=baz", "deny:query_not_allowed"),
        ],
    );
    let glob = rest("rules: [ { allow: { method: GET, path: '/x', query: { v: { glob: '1.*' } } } } ]");
    table(
        &glob,
        &[
            ("8.4", "GET /x?v=1.2", "allow"),
            ("8.4", "GET /x?v=1.2.3", "deny:query_not_allowed"),
        ],
    );
    let none = rest("rules: [ { allow: { method: GET, path: '/x' } } ]");
    table(&none, &[("D15", "GET /x?anything=1&tag=evil", "allow")]);
}

#[test]
fn d16_an_endpoint_without_protocol_passes_requests_unread() {
    let policy = rule("host: api.example.com\nport: 443");
    table(&policy, &[("D16", "DELETE /x?y=z", "allow")]);
}

#[test]
fn d17_audit_forwards_and_tells() {
    let policy = rule("host: api.example.com\nport: 443\nprotocol: rest\nenforcement: audit\naccess: read-only");
    table(
        &policy,
        &[("D17", "POST /x", "would_deny:method_not_allowed"), ("D17", "GET /x", "allow")],
    );
}

#[test]
fn d17_audit_does_not_soften_host_port_or_binary() {
    let policy = rule("host: api.example.com\nport: 443\nprotocol: rest\nenforcement: audit\naccess: read-only");
    assert_eq!(
        request_as(&policy, "GET /", "api.example.com", "/bin/nc"),
        "deny:binary_not_allowed"
    );
    assert_eq!(
        request_as(&policy, "GET /", "example.com", "/usr/bin/curl"),
        "deny:host_not_allowed"
    );
}

#[test]
fn d18_git_over_https() {
    let policy =
        rest("rules:\n  - allow: { method: GET, path: '/**/info/refs*' }\n  - allow: { method: POST, path: '/**/git-upload-pack' }");
    table(
        &policy,
        &[
            ("D18", "GET /o/r.git/info/refs?service=git-upload-pack", "allow"),
            ("D18", "POST /o/r.git/git-upload-pack", "allow"),
            ("D18", "POST /o/r.git/git-receive-pack", "deny:path_not_allowed"),
        ],
    );
}

const BY_PATH: &str = "
version: 1
network_policies:
  rest:
    endpoints:
      - { host: api.example.com, port: 443, path: '/repos/**', protocol: rest, enforcement: enforce, access: read-only }
    binaries: [ { path: '/**' } ]
  upload:
    endpoints:
      - { host: api.example.com, port: 443, path: /upload, protocol: rest, enforcement: audit, access: read-only }
    binaries: [ { path: '/**' } ]
";

#[test]
fn d19_endpoints_by_path_judge_only_their_own_requests() {
    table(
        &policy(BY_PATH),
        &[
            ("D19", "GET /repos/x", "allow"),
            ("1.7", "GET /repos", "allow"),
            ("D19", "POST /repos/x", "deny:method_not_allowed"),
            ("D19", "POST /upload", "would_deny:method_not_allowed"),
            ("D19", "GET /other", "deny:path_not_allowed"),
        ],
    );
}

#[test]
fn d25_a_matching_rule_does_not_help_the_wrong_binary() {
    let policy = rest("access: full");
    assert_eq!(
        request_as(&policy, "GET /", "api.example.com", "/usr/bin/wget"),
        "deny:binary_not_allowed"
    );
}

#[test]
fn recorded_path_globs() {
    let allow = |path: &str| rest(&format!("rules: [ {{ allow: {{ method: GET, path: '{path}' }} }} ]"));
    for (path, target, allowed) in [
        ("/v1/*", "/v1/a", true),
        ("/v1/*", "/v1/", true),
        ("/v1/*", "/v1/a/b", false),
        ("/v1/*", "/v1", false),
        ("/repos/**", "/repos/a/b/c", true),
        ("/repos/**", "/repos/", true),
        ("/repos/**", "/repos", false),
        ("/**/info/refs*", "/o/r/info/refs", true),
        ("/**/info/refs*", "/info/refs", true),
        ("/**/info/refs*", "/o/info/refsX", true),
        ("/**/info/refs*", "/o/info/refs/x", false),
        ("/cls/[0-9]/?x", "/cls/5/ax", true),
        ("/cls/[0-9]/?x", "/cls/a/ax", false),
        ("/cls/[0-9]/?x", "/cls/5//x", false),
        ("/cls/[!0-9]/x", "/cls/a/x", true),
        ("/v1/**", "//v1//a", true),
        ("/v1/a", "/v1/a;x=1", true),
        ("**", "/anything/at/all", true),
        ("/café", "/caf%c3%a9", true),
        ("/a b", "/a%20b", true),
        ("/users/%40me", "/users/@me", true),
        ("/v1/{a,b}", "/v1/b", true),
        ("/v1/{a,b}", "/v1/c", false),
    ] {
        let expected = if allowed { "allow" } else { "deny:path_not_allowed" };
        assert_eq!(request(&allow(path), &format!("GET {target}")), expected, "{path} and {target}");
    }
}

#[test]
fn recorded_deny_of_a_subtree() {
    let policy = rest("access: full\ndeny_rules: [ { method: '*', path: '/repos/secret/**' } ]");
    table(
        &policy,
        &[
            ("8.4", "GET /repos/secret/x", "deny:denied_by_rule"),
            ("8.4", "GET /repos/public/../secret/x", "deny:denied_by_rule"),
            ("8.4", "GET /repos/public/%2e%2e/secret/x", "deny:denied_by_rule"),
            ("8.4", "GET /repos/secret", "allow"),
            ("8.4", "GET /repos/SECRET/x", "allow"),
        ],
    );
}

#[test]
fn an_encoded_delimiter_does_not_hide_a_denied_path() {
    let policy = rest("access: full\ndeny_rules: [ { method: '*', path: '/jobs(1)/*' }, { method: '*', path: '/a%2Bb' } ]");
    table(
        &policy,
        &[
            ("raw", "GET /jobs(1)/run", "deny:denied_by_rule"),
            ("encoded", "GET /jobs%281%29/run", "deny:denied_by_rule"),
            ("encoded in the policy", "GET /a+b", "deny:denied_by_rule"),
            ("both", "GET /a%2bb", "deny:denied_by_rule"),
        ],
    );
}

#[test]
fn a_kept_slash_matches_only_endpoints_that_keep_it_and_hides_nothing() {
    let source = "
version: 1
network_policies:
  keeps:
    endpoints:
      - host: api.example.com
        port: 443
        path: /npm/**
        protocol: rest
        enforcement: enforce
        allow_encoded_slash: true
        rules: [ { allow: { method: GET, path: '/npm/*' } } ]
        deny_rules: [ { method: '*', path: '/npm/private/*' } ]
    binaries: [ { path: '/**' } ]
  rejects:
    endpoints:
      - { host: api.example.com, port: 443, path: /files/**, protocol: rest, enforcement: enforce, access: full }
    binaries: [ { path: '/**' } ]
";
    table(
        &policy(source),
        &[
            ("kept", "GET /npm/@scope%2Fpkg", "allow"),
            ("denied behind it", "GET /npm/private%2Fpkg", "deny:denied_by_rule"),
            ("not kept", "GET /files/a%2Fb", "deny:path_not_allowed"),
            ("plain", "GET /files/a/b", "allow"),
            ("hidden dots", "GET /npm/..%2Fx", "HiddenDotSegment"),
        ],
    );
    table(&rest("access: full"), &[("B7", "GET /a%2Fb", "EncodedSlash")]);
}

#[test]
fn a_deny_rule_wins_over_the_allow_of_any_rule_and_over_an_unread_endpoint() {
    let source = "
version: 1
network_policies:
  a_open:
    endpoints: [ { host: api.example.com, port: 443 } ]
    binaries: [ { path: '/**' } ]
  b_rules:
    endpoints:
      - host: '*.example.com'
        port: 443
        protocol: rest
        enforcement: enforce
        access: read-only
        deny_rules: [ { method: '*', path: /admin } ]
    binaries: [ { path: '/**' } ]
";
    table(
        &policy(source),
        &[("union", "DELETE /x", "allow"), ("deny", "GET /admin", "deny:denied_by_rule")],
    );
}

#[test]
fn not_knowing_the_caller_does_not_lift_a_denial() {
    let source = "
version: 1
network_policies:
  anybody:
    endpoints: [ { host: api.example.com, port: 443 } ]
    binaries: [ { path: '/**' } ]
  agent:
    endpoints:
      - host: api.example.com
        port: 443
        protocol: rest
        enforcement: enforce
        access: read-only
        deny_rules: [ { method: '*', path: /admin } ]
    binaries: [ { path: /usr/bin/agent } ]
";
    let policy = policy(source);
    let host = Host::parse("api.example.com").unwrap();
    let path = CanonicalPath::parse("/admin", EncodedSlash::Reject).unwrap();
    let request = Some(HttpFacts {
        method: "GET",
        path: &path,
        query: None,
        operation: None,
    });
    let decision = policy.decide(&Facts {
        host: &host,
        port: 443,
        caller: Caller::Unidentified,
        request,
    });
    assert_eq!(crate::judge::verdict(&decision.action), "deny:denied_by_rule");
    assert_eq!(request_as(&policy, "GET /admin", "api.example.com", "/usr/bin/other"), "allow");
}

#[test]
fn treatment_follows_the_endpoints_that_match() {
    let inspection = |endpoint: &str| {
        let policy = rule(endpoint);
        let host = Host::parse("api.example.com").unwrap();
        let decision = policy.decide(&Facts {
            host: &host,
            port: 443,
            caller: Caller::NotEnforced,
            request: None,
        });
        decision.treatment.map(|treatment| treatment.inspection)
    };
    assert_eq!(inspection("host: api.example.com\nport: 443\ntls: skip"), Some(Inspection::Opaque));
    assert_eq!(inspection("host: api.example.com\nport: 443"), Some(Inspection::Transport));
    assert_eq!(
        inspection("host: api.example.com\nport: 443\nprotocol: rest\naccess: full"),
        Some(Inspection::Http)
    );
    assert_eq!(inspection("host: example.com\nport: 443"), None);
}

#[test]
fn the_rule_that_decided_is_reported() {
    let policy = rest(
        "rules:\n  - allow: { method: GET, path: /a }\n  - allow: { method: GET, path: /b }\ndeny_rules: [ { method: '*', path: /c } ]",
    );
    let label = |target: &str| {
        let host = Host::parse("api.example.com").unwrap();
        let path = CanonicalPath::parse(target, EncodedSlash::Reject).unwrap();
        let request = Some(HttpFacts {
            method: "GET",
            path: &path,
            query: None,
            operation: None,
        });
        let decision = policy.decide(&Facts {
            host: &host,
            port: 443,
            caller: Caller::NotEnforced,
            request,
        });
        decision.rule.map(|rule| rule.to_string())
    };
    assert_eq!(label("/b").as_deref(), Some("rules[1]"));
    assert_eq!(label("/c").as_deref(), Some("deny_rules[0]"));
    assert_eq!(label("/d"), None);
}
