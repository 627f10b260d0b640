//! Rails by target: hosts of which only a part is a rail, and paths that mean the same on every host.

use tollgate_policy::{Host, Reason, query};

use super::call::method_matches;
use super::list::{Match, MethodEntry, PathEntry};
use super::{RailHit, Rails};

impl Rails {
    /// Whether the canonical path (no query) is a rail on this host.
    pub fn target(&self, method: &str, path: &str, host: &Host) -> Option<RailHit> {
        self.list
            .paths
            .iter()
            .find(|entry| {
                (*entry.method == *"*" || *entry.method == *method)
                    && entry.host.as_ref().is_none_or(|name| host.name() == Some(name))
                    && path_matches(entry, path)
            })
            .map(|entry| RailHit::new(entry.kind.reason(), entry.kind.detail(), &*entry.path))
    }
}

impl Rails {
    /// Whether a query calls a method of a rail: gateways take JSON-RPC as `?method=…&params=…`, explorers as `?module=proxy&action=…`.
    pub fn query(&self, query: &str) -> Option<RailHit> {
        let calls = query::pairs(query).filter(|(name, _)| [&b"method"[..], b"action"].iter().any(|key| name.eq_ignore_ascii_case(key)));
        calls
            .filter_map(|(_, value)| String::from_utf8(value.into_owned()).ok())
            .find_map(|called| {
                let wanted = |entry: &&MethodEntry| method_matches(entry, called.trim()) && has_needed(entry, query);
                self.list.methods.iter().find(wanted)
            })
            .map(|entry| {
                RailHit::new(
                    Reason::RailBroadcast,
                    "the query calls a method that signs or broadcasts",
                    &*entry.name,
                )
            })
    }
}

fn has_needed(entry: &MethodEntry, query: &str) -> bool {
    let needs = |name: &[u8]| entry.needs.iter().any(|need| need.as_bytes() == name);
    entry.needs.is_empty() || query::pairs(query).any(|(name, _)| needs(&name))
}

fn path_matches(entry: &PathEntry, path: &str) -> bool {
    let path = path.trim_end_matches('/').as_bytes();
    let wanted = entry.path.as_bytes();
    if wanted.contains(&b'*') {
        return ends_with_pattern(path, wanted);
    }
    // Frameworks route without regard to case often enough. Every entry begins with a slash, so a suffix begins at a segment.
    match entry.how {
        Match::Prefix => {
            path.get(..wanted.len()).is_some_and(|head| head.eq_ignore_ascii_case(wanted))
                && path.get(wanted.len()).is_none_or(|next| *next == b'/')
        }
        Match::Suffix => path
            .len()
            .checked_sub(wanted.len())
            .and_then(|from| path.get(from..))
            .is_some_and(|tail| tail.eq_ignore_ascii_case(wanted)),
        Match::Exact | Match::Contains => path.eq_ignore_ascii_case(wanted),
    }
}

/// Compares segment by segment from the end; the empty part before the leading slash stands for whatever comes before.
fn ends_with_pattern(path: &[u8], wanted: &[u8]) -> bool {
    let mut found = path.rsplit(|b| *b == b'/');
    wanted.rsplit(|b| *b == b'/').all(|wanted| {
        wanted.is_empty()
            || found
                .next()
                .is_some_and(|found| wanted == b"*" || wanted.eq_ignore_ascii_case(found))
    })
}
