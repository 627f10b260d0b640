//! Why something was denied, and what it takes to say so.
//!
//! A refusal is cheap to make and to keep: its texts are written only when somebody asks.

use std::sync::Arc;

use super::{Facts, RuleLabel, remedy};
use crate::operation::BodyProtocol;
use crate::policy::Endpoint;
use crate::reason::Reason;

/// Why a connection or request was denied.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// One of the route reasons.
    pub reason: Reason,
    /// The endpoint that came nearest.
    pub(crate) nearest: Option<Arc<Endpoint>>,
    /// The deny rule that decided.
    pub(crate) denied_by: Option<RuleLabel>,
}

impl Refusal {
    /// The body protocol of the endpoint that came nearest.
    pub(super) fn protocol(&self) -> Option<BodyProtocol> {
        self.nearest.as_ref()?.reading().map(|reading| reading.protocol)
    }

    /// One sentence: what was asked, and which part of it the policy does not allow. It holds no query values.
    pub fn detail(&self, facts: &Facts<'_>) -> String {
        remedy::detail(self, facts)
    }

    /// The smallest change of the policy that would allow it, as sentences and YAML.
    pub fn next_steps(&self, facts: &Facts<'_>) -> Vec<String> {
        remedy::next_steps(self, facts)
    }
}
