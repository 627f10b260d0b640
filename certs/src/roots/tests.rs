#![allow(clippy::unwrap_used)]
use std::fs;

use super::*;
use crate::authority::CertificateAuthority;

fn authority() -> CertificateAuthority {
    CertificateAuthority::generate().unwrap()
}

#[test]
fn a_file_may_hold_several_certificates_and_other_text() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("corporate roots.pem");
    let (a, b) = (authority(), authority());
    fs::write(&path, format!("# ours\n{}\nand\n{}", a.pem(), b.pem())).unwrap();
    assert_eq!(
        read_certificates(&path).unwrap(),
        [a.certificate().clone(), b.certificate().clone()]
    );
}

#[test]
fn every_error_names_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let good = authority();
    let cut = good.pem().replace("-----END CERTIFICATE-----", "");
    let key = "-----BEGIN PRIVATE KEY-----\nMAA=\n-----END PRIVATE KEY-----\n";
    let junk = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n";
    let second_is_junk = format!("{}{junk}", good.pem());
    for (file, content, expected) in [
        ("absent.pem", None, "cannot read root certificates from"),
        ("empty.pem", Some(""), "no certificate in"),
        ("der.cer", Some("\u{30}\u{82}"), "no certificate in"),
        ("key.pem", Some(key), "no certificate in"),
        ("cut.pem", Some(cut.as_str()), "is not a PEM file of certificates"),
        ("junk.pem", Some(junk), "certificate 1 in it"),
        ("second.pem", Some(second_is_junk.as_str()), "certificate 2 in it"),
    ] {
        let path = directory.path().join(file);
        if let Some(content) = content {
            fs::write(&path, content).unwrap();
        }
        let error = read_certificates(&path).unwrap_err().to_string();
        assert!(error.contains(expected), "{file}: {error}");
        assert!(error.contains(path.to_str().unwrap()), "{error}");
    }
}

#[test]
fn one_bad_extra_file_refuses_all() {
    let directory = tempfile::tempdir().unwrap();
    let (good, absent) = (directory.path().join("good.pem"), directory.path().join("absent.pem"));
    fs::write(&good, authority().pem()).unwrap();
    assert!(matches!(Roots::load(&[good.clone(), absent]), Err(RootsError::Read { .. })));
    assert_eq!(Roots::load(&[good]).unwrap().extra.len(), 1);
}

#[test]
fn a_root_that_is_in_both_counts_once() {
    let (a, b) = (authority().certificate().clone(), authority().certificate().clone());
    let roots = Roots {
        system: vec![a.clone(), b.clone()],
        extra: vec![b.clone()],
        warnings: Vec::new(),
    };
    assert_eq!(roots.certificates().collect::<Vec<_>>(), [&a, &b]);
}
