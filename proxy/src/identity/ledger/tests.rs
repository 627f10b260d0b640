#![allow(clippy::unwrap_used)]
use std::fs;

use super::*;

fn file(directory: &tempfile::TempDir, name: &str, content: &str) -> PathBuf {
    let path = directory.path().join(name);
    fs::write(&path, content).unwrap();
    path
}

#[test]
fn the_first_content_is_trusted_and_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = BinaryLedger::new();
    let path = file(&directory, "tool", "one");
    assert_eq!(ledger.note(&path).unwrap(), Change::Same);
    assert_eq!(ledger.note(&path).unwrap(), Change::Same);
    fs::write(&path, "two").unwrap();
    assert_eq!(ledger.note(&path).unwrap(), Change::Different);
    assert_eq!(
        ledger.note(&path).unwrap(),
        Change::Different,
        "seeing it twice does not make it good"
    );
    fs::write(&path, "one").unwrap();
    assert_eq!(ledger.note(&path).unwrap(), Change::Same, "restored");
    assert_eq!(ledger.len(), 1);
}

/// A package manager that writes the same file again changes the fingerprint, not the binary.
#[test]
fn the_same_content_in_a_new_file_is_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = BinaryLedger::new();
    let path = file(&directory, "tool", "one");
    ledger.note(&path).unwrap();
    fs::rename(file(&directory, "new", "one"), &path).unwrap();
    assert_eq!(ledger.note(&path).unwrap(), Change::Same);
}

/// Same length, same modification time: the change time still tells.
#[test]
fn a_binary_dressed_up_as_the_old_one_is_found_out() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory, "tool", "one");
    let before = rustix::fs::stat(&path).unwrap();
    let times = fs::metadata(&path).unwrap().modified().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(20));
    fs::write(&path, "two").unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_modified(times).unwrap();
    let after = rustix::fs::stat(&path).unwrap();
    assert_eq!(
        (before.st_ino, before.st_size, before.st_mtime_nsec),
        (after.st_ino, after.st_size, after.st_mtime_nsec)
    );
    assert_ne!(Fingerprint::from(&before), Fingerprint::from(&after));
}

#[test]
fn a_sparse_giant_is_refused_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = file(&directory, "giant", "");
    fs::File::options().write(true).open(&path).unwrap().set_len(MAX_BYTES + 1).unwrap();
    let started = std::time::Instant::now();
    assert!(matches!(BinaryLedger::new().note(&path), Err(IdentityError::TooLarge { .. })));
    assert!(started.elapsed() < std::time::Duration::from_secs(1));
}

/// Running copies of oneself under ever new names must neither grow our memory nor push out what is known.
#[test]
fn a_full_ledger_takes_no_more_and_forgets_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let ledger = BinaryLedger::new();
    let known = file(&directory, "known", "one");
    ledger.note(&known).unwrap();
    lock(&ledger.slots).extend((1..CAPACITY).map(|n| (PathBuf::from(format!("/copy/{n}")), Slot::default())));
    let copy = file(&directory, "copy", "one");
    assert!(matches!(ledger.note(&copy), Err(IdentityError::LedgerFull)));
    assert_eq!(ledger.len(), CAPACITY);
    fs::write(&known, "two").unwrap();
    assert_eq!(ledger.note(&known).unwrap(), Change::Different);
}

#[test]
fn what_cannot_be_read_is_an_error_that_names_it() {
    let error = BinaryLedger::new().note(Path::new("/nowhere/tool")).unwrap_err();
    assert!(
        matches!(error, IdentityError::Unreadable { .. }) && error.to_string().contains("/nowhere/tool"),
        "{error}"
    );
}
