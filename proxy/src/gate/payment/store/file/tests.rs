#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use redb::backends::InMemoryBackend;

use super::super::Settlement;
use super::*;
use crate::gate::payment::action::ActionHash;
use crate::x402::claim::{IdentifierHash, PaymentHash, RequestHash};

const NOW: u64 = 1_000;

fn entry(number: u8, expires: u64) -> (NonceHash, Entry) {
    let entry = Entry {
        payment: PaymentHash([number; 32]),
        request: RequestHash([number; 32]),
        action: ActionHash([number; 32]),
        identifier: number.is_multiple_of(2).then_some(IdentifierHash([number; 32])),
        expires,
        attempts: 1,
        settlement: Settlement::Unknown,
    };
    (NonceHash([number; 32]), entry)
}

fn held(path: &Path, now: u64) -> Vec<(NonceHash, Entry)> {
    Spent::open(path, now).unwrap().1
}

#[test]
fn what_was_written_is_read_back_and_what_expired_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("payments");
    let (mut spent, nothing) = Spent::open(&path, NOW).unwrap();
    assert!(nothing.is_empty());
    let entries = [entry(1, NOW + 10), entry(2, NOW + 20), entry(3, NOW + 30)];
    spent.write(&entries.into(), NOW).unwrap();
    let answered = Entry {
        settlement: Settlement::Answered,
        attempts: 2,
        ..entries[1].1
    };
    // The first has expired by then.
    spent.write(&[(entries[1].0, answered)].into(), NOW + 10).unwrap();
    drop(spent);
    assert_eq!(held(&path, NOW + 10), [(entries[1].0, answered), entries[2]]);
    assert_eq!(held(&path, NOW + 20), [entries[2]]);
    assert_eq!(
        held(&path, NOW),
        [(entries[1].0, answered), entries[2]],
        "expired entries leave the file itself"
    );
}

#[test]
fn nobody_else_may_read_the_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("payments");
    drop(Spent::open(&path, NOW).unwrap());
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_file_that_cannot_be_trusted_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("text"), "not a store ".repeat(10_000)).unwrap();
    std::fs::create_dir(at("folder")).unwrap();
    let (mut whole, _) = Spent::open(&at("whole"), NOW).unwrap();
    whole
        .write(&(1..200).map(|number| entry(number, NOW + 100)).collect(), NOW)
        .unwrap();
    let locked = Spent::open(&at("whole"), NOW).err();
    assert_eq!(locked, Some(StoreFault::Locked));
    drop(whole);
    let bytes = std::fs::read(at("whole")).unwrap();
    std::fs::write(at("cut"), &bytes[..bytes.len() / 2]).unwrap();
    // One bit of an entry, in a file that was closed in good order.
    let place = bytes.windows(32).position(|window| window == [77; 32]).unwrap();
    let mut flipped = bytes.clone();
    flipped[place] ^= 1;
    std::fs::write(at("flipped"), &flipped).unwrap();
    for (name, expected) in [
        ("text", StoreFault::Corrupt),
        ("cut", StoreFault::Corrupt),
        ("flipped", StoreFault::Corrupt),
        ("folder", StoreFault::Io(io::ErrorKind::IsADirectory)),
        ("missing/folder", StoreFault::Io(io::ErrorKind::NotFound)),
    ] {
        let opened = std::panic::catch_unwind(|| Spent::open(&at(name), NOW).err());
        assert_eq!(opened.unwrap_or(Some(StoreFault::Corrupt)), Some(expected), "{name}");
    }
    assert_eq!(Spent::open(Path::new("/dev/full"), NOW).err(), Some(StoreFault::NotAFile));
    assert_eq!(held(&at("whole"), NOW).len(), 199);
}

/// A disk that turns bad.
#[derive(Debug)]
struct Disk {
    inner: InMemoryBackend,
    state: Arc<AtomicU8>,
}

const SOUND: u8 = 0;
const FULL: u8 = 1;
const UNSYNCABLE: u8 = 2;

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.inner.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.inner.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        match self.state.load(Ordering::SeqCst) {
            UNSYNCABLE => Err(io::Error::other("the disk is gone")),
            _ => self.inner.sync_data(),
        }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        match self.state.load(Ordering::SeqCst) {
            FULL => Err(io::ErrorKind::StorageFull.into()),
            _ => self.inner.write(offset, data),
        }
    }
}

#[test]
fn an_entry_that_is_not_on_the_disk_is_never_said_to_be() {
    for (state, expected) in [(FULL, StoreFault::Full), (UNSYNCABLE, StoreFault::Io(io::ErrorKind::Other))] {
        let disk = Arc::new(AtomicU8::new(SOUND));
        let storage = Disk {
            inner: InMemoryBackend::new(),
            state: disk.clone(),
        };
        let (mut spent, _) = Spent::over(storage, NOW).unwrap();
        spent.write(&[entry(1, NOW + 10)].into(), NOW).unwrap();
        disk.store(state, Ordering::SeqCst);
        assert_eq!(spent.write(&[entry(2, NOW + 10)].into(), NOW), Err(expected));
        assert!(spent.write(&[entry(3, NOW + 10)].into(), NOW).is_err(), "it has to be opened anew");
    }
}
