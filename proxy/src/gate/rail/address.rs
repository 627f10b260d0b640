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
    let segments = address.segments();
    let v4 = |high: u16, low: u16| Some(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)));
    match segments {
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x64, 0xff9b, 1, _, _, _, high, low]
        | [0x2002, high, low, ..] => [v4(high, low), None],
        [0x2001, 0, high, low, _, _, client_high, client_low] => [v4(high, low), v4(!client_high, !client_low)],
        _ => [None; 2],
    }
}
