#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::*;
use crate::audit::event::RequestPath;
use crate::audit::{Adapter, ConnectionId, RequestId};

/// What the pretended disk does with the next write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mood {
    Fine,
    /// Takes seven bytes at most.
    Slow,
    /// "No space left on device".
    Full,
    /// Does not return.
    Stuck,
}

#[derive(Clone)]
struct Disk(Arc<Mutex<(Mood, Vec<u8>, usize)>>);

impl Disk {
    fn new(mood: Mood) -> Self {
        Disk(Arc::new(Mutex::new((mood, Vec::new(), 0))))
    }

    fn set(&self, mood: Mood) {
        self.0.lock().unwrap().0 = mood;
    }

    fn lines(&self) -> Vec<serde_json::Value> {
        let bytes = self.0.lock().unwrap().1.clone();
        String::from_utf8(bytes)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    fn writes(&self) -> usize {
        self.0.lock().unwrap().2
    }
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let mut disk = self.0.lock().unwrap();
            let taken = match disk.0 {
                Mood::Stuck => {
                    drop(disk);
                    std::thread::sleep(Duration::from_millis(1));
                    continue;
                }
                Mood::Full => return Err(io::ErrorKind::StorageFull.into()),
                Mood::Slow => bytes.len().min(7),
                Mood::Fine => bytes.len(),
            };
            disk.1.extend_from_slice(&bytes[..taken]);
            disk.2 += 1;
            return Ok(taken);
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn event(decision: Decision, path: &str) -> Event<'_> {
    Event {
        path: Some(RequestPath::of(path)),
        ..Event::new(RequestId::next(), ConnectionId::next(), Adapter::Tunnel, decision)
    }
}

fn sink(disk: &Disk, bound: usize) -> Sink {
    Sink::over(Box::new(disk.clone()), bound).unwrap()
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(10), "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[tokio::test]
async fn lines_gather_and_are_written_whole_in_order() {
    let disk = Disk::new(Mood::Slow);
    let sink = sink(&disk, 1 << 20);
    for number in 0..500 {
        sink.record(&event(Decision::Allow, &format!("/{number}"))).await;
    }
    sink.shut_down();
    let paths: Vec<_> = disk.lines().iter().map(|line| line["path"].as_str().unwrap().to_owned()).collect();
    let expected: Vec<_> = (0..500).map(|number| format!("/{number}")).collect();
    assert_eq!(paths, expected);
    assert_eq!((sink.status().events, sink.status().unwritten), (500, 0));
}

#[tokio::test]
async fn allowed_requests_cost_few_writes() {
    let disk = Disk::new(Mood::Fine);
    let sink = sink(&disk, 1 << 20);
    let start = Instant::now();
    for _ in 0..100 {
        sink.record(&event(Decision::Allow, "/")).await;
    }
    eventually("flushed", || disk.lines().len() == 100);
    // One flush each 20 ms, however long the machine took.
    let most = usize::try_from(start.elapsed().as_millis()).unwrap() / 20 + 2;
    assert!(disk.writes() <= most, "{} > {most}", disk.writes());
}

#[tokio::test]
async fn a_denial_is_written_without_waiting_for_company() {
    let disk = Disk::new(Mood::Fine);
    let sink = sink(&disk, 1 << 20);
    // The best of several: other threads of the machine may delay any single one.
    let mut best = Duration::MAX;
    for round in 1..=20 {
        let start = Instant::now();
        sink.record(&event(Decision::Deny, "/")).await;
        eventually("written", || disk.lines().len() == round);
        best = best.min(start.elapsed());
    }
    assert!(best < Duration::from_millis(15), "{best:?}");
}

#[tokio::test]
async fn a_full_disk_stops_everything_until_a_write_works_and_loses_nothing() {
    let disk = Disk::new(Mood::Full);
    let sink = sink(&disk, 1 << 20);
    assert_eq!(sink.ready(), Ok(()));
    sink.record(&event(Decision::Deny, "/while-full")).await;
    eventually("not ready", || sink.ready() == Err(AuditFull));
    let status = sink.status();
    assert!(!status.ready && status.write_errors > 0 && status.unwritten > 0, "{status:?}");
    assert!(
        status
            .failure
            .is_some_and(|failure| failure.contains("storage") || failure.contains("space"))
    );
    disk.set(Mood::Slow);
    eventually("ready again", || sink.ready() == Ok(()));
    eventually("nothing is left", || sink.status().unwritten == 0);
    assert_eq!(disk.lines().len(), 1);
    assert_eq!(sink.status().failure, None);
}

#[tokio::test]
async fn a_disk_that_cannot_follow_stops_new_requests_but_has_room_for_those_under_way() {
    let disk = Disk::new(Mood::Stuck);
    let bound = 4_000;
    let sink = Arc::new(sink(&disk, bound));
    let mut recorded = 0;
    while sink.ready().is_ok() {
        sink.record(&event(Decision::Allow, "/")).await;
        recorded += 1;
    }
    let unwritten = sink.status().unwritten;
    assert!(unwritten > bound && unwritten < bound + 1_000, "{unwritten}");
    // One more that was let out before: it has room.
    sink.record(&event(Decision::Allow, "/under-way")).await;
    recorded += 1;
    // A flood of denials fills what is left, and then waits rather than being dropped.
    let flood: Vec<_> = (0..50)
        .map(|_| {
            let sink = Arc::clone(&sink);
            tokio::spawn(async move { sink.record(&event(Decision::Deny, "/flood")).await })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(sink.status().unwritten <= 2 * bound);
    assert!(flood.iter().any(|waiting| !waiting.is_finished()));
    disk.set(Mood::Fine);
    for denial in flood {
        denial.await.unwrap();
    }
    eventually("ready again", || sink.ready() == Ok(()));
    sink.shut_down();
    assert_eq!(disk.lines().len(), recorded + 50);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_client_that_goes_away_does_not_take_its_line_with_it() {
    let disk = Disk::new(Mood::Stuck);
    let sink = Arc::new(sink(&disk, 1_000));
    let mut recorded = 0;
    let given_up = loop {
        let theirs = Arc::clone(&sink);
        let denial = tokio::spawn(async move { theirs.record(&event(Decision::Deny, "/")).await });
        recorded += 1;
        tokio::time::sleep(Duration::from_millis(5)).await;
        if !denial.is_finished() {
            break denial;
        }
    };
    given_up.abort();
    assert!(given_up.await.is_err());
    sink.record_detached(&event(Decision::Allow, "/dropped"));
    disk.set(Mood::Fine);
    eventually("all is written", || disk.lines().len() == recorded + 1);
}

#[tokio::test]
async fn a_line_longer_than_both_bounds_still_gets_out() {
    let disk = Disk::new(Mood::Fine);
    let sink = sink(&disk, 10);
    for _ in 0..3 {
        sink.record(&event(Decision::Deny, "/")).await;
    }
    sink.shut_down();
    assert_eq!(disk.lines().len(), 3);
}

#[tokio::test]
async fn after_the_end_nothing_may_leave() {
    let disk = Disk::new(Mood::Fine);
    let sink = sink(&disk, 1 << 20);
    sink.record(&event(Decision::Allow, "/last")).await;
    sink.shut_down();
    assert_eq!(disk.lines().len(), 1);
    assert_eq!(sink.ready(), Err(AuditFull));
}

#[tokio::test]
async fn a_shutdown_with_a_full_disk_ends() {
    let disk = Disk::new(Mood::Full);
    let sink = sink(&disk, 1 << 20);
    sink.record(&event(Decision::Deny, "/")).await;
    let start = Instant::now();
    sink.shut_down();
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_file_is_appended_to_repaired_and_readable_by_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.jsonl");
    let output = Output::File(path.clone());
    for _ in 0..2 {
        let sink = Sink::start(&output, 1 << 20).unwrap();
        sink.record(&event(Decision::Deny, "/")).await;
        drop(sink);
    }
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let mut torn = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    torn.write_all(b"{\"time\":\"20").unwrap();
    let sink = Sink::start(&output, 1 << 20).unwrap();
    sink.record(&event(Decision::Deny, "/after-the-crash")).await;
    drop(sink);
    let text = std::fs::read_to_string(&path).unwrap();
    let whole = text
        .lines()
        .filter(|line| serde_json::from_str::<serde_json::Value>(line).is_ok())
        .count();
    assert_eq!((whole, text.lines().count()), (3, 4));
}

#[test]
fn a_place_that_cannot_be_written_is_an_error_at_start() {
    let output = Output::File("/nonexistent/folder/audit.jsonl".into());
    let error = Sink::start(&output, 1).unwrap_err().to_string();
    assert!(error.contains("/nonexistent/folder/audit.jsonl"), "{error}");
}
