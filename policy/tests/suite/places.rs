//! A refusal says where in the policy its remedy goes: in which file, where there are several, and never in which folder of the host.
#![allow(clippy::unwrap_used)]

use tollgate_policy::{Caller, CanonicalPath, EncodedSlash, Facts, Host, HttpFacts, Limits, Policy, Source, Sources, load_within};

use crate::judge::{Schema, process};

const BASE: &str = "version: 1
network_policies:
  api:
    endpoints:
      - { host: api.example.com, port: 443, protocol: rest, enforcement: enforce, rules: [ { allow: { method: GET, path: /a } } ] }
    binaries: [ { path: /usr/bin/curl } ]
";

const MORE: &str = "version: 1
# Pushed down by a line.
network_policies:
  docs:
    endpoints:
      - host: docs.example.com
        port: 443
        protocol: rest
        enforcement: enforce
        access: read-only
        deny_rules:
          - { method: GET, path: /secret }
    binaries: [ { path: /usr/bin/curl } ]
";

fn of(files: &[(&str, &str)]) -> Policy {
    let sources: Vec<Source> = files.iter().map(|(name, text)| Source::new(*name, *text)).collect();
    load_within(&Sources::from(sources), &Schema, Limits::default()).policy.unwrap()
}

/// What a refusal of `METHOD host path` by a binary says.
fn steps(policy: &Policy, line: &str, binary: &str, port: u16) -> String {
    let mut parts = line.split(' ');
    let (method, host, path) = (parts.next().unwrap(), parts.next().unwrap(), parts.next().unwrap());
    let (host, path) = (Host::parse(host).unwrap(), CanonicalPath::parse(path, EncodedSlash::Keep).unwrap());
    let process = process(binary);
    let facts = Facts {
        host: &host,
        port,
        caller: Caller::Identified(&process),
        request: Some(HttpFacts {
            method,
            path: &path,
            query: None,
            operation: None,
        }),
    };
    policy.decide(&facts).refusal().unwrap().next_steps(&facts).join("\n")
}

#[test]
fn the_file_is_named_where_there_are_several() {
    let folder = "/etc/tollgate/policy.d";
    let both = of(&[(&format!("{folder}/10-base.yaml"), BASE), (&format!("{folder}/20-more.yaml"), MORE)]);
    let curl = "/usr/bin/curl";
    for (line, binary, port, expected) in [
        (
            "POST api.example.com /a",
            curl,
            443,
            "endpoint api.example.com (10-base.yaml:5), add to rules",
        ),
        (
            "POST docs.example.com /a",
            curl,
            443,
            "endpoint docs.example.com (20-more.yaml:6), write `rules`",
        ),
        ("GET docs.example.com /secret", curl, 443, "the deny rule at 20-more.yaml:12"),
        (
            "GET docs.example.com /a",
            curl,
            80,
            "endpoint docs.example.com (20-more.yaml:6), list the port",
        ),
        (
            "GET docs.example.com /a",
            "/bin/sh",
            443,
            "in policy 'docs' (20-more.yaml), add to binaries",
        ),
    ] {
        let steps = steps(&both, line, binary, port);
        assert!(steps.contains(expected), "{line}: {steps}");
        assert!(
            !steps.contains("/etc"),
            "{line}: the host's folders are not the sandbox's business: {steps}"
        );
    }
}

#[test]
fn one_file_needs_no_name() {
    let only = of(&[("/etc/tollgate/policy.yaml", MORE)]);
    for (line, expected) in [
        ("POST docs.example.com /a", "endpoint docs.example.com (line 6)"),
        ("GET docs.example.com /secret", "the deny rule at line 12"),
    ] {
        let steps = steps(&only, line, "/usr/bin/curl", 443);
        assert!(steps.contains(expected) && !steps.contains("yaml"), "{line}: {steps}");
    }
}
