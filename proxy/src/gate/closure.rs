//! The kill switch: while anybody holds it closed, nothing leaves, whatever the policy says.
//!
//! It is part of the rules in force, so that everything that asks them hears of it: new connections, requests on old ones, tunnels that pass
//! unread, messages, and a payment that waits for its verdict.

use tollgate_policy::Reason;

use super::Denial;
use crate::settings::Closers;

/// Whether anything may leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Egress {
    /// What the rules allow.
    #[default]
    Open,
    /// Nothing.
    Closed,
}

impl Egress {
    pub(super) fn of(closers: &Closers) -> Self {
        if closers.is_empty() { Egress::Open } else { Egress::Closed }
    }

    pub(super) fn check(self) -> Result<(), Denial> {
        match self {
            Egress::Open => Ok(()),
            Egress::Closed => Err(Denial::new(Reason::EgressClosed, "the operator has closed all egress")),
        }
    }
}
