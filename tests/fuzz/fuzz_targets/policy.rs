//! The policy loader: any text is a policy or a list of diagnostics, soon, and never a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_policy::{ConfigFault, MiddlewareSchema, Severity};

/// Takes any middleware with any configuration, so that the loader goes on.
struct Anything;

impl MiddlewareSchema for Anything {
    fn validate(&self, _: &str, _: &serde_json::Value) -> Result<(), Vec<ConfigFault>> {
        Ok(())
    }
}

fuzz_target!(|source: &str| {
    let loaded = tollgate_policy::load(source, &Anything);
    let refused = loaded.diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    assert_ne!(
        loaded.policy.is_some(),
        refused,
        "a policy is loaded exactly where nothing is wrong with it"
    );
});
