#![allow(clippy::unwrap_used, clippy::indexing_slicing)]
use super::super::action::ActionHash;
use super::*;
use crate::x402::claim::{IdentifierHash, PaymentHash, RequestHash};

fn entry() -> Entry {
    Entry {
        payment: PaymentHash([1; 32]),
        request: RequestHash([2; 32]),
        action: ActionHash([3; 32]),
        identifier: Some(IdentifierHash([4; 32])),
        expires: u64::MAX,
        attempts: 1,
        settlement: Settlement::Unknown,
    }
}

type Adopted = Arc<Mutex<Vec<(NonceHash, Entry)>>>;

fn open(path: &Path) -> (Store, Adopted) {
    let adopted = Adopted::default();
    let theirs = adopted.clone();
    let store = Store::open(path, move |entries| theirs.lock().unwrap().extend(entries)).unwrap();
    (store, adopted)
}

#[test]
fn an_entry_reads_back_as_it_was_written_and_nothing_else_does() {
    let entry = entry();
    let bytes = entry.encode();
    assert_eq!(Entry::decode(&bytes), Some(entry));
    let anonymous = Entry {
        identifier: None,
        settlement: Settlement::Answered,
        ..entry
    };
    assert_eq!(Entry::decode(&anonymous.encode()), Some(anonymous));
    for place in [0, 1, 3] {
        let mut bent = bytes;
        bent[place] = 9;
        assert_eq!(Entry::decode(&bent), None, "byte {place}");
    }
}

#[tokio::test]
async fn an_entry_survives_its_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("payments");
    let (store, adopted) = open(&path);
    assert_eq!(store.ready(), Ok(()));
    store.keep(NonceHash([7; 32]), entry()).await.unwrap();
    // A copy of the file at this moment is what a crash would leave.
    let crashed = folder.path().join("crashed");
    std::fs::copy(&path, &crashed).unwrap();
    assert!(adopted.lock().unwrap().is_empty());
    let (_store, adopted) = open(&crashed);
    assert_eq!(*adopted.lock().unwrap(), [(NonceHash([7; 32]), entry())]);
}

#[tokio::test]
async fn a_locked_store_says_so_and_is_used_when_its_holder_has_gone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("payments");
    let (first, _) = open(&path);
    first.keep(NonceHash([7; 32]), entry()).await.unwrap();
    let (second, adopted) = open(&path);
    assert_eq!(second.ready(), Err(StoreFault::Locked));
    assert_eq!(second.keep(NonceHash([8; 32]), entry()).await, Err(StoreFault::Locked));
    assert!(second.failures() > 0);
    first.close();
    assert_eq!(first.keep(NonceHash([8; 32]), entry()).await, Err(StoreFault::Closed));
    let waited = std::time::Instant::now();
    while second.ready().is_err() {
        assert!(waited.elapsed() < Duration::from_secs(10), "{:?}", second.ready());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(*adopted.lock().unwrap(), [(NonceHash([7; 32]), entry())]);
    second.keep(NonceHash([8; 32]), entry()).await.unwrap();
}

#[tokio::test]
async fn many_at_once_are_all_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("payments");
    let (store, _) = open(&path);
    let store = Arc::new(store);
    let tasks: Vec<_> = (0..200_u8)
        .map(|number| {
            let store = store.clone();
            tokio::spawn(async move { store.keep(NonceHash([number; 32]), entry()).await })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    store.close();
    let (_store, adopted) = open(&path);
    assert_eq!(adopted.lock().unwrap().len(), 200);
}
