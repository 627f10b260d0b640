//! Rails by name: before anything is resolved or dialled, and again for each request.

use tollgate_policy::{Host, Reason};

use super::{RailHit, Rails};

const DETAIL: &str = "the destination is a payment rail";

impl Rails {
    /// Whether the host is a rail as a whole. An address literal is looked up among the networks too.
    pub fn destination(&self, host: &Host, port: u16) -> Option<RailHit> {
        let hit = |entry: &str| Some(RailHit::new(Reason::RailDestination, DETAIL, entry));
        for own in &self.own {
            let same = own.host == *host && !own.below || own.below && is_below(host, &own.host);
            if same && own.port.is_none_or(|own| own == port) {
                return hit(&own.text);
            }
        }
        let name = match host {
            Host::Address(address) => return self.address(*address),
            Host::Name(name) => name.as_ref(),
        };
        if self.hosts.contains_key(name) {
            return hit(name);
        }
        let mut rest = name;
        while let Some((label, parents)) = rest.split_once('.') {
            if let Some(entry) = self.list.labels.iter().find(|entry| *entry.label == *label) {
                return hit(&format!("label {}", entry.label));
            }
            if self.suffixes.contains(parents) {
                return hit(&format!("*.{parents}"));
            }
            rest = parents;
        }
        None
    }
}

fn is_below(host: &Host, apex: &Host) -> bool {
    match (host, apex) {
        (Host::Name(name), Host::Name(apex)) => name.strip_suffix(apex.as_ref()).is_some_and(|head| head.ends_with('.')),
        _ => false,
    }
}

impl Rails {
    /// Every host that is listed by name: built in and the operator's.
    pub fn names(&self) -> impl Iterator<Item = Host> {
        let built_in = self.hosts.keys().filter_map(|name| Host::parse(name).ok());
        built_in.chain(self.own.iter().map(|own| own.host.clone()))
    }
}
