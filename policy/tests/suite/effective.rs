//! `--effective` shows the policy that the gate has: read back, it decides everything the same.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use tollgate_policy::effective::effective;
use tollgate_policy::{Limits, Source, Sources};

use crate::broken::{fixtures, sources};
use crate::judge::{connect, policy, request_as};

fn shown(sources: &Sources) -> String {
    effective(sources, Limits::default()).unwrap()
}

#[test]
fn read_back_it_decides_the_same() {
    let hosts = [
        "api.example.com",
        "a.example.com",
        "b.example.com",
        "c.example.com",
        "d.example.com",
        "x.internal.example.org",
        "internal.example.org",
        "git.example.net",
        "npm.example.net",
        "github.com",
        "elsewhere.example.net",
        "shop.co.uk",
    ];
    let requests = [
        "GET /v1/a",
        "GET /v1/items",
        "HEAD /v1/items",
        "POST /admin/users",
        "POST /admin/x?force=true",
        "POST /admin",
        "DELETE /v1/a",
        "GET /v1/search?q=token",
        "GET /a%2Fb",
        "FETCH /v2",
        "POST /graphql",
        "OPTIONS /",
    ];
    let mut seen = std::collections::BTreeSet::new();
    for path in ["good", "warned"].iter().flat_map(|folder| fixtures(folder)) {
        let sources = sources(&path);
        let text = shown(&sources);
        let original = policy(sources.iter().next().unwrap().1.text());
        let read_back = policy(&text);
        assert_eq!(original.sandbox(), read_back.sandbox());
        assert_eq!(original.endpoint_count(), read_back.endpoint_count());
        for host in hosts {
            for port in [22, 80, 443, 8443, 9000] {
                let decided = [&original, &read_back].map(|policy| connect(policy, host, port, "/usr/bin/curl"));
                assert_eq!(decided[0], decided[1], "{host}:{port}\n{text}");
                seen.insert(decided[0].clone());
            }
            for line in requests {
                let decided = [&original, &read_back].map(|policy| request_as(policy, line, host, "/usr/bin/curl"));
                assert_eq!(decided[0], decided[1], "{host} {line}\n{text}");
                seen.insert(decided[0].clone());
            }
        }
    }
    assert!(seen.len() > 6, "{seen:?}");
}

#[test]
fn every_line_says_where_its_value_comes_from() {
    let sources = Sources::from(vec![
        Source::new(
            "base.yaml",
            "version: 1\nnetwork_policies:\n  b:\n    endpoints:\n      - { host: API.example.com, port: 443, protocol: REST, access: read-only }\n    binaries: [ { path: /usr/bin/curl } ]\n",
        ),
        Source::new(
            "more.yaml",
            "version: 1\nnetwork_policies:\n  a:\n    endpoints:\n      - host: '*.example.org'\n        ports: [8443, 443]\nnetwork_middlewares:\n  pay:\n    middleware: tollgate/x402\n    config: { max_amount: '1.00' }\n    endpoints: { include: ['**'] }\n",
        ),
    ]);
    let shown: Vec<String> = shown(&sources)
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    let expected = [
        "version: 1 # base.yaml:1",
        "# filesystem_policy: not given, so the supervisor's own default holds",
        "# landlock: not given, so the supervisor's own default holds",
        "# process: not given, so the supervisor's own default holds",
        "network_policies:",
        "a: # more.yaml:3",
        "endpoints:",
        "- host: \"*.example.org\" # more.yaml:5",
        "ports: [443, 8443] # more.yaml:6",
        "protocol: \"\" # default",
        "tls: \"\" # default",
        "# allowed_ips: not given, and the host is a pattern: public addresses only",
        "binaries: [] # default",
        "b: # base.yaml:3",
        "endpoints:",
        "- host: api.example.com # base.yaml:5",
        "ports: [443] # base.yaml:5",
        "path: /** # default",
        "protocol: rest # base.yaml:5",
        "tls: \"\" # default",
        "enforcement: audit # default",
        "allow_encoded_slash: false # default",
        "# allowed_ips: not given, and the host is exact: private addresses too, never loopback, link-local or metadata",
        "rules: # access: read-only, base.yaml:5",
        "- allow: { method: GET, path: \"**\" } # access: read-only, base.yaml:5",
        "- allow: { method: HEAD, path: \"**\" } # access: read-only, base.yaml:5",
        "- allow: { method: OPTIONS, path: \"**\" } # access: read-only, base.yaml:5",
        "binaries:",
        "- { path: /usr/bin/curl } # base.yaml:6",
        "network_middlewares:",
        "pay: # more.yaml:8",
        "middleware: tollgate/x402 # more.yaml:9",
        "order: 0 # default",
        "config: # more.yaml:10",
        "max_amount: \"1.00\" # more.yaml:10",
        "on_error: fail_closed # default",
        "on_uninspectable: deny # default",
        "endpoints: # more.yaml:11",
        "include: [\"**\"] # more.yaml:11",
        "exclude: [] # default",
    ];
    assert_eq!(shown, expected);
}
