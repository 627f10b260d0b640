//! Where endpoints may be dialled: OpenShell's table C, by number, from the policy down.
#![allow(clippy::unwrap_used)]

use std::net::IpAddr;

use crate::judge::{loaded, rule};
use tollgate_policy::{Caller, Code, Facts, Host, LoopbackDial, Reason, check_addresses};

/// Where `host:port` of a policy with this endpoint may go when its name resolves to these addresses.
fn dial(endpoint: &str, host: &str, port: u16, addresses: &[&str]) -> Result<(), (Reason, &'static str)> {
    let policy = rule(endpoint);
    let host = Host::parse(host).unwrap();
    let decision = policy.decide(&Facts {
        host: &host,
        port,
        caller: Caller::NotEnforced,
        request: None,
    });
    let treatment = decision.treatment.unwrap();
    let addresses: Vec<IpAddr> = addresses.iter().map(|address| address.parse().unwrap()).collect();
    check_addresses(&addresses, &treatment.addresses, port, LoopbackDial::Never).map_err(|refusal| (refusal.reason, refusal.detail))
}

const DECLARED: &str = "declared endpoint check failed";
const LISTED: &str = "allowed_ips check failed";

#[test]
fn c1_to_c3_never_dialled_even_when_declared() {
    let never = |detail| Err((Reason::AddressNotAllowed, detail));
    assert_eq!(
        dial("host: 127.0.0.1\nport: 80", "127.0.0.1", 80, &["127.0.0.1"]),
        never(DECLARED),
        "C1"
    );
    assert_eq!(
        dial("host: 169.254.169.254\nport: 80", "169.254.169.254", 80, &["169.254.169.254"]),
        never(DECLARED),
        "C2"
    );
    for address in [
        "127.0.0.1",
        "169.254.169.254",
        "0.0.0.0",
        "::1",
        "fe80::1",
        "::",
        "::ffff:127.0.0.1",
    ] {
        assert_eq!(
            dial("host: db.example.com\nport: 80", "db.example.com", 80, &[address]),
            never(DECLARED),
            "C3: {address}"
        );
    }
}

#[test]
fn c4_to_c7_private_addresses() {
    assert_eq!(
        dial("host: db.example.com\nport: 443", "db.example.com", 443, &["192.168.1.105"]),
        Ok(()),
        "C4"
    );
    assert_eq!(
        dial("host: '*.example.com'\nport: 443", "db.example.com", 443, &["192.168.1.105"]),
        Err((Reason::AddressNotPublic, "internal address")),
        "C5"
    );
    let listed = "host: '*.example.com'\nport: 443\nallowed_ips: [10.0.5.0/24]";
    assert_eq!(dial(listed, "db.example.com", 443, &["10.0.5.20"]), Ok(()), "C6");
    assert_eq!(
        dial(listed, "db.example.com", 443, &["10.0.6.1"]),
        Err((Reason::AddressNotAllowed, LISTED)),
        "C6"
    );
    assert_eq!(
        dial("host: 10.200.0.1\nport: 443", "10.200.0.1", 443, &["10.200.0.1"]),
        Ok(()),
        "C7"
    );
    let anywhere = "port: 8080\nallowed_ips: [10.0.0.0/8]";
    assert_eq!(dial(anywhere, "any.internal", 8080, &["10.9.9.9"]), Ok(()), "A27");
    assert_eq!(
        dial(anywhere, "any.internal", 8080, &["8.8.8.8"]),
        Err((Reason::AddressNotAllowed, LISTED)),
        "A27"
    );
}

#[test]
fn c8_control_plane_ports() {
    for port in [2379, 2380, 6443, 10250, 10255] {
        let listed = format!("host: k.example.com\nport: {port}\nallowed_ips: [203.0.113.0/24]");
        let refused = dial(&listed, "k.example.com", port, &["203.0.113.7"]).unwrap_err().0;
        assert_eq!(refused, Reason::ControlPlanePort, "C8: {port}");
        let declared = format!("host: k.example.com\nport: {port}");
        assert_eq!(
            dial(&declared, "k.example.com", port, &["10.0.0.1"]).unwrap_err().0,
            Reason::ControlPlanePort
        );
        let wildcard = format!("host: '*.example.com'\nport: {port}");
        assert_eq!(dial(&wildcard, "k.example.com", port, &["8.8.8.8"]), Ok(()), "public only");
    }
}

fn load_codes(allowed_ips: &str) -> Vec<Code> {
    let source = format!(
        "version: 1\nnetwork_policies:\n  a:\n    endpoints: [ {{ host: x.example.com, port: 443, allowed_ips: {allowed_ips} }} ]\n    binaries: [ {{ path: /bin/a }} ]\n"
    );
    loaded(&source).diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
}

#[test]
fn c9_to_c11_allowed_ips() {
    for list in [
        "[127.0.0.0/8]",
        "[127.0.0.1]",
        "[169.254.0.0/16]",
        "[169.254.169.254]",
        "[0.0.0.0]",
        "[0.0.0.0/0]",
        "[10.0.5.0/24, 127.0.0.1]",
        "['::1']",
        "['::/0']",
        "['fe80::/64']",
        "['::ffff:127.0.0.1']",
        "['::ffff:0:0/96']",
    ] {
        assert!(load_codes(list).contains(&Code::ForbiddenAllowedIps), "C9: {list}");
    }
    for list in ["[not-an-ip]", "[10.0.0.0/33]", "[10.0.0]", "['']", "[]"] {
        assert_eq!(load_codes(list), [Code::InvalidAllowedIps], "C10: {list}");
    }
    assert_eq!(load_codes("[10.0.0.0/8]"), [Code::BroadAllowedIps], "C11");
    assert_eq!(load_codes("[10.0.0.0/16, 'fd00::/64', 10.1.2.3]"), []);
}

#[test]
fn c14_one_internal_address_among_public_ones() {
    let wildcard = "host: '*.example.com'\nport: 443";
    assert_eq!(dial(wildcard, "a.example.com", 443, &["8.8.8.8", "1.1.1.1"]), Ok(()));
    for addresses in [["8.8.8.8", "10.0.0.1"], ["10.0.0.1", "8.8.8.8"]] {
        assert_eq!(
            dial(wildcard, "a.example.com", 443, &addresses).unwrap_err().0,
            Reason::AddressNotPublic,
            "C14"
        );
    }
    assert_eq!(dial(wildcard, "a.example.com", 443, &[]).unwrap_err().0, Reason::NameNotResolved);
}

#[test]
fn c16_a_nul_in_the_name_is_no_host() {
    assert!(Host::parse("evil\0.example.com").is_err(), "C16");
}

#[test]
fn several_endpoints_of_a_host_add_up_and_do_not_mix() {
    let source = "
version: 1
network_policies:
  declared:
    endpoints: [ { host: db.example.com, port: 443 } ]
    binaries: [ { path: '/**' } ]
  addresses:
    endpoints: [ { port: 443, allowed_ips: [100.64.0.0/16] } ]
    binaries: [ { path: '/**' } ]
  wildcard:
    endpoints: [ { host: '*.example.com', port: 443 } ]
    binaries: [ { path: '/**' } ]
";
    let policy = crate::judge::policy(source);
    let check = |host: &str, addresses: &[&str]| {
        let host = Host::parse(host).unwrap();
        let decision = policy.decide(&Facts {
            host: &host,
            port: 443,
            caller: Caller::Unidentified,
            request: None,
        });
        let addresses: Vec<IpAddr> = addresses.iter().map(|address| address.parse().unwrap()).collect();
        check_addresses(&addresses, &decision.treatment.unwrap().addresses, 443, LoopbackDial::Never).map_err(|refusal| refusal.reason)
    };
    assert_eq!(check("db.example.com", &["8.8.8.8"]), Ok(()));
    assert_eq!(check("db.example.com", &["192.168.0.1"]), Ok(()));
    assert_eq!(check("other.example.com", &["8.8.8.8"]), Ok(()));
    assert_eq!(check("other.example.com", &["100.64.1.1"]), Ok(()));
    assert_eq!(check("other.example.com", &["192.168.0.1"]), Err(Reason::AddressNotPublic));
    // Each address is fine for one of the endpoints, but no endpoint is fine with both.
    assert_eq!(
        check("other.example.com", &["8.8.8.8", "100.64.1.1"]),
        Err(Reason::AddressNotPublic)
    );
    assert_eq!(check("db.example.com", &["127.0.0.1"]), Err(Reason::AddressNotAllowed));
}
