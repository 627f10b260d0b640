#![allow(clippy::unwrap_used)]
use super::*;

#[test]
fn each_run_has_its_own_authority() {
    let (a, b) = (CertificateAuthority::generate().unwrap(), CertificateAuthority::generate().unwrap());
    assert_ne!(a.certificate(), b.certificate());
    assert_ne!(a.issuer().key().public_key_pem(), b.issuer().key().public_key_pem());
}

#[test]
fn the_pem_is_the_certificate_and_nothing_else() {
    let authority = CertificateAuthority::generate().unwrap();
    let blocks = pem::parse_many(authority.pem()).unwrap();
    assert_eq!(blocks.len(), 1);
    let block = blocks.first().unwrap();
    assert_eq!((block.tag(), block.contents()), ("CERTIFICATE", authority.certificate().as_ref()));
}

#[test]
fn the_certificate_says_what_it_may_do() {
    let authority = CertificateAuthority::generate().unwrap();
    let der = authority.certificate().as_ref();
    let contains = |needle: &[u8]| der.windows(needle.len()).any(|window| window == needle);
    assert!(contains(COMMON_NAME.as_bytes()));
    // basicConstraints, critical: CA true, pathLenConstraint 0 (RFC 5280, 4.2.1.9).
    assert!(contains(&[
        0x55, 0x1d, 0x13, 0x01, 0x01, 0xff, 0x04, 0x08, 0x30, 0x06, 0x01, 0x01, 0xff, 0x02, 0x01, 0x00
    ]));
    // keyUsage, critical: keyCertSign and cRLSign only (4.2.1.3).
    assert!(contains(&[0x55, 0x1d, 0x0f, 0x01, 0x01, 0xff, 0x04, 0x04, 0x03, 0x02, 0x01, 0x06]));
}

/// The private key as it could slip into output: as hexadecimal, as a list of numbers, as base64.
pub(crate) fn spellings(pkcs8: &[u8]) -> Vec<String> {
    // PKCS#8 of a P-256 key as ring writes it: the 32 secret bytes begin at 36.
    assert_eq!(pkcs8.get(34..36).unwrap(), [0x04, 0x20]);
    let secret = pkcs8.get(36..68).unwrap();
    let hex = secret.iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
    let block = pem::encode(&pem::Pem::new("X", pkcs8)).lines().nth(2).unwrap().to_owned();
    vec![
        hex.to_uppercase(),
        hex,
        format!("{secret:?}").trim_matches(['[', ']']).to_owned(),
        block,
    ]
}

#[test]
fn the_key_is_never_in_debug_output() {
    let authority = CertificateAuthority::generate().unwrap();
    let printed = format!("{authority:?} {authority:#?} {}", authority.pem());
    for secret in spellings(authority.issuer().key().serialized_der()) {
        assert!(!printed.contains(&secret));
    }
    assert!(!printed.contains("PRIVATE"));
}

#[test]
fn a_successor_goes_on_as_the_same_authority() {
    let before = CertificateAuthority::generate().unwrap();
    let after = CertificateAuthority::take_over(&before.hand_over()).unwrap();
    assert_eq!((after.pem(), after.certificate()), (before.pem(), before.certificate()));
    assert_eq!(after.issuer().key().public_key_raw(), before.issuer().key().public_key_raw());
    assert_eq!(after.not_after().unix_timestamp(), before.not_after().unix_timestamp());
    let all = before.hand_over();
    for cut in [0, 7, 11, 12, 100] {
        assert!(CertificateAuthority::take_over(all.get(..cut).unwrap()).is_err(), "{cut}");
    }
}
