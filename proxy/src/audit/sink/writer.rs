//! The thread that writes.

use std::io::{self, Write};
use std::time::Duration;

use super::parking::Shared;

/// How long after a failed write the next is tried.
const RETRY_AFTER: Duration = Duration::from_millis(250);

/// Marks the end even when the thread panics, so that nothing leaves unrecorded.
struct End<'a>(&'a Shared);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.ended();
    }
}

pub(super) fn run(shared: &Shared, mut destination: Box<dyn Write + Send>) {
    let _end = End(shared);
    let mut batch = Vec::new();
    while shared.take(&mut batch) {
        if !write(shared, &mut *destination, &batch) {
            tracing::error!(
                bytes = batch.len(),
                "audit lines are lost: they could not be written before the end"
            );
            return;
        }
        batch.clear();
    }
}

/// Goes on behind the last byte that got out, so that a disk that was full for a while leaves no torn line.
fn write(shared: &Shared, destination: &mut dyn Write, batch: &[u8]) -> bool {
    let mut rest = batch;
    let mut was_failing = false;
    while !rest.is_empty() {
        match destination.write(rest) {
            Ok(0) => {
                if !fail(shared, &io::ErrorKind::WriteZero.into(), &mut was_failing) {
                    return false;
                }
            }
            Ok(written) => {
                rest = rest.get(written..).unwrap_or_default();
                shared.wrote(written);
                if std::mem::take(&mut was_failing) {
                    tracing::info!("audit lines are written again");
                }
            }
            Err(failure) if failure.kind() == io::ErrorKind::Interrupted => {}
            Err(failure) => {
                if !fail(shared, &failure, &mut was_failing) {
                    return false;
                }
            }
        }
    }
    true
}

fn fail(shared: &Shared, failure: &io::Error, was_failing: &mut bool) -> bool {
    if !std::mem::replace(was_failing, true) {
        tracing::error!(error = %failure, "audit lines cannot be written: nothing leaves until they can");
    }
    shared.failed(failure, RETRY_AFTER)
}
