//! A payment in text that passes by: each byte is looked at together with what came right before it, and nothing else is kept.
//!
//! What is further apart than [`KEPT`] is not seen together; a payment is a few KiB.

use super::{Trace, in_text};

/// How much of what has passed is looked at again with what comes next.
const KEPT: usize = 16 << 10;

/// How much is looked at at once, beside that.
const STEP: usize = 48 << 10;

/// Looks at text as it passes.
#[derive(Debug, Default)]
pub struct Passing {
    /// The end of what has passed.
    window: Vec<u8>,
}

impl Passing {
    /// Takes the next bytes; says what has become visible with them.
    pub fn take(&mut self, bytes: &[u8]) -> Option<Trace> {
        bytes.chunks(STEP).find_map(|piece| {
            let surplus = self.window.len().saturating_sub(KEPT);
            self.window.drain(..surplus);
            self.window.extend_from_slice(piece);
            in_text(&self.window)
        })
    }
}
