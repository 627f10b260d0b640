#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::collections::BTreeSet;

use super::paths::Paths;
use super::segment::IdShape;
use super::*;
use crate::host::Host;
use crate::path::{CanonicalPath, EncodedSlash};

fn globs(paths: &[&str]) -> Vec<String> {
    let mut tree = Paths::default();
    for path in paths {
        tree.add(path);
    }
    tree.globs(&[])
}

#[test]
fn ids_are_told_from_words() {
    for id in [
        "1",
        "20240131",
        "123e4567-e89b-12d3-a456-426614174000",
        "3dfccaf",
        "d41d8cd98f00b204e9800998ecf8427e",
        "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        "cus_9s6XKzkNRiz8i3",
        "42.json",
        "3dfccaf9.tar.gz",
    ] {
        assert!(IdShape::of(id).is_some(), "{id}");
    }
    for word in [
        "",
        "v1",
        "users",
        "decade",
        "deadbeef",
        "info",
        "chat-completions",
        "gpt-4o",
        "x86_64",
        "sha256",
        "utf8",
        "index.html",
        "a.b",
        "chatcompletions2024",
        "%2F12",
        "1.2.3%2F",
        "windows-server-2022",
    ] {
        assert!(IdShape::of(word).is_none(), "{word}");
    }
}

#[test]
fn ids_become_a_star_only_where_several_were_seen() {
    for (paths, expected) in [
        (&["/v1/items/1"][..], &["/v1/items/1"][..]),
        (&["/v1/items/1", "/v1/items/1"], &["/v1/items/1"]),
        (&["/v1/items/1", "/v1/items/2"], &["/v1/items/*"]),
        (&["/v1/items/1", "/v1/items/2", "/v1/items/new"], &["/v1/items/*"]),
        (&["/v1/items/1", "/v1/items/new"], &["/v1/items/new", "/v1/items/1"]),
        (&["/v1/items/1/parts/7", "/v1/items/2/parts/7"], &["/v1/items/*/parts/7"]),
        (&["/v1/items/1/parts/7", "/v1/items/2/parts/8"], &["/v1/items/*/parts/*"]),
        (&["/repos/alpha", "/repos/beta"], &["/repos/alpha", "/repos/beta"]),
        (&["/a/1.json", "/a/2.json", "/a/3"], &["/a/3", "/a/*.json"]),
        (&["/", "/a"], &["/", "/a"]),
        (&["/a/", "/a"], &["/a", "/a/"]),
        (&["/a*b/[x]"], &["/a\\*b/\\[x\\]"]),
        (&["/t/abcdefghijkl..."], &["/t/abcdefghijkl*"]),
    ] {
        assert_eq!(globs(paths), expected, "{paths:?}");
        let reversed: Vec<&str> = paths.iter().rev().copied().collect();
        assert_eq!(globs(&reversed), expected, "{paths:?} in reverse");
    }
}

#[test]
fn a_million_ids_take_no_more_room_than_two() {
    let mut paths = Paths::default();
    let added: usize = (0..100_000).map(|id| paths.add(&format!("/items/{id}/edit"))).sum();
    assert_eq!((added, paths.globs(&[])), (3, vec!["/items/*/edit".to_owned()]));
}

struct Log(Traffic);

impl Log {
    fn request(&mut self, host: &str, port: u16, binary: Option<&str>, method: &str, path: &str) {
        let path = CanonicalPath::parse(path, EncodedSlash::Keep).unwrap();
        self.see(host, port, binary, Seen::Request { method, path: &path });
    }

    fn see(&mut self, host: &str, port: u16, binary: Option<&str>, seen: Seen<'_>) {
        let host = Host::parse(host).unwrap();
        self.0
            .add(&Observed {
                host: &host,
                port,
                binary,
                seen,
            })
            .unwrap();
    }

    fn rules(&self, taken: &[&str]) -> serde_json::Value {
        let taken: BTreeSet<String> = taken.iter().map(|key| (*key).to_owned()).collect();
        let rules = self.0.rules(|_, _, _| Adopted::default(), taken);
        rules
            .into_iter()
            .map(|rule| (rule.key, serde_json::to_value(rule.entry).unwrap()))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }
}

#[test]
fn a_connection_and_its_requests_are_one_rule() {
    let mut log = Log(Traffic::default());
    log.see("api.example.com", 443, None, Seen::Connection);
    log.request("api.example.com", 443, None, "get", "/a");
    log.request("api.example.com", 443, None, "HEAD", "/a");
    for (method, path) in [("GET", "/items/1"), ("GET", "/items/2"), ("HEAD", "/items/3")] {
        for port in [443, 8443] {
            log.request("api.example.com", port, None, method, path);
        }
    }
    log.request("api.example.com", 8443, None, "GET", "/a");
    assert_eq!(
        log.rules(&["api-example-com"]),
        serde_json::json!({ "api-example-com-2": {
            "endpoints": [ { "host": "api.example.com", "ports": [443, 8443], "protocol": "rest", "enforcement": "enforce",
                "rules": [ { "allow": { "method": "GET", "path": "/a" } }, { "allow": { "method": "GET", "path": "/items/*" } } ] } ],
            "binaries": [ { "path": "/**" } ] } })
    );
}

#[test]
fn programs_that_need_the_same_are_one_rule_and_others_are_not() {
    let mut log = Log(Traffic::default());
    for binary in ["/usr/bin/curl", "/usr/bin/wget"] {
        log.request("a.example", 80, Some(binary), "GET", "/a");
    }
    log.request("a.example", 80, Some("/usr/bin/git"), "POST", "/x%2Fy");
    // Was refused at its connection: it is given no more than the others.
    log.see("a.example", 80, Some("/usr/bin/ftp"), Seen::Connection);
    let rules = log.rules(&[]);
    assert_eq!(
        rules["a-example"]["binaries"],
        serde_json::json!([{ "path": "/usr/bin/curl" }, { "path": "/usr/bin/wget" }])
    );
    assert_eq!(
        rules["a-example-git"]["endpoints"][0],
        serde_json::json!({ "host": "a.example", "port": 80, "protocol": "rest", "enforcement": "enforce",
            "allow_encoded_slash": true, "rules": [ { "allow": { "method": "POST", "path": "/x%2Fy" } } ] })
    );
    assert_eq!(rules["a-example-ftp"]["endpoints"][0]["rules"].as_array().unwrap().len(), 2);
}

#[test]
fn a_connection_whose_requests_may_never_pass_proves_no_need() {
    let mut log = Log(Traffic::default());
    log.see("rail.example", 443, None, Seen::Connection);
    log.see("rail.example", 443, None, Seen::Refused);
    log.see("ssh.example", 22, None, Seen::Connection);
    log.see("ssh.example", 22, None, Seen::Bytes);
    assert_eq!(
        log.rules(&[]),
        serde_json::json!({ "ssh-example": { "endpoints": [ { "host": "ssh.example", "port": 22 } ], "binaries": [ { "path": "/**" } ] } })
    );
}

#[test]
fn traffic_without_end_is_refused_before_it_fills_memory() {
    let mut traffic = Traffic::default();
    let host = Host::parse("a.example").unwrap();
    let refused = (0..300_000_u32).find_map(|number| {
        let word: String = number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'g')).collect();
        let path = CanonicalPath::parse(format!("/{word}"), EncodedSlash::Reject).unwrap();
        let seen = Seen::Request {
            method: "GET",
            path: &path,
        };
        traffic
            .add(&Observed {
                host: &host,
                port: 443,
                binary: None,
                seen,
            })
            .err()
    });
    assert!(refused.is_some());
}
