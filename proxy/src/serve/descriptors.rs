//! File descriptors: two per client connection, so the soft limit of 1,024 that most shells give would be the first limit met.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit to the hard one.
pub(super) fn raise_limit() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current == maximum {
        return;
    }
    match setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        Ok(()) => tracing::debug!(?maximum, "raised the limit of file descriptors"),
        Err(error) => tracing::warn!(%error, ?current, "cannot raise the limit of file descriptors"),
    }
}
