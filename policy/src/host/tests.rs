#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

#[test]
fn hosts_and_their_canonical_form() {
    for (text, canonical) in [
        ("example.com", "example.com"),
        ("API.Example.COM", "api.example.com"),
        ("localhost", "localhost"),
        ("_dmarc.example.com", "_dmarc.example.com"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("1.example", "1.example"),
        ("0x7f.example", "0x7f.example"),
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "[::1]"),
        ("[::1]", "[::1]"),
        ("[2001:DB8:0:0::1]", "[2001:db8::1]"),
        ("[::ffff:10.0.0.1]", "[::ffff:10.0.0.1]"),
    ] {
        assert_eq!(Host::parse(text).unwrap().to_string(), canonical, "{text}");
    }
}

#[test]
fn what_is_no_host() {
    let label = "a".repeat(64);
    let name = "a.".repeat(126) + "ab";
    for (text, error) in [
        ("", HostError::Empty),
        (".", HostError::EmptyLabel),
        ("example.com.", HostError::EmptyLabel),
        ("a..b", HostError::EmptyLabel),
        (".a", HostError::EmptyLabel),
        (label.as_str(), HostError::TooLong),
        (name.as_str(), HostError::TooLong),
        ("a b", HostError::BadCharacter),
        ("a\0b", HostError::BadCharacter),
        ("a/b", HostError::BadCharacter),
        ("a\\b", HostError::BadCharacter),
        ("a%2eb", HostError::BadCharacter),
        ("bücher.example", HostError::BadCharacter),
        // A full-width dot, which IDNA reads as a dot.
        ("a。b", HostError::BadCharacter),
        ("*.example.com", HostError::BadCharacter),
        ("[::1", HostError::BadIpv6),
        ("::1]", HostError::BadIpv6),
        ("[]", HostError::BadIpv6),
        ("[127.0.0.1]", HostError::BadIpv6),
        ("[fe80::1%eth0]", HostError::BadIpv6),
        ("a:b", HostError::BadIpv6),
        ("example.com:443", HostError::BadIpv6),
    ] {
        assert_eq!(Host::parse(text), Err(error), "{text:?}");
    }
}

#[test]
fn no_second_spelling_of_an_ipv4_address_is_a_host() {
    for text in [
        "0x7f.1",
        "0X7F000001",
        "2130706433",
        "127.1",
        "127.0.1",
        "0177.0.0.1",
        "127.0.0.01",
        "1.2.3.4.5",
        "256.0.0.1",
        "a.0x",
        "a.1",
    ] {
        assert_eq!(Host::parse(text), Err(HostError::NumericSpelling), "{text}");
    }
}

#[test]
fn e17_authorities() {
    for (text, expected) in [
        ("example.com:443", "example.com:443"),
        ("EXAMPLE.com:443", "example.com:443"),
        ("[::1]:443", "[::1]:443"),
        ("127.0.0.1:80", "127.0.0.1:80"),
        ("example.com:080", "example.com:80"),
    ] {
        assert_eq!(Authority::parse(text, None).unwrap().to_string(), expected, "E17: {text}");
    }
    for text in [
        "host",
        "host:",
        "host:abc",
        "host:65536",
        "host:0",
        "host:80:x",
        "host:+80",
        "host: 80",
        "host:000080",
        ":80",
        "[::1",
        "[::1]",
        "[::1]443",
        "[::1]:",
        "::1:443",
        "user@host:80",
        "user:pass@host:80",
        "host/:80",
        "ho st:80",
        "",
    ] {
        assert!(Authority::parse(text, None).is_err(), "E17: {text}");
    }
    assert_eq!(Authority::parse("example.com", Some(443)).unwrap().port, 443);
    assert_eq!(Authority::parse("[::1]", Some(443)).unwrap().to_string(), "[::1]:443");
    assert_eq!(Authority::parse("a@b", Some(443)), Err(HostError::UserInfo));
}

proptest! {
    #[test]
    fn parsing_is_idempotent(text in "[a-zA-Z0-9._:\\[\\]-]{0,24}") {
        if let Ok(host) = Host::parse(&text) {
            prop_assert_eq!(Host::parse(&host.to_string()), Ok(host.clone()));
            let authority = Authority { host, port: 8443 };
            prop_assert_eq!(Authority::parse(&authority.to_string(), None), Ok(authority));
        }
    }

    #[test]
    fn every_address_is_a_host(bits in any::<u128>(), v4 in any::<u32>()) {
        for address in [IpAddr::from(Ipv6Addr::from(bits)), IpAddr::from(Ipv4Addr::from(v4))] {
            let host = Host::Address(address);
            prop_assert_eq!(Host::parse(&host.to_string()), Ok(host));
        }
    }

    #[test]
    fn any_text_is_a_host_or_an_error(text in any::<String>()) {
        let _ = Authority::parse(&text, Some(443));
        if let Ok(Host::Name(name)) = Host::parse(&text) {
            prop_assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_' | b'.')));
        }
    }
}
