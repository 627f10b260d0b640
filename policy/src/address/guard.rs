//! The check itself.

use std::net::IpAddr;

use super::{AddressClass, AddressScope};
use crate::reason::Reason;

/// Ports of cluster control planes (etcd, the Kubernetes API, kubelet): a name that the policy lists must not be pointed at them.
const CONTROL_PLANE_PORTS: [u16; 5] = [2379, 2380, 6443, 10250, 10255];

/// Whether loopback may be dialled at all: `insecure.allow_loopback`, for tests and the demo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LoopbackDial {
    /// Never.
    #[default]
    Never,
    /// Loopback counts as public; link-local and metadata stay shut.
    Allowed,
}

/// Why an address may not be dialled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressRefusal {
    /// One of the address reasons.
    pub reason: Reason,
    /// Which check failed, in OpenShell's words.
    pub detail: &'static str,
    /// The address that failed; `None` where there was none, or the port alone was refused.
    pub address: Option<IpAddr>,
}

impl AddressRefusal {
    fn at(reason: Reason, detail: &'static str, address: IpAddr) -> Self {
        AddressRefusal {
            reason,
            detail,
            address: Some(address),
        }
    }
}

/// Passes only if every address may be dialled: one internal address among public ones is how a rebinding name begins.
///
/// # Errors
/// The first address that fails, with `address_not_public`, `address_not_allowed`, `control_plane_port`, or `name_not_resolved`
/// where there is no address at all.
pub fn check_addresses(addresses: &[IpAddr], scope: &AddressScope, port: u16, loopback: LoopbackDial) -> Result<(), AddressRefusal> {
    if addresses.is_empty() {
        return Err(AddressRefusal {
            reason: Reason::NameNotResolved,
            detail: "the name has no address",
            address: None,
        });
    }
    if let AddressScope::AnyOf(scopes) = scope {
        // The refusal of the last scope stands for all: they are sorted from narrow to wide.
        let mut refusal = Err(AddressRefusal {
            reason: Reason::AddressNotAllowed,
            detail: "no endpoint tolerates the address",
            address: None,
        });
        for scope in scopes.iter() {
            refusal = check_addresses(addresses, scope, port, loopback);
            if refusal.is_ok() {
                break;
            }
        }
        return refusal;
    }
    if !matches!(scope, AddressScope::PublicOnly) && CONTROL_PLANE_PORTS.contains(&port) {
        return Err(AddressRefusal {
            reason: Reason::ControlPlanePort,
            detail: "the port belongs to a cluster's control plane",
            address: None,
        });
    }
    addresses.iter().try_for_each(|address| check_one(*address, scope, loopback))
}

fn check_one(address: IpAddr, scope: &AddressScope, loopback: LoopbackDial) -> Result<(), AddressRefusal> {
    let class = AddressClass::of(address);
    if class == AddressClass::Loopback && loopback == LoopbackDial::Allowed {
        return Ok(());
    }
    let (detail, passes) = match scope {
        AddressScope::AllowedRanges(ranges) => ("allowed_ips check failed", in_ranges(address, ranges)),
        AddressScope::Literal(literal) => ("declared endpoint check failed", address == *literal),
        AddressScope::DeclaredName => ("declared endpoint check failed", class != AddressClass::Reserved),
        AddressScope::PublicOnly => ("internal address", class == AddressClass::Public),
        AddressScope::AnyOf(_) => ("nested scopes", false),
    };
    if class.is_never_dialled() {
        return Err(AddressRefusal::at(Reason::AddressNotAllowed, detail, address));
    }
    match scope {
        _ if passes => Ok(()),
        AddressScope::PublicOnly => Err(AddressRefusal::at(Reason::AddressNotPublic, detail, address)),
        _ => Err(AddressRefusal::at(Reason::AddressNotAllowed, detail, address)),
    }
}

/// A mapped address lies in an IPv4 network: `allowed_ips: [10.0.0.0/8]` covers `::ffff:10.0.0.1`, as the kernel dials the same.
fn in_ranges(address: IpAddr, ranges: &[ipnet::IpNet]) -> bool {
    let canonical = address.to_canonical();
    ranges.iter().any(|range| range.contains(&address) || range.contains(&canonical))
}
