#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;
use crate::reason::Reason;

fn class(text: &str) -> AddressClass {
    AddressClass::of(text.parse().unwrap())
}

/// C12.
#[test]
fn c12_internal_addresses() {
    for address in [
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.0.1",
        "100.64.0.1",
        "100.127.255.255",
        "192.0.0.1",
        "192.0.2.1",
        "198.51.100.1",
        "203.0.113.1",
        "198.18.0.1",
        "198.19.255.255",
        "fc00::1",
        "fd12:3456::1",
        "fec0::1",
        "2001:db8::1",
        "3fff::1",
        "2001:2::1",
        "::ffff:10.0.0.1",
        "::ffff:100.64.0.1",
    ] {
        assert_eq!(class(address), AddressClass::Internal, "C12: {address}");
    }
    assert_eq!(class("::ffff:127.0.0.1"), AddressClass::Loopback, "C12");
    for address in ["255.255.255.255", "224.0.0.1", "ff02::1"] {
        assert_eq!(class(address), AddressClass::Multicast, "C12: {address}");
    }
}

/// C13.
#[test]
fn c13_public_addresses() {
    for address in [
        "8.8.8.8",
        "172.32.0.1",
        "172.15.0.1",
        "100.63.0.1",
        "100.128.0.1",
        "2001:4860::1",
        "2606:4700::1111",
        "::ffff:8.8.8.8",
    ] {
        assert_eq!(class(address), AddressClass::Public, "C13: {address}");
    }
}

#[test]
fn ipv4_embedded_in_ipv6_is_judged_as_ipv4() {
    for (form, address, expected) in [
        ("mapped", "::ffff:169.254.169.254", AddressClass::LinkLocal),
        ("compatible", "::127.0.0.1", AddressClass::Loopback),
        ("compatible", "::10.0.0.1", AddressClass::Reserved),
        ("compatible", "::8.8.8.8", AddressClass::Reserved),
        ("SIIT", "::ffff:0:10.0.0.1", AddressClass::Internal),
        ("NAT64", "64:ff9b::10.0.0.1", AddressClass::Internal),
        ("NAT64", "64:ff9b::127.0.0.1", AddressClass::Loopback),
        ("NAT64", "64:ff9b::8.8.8.8", AddressClass::Public),
        ("NAT64 local /96", "64:ff9b:1::169.254.169.254", AddressClass::LinkLocal),
        ("NAT64 local /48", "64:ff9b:1:7f00:0:100::", AddressClass::Loopback),
        ("NAT64 local /64", "64:ff9b:1:0:7f:0:100:0", AddressClass::Loopback),
        ("NAT64 local", "64:ff9b:1::8.8.8.8", AddressClass::Internal),
        ("6to4", "2002:7f00:1::1", AddressClass::Loopback),
        ("6to4", "2002:a9fe:a9fe::", AddressClass::LinkLocal),
        ("6to4", "2002:c0a8:101::", AddressClass::Internal),
        ("6to4", "2002:808:808::", AddressClass::Public),
        ("Teredo", "2001:0:1:2:3:4:80ff:fffe", AddressClass::Loopback),
        ("Teredo", "2001:0:1:2:3:4:f5ff:fffe", AddressClass::Internal),
        ("ISATAP", "2606:4700::5efe:127.0.0.1", AddressClass::Loopback),
        ("ISATAP", "2606:4700::200:5efe:10.0.0.1", AddressClass::Internal),
        ("ISATAP", "fe80::5efe:8.8.8.8", AddressClass::LinkLocal),
    ] {
        assert_eq!(class(address), expected, "{form}: {address}");
    }
}

#[test]
fn metadata_services_are_never_dialled() {
    for address in [
        "169.254.169.254",
        "169.254.170.2",
        "100.100.100.200",
        "168.63.129.16",
        "fd00:ec2::254",
    ] {
        let address: IpAddr = address.parse().unwrap();
        for loopback in [LoopbackDial::Never, LoopbackDial::Allowed] {
            for scope in [AddressScope::DeclaredName, AddressScope::PublicOnly, AddressScope::Literal(address)] {
                assert!(check_addresses(&[address], &scope, 443, loopback).is_err(), "{address} {scope:?}");
            }
        }
    }
}

#[test]
fn loopback_is_dialled_only_where_the_operator_allows_it() {
    let ranges = AddressScope::AllowedRanges(["10.0.0.0/8".parse().unwrap()].into());
    for scope in [AddressScope::DeclaredName, AddressScope::PublicOnly, ranges] {
        for address in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            let address: IpAddr = address.parse().unwrap();
            let check = |loopback| check_addresses(&[address], &scope, 443, loopback).map_err(|refusal| refusal.reason);
            assert_eq!(check(LoopbackDial::Never), Err(Reason::AddressNotAllowed), "{scope:?}");
            assert_eq!(check(LoopbackDial::Allowed), Ok(()), "{scope:?}");
        }
        for address in ["0.0.0.0", "::", "169.254.1.1", "fe80::1"] {
            assert!(
                check_addresses(&[address.parse().unwrap()], &scope, 443, LoopbackDial::Allowed).is_err(),
                "{address}"
            );
        }
    }
}

#[test]
fn a_mapped_answer_lies_in_an_ipv4_network() {
    let scope = AddressScope::AllowedRanges(["10.0.0.0/8".parse().unwrap()].into());
    assert_eq!(
        check_addresses(&["::ffff:10.1.2.3".parse().unwrap()], &scope, 443, LoopbackDial::Never),
        Ok(())
    );
    assert!(check_addresses(&["::ffff:11.1.2.3".parse().unwrap()], &scope, 443, LoopbackDial::Never).is_err());
}

#[test]
fn a_literal_is_that_address_only() {
    let scope = AddressScope::Literal("10.0.0.1".parse().unwrap());
    assert_eq!(
        check_addresses(&["10.0.0.1".parse().unwrap()], &scope, 443, LoopbackDial::Never),
        Ok(())
    );
    assert!(check_addresses(&["10.0.0.2".parse().unwrap()], &scope, 443, LoopbackDial::Never).is_err());
}

proptest! {
    #[test]
    fn no_spelling_of_an_ipv4_address_is_more_public_than_itself(bits in any::<u32>()) {
        let v4 = std::net::Ipv4Addr::from(bits);
        let plain = AddressClass::of(v4.into());
        let (high, low) = ((bits >> 16) as u16, (bits & 0xffff) as u16);
        for segments in [
            [0, 0, 0, 0, 0, 0xffff, high, low],
            [0x64, 0xff9b, 0, 0, 0, 0, high, low],
            [0x2002, high, low, 0, 0, 0, 0, 1],
            [0x2001, 0, 9, 9, 9, 9, !high, !low],
        ] {
            prop_assert_eq!(AddressClass::of(std::net::Ipv6Addr::from(segments).into()), plain);
        }
        let compatible = AddressClass::of(std::net::Ipv6Addr::from([0, 0, 0, 0, 0, 0, high, low]).into());
        prop_assert!(compatible != AddressClass::Public);
    }

    #[test]
    fn what_is_public_only_passes_every_name(bits in any::<u128>()) {
        let address = IpAddr::from(std::net::Ipv6Addr::from(bits));
        let check = |scope: &AddressScope| check_addresses(&[address], scope, 443, LoopbackDial::Never).is_ok();
        if check(&AddressScope::PublicOnly) {
            prop_assert!(check(&AddressScope::DeclaredName));
        }
    }
}
