//! Rails by path: hosts of which only a part is a rail, and paths that mean the same on every host.

use tollgate_policy::Host;

use super::list::{Match, PathEntry};
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

fn path_matches(entry: &PathEntry, path: &str) -> bool {
    let path = path.trim_end_matches('/');
    // Frameworks route without regard to case often enough.
    let same = |(wanted, found): (&str, &str)| wanted == "*" || wanted.eq_ignore_ascii_case(found);
    match entry.how {
        Match::Prefix => {
            let mut found = path.split('/');
            entry
                .path
                .split('/')
                .all(|wanted| found.next().is_some_and(|found| same((wanted, found))))
        }
        Match::Suffix => {
            // From the end; the empty part before the leading slash stands for whatever comes before.
            let mut found = path.rsplit('/');
            entry
                .path
                .rsplit('/')
                .all(|wanted| wanted.is_empty() || found.next().is_some_and(|found| same((wanted, found))))
        }
        Match::Exact | Match::Contains => path.eq_ignore_ascii_case(&entry.path),
    }
}
