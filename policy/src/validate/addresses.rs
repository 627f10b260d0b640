//! `allowed_ips`, and hosts that are addresses.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::address::AddressClass;
use crate::diagnostic::{Code, Diagnostics, Position};
use crate::document::At;
use crate::matcher::HostPattern;

/// Never dialled, so that no list may hold them.
const FORBIDDEN: [&str; 10] = [
    "127.0.0.0/8",
    "169.254.0.0/16",
    "0.0.0.0/8",
    "::1/128",
    "::/128",
    "fe80::/10",
    "::ffff:127.0.0.0/104",
    "::ffff:169.254.0.0/112",
    "::ffff:0.0.0.0/104",
    "fd00:ec2::254/128",
];

pub(super) fn compile(list: &At<Vec<At<String>>>, found: &mut Diagnostics) -> Vec<IpNet> {
    if list.value.is_empty() {
        found.error(
            Code::InvalidAllowedIps,
            list.at,
            "`allowed_ips` is empty",
            "list addresses or networks, or leave the key out",
        );
    }
    list.value.iter().filter_map(|entry| compile_one(entry, found)).collect()
}

fn compile_one(entry: &At<String>, found: &mut Diagnostics) -> Option<IpNet> {
    let text = &entry.value;
    let network = text.parse::<IpNet>().ok().or_else(|| text.parse::<IpAddr>().ok().map(IpNet::from));
    let Some(network) = network.map(|network| network.trunc()) else {
        let message = format!("`{text}` is neither an address nor a network");
        found.error(Code::InvalidAllowedIps, entry.at, message, "write 10.0.5.20 or 10.0.5.0/24");
        return None;
    };
    if let Some(forbidden) = forbidden_in(&network) {
        let message = format!("`{text}` covers {forbidden}, which is never dialled");
        found.error(
            Code::ForbiddenAllowedIps,
            entry.at,
            message,
            "loopback, link-local and unspecified addresses can't be allowed",
        );
        return None;
    }
    let broad = match network {
        IpNet::V4(network) => network.prefix_len() < 16,
        IpNet::V6(network) => network.prefix_len() < 32,
    };
    if broad {
        found.warn(
            Code::BroadAllowedIps,
            entry.at,
            format!("`{text}` is a very wide network"),
            "list the networks that are needed",
        );
    }
    Some(network)
}

fn forbidden_in(network: &IpNet) -> Option<&'static str> {
    FORBIDDEN.into_iter().find(|forbidden| match (network, forbidden.parse::<IpNet>()) {
        (IpNet::V4(a), Ok(IpNet::V4(b))) => a.contains(&b) || b.contains(a),
        (IpNet::V6(a), Ok(IpNet::V6(b))) => a.contains(&b) || b.contains(a),
        _ => false,
    })
}

/// Loads, as a test set-up may allow loopback; everywhere else it is a mistake.
pub(super) fn warn_never_dialled(pattern: &HostPattern, at: Position, found: &mut Diagnostics) {
    let Some(address) = pattern.as_exact().and_then(crate::host::Host::address) else {
        return;
    };
    let class = AddressClass::of(address);
    if class.is_never_dialled() {
        let message = format!("{address} is a {} address, which is never dialled", class.as_str());
        found.warn(Code::NeverDialled, at, message, "");
    }
}
