//! What a case expects, held against what a dry run found.

use std::fmt;

use serde::{Deserialize, Serialize};
use tollgate_policy::Reason;

use crate::flow::{Answer, DryRun};

/// What becomes of a request, by `explain`'s words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It leaves.
    Allow,
    /// It does not.
    Deny,
    /// It leaves, because the endpoint only audits.
    WouldDeny,
}

impl Decision {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Decision::Allow => "allow",
            Decision::Deny => "deny",
            Decision::WouldDeny => "would_deny",
        }
    }
}

/// The expected part of a case: what is not stated may be anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// The decision.
    pub decision: Decision,
    /// The reason of a denial.
    pub reason_code: Option<Reason>,
    /// The key of the rule in policy.yaml.
    pub policy: Option<String>,
    /// The allow or deny rule within it.
    pub rule: Option<String>,
}

/// A part that is not as expected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Mismatch {
    /// The key under `expect`.
    pub part: &'static str,
    /// What the case says.
    pub expected: String,
    /// What was found; `None` where there is no such thing.
    pub actual: Option<String>,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let actual = self.actual.as_deref().unwrap_or("none");
        write!(f, "{}: expected {}, found {actual}", self.part, self.expected)
    }
}

impl Expected {
    /// Every part that is not as it should be.
    pub fn mismatches(&self, run: &DryRun) -> Vec<Mismatch> {
        let Answer {
            decision,
            reason,
            policy,
            rule,
        } = run.answer();
        let parts = [
            ("decision", Some(self.decision.as_str()), Some(decision)),
            ("reason_code", self.reason_code.map(Reason::as_str), reason.map(Reason::as_str)),
            ("policy", self.policy.as_deref(), policy),
            ("rule", self.rule.as_deref(), rule),
        ];
        parts
            .into_iter()
            .filter_map(|(part, expected, actual)| {
                let expected = expected?;
                (actual != Some(expected)).then(|| Mismatch {
                    part,
                    expected: expected.to_owned(),
                    actual: actual.map(str::to_owned),
                })
            })
            .collect()
    }
}
