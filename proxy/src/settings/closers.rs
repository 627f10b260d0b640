//! Who can close all egress, whatever the policy says.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// One who can. Egress opens when nobody holds it closed any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Closer {
    /// SIGUSR1; until the process ends.
    Signal,
    /// `POST /kill` at the admin listener; until the process ends.
    Admin,
    /// `kill_switch.file` is there; until it is gone.
    File,
}

/// Those who hold it closed.
pub type Closers = BTreeSet<Closer>;
