#![allow(clippy::unwrap_used)]
use std::fs;

use super::*;

fn authority() -> CertificateAuthority {
    CertificateAuthority::generate().unwrap()
}

fn roots(system: &[&CertificateAuthority], extra: &[&CertificateAuthority]) -> Roots {
    let certificates = |from: &[&CertificateAuthority]| from.iter().map(|a| a.certificate().clone()).collect();
    Roots {
        system: certificates(system),
        extra: certificates(extra),
        warnings: Vec::new(),
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn the_authority_stands_alone_and_among_all() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("run/tollgate");
    let (system, extra, ours) = (authority(), authority(), authority());
    let written = TrustBundle::write(&directory, &ours, &roots(&[&system], &[&extra])).unwrap();

    assert_eq!(written.ca, directory.join("tollgate-ca.pem"));
    assert_eq!(written.bundle, directory.join("ca-bundle.pem"));
    assert_eq!(read_certificates(&written.ca).unwrap(), [ours.certificate().clone()]);
    let all = [&system, &extra, &ours].map(|a| a.certificate().clone());
    assert_eq!(read_certificates(&written.bundle).unwrap(), all);
    assert_eq!(written.certificates, 3);
    assert_eq!((mode(&written.ca), mode(&written.bundle), mode(&directory)), (0o644, 0o644, 0o755));
    assert!(!fs::read_to_string(&written.bundle).unwrap().contains("PRIVATE"));
}

#[test]
fn a_system_without_roots_still_gets_a_bundle() {
    let directory = tempfile::tempdir().unwrap();
    let ours = authority();
    let written = TrustBundle::write(directory.path(), &ours, &Roots::default()).unwrap();
    assert_eq!(read_certificates(&written.bundle).unwrap(), [ours.certificate().clone()]);
}

#[test]
fn a_restart_under_its_own_environment_does_not_pile_up_authorities() {
    let directory = tempfile::tempdir().unwrap();
    let system = authority();
    let mut known = roots(&[&system], &[]);
    for _ in 0..3 {
        let ours = authority();
        let written = TrustBundle::write(directory.path(), &ours, &known).unwrap();
        assert_eq!(written.certificates, 2);
        known.system = read_certificates(&written.bundle).unwrap();
    }
}

/// A link planted in the directory must not make us write over its target.
#[test]
fn a_link_is_replaced_and_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let target = directory.path().join("target");
    fs::write(&target, "precious").unwrap();
    std::os::unix::fs::symlink(&target, directory.path().join(CA_FILE)).unwrap();
    let written = TrustBundle::write(directory.path(), &authority(), &Roots::default()).unwrap();
    assert_eq!(fs::read_to_string(&target).unwrap(), "precious");
    assert!(!fs::symlink_metadata(written.ca).unwrap().is_symlink());
}

#[test]
fn a_reader_never_sees_half_a_file_and_nothing_is_left_behind() {
    let directory = tempfile::tempdir().unwrap();
    let system: Vec<_> = (0..40).map(|_| authority()).collect();
    let known = roots(&system.iter().collect::<Vec<_>>(), &[]);
    TrustBundle::write(directory.path(), &authority(), &known).unwrap();
    let bundle = directory.path().join(BUNDLE_FILE);
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..50 {
                TrustBundle::write(directory.path(), &authority(), &known).unwrap();
            }
            done.store(true, std::sync::atomic::Ordering::SeqCst);
        });
        while !done.load(std::sync::atomic::Ordering::SeqCst) {
            assert_eq!(read_certificates(&bundle).unwrap().len(), 41);
        }
    });
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
}

#[test]
fn errors_name_the_path() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();
    let error = TrustBundle::write(&file.join("below"), &authority(), &Roots::default()).unwrap_err();
    assert!(
        matches!(error, BundleError::Directory { .. }) && error.to_string().contains("file/below"),
        "{error}"
    );
    fs::create_dir(directory.path().join(BUNDLE_FILE)).unwrap();
    let error = TrustBundle::write(directory.path(), &authority(), &Roots::default()).unwrap_err();
    assert!(
        matches!(error, BundleError::Write { .. }) && error.to_string().contains(BUNDLE_FILE),
        "{error}"
    );
}
