//! Whether an endpoint tolerates no more addresses than another.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::address::{AddressClass, AddressScope};

/// Whether every address that may be dialled under `inner` may be under `outer`. Errs on the side of no.
pub(super) fn within(inner: &AddressScope, outer: &AddressScope) -> bool {
    match (inner, outer) {
        (inner, outer) if inner == outer => true,
        (AddressScope::AllowedRanges(inner), AddressScope::AllowedRanges(outer)) => {
            // Neighbouring networks may cover together what none covers alone.
            let outer = IpNet::aggregate(&outer.to_vec());
            inner.iter().all(|range| outer.iter().any(|whole| whole.contains(range)))
        }
        (AddressScope::Literal(address), AddressScope::AllowedRanges(outer)) => outer.iter().any(|range| range.contains(address)),
        (AddressScope::AllowedRanges(inner), AddressScope::Literal(address)) => inner.iter().all(|range| *range == IpNet::from(*address)),
        (AddressScope::Literal(address), AddressScope::DeclaredName) => AddressClass::of(*address) != AddressClass::Reserved,
        (AddressScope::AllowedRanges(inner), AddressScope::DeclaredName) => inner.iter().all(is_dialled_for_names),
        _ => false,
    }
}

/// Whether no address of the network is reserved, and so refused to a name that the policy vouches for.
fn is_dialled_for_names(range: &IpNet) -> bool {
    // Within networks as small as these, the ends tell.
    let small = match range {
        IpNet::V4(range) => range.prefix_len() >= 4,
        IpNet::V6(range) => range.prefix_len() >= 7,
    };
    let ends: [IpAddr; 2] = [range.network(), range.broadcast()];
    small && ends.into_iter().all(|end| AddressClass::of(end) != AddressClass::Reserved)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn ranges(list: &[&str]) -> AddressScope {
        AddressScope::AllowedRanges(list.iter().map(|text| text.parse().unwrap()).collect())
    }

    #[test]
    fn networks_are_compared_by_their_addresses() {
        let literal = AddressScope::Literal("10.0.0.7".parse().unwrap());
        for (inner, outer, expected) in [
            (ranges(&["10.0.5.0/24"]), ranges(&["10.0.0.0/16"]), true),
            (ranges(&["10.0.0.0/16"]), ranges(&["10.0.5.0/24"]), false),
            (ranges(&["10.0.0.0/24"]), ranges(&["10.0.0.0/25", "10.0.0.128/25"]), true),
            (ranges(&["10.0.0.0/24"]), AddressScope::DeclaredName, true),
            (ranges(&["240.0.0.0/8"]), AddressScope::DeclaredName, false),
            (AddressScope::DeclaredName, ranges(&["10.0.0.0/8"]), false),
            (AddressScope::DeclaredName, AddressScope::PublicOnly, false),
            (literal.clone(), ranges(&["10.0.0.0/24"]), true),
            (ranges(&["10.0.0.7/32"]), literal.clone(), true),
            (ranges(&["10.0.0.0/31"]), literal, false),
        ] {
            assert_eq!(within(&inner, &outer), expected, "{inner:?} in {outer:?}");
        }
    }
}
