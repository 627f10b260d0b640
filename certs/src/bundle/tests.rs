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
    for file in [&written.ca, &written.bundle, &written.java, &written.apt, &written.wget] {
        assert_eq!(mode(file), 0o644, "{}", file.display());
    }
    assert_eq!(mode(&directory), 0o755);
    assert_eq!(written, TrustBundle::within(&directory).unwrap());
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
        known.system = read_certificates(&written.bundle).unwrap();
        assert_eq!(known.system.len(), 2);
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
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 5);
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

/// A folder's name must not become a setting of its own.
#[test]
fn a_path_cannot_inject_a_setting() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["\"; Dpkg::Pre-Invoke {\"id\";}; #", "a\nuse_proxy = off"] {
        let error = TrustBundle::write(&directory.path().join(name), &authority(), &Roots::default()).unwrap_err();
        assert!(matches!(error, BundleError::Unnameable(_)), "{error}");
    }
}

#[test]
fn apt_and_wget_are_told_of_all_roots() {
    let parent = tempfile::tempdir().unwrap();
    let directory = parent.path().join("with space");
    let written = TrustBundle::write(&directory, &authority(), &Roots::default()).unwrap();
    let bundle = written.bundle.to_str().unwrap();
    let read = |path| fs::read_to_string(path).unwrap();
    assert_eq!(read(written.apt), format!("Acquire::https::CAInfo \"{bundle}\";\n"));
    assert_eq!(read(written.wget), format!("ca_certificate = {bundle}\n"));
}

/// Whether Java takes the seal as well, its own clients say.
#[test]
fn a_java_key_store_has_its_header_its_entries_and_its_seal() {
    let directory = tempfile::tempdir().unwrap();
    let (system, ours) = (authority(), authority());
    let written = TrustBundle::write(directory.path(), &ours, &roots(&[&system], &[])).unwrap();
    let store = fs::read(written.java).unwrap();
    let mut expected = b"\xfe\xed\xfe\xed\0\0\0\x02\0\0\0\x02".to_vec();
    for (alias, authority) in [("root-0", &system), ("root-1", &ours)] {
        let certificate = authority.certificate();
        expected.extend_from_slice(b"\0\0\0\x02\0\x06");
        expected.extend_from_slice(alias.as_bytes());
        expected.extend_from_slice(b"\0\0\0\0\0\0\0\0\0\x05X.509");
        expected.extend_from_slice(&u32::try_from(certificate.len()).unwrap().to_be_bytes());
        expected.extend_from_slice(certificate);
    }
    let (content, seal) = store.split_at(store.len() - 20);
    assert_eq!((content, seal.len()), (&*expected, 20));
}
