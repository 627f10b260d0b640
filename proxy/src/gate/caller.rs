//! Who is behind a client connection, as the rules see it.

use tollgate_policy::{Caller as PolicyCaller, Process as PolicyProcess, Reason};

use crate::audit::Process;

/// See the module.
#[derive(Debug, Clone)]
pub enum Caller {
    /// Binaries are not enforced: every rule's match.
    NotEnforced,
    /// It is not a local process, or nobody can tell which one; only rules for any binary match. The reason is the denial's.
    Unidentified(Reason),
    /// Its executable is not the file it was when first seen: nothing matches.
    Changed(String),
    /// A local process.
    Identified {
        /// For the policy.
        facts: PolicyProcess,
        /// For the audit trail.
        process: Process,
    },
}

impl Caller {
    /// Nobody has looked, since no rule for the destination lists particular binaries. Rules for any binary match; a rule that lists
    /// none is for nobody, and must not become one for everybody because nobody was asked.
    pub const UNASKED: &'static Caller = &Caller::Unidentified(Reason::BinaryNotAllowed);

    /// A local process.
    pub fn identified(process: Process) -> Self {
        let facts = PolicyProcess {
            binary: process.binary.clone(),
            ancestors: process.ancestors.clone(),
        };
        Caller::Identified { facts, process }
    }

    /// As the policy asks for it.
    pub fn facts(&self) -> PolicyCaller<'_> {
        match self {
            Caller::NotEnforced => PolicyCaller::NotEnforced,
            Caller::Unidentified(_) | Caller::Changed(_) => PolicyCaller::Unidentified,
            Caller::Identified { facts, .. } => PolicyCaller::Identified(facts),
        }
    }

    /// What a denial for the binary's sake is really for.
    pub(super) fn denied_for(&self) -> Reason {
        match self {
            Caller::Changed(_) => Reason::BinaryChanged,
            Caller::Unidentified(reason) => *reason,
            Caller::NotEnforced | Caller::Identified { .. } => Reason::BinaryNotAllowed,
        }
    }

    /// As the audit trail has it.
    pub fn process(&self) -> Option<&Process> {
        match self {
            Caller::NotEnforced | Caller::Unidentified(_) | Caller::Changed(_) => None,
            Caller::Identified { process, .. } => Some(process),
        }
    }

    /// The executable's path.
    pub fn binary(&self) -> Option<&str> {
        match self {
            Caller::Changed(binary) => Some(binary),
            _ => self.process().map(|process| process.binary.as_str()),
        }
    }
}
