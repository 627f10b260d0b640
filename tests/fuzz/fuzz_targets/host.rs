//! Hosts and authorities: one spelling each, and a certificate for every name that may be connected to.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_certs::LeafName;
use tollgate_policy::{Authority, Host};

fuzz_target!(|text: &str| {
    if let Ok(host) = Host::parse(text) {
        let shown = host.to_string();
        assert_eq!(Host::parse(&shown).as_ref(), Ok(&host), "{shown} is not a fixed point");
        if let Host::Name(name) = &host {
            assert!(
                !name.bytes().any(|byte| byte.is_ascii_uppercase()) && !name.ends_with('.'),
                "{name}"
            );
            // A label that begins or ends with a hyphen is no host name (RFC 1123, 2.1), and gets no certificate.
            let hyphen = name.split('.').any(|label| label.starts_with('-') || label.ends_with('-'));
            match name.parse::<LeafName>() {
                Ok(leaf) => assert_eq!(leaf.to_string(), shown),
                Err(_) => assert!(hyphen, "no leaf can be minted for {name}"),
            }
        }
    }
    for port in [None, Some(443)] {
        let Ok(authority) = Authority::parse(text, port) else { continue };
        assert_eq!(Authority::parse(&authority.to_string(), None).as_ref(), Ok(&authority));
    }
});
