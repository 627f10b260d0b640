//! One generation of rules: the policy, and its payment stanzas compiled against the operator's bounds.

use std::sync::Arc;
use std::time::SystemTime;

use tollgate_policy::{Host, Policy, Selection};

use super::closure::Egress;
use super::payment::terms::Terms;

/// See the module. A copy shares the document.
#[derive(Clone)]
pub struct Ruleset {
    /// Counts from 1; rises with each policy that is put in force.
    pub generation: u64,
    /// When it was loaded.
    pub loaded: SystemTime,
    /// The document.
    pub policy: Arc<Policy>,
    /// For each `tollgate/x402` stanza its place among the policy's middlewares, and its terms.
    pub stanzas: Arc<[(usize, Terms)]>,
    /// Whether anything may leave at all; the gate's to say.
    pub egress: Egress,
}

/// By which terms a payment to a host is judged.
#[derive(Debug, Clone, Copy)]
pub enum PaymentTerms<'r> {
    /// No stanza: the operator's own.
    Operator,
    /// The stanza that covers the host.
    Stanza(&'r Terms),
    /// There are stanzas, and none covers the host: no payment goes there.
    None,
}

impl Ruleset {
    /// The terms for a host.
    pub fn terms(&self, host: &Host) -> PaymentTerms<'_> {
        if self.stanzas.is_empty() {
            return PaymentTerms::Operator;
        }
        match self.covering(host) {
            Some(terms) => PaymentTerms::Stanza(terms),
            None => PaymentTerms::None,
        }
    }

    /// Whether a payment stanza names the host, so that what goes there must be readable.
    pub fn must_be_readable(&self, host: &Host) -> bool {
        self.covering(host).is_some()
    }

    fn covering(&self, host: &Host) -> Option<&Terms> {
        let middlewares = self.policy.middlewares();
        self.stanzas.iter().find_map(|(index, terms)| {
            let covers = middlewares.get(*index)?.selects(host) == Selection::Included;
            covers.then_some(terms)
        })
    }
}
