//! A network namespace for one command, in which there is nothing but loopback, and on it Tollgate's listener.
//!
//! A socket belongs to the namespace that it was made in. So the command's process makes its namespaces (`user_namespaces(7)`,
//! `network_namespaces(7)`), binds the listener there, hands it out to Tollgate (`SCM_RIGHTS`, `unix(7)`), waits for its environment, and only
//! then becomes the command. Tollgate accepts inside and dials outside. Whatever the command sends elsewhere has no route: TCP, UDP and DNS fail
//! at once with `ENETUNREACH`. There is no firewall rule that could be missing, and nothing to clean up.
//!
//! In: the command. Out: the listener, and the process that waits to become the command. What the kernel forbids is an error, and the
//! command does not run.

mod inside;
mod outside;

use std::io;

use thiserror::Error;

pub use inside::enter;
pub use outside::Sandbox;

/// Why there is no namespace.
#[derive(Debug, Error)]
pub enum IsolationError {
    /// The kernel says no.
    #[error(
        "cannot isolate the command: {step}: {source}\n\
         help: user namespaces may be switched off on this host: look at `sysctl user.max_user_namespaces`, `kernel.unprivileged_userns_clone` \
         and `kernel.apparmor_restrict_unprivileged_userns`, or at the container's seccomp profile\n\
         help: without --isolate the command could go around the proxy, so it was not run"
    )]
    Refused {
        /// What was tried.
        step: String,
        /// What the system said.
        source: io::Error,
    },
    /// The process that should become the command is gone, or says what nobody expects.
    #[error("cannot isolate the command: its process ended early or broke off: {0}")]
    Broken(#[source] io::Error),
}

impl IsolationError {
    fn refused(step: &str) -> impl FnOnce(io::Error) -> Self {
        let step = step.to_owned();
        move |source| IsolationError::Refused { step, source }
    }
}

/// What the process inside tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Word {
    /// It has its namespaces, and nobody is mapped there yet.
    Unshared = b'U',
    /// The listener comes with this byte.
    Listening = b'L',
    /// It could not; the error's number and what was tried follow.
    Failed = b'F',
}
