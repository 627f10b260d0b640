//! What kind of address an address is (IANA special-purpose registries, RFC 6890).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The classes that the guard tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressClass {
    /// Globally reachable unicast.
    Public,
    /// 127.0.0.0/8, ::1.
    Loopback,
    /// 169.254.0.0/16, fe80::/10, and the fixed addresses of cloud metadata services.
    LinkLocal,
    /// 0.0.0.0/8, ::.
    Unspecified,
    /// Multicast and broadcast: no TCP connection has such a peer.
    Multicast,
    /// Private, shared, benchmark, documentation, unique-local, site-local.
    Internal,
    /// Reserved, or of no known use: 240.0.0.0/4, discard-only and everything outside 2000::/3.
    Reserved,
}

impl AddressClass {
    /// The class of an address. An IPv6 address that carries an IPv4 address is at least as restricted as that one: a translator,
    /// a tunnel or the kernel itself would deliver to it.
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(v4) => Self::of_v4(v4),
            IpAddr::V6(v6) => match Embedded::find(v6) {
                Embedded::None => Self::of_v6(v6),
                Embedded::Transparent(v4) => Self::of_v4(v4),
                Embedded::Carried(v4) => Self::of_v6(v6).stricter(Self::of_v4(v4)),
                Embedded::LocalNat64(candidates) => candidates
                    .into_iter()
                    .map(Self::of_v4)
                    // Reading the address with the wrong prefix length gives zeros; only the dangerous readings count.
                    .find(|class| matches!(class, Self::Loopback | Self::LinkLocal))
                    .unwrap_or(Self::Internal),
            },
        }
    }

    fn stricter(self, other: Self) -> Self {
        match (self, other) {
            (own, other) if other.is_never_dialled() && !own.is_never_dialled() => other,
            (Self::Public, other) => other,
            (own, _) => own,
        }
    }

    fn of_v4(a: Ipv4Addr) -> Self {
        match a.octets() {
            [0, ..] => Self::Unspecified,
            [127, ..] => Self::Loopback,
            // 100.100.100.200 is Alibaba's metadata service, 168.63.129.16 Azure's host channel: the latter looks public.
            [169, 254, ..] | [100, 100, 100, 200] | [168, 63, 129, 16] => Self::LinkLocal,
            [10, ..]
            | [172, 16..=31, ..]
            | [192, 168, ..]
            | [100, 64..=127, ..]
            | [192, 0, 0 | 2, _]
            | [192, 88, 99, _]
            | [198, 51, 100, _]
            | [203, 0, 113, _]
            | [198, 18 | 19, ..] => Self::Internal,
            [224..=239, ..] | [255, 255, 255, 255] => Self::Multicast,
            [240..=255, ..] => Self::Reserved,
            _ => Self::Public,
        }
    }

    fn of_v6(a: Ipv6Addr) -> Self {
        match a.segments() {
            [0, 0, 0, 0, 0, 0, 0, 0] => Self::Unspecified,
            [0, 0, 0, 0, 0, 0, 0, 1] => Self::Loopback,
            // fd00:ec2::254 is EC2's metadata service over IPv6.
            [0xfe80..=0xfebf, ..] | [0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254] => Self::LinkLocal,
            [0xff00..=0xffff, ..] => Self::Multicast,
            // Unique-local, site-local, documentation (two blocks), benchmarking, ORCHID v1 and v2.
            [0xfc00..=0xfdff | 0xfec0..=0xfeff, ..]
            | [0x2001, 0x0db8 | 0x0010..=0x002f, ..]
            | [0x3fff, 0x0000..=0x0fff, ..]
            | [0x2001, 0x0002, 0, ..] => Self::Internal,
            [0x2000..=0x3fff, ..] => Self::Public,
            _ => Self::Reserved,
        }
    }

    /// Never dialled for anybody, whatever a policy says.
    pub fn is_never_dialled(self) -> bool {
        matches!(self, Self::Loopback | Self::LinkLocal | Self::Unspecified | Self::Multicast)
    }

    /// As in a refusal's text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Loopback => "loopback",
            Self::LinkLocal => "link-local or metadata",
            Self::Unspecified => "unspecified",
            Self::Multicast => "multicast or broadcast",
            Self::Internal => "internal",
            Self::Reserved => "reserved",
        }
    }
}

/// Where an IPv6 address carries an IPv4 one.
enum Embedded {
    None,
    /// Another spelling of the IPv4 address: mapped (RFC 4291), SIIT (RFC 2765), NAT64 (RFC 6052), 6to4 (RFC 3056), Teredo (RFC 4380).
    Transparent(Ipv4Addr),
    /// An address of its own that delivers to the IPv4 address: compatible (RFC 4291), ISATAP (RFC 5214).
    Carried(Ipv4Addr),
    /// 64:ff9b:1::/48 (RFC 8215), where the operator chooses the prefix length: read with /96, /64, /56 and /48 (RFC 6052 2.2).
    LocalNat64([Ipv4Addr; 4]),
}

impl Embedded {
    fn find(address: Ipv6Addr) -> Self {
        let v4 = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
        match address.segments() {
            // `::` and `::1` are addresses of their own.
            [0, 0, 0, 0, 0, 0, 0, 0 | 1] => Self::None,
            [0, 0, 0, 0, 0, 0xffff, high, low]
            | [0, 0, 0, 0, 0xffff, 0, high, low]
            | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
            | [0x2002, high, low, ..] => Self::Transparent(v4(high, low)),
            // Teredo stores the client's address inverted.
            [0x2001, 0, _, _, _, _, high, low] => Self::Transparent(v4(!high, !low)),
            [0x64, 0xff9b, 1, ..] => {
                let o = address.octets();
                let read = |[a, b, c, d]: [u8; 4]| Ipv4Addr::new(a, b, c, d);
                // Octet 8 is the reserved one that the shorter prefixes step over.
                let [.., s6, s7, _, s9, s10, s11, s12, s13, s14, s15] = o;
                Self::LocalNat64([
                    read([s12, s13, s14, s15]),
                    read([s9, s10, s11, s12]),
                    read([s7, s9, s10, s11]),
                    read([s6, s7, s9, s10]),
                ])
            }
            [0, 0, 0, 0, 0, 0, high, low] | [_, _, _, _, 0 | 0x0200, 0x5efe, high, low] => Self::Carried(v4(high, low)),
            _ => Self::None,
        }
    }
}
