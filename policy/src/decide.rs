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

pub use decision::{Action, Decision, Inspection, Messages, RuleLabel, RuleList, Treatment};
pub use explain::{Candidate, Explanation, Outcome, RuleTrace};
pub use facts::{Caller, Facts, HttpFacts, Process, WEBSOCKET_TEXT};
pub use refusal::Refusal;

use crate::host::Host;
use crate::operation::Operation;
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

    /// Decides a request that asks for several things, each by itself: the first that may not pass decides, then the first that only
    /// passes because it is audited, then the first of all. Gives the facts of that one too, for the texts of a refusal.
    pub fn decide_each<'a, 'f>(&'a self, facts: &Facts<'f>, operations: &'f [Operation]) -> (Decision<'a>, Facts<'f>) {
        let of = |operation| Facts {
            request: facts.request.map(|request| HttpFacts { operation, ..request }),
            ..*facts
        };
        let mut chosen: Option<(Decision<'a>, Facts<'f>)> = None;
        for operation in operations {
            let facts = of(Some(operation));
            let decision = self.decide(&facts);
            if !decision.action.passes() {
                return (decision, facts);
            }
            let softer = chosen
                .as_ref()
                .is_some_and(|(own, _)| own.reason().is_some() || decision.reason().is_none());
            if !softer {
                chosen = Some((decision, facts));
            }
        }
        // Of nothing, only what the head says is known.
        chosen.unwrap_or_else(|| (self.decide(facts), *facts))
    }

    /// The same decision with its trace.
    pub fn explain(&self, facts: &Facts<'_>) -> Explanation {
        explain::explain(self, facts)
    }
}
