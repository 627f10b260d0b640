//! A comparison says what a change does, and never says nothing about a change that lets more pass.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

mod operations;
mod passing;

use proptest::prelude::*;
use serde_json::Value;

use crate::agreement::{host, source};
use crate::judge::{loaded, policy};
use tollgate_policy::compare::{Certainty, Compared, ConfigChange, Effect, Finding, FindingKind, MiddlewareMeaning, Selected, compare};
use tollgate_policy::{Caller, CanonicalPath, Facts, Host, HttpFacts, Policy, Process, Sources};

struct Meaning;

impl MiddlewareMeaning for Meaning {
    fn config(&self, _: &str, _: Option<&Value>, _: Option<&Value>) -> Option<Vec<ConfigChange>> {
        None
    }

    fn selection(&self, _: &str, selected: Selected) -> (Effect, &'static str) {
        match selected {
            Selected::More => (Effect::Narrowing, "judged by it"),
            Selected::Fewer => (Effect::Widening, "no longer judged by it"),
        }
    }
}

fn findings(old: (&Policy, &str), new: (&Policy, &str)) -> Vec<Finding> {
    let sources = [old.1, new.1].map(|source| Sources::one("policy.yaml", source));
    let [of_old, of_new] = &sources;
    let side = |policy, sources| Compared { policy, sources };
    compare(side(old.0, of_old), side(new.0, of_new), &Meaning)
}

fn compared(old: &str, new: &str) -> Vec<Finding> {
    findings((&policy(old), old), (&policy(new), new))
}

fn endpoint(endpoint: &str) -> String {
    document(&[("api", endpoint, "/usr/bin/curl")])
}

fn document(rules: &[(&str, &str, &str)]) -> String {
    let rules = rules.iter().map(|(key, endpoints, binaries)| {
        let endpoints: Vec<String> = endpoints.lines().map(|line| format!("      - {{ {} }}\n", line.trim())).collect();
        format!(
            "  {key}:\n    endpoints:\n{}    binaries: [ {{ path: '{binaries}' }} ]\n",
            endpoints.concat()
        )
    });
    format!("version: 1\nnetwork_policies:\n{}", rules.collect::<String>())
}

const READ: &str = "host: a.example.com, port: 443, protocol: rest, enforcement: enforce";

#[test]
fn other_spellings_of_the_same_are_no_change() {
    let presets = |access: &str| endpoint(&format!("{READ}, {access}"));
    let rules = |rules: &str| presets(&format!("rules: [ {rules} ]"));
    for (old, new) in [
        (
            presets("access: read-only"),
            rules("{ allow: { method: OPTIONS, path: '/**' } }, { allow: { method: get, path: '**' } }"),
        ),
        (presets("access: full"), rules("{ allow: { method: '*', path: '/**' } }")),
        (
            rules("{ allow: { method: GET, path: '/{a,b}' } }"),
            rules("{ allow: { method: GET, path: /b } }, { allow: { method: GET, path: /a } }, { allow: { method: HEAD, path: /a } }"),
        ),
        (
            endpoint("host: A.example.com, port: 443, allowed_ips: [10.0.0.0/25, 10.0.0.128/25]"),
            endpoint("host: a.example.com, ports: [443], protocol: '', allowed_ips: [10.0.0.0/24]"),
        ),
        (
            document(&[("x", "host: a.example.com, ports: [80, 443]", "/bin/x")]),
            document(&[("x", "host: a.example.com, port: 443\nhost: a.example.com, port: 80", "/bin/x")]),
        ),
        (
            presets("path: /a/**, rules: [ { allow: { method: GET, path: '**' } } ]"),
            presets("path: '/a/**', rules: [ { allow: { method: GET, path: '/**' } } ]"),
        ),
    ] {
        assert_eq!(compared(&old, &new), [], "{old}{new}");
        assert_eq!(compared(&new, &old), [], "{new}{old}");
    }
}

#[test]
fn another_key_is_said_to_be_one() {
    let line = "host: a.example.com, port: 443";
    let (old, new) = (document(&[("one", line, "/bin/x")]), document(&[("two", line, "/bin/x")]));
    let found = compared(&old, &new);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].effect, found[0].kind), (Effect::None, FindingKind::Renamed));
    assert_eq!(found[0].text, "rule `one` is called `two` now; it means the same");
}

#[test]
fn changes_are_told_by_what_they_do() {
    let read = |more: &str| endpoint(&format!("{READ}, {more}"));
    let get = "rules: [ { allow: { method: GET, path: '/v1/*' } } ]";
    let deny = |rule: &str| read(&format!("access: full, deny_rules: [ {rule} ]"));
    for (narrow, wide, kind, text) in [
        (
            read(get),
            read("rules: [ { allow: { method: GET, path: '/v1/**' } } ]"),
            FindingKind::Requests,
            "GET /v1/** becomes allowed on a.example.com:443 for /usr/bin/curl",
        ),
        (
            read("rules: [ { allow: { method: GET, path: '/a', query: { k: 'v*' } } } ]"),
            read("rules: [ { allow: { method: GET, path: '/a', query: { k: '*' } } } ]"),
            FindingKind::Requests,
            "GET /a with query k=* becomes allowed on a.example.com:443 for /usr/bin/curl",
        ),
        (
            read(get),
            read(get).replace("enforcement: enforce", "enforcement: audit"),
            FindingKind::Enforcement,
            "a.example.com:443 only audits: requests that no rule allows pass and are logged",
        ),
        (
            deny("{ method: '*', path: '/secret/**' }"),
            read("access: full"),
            FindingKind::DenyRule,
            "any method /secret/** is no longer denied on a.example.com:443",
        ),
        (
            deny("{ method: '*', path: '/secret/**' }"),
            deny("{ method: POST, path: '/secret/**' }"),
            FindingKind::DenyRule,
            "the deny rule for any method /secret/** on a.example.com:443 is gone, or stops less than it did",
        ),
        (
            read(get),
            read(get).replace("/usr/bin/curl", "/usr/bin/*"),
            FindingKind::Binary,
            "/usr/bin/* may use a.example.com:443: GET /v1/*",
        ),
        (
            read(get),
            read(get).replace("port: 443", "ports: [443, 8443]"),
            FindingKind::Endpoint,
            "a.example.com:8443 becomes reachable for /usr/bin/curl: GET /v1/*",
        ),
        (
            read(get),
            read(get).replace("a.example.com", "'*.example.com'"),
            FindingKind::Endpoint,
            "*.example.com:443 becomes reachable",
        ),
        (
            read(get),
            endpoint("host: a.example.com, port: 443"),
            FindingKind::Inspection,
            "traffic to a.example.com:443 is no longer judged by requests for /usr/bin/curl: whatever is sent passes",
        ),
        (
            endpoint("host: a.example.com, port: 443"),
            endpoint("host: a.example.com, port: 443, tls: skip"),
            FindingKind::Inspection,
            "TLS to a.example.com:443 is no longer terminated",
        ),
        (
            endpoint("host: a.example.com, port: 443, allowed_ips: [10.0.5.0/24]"),
            endpoint("host: a.example.com, port: 443"),
            FindingKind::Addresses,
            "a.example.com:443 may be dialled at more addresses: any that its exact name resolves to",
        ),
        (
            read(get),
            read(&format!("{get}, allow_encoded_slash: true")),
            FindingKind::Requests,
            "%2F in paths is now taken on a.example.com:443",
        ),
    ] {
        let found = compared(&narrow, &wide);
        assert_eq!(
            found.iter().filter(|finding| finding.effect == Effect::Widening).count(),
            1,
            "{found:#?}"
        );
        assert_eq!(
            (found[0].effect, found[0].certainty, found[0].kind),
            (Effect::Widening, Certainty::Known, kind),
            "{found:#?}"
        );
        assert!(found[0].text.starts_with(text), "{}\n{text}", found[0].text);
        assert!(found[0].old.is_some() && found[0].new.is_some(), "{found:#?}");
        let back = compared(&wide, &narrow);
        assert!(
            back.iter()
                .any(|finding| (finding.effect, finding.kind) == (Effect::Narrowing, kind)),
            "{back:#?}"
        );
        // A name that is written out may resolve to private addresses, which one that a wildcard covers may not.
        let vouched = |finding: &Finding| finding.kind == FindingKind::Addresses && wide.contains("'*.example.com'");
        assert!(
            back.iter().all(|finding| finding.effect == Effect::Narrowing || vouched(finding)),
            "{back:#?}"
        );
    }
}

#[test]
fn an_enforcing_endpoint_that_is_gone_from_above_one_that_audits_is_a_widening() {
    let audits = "host: a.example.com, port: 443, protocol: rest, enforcement: audit, access: read-only";
    let enforces = "host: a.example.com, port: 443, protocol: rest, enforcement: enforce, access: read-only, path: '/a/**'";
    let (old, new) = (endpoint(&format!("{audits}\n{enforces}")), endpoint(audits));
    let found = compared(&old, &new);
    assert_eq!(
        (found.len(), found[0].effect, found[0].kind),
        (1, Effect::Widening, FindingKind::Enforcement),
        "{found:#?}"
    );
    let found = compared(&new, &old);
    assert!(
        found.iter().all(|finding| finding.effect == Effect::Narrowing) && !found.is_empty(),
        "{found:#?}"
    );
}

#[test]
fn a_middleware_that_nobody_can_compare_is_assumed_to_widen() {
    let stanza = |amount: &str, exclude: &str| {
        format!(
            "{}network_middlewares:\n  pay:\n    middleware: tollgate/x402\n    config: {{ max_amount: '{amount}' }}\n    endpoints: {{ include: ['**'], exclude: [{exclude}] }}\n",
            endpoint("host: a.example.com, port: 443")
        )
    };
    let (without, with) = (endpoint("host: a.example.com, port: 443"), stanza("1", ""));
    for (old, new, effect) in [
        (&with, &stanza("2", ""), Effect::Widening),
        (&with, &stanza("1", "b.example.com"), Effect::Widening),
        (&stanza("1", "b.example.com"), &with, Effect::Narrowing),
        (&with, &without, Effect::Widening),
        (&without, &with, Effect::Narrowing),
    ] {
        let found = compared(old, new);
        assert_eq!(
            found.iter().map(|finding| finding.effect).collect::<Vec<_>>(),
            [effect],
            "{found:#?}"
        );
    }
}

#[test]
fn the_sandbox_is_compared_too() {
    let sandbox = |read_write: &str, landlock: &str| {
        format!(
            "{}filesystem_policy: {{ read_only: [/usr], read_write: [{read_write}] }}\nlandlock: {{ compatibility: {landlock} }}\n",
            endpoint("host: a.example.com, port: 443")
        )
    };
    let found = compared(&sandbox("/tmp", "hard_requirement"), &sandbox("/tmp/a, /usr/local", "best_effort"));
    let told: Vec<(Effect, &str)> = found.iter().map(|finding| (finding.effect, finding.text.as_str())).collect();
    assert_eq!(
        told,
        [
            (Effect::Widening, "/usr/local may be written"),
            (Effect::Widening, "the sandbox starts also where the kernel lacks Landlock"),
            (Effect::Narrowing, "/tmp may no longer be read"),
            (Effect::Narrowing, "/tmp may no longer be written"),
        ]
    );
}

/// A policy that differs in one or two places: pairs that have nothing in common find few mistakes.
fn edited(source: &str, edits: &[(usize, usize)]) -> String {
    const EDITS: [(&str, &str); 16] = [
        ("enforcement: enforce", "enforcement: audit"),
        ("enforcement: audit", "enforcement: enforce"),
        ("method: GET", "method: '*'"),
        ("method: '*'", "method: POST"),
        ("path: '/a/*'", "path: '/a/**'"),
        ("path: '/a/**'", "path: '/a/*'"),
        ("path: '**'", "path: /a"),
        ("query: { k: v }", "query: { k: '*' }"),
        (", deny_rules: [", ", path: '/a/**', deny_rules: ["),
        ("port: 443", "ports: [80, 443]"),
        ("ports: [80, 443]", "port: 80"),
        (", allow_encoded_slash: true", ""),
        ("/usr/bin/curl", "/**"),
        ("{ path: '/**' }", "{ path: '/opt/*' }, { path: /usr/bin/curl }"),
        ("host: example.com", "host: '*.example.com'"),
        ("'**.example.com'", "'*.example.com'"),
    ];
    let mut text = source.to_owned();
    for (edit, occurrence) in edits {
        let (from, to) = EDITS[edit % EDITS.len()];
        let places: Vec<usize> = text.match_indices(from).map(|(at, _)| at).collect();
        if let Some(at) = places.get(occurrence % places.len().max(1)) {
            text.replace_range(*at..*at + from.len(), to);
        }
    }
    text
}

fn pair() -> impl Strategy<Value = (String, String)> {
    let edits = proptest::collection::vec((0..16_usize, 0..4_usize), 1..4);
    prop_oneof![
        1 => (source(), source()),
        4 => (source(), edits).prop_map(|(source, edits)| { let other = edited(&source, &edits); (source, other) }),
        // Lines in another order, and some left out: whole endpoints.
        2 => (source(), any::<u64>()).prop_map(|(source, kept)| {
            let mut index = 0;
            let lines = source.lines().filter(|line| {
                index += u64::from(line.trim_start().starts_with("- "));
                !line.trim_start().starts_with("- ") || kept >> (index % 64) & 1 == 1
            });
            let other = lines.flat_map(|line| [line, "\n"]).collect();
            (source, other)
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_the_new_policy_lets_pass_and_the_old_did_not_is_a_widening(
        (old_source, new_source) in pair(),
        swap in any::<bool>(),
        requests in proptest::collection::vec((
            host(),
            prop::sample::select(vec![443_u16, 80]),
            prop::sample::select(vec![Some("/usr/bin/curl"), Some("/opt/x"), Some("/bin/sh"), None]),
            prop::sample::select(vec!["GET", "HEAD", "POST"]),
            prop::sample::select(vec!["/", "/a", "/a/b", "/a/b/c", "/bx", "/c", "/a/x%2Fy"]),
            prop::sample::select(vec![None, Some("k=v"), Some("k=v&k=x"), Some("k=w1")]),
            any::<bool>(),
        ), 40),
    ) {
        let (old_source, new_source) = if swap { (new_source, old_source) } else { (old_source, new_source) };
        let (Some(old), Some(new)) = (loaded(&old_source).policy, loaded(&new_source).policy) else { return Ok(()) };
        prop_assert_eq!(findings((&old, &old_source), (&old, &old_source)), []);
        let found = findings((&old, &old_source), (&new, &new_source));
        let has = |effect| found.iter().any(|finding| finding.effect == effect);
        for (host, port, binary, method, path, query, with_request) in requests {
            let host = Host::parse(host).unwrap();
            let process = binary.map(|binary| Process { binary: binary.to_owned(), ancestors: Vec::new() });
            let caller = process.as_ref().map_or(Caller::Unidentified, Caller::Identified);
            let connection = Facts { host: &host, port, caller, request: None };
            // As at run time: what the connection's endpoints say of encoded slashes comes first.
            let decide = |policy: &Policy| -> &'static str {
                let decision = policy.decide(&connection);
                let Some(treatment) = decision.treatment.as_ref().filter(|_| with_request) else { return decision.action.as_str() };
                let Ok(path) = CanonicalPath::parse(path, treatment.encoded_slash) else { return "deny" };
                policy.decide(&Facts { request: Some(HttpFacts { method, path: &path, query, operation: None }), ..connection }).action.as_str()
            };
            let (before, after) = (decide(&old), decide(&new));
            let change = (before != "deny", after != "deny");
            let about = format!("{before} → {after}: {connection:?} {method} {path}?{query:?}\n{old_source}{new_source}{found:#?}");
            prop_assert!(change != (false, true) || has(Effect::Widening), "{}", about);
            prop_assert!(change != (true, false) || has(Effect::Narrowing), "{}", about);
            prop_assert!(before == after || has(Effect::Widening) || has(Effect::Narrowing), "{}", about);
        }
    }
}
