//! Turns with a service of our own: so many calls at once, so many that wait for one, and no more.

use std::num::NonZeroUsize;

use tokio::sync::{Semaphore, SemaphorePermit};

/// See the module.
#[derive(Debug)]
pub struct Turns {
    seats: Semaphore,
    places: Semaphore,
    at_once: usize,
    queue: usize,
}

/// The right to call; given back when dropped.
#[derive(Debug)]
pub struct Turn<'t> {
    _seat: SemaphorePermit<'t>,
}

impl Turns {
    /// So many at the same time, and so many that may wait.
    pub fn new(at_once: NonZeroUsize, queue: usize) -> Self {
        let at_once = at_once.get().min(Semaphore::MAX_PERMITS);
        let queue = queue.min(Semaphore::MAX_PERMITS);
        Turns {
            seats: Semaphore::new(at_once),
            places: Semaphore::new(queue),
            at_once,
            queue,
        }
    }

    /// The next turn; `None` at once where too many wait for theirs. Dropping the future gives up its place.
    pub async fn take(&self) -> Option<Turn<'_>> {
        // The semaphore hands a freed seat to the longest waiter, so taking one here overtakes nobody.
        if let Ok(seat) = self.seats.try_acquire() {
            return Some(Turn { _seat: seat });
        }
        let _place = self.places.try_acquire().ok()?;
        self.wait().await
    }

    /// The next turn, however many wait; `None` never.
    pub async fn wait(&self) -> Option<Turn<'_>> {
        let seat = self.seats.acquire().await.ok()?;
        Some(Turn { _seat: seat })
    }

    /// How many call now.
    pub fn in_flight(&self) -> usize {
        self.at_once - self.seats.available_permits()
    }

    /// How many wait now.
    pub fn waiting(&self) -> usize {
        self.queue - self.places.available_permits()
    }
}
