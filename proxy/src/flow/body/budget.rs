//! How many bytes of bodies may sit in memory at once, over all requests: many held bodies must not exhaust the host.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tollgate_policy::Reason;

use crate::gate::Denial;

/// The budget that all requests share.
#[derive(Debug, Clone)]
pub(crate) struct HeldBytes {
    held: Arc<AtomicUsize>,
    most: usize,
}

impl HeldBytes {
    pub(crate) fn new(most: usize) -> Self {
        HeldBytes {
            held: Arc::default(),
            most,
        }
    }

    pub(in crate::flow) fn reserve(&self) -> Reservation {
        Reservation {
            budget: self.clone(),
            bytes: 0,
        }
    }
}

/// What one request holds; given back when dropped.
pub(crate) struct Reservation {
    budget: HeldBytes,
    bytes: usize,
}

impl Reservation {
    pub(super) fn grow(&mut self, bytes: usize) -> Result<(), Denial> {
        let before = self.budget.held.fetch_add(bytes, Ordering::Relaxed);
        self.bytes += bytes;
        if before + bytes > self.budget.most {
            return Err(Denial::new(Reason::OverCapacity, "too many bodies are being judged at once"));
        }
        Ok(())
    }

    /// Holds so many bytes, no more and no less than before.
    pub(in crate::flow) fn hold(&mut self, bytes: usize) -> Result<(), Denial> {
        match bytes.checked_sub(self.bytes) {
            Some(0) => Ok(()),
            Some(more) => self.grow(more),
            None => {
                self.budget.held.fetch_sub(self.bytes - bytes, Ordering::Relaxed);
                self.bytes = bytes;
                Ok(())
            }
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.held.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_dropped_is_given_back_and_what_is_over_is_refused() {
        let budget = HeldBytes::new(10);
        let mut first = budget.reserve();
        assert!(first.grow(8).is_ok());
        let mut second = budget.reserve();
        assert_eq!(second.grow(3).map_err(|d| d.reason), Err(Reason::OverCapacity));
        drop((first, second));
        assert!(budget.reserve().grow(10).is_ok());
        let mut third = budget.reserve();
        assert!(third.hold(10).is_ok() && third.hold(2).is_ok());
        assert!(budget.reserve().hold(8).is_ok());
    }
}
