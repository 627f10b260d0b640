//! What is allowed, and an operator should still hear of once: by `check`, and at start.

use super::Config;

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remark {
    /// A stable kebab-case code.
    pub code: &'static str,
    /// What is so.
    pub message: &'static str,
    /// What to do.
    pub hint: &'static str,
}

const FORGETFUL: Remark = Remark {
    code: "payments-in-memory",
    message: "used payments are remembered in memory only, so a restart forgets them",
    hint: "set `payments.store` to a file",
};

impl Config {
    /// All there are.
    pub fn remarks(&self) -> Vec<Remark> {
        // With nobody to ask, every payment is held, and there is nothing to remember.
        let forgetful = self.verdict.is_configured() && self.payments.store.is_none();
        forgetful.then_some(FORGETFUL).into_iter().collect()
    }
}
