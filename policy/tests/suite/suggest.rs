//! Whatever was seen is allowed by the rules that are suggested for it, and by nothing else.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use proptest::prelude::*;

use crate::judge::policy;
use tollgate_policy::suggest::{Adopted, Observed, Seen, SuggestedRule, Traffic};
use tollgate_policy::{Caller, CanonicalPath, EncodedSlash, Facts, Host, HttpFacts, Policy, Process};

type Request = (&'static str, u16, Option<&'static str>, &'static str, String);

fn request() -> impl Strategy<Value = Request> {
    let segment = prop_oneof![
        "[a-c]{1,2}",
        "[0-9]{1,3}",
        "[0-9a-f]{8}",
        Just("%2F".to_owned()),
        Just("[x]*{y,z}".to_owned()),
        Just("\\~!$&'()+,=:@-._".replace('\\', "")),
        Just(String::new()),
        "[0-9]{2}\\.(json|txt)",
    ];
    (
        prop::sample::select(vec!["a.example.com", "10.0.0.1"]),
        prop::sample::select(vec![80_u16, 443]),
        prop::sample::select(vec![None, Some("/usr/bin/curl"), Some("/opt/a*b")]),
        prop::sample::select(vec!["GET", "HEAD", "POST", "delete"]),
        proptest::collection::vec(segment, 1..4).prop_map(|segments| format!("/{}", segments.join("/"))),
    )
}

fn loaded(rules: Vec<SuggestedRule>) -> Policy {
    let rules: serde_json::Map<String, serde_json::Value> = rules
        .into_iter()
        .map(|rule| (rule.key, serde_json::to_value(rule.entry).unwrap()))
        .collect();
    policy(&serde_json::json!({ "version": 1, "network_policies": rules }).to_string())
}

fn passes(policy: &Policy, (host, port, binary, method, path): &Request) -> bool {
    let host = Host::parse(host).unwrap();
    let process = binary.map(|binary| Process {
        binary: binary.to_owned(),
        ancestors: Vec::new(),
    });
    let path = CanonicalPath::parse(path, EncodedSlash::Keep).unwrap();
    let request = HttpFacts {
        method,
        path: &path,
        query: Some("any=thing"),
        operation: None,
    };
    let facts = Facts {
        host: &host,
        port: *port,
        caller: process.as_ref().map_or(Caller::Unidentified, Caller::Identified),
        request: Some(request),
    };
    policy.decide(&facts).refusal().is_none()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_was_seen_is_allowed(requests in proptest::collection::vec(request(), 1..12), other in request()) {
        let mut traffic = Traffic::default();
        for (host, port, binary, method, path) in &requests {
            let host = Host::parse(host).unwrap();
            let path = CanonicalPath::parse(path, EncodedSlash::Keep).unwrap();
            for seen in [Seen::Connection, Seen::Request { method, path: &path }] {
                traffic.add(&Observed { host: &host, port: *port, binary: *binary, seen }).unwrap();
            }
        }
        let policy = loaded(traffic.rules(|_, _, _| Adopted::default(), BTreeSet::new()));
        for request in &requests {
            prop_assert!(passes(&policy, request), "{:?} of {:?}", request, requests);
        }
        // Another request passes only if the same method was seen at its host and port, and a path as long.
        let depth = |path: &str| CanonicalPath::parse(path, EncodedSlash::Keep).unwrap().as_str().matches('/').count();
        let same = |seen: &Request| {
            (seen.0, seen.1) == (other.0, other.1)
                && (seen.2.is_none() || seen.2 == other.2)
                && (seen.3.eq_ignore_ascii_case(other.3) || (seen.3, other.3) == ("GET", "HEAD"))
                && depth(&seen.4) == depth(&other.4)
        };
        if passes(&policy, &other) {
            prop_assert!(requests.iter().any(same), "{:?} of {:?}", other, requests);
        }
    }
}
