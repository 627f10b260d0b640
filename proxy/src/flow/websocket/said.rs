//! What a client's messages said that passed: for the last line of a WebSocket, so that the trail tells what was used, not only what
//! was refused.

use tollgate_policy::Messages;

use crate::gate::{Asked, Different, Route};

/// See the module.
#[derive(Debug, Clone, Default)]
pub(crate) struct Said {
    /// Messages that were judged as a whole.
    pub(crate) messages: u64,
    operations: Different,
}

impl Said {
    /// A message passed, by this route.
    pub(super) fn add(&mut self, route: &Route<'_>) {
        match &route.operation {
            Some(asked) => self.operations.add_all(asked),
            // Where operations decide, one that holds none passes with the handshake.
            None if route.messages() == Messages::Operations => {}
            None => self.messages += 1,
        }
    }

    /// The operations in them.
    pub(crate) fn asked(&self) -> Option<Asked> {
        Asked::all(&self.operations)
    }
}
