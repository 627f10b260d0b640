//! The payment stanzas of a policy: `network_middlewares` whose `middleware` is `tollgate/x402`.
//!
//! The loader asks here whether a stanza's `config` is well-formed, so `check`, `run` and a reload say the same words about it.

use tollgate_policy::{ConfigFault, MiddlewareSchema, Policy};

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
            policy,
            stanzas,
        }
    }
}
