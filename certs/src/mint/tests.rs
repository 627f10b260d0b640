#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::*;
use crate::bundle::write_certificates;

fn mint() -> Mint {
    Mint::new(CertificateAuthority::generate().unwrap(), LeafLifetime::default()).unwrap()
}

fn leaf(mint: &Mint, name: &str) -> CertificateDer<'static> {
    let params = mint.params(&name.parse().unwrap(), OffsetDateTime::now_utc()).unwrap();
    mint.sign(&params).unwrap()
}

fn contains(der: &[u8], needle: &[u8]) -> bool {
    der.windows(needle.len()).any(|window| window == needle)
}

/// The serial number of a certificate: the integer behind the version (RFC 5280, 4.1).
fn serial(der: &[u8]) -> Vec<u8> {
    const VERSION_3: [u8; 5] = [0xa0, 0x03, 0x02, 0x01, 0x02];
    let at = der.windows(5).position(|window| window == VERSION_3).unwrap() + 5;
    assert_eq!(der[at], 0x02);
    der[at + 2..at + 2 + usize::from(der[at + 1])].to_vec()
}

/// NSS refuses an authority that gives one number twice, even to leaves of one key.
#[test]
fn serial_numbers_do_not_repeat() {
    let mint = mint();
    let serials: std::collections::BTreeSet<_> = (0..100).map(|_| serial(&leaf(&mint, "example.com"))).collect();
    assert_eq!(serials.len(), 100);
    assert!(
        serials.iter().all(|serial| serial.len() <= 20 && serial[0] & 0x80 == 0),
        "RFC 5280, 4.1.2.2"
    );
}

#[test]
fn a_leaf_says_what_it_may_do() {
    let mint = mint();
    let der = leaf(&mint, "example.com");
    // subjectAltName: one dNSName.
    assert!(contains(&der, b"\x55\x1d\x11\x04\x0f\x30\x0d\x82\x0bexample.com"));
    // extKeyUsage: serverAuth alone.
    assert!(contains(
        &der,
        b"\x55\x1d\x25\x04\x0c\x30\x0a\x06\x08\x2b\x06\x01\x05\x05\x07\x03\x01"
    ));
    // authorityKeyIdentifier.
    assert!(contains(&der, b"\x55\x1d\x23"));
    // basicConstraints: an empty sequence, no authority.
    assert!(contains(&der, b"\x55\x1d\x13\x01\x01\xff\x04\x02\x30\x00"));
    // iPAddress, four and sixteen octets.
    assert!(contains(&leaf(&mint, "192.0.2.7"), b"\x30\x06\x87\x04\xc0\x00\x02\x07"));
    assert!(contains(&leaf(&mint, "::1"), b"\x30\x12\x87\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01"));
}

#[test]
fn a_common_name_is_whole_or_not_the_hosts() {
    let mint = mint();
    let fits = format!("{}.example.com", "a".repeat(52));
    let long = format!("{}.example.com", "a".repeat(53));
    assert_eq!((fits.len(), long.len()), (64, 65));
    // commonName, UTF8String.
    let common_name = |text: &str| {
        [
            b"\x06\x03\x55\x04\x03\x0c".as_slice(),
            &[u8::try_from(text.len()).unwrap()],
            text.as_bytes(),
        ]
        .concat()
    };
    assert!(contains(&leaf(&mint, &fits), &common_name(&fits)));
    assert!(contains(&leaf(&mint, &long), &common_name(COMMON_NAME_LONG)));
}

/// OpenSSL's strict mode is what Python 3.13 and newer verify with.
#[test]
fn openssl_accepts_the_chain_in_strict_mode() {
    let Ok(_) = std::process::Command::new("openssl").arg("version").output() else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let (ca, end) = (directory.path().join("ca.pem"), directory.path().join("leaf.pem"));
    let mint = mint();
    write_certificates(&ca, [mint.authority.certificate()]).unwrap();
    for (name, option) in [
        ("example.com", "-verify_hostname"),
        ("192.0.2.7", "-verify_ip"),
        ("2001:db8::1", "-verify_ip"),
    ] {
        write_certificates(&end, [&leaf(&mint, name)]).unwrap();
        let verify = std::process::Command::new("openssl")
            .args(["verify", "-x509_strict", "-purpose", "sslserver", option, name, "-CAfile"])
            .args([&ca, &end])
            .output()
            .unwrap();
        assert!(verify.status.success(), "{name}: {}", String::from_utf8_lossy(&verify.stderr));
    }
}
