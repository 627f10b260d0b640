//! The one evaluator: facts of a connection or a request in, a decision out.
//!
//! Pure: no I/O, no clock, no state. `run`, `explain`, `test`, `suggest` and the gRPC service all come through here, and
//! [`Policy::explain`] is the same walk with a trace, so that a dry run can't disagree with the runtime.

mod decision;
mod evaluate;
mod explain;
mod facts;
mod refusal;
mod remedy;

pub use decision::{Action, Decision, Inspection, RuleLabel, RuleList, Treatment};
pub use explain::{Candidate, Explanation, Outcome, RuleTrace};
pub use facts::{Caller, Facts, HttpFacts, Process};
pub use refusal::Refusal;

use crate::host::Host;
use crate::policy::Policy;

impl Policy {
    /// Whether the calling binary can make a difference for this host and port. If not, identifying it can be skipped, and
    /// [`Caller::Unidentified`] gives the same decision.
    pub fn needs_caller(&self, host: &Host, port: u16) -> bool {
        evaluate::needs_caller(self, host, port)
    }

    /// Decides a connection (no request) or a request.
    pub fn decide(&self, facts: &Facts<'_>) -> Decision<'_> {
        evaluate::evaluate(self, facts, &mut evaluate::Silent)
    }

    /// The same decision with its trace.
    pub fn explain(&self, facts: &Facts<'_>) -> Explanation {
        explain::explain(self, facts)
    }
}
