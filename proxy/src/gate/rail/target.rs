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
    let wanted = entry.path.split('/').skip(1);
    let found = path.split('/').skip(1);
    let lengths = (wanted.clone().count(), found.clone().count());
    match entry.how {
        Match::Prefix => lengths.1 >= lengths.0 && wanted.zip(found).all(same),
        Match::Suffix => lengths.1 >= lengths.0 && wanted.zip(found.skip(lengths.1 - lengths.0)).all(same),
        Match::Exact | Match::Contains => lengths.1 == lengths.0 && wanted.zip(found).all(same),
    }
}
