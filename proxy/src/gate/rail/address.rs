//! Rails by address: after resolving, so that another name for the same machine is no way around.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tollgate_policy::Reason;

use super::{RailHit, Rails};

impl Rails {
    /// Whether the address, or an IPv4 address written inside it, is one of the operator's rails.
    pub fn address(&self, address: IpAddr) -> Option<RailHit> {
        if self.networks.is_empty() {
            return None;
        }
        let embedded = match address {
            IpAddr::V4(_) => [None; 2],
            IpAddr::V6(v6) => embedded(v6),
        };
        std::iter::once(address)
            .chain(embedded.into_iter().flatten().map(IpAddr::V4))
            .find_map(|address| self.networks.iter().find(|network| network.contains(&address)))
            .map(|network| {
                RailHit::new(
                    Reason::RailDestination,
                    "the destination's address is a payment rail",
                    network.to_string(),
                )
            })
    }
}

/// The IPv4 addresses that a router, a translator or the kernel would take out of an IPv6 one: mapped and compatible (RFC 4291), NAT64
/// (RFC 6052, RFC 8215), 6to4 (RFC 3056), Teredo (RFC 4380: server, and client with its bits flipped).
fn embedded(address: Ipv6Addr) -> [Option<Ipv4Addr>; 2] {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let v4 = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Some(Ipv4Addr::new(a, b, c, d))
    };
    match (a, b, c, d, e, f) {
        (0, 0, 0, 0, 0, 0 | 0xffff) | (0, 0, 0, 0, 0xffff, 0) | (0x64, 0xff9b, 0, 0, 0, 0) | (0x64, 0xff9b, 1, _, _, _) => [v4(g, h), None],
        (0x2002, ..) => [v4(b, c), None],
        (0x2001, 0, ..) => [v4(c, d), v4(!g, !h)],
        _ => [None; 2],
    }
}
