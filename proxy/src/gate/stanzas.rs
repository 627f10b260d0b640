//! The payment stanzas of a policy: `network_middlewares` whose `middleware` is `tollgate/x402`.
//!
//! The loader asks here whether a stanza's `config` is well-formed, so `check`, `run` and a reload say the same words about it.

use std::sync::Arc;

use tollgate_policy::compare::{ConfigChange, Effect, MiddlewareMeaning, Selected};
use tollgate_policy::{ConfigFault, MiddlewareSchema, Policy};

use super::closure::Egress;
use super::payment::compare;
use super::payment::config::PaymentsConfig;
use super::payment::stanza::validate_stanza_with;
use super::payment::terms::Terms;
use super::ruleset::Ruleset;

/// The middleware that this product is.
pub const MIDDLEWARE: &str = "tollgate/x402";

/// Judges stanzas against the operator's own bounds.
#[derive(Debug, Clone, Copy)]
pub struct Stanzas<'a> {
    /// `payments:` of tollgate.yaml.
    pub operator: &'a PaymentsConfig,
}

impl MiddlewareSchema for Stanzas<'_> {
    fn validate(&self, middleware: &str, config: &serde_json::Value) -> Result<(), Vec<ConfigFault>> {
        if middleware != MIDDLEWARE {
            let fault = ConfigFault::unknown_middleware(format!("no middleware is called `{middleware}`"));
            return Err(vec![fault.hint(format!("the one that judges payments is `{MIDDLEWARE}`"))]);
        }
        match validate_stanza_with(config, self.operator) {
            Ok(_) => Ok(()),
            Err(faults) => Err(faults
                .into_iter()
                .map(|(pointer, message)| ConfigFault::at(pointer, message))
                .collect()),
        }
    }
}

impl MiddlewareMeaning for Stanzas<'_> {
    /// By the terms that come of it, under the operator's bounds.
    fn config(&self, middleware: &str, old: Option<&serde_json::Value>, new: Option<&serde_json::Value>) -> Option<Vec<ConfigChange>> {
        let terms = |config: Option<&serde_json::Value>| match config {
            None => Terms::operator(self.operator).ok(),
            Some(config) => Terms::narrowed(self.operator, &validate_stanza_with(config, self.operator).ok()?).ok(),
        };
        if middleware != MIDDLEWARE {
            return None;
        }
        Some(compare::changes(&terms(old)?, &terms(new)?))
    }

    fn selection(&self, _: &str, selected: Selected) -> (Effect, &'static str) {
        // Each opens one thing and shuts another.
        match selected {
            Selected::More => (
                Effect::Widening,
                "payments may be made there, and what is sent there has to be readable",
            ),
            Selected::Fewer => (
                Effect::Widening,
                "no payment may be made there any more, but what is sent there need not be readable",
            ),
        }
    }
}

impl Stanzas<'_> {
    /// The rules of a loaded policy. A stanza that passed `validate` compiles; one that does not lets no payment through.
    pub fn ruleset(&self, generation: u64, policy: Policy) -> Ruleset {
        let stanzas = policy
            .middlewares()
            .iter()
            .enumerate()
            .filter(|(_, middleware)| middleware.middleware == MIDDLEWARE);
        let terms = |config| {
            validate_stanza_with(config, self.operator)
                .ok()
                .and_then(|c| Terms::narrowed(self.operator, &c).ok())
        };
        let stanzas = stanzas
            .filter_map(|(index, middleware)| Some((index, terms(&middleware.config)?)))
            .collect();
        Ruleset {
            generation,
            loaded: std::time::SystemTime::now(),
            policy: Arc::new(policy),
            stanzas,
            egress: Egress::Open,
        }
    }
}
