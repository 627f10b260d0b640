//! What there is to say about a change.

use serde::Serialize;
use serde_json::Value;

use crate::diagnostic::Position;
use crate::policy::Endpoint;

/// What a change does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Something passes that did not.
    Widening,
    /// Something no longer passes.
    Narrowing,
    /// Neither.
    None,
}

/// How sure the effect is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// It follows from the rules.
    Known,
    /// It could not be compared, and the worse is assumed.
    Assumed,
}

/// What kind of change it is; stable words for machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// A host and port.
    Endpoint,
    /// A program.
    Binary,
    /// Requests of an endpoint.
    Requests,
    /// What bodies and messages may ask for: operations, calls, tools.
    Operations,
    /// How bodies and messages are read: their size, the names that are taken.
    Options,
    /// Whether traffic is read at all: protocol or `tls: skip`.
    Inspection,
    /// Addresses that a host may resolve to.
    Addresses,
    /// A deny rule.
    DenyRule,
    /// `audit` or `enforce`.
    Enforcement,
    /// Rules of a protocol, or keys, that are compared as they stand.
    Protocol,
    /// The key of a rule or middleware.
    Renamed,
    /// A middleware.
    Middleware,
    /// `filesystem_policy`, `landlock` or `process`.
    Sandbox,
}

/// A place in one of the policies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    /// The key of the rule or middleware.
    pub rule: String,
    /// Where it stands.
    pub at: Position,
}

impl Spot {
    pub(super) fn of(endpoint: &Endpoint) -> Self {
        Spot {
            rule: endpoint.rule_key.to_string(),
            at: endpoint.at,
        }
    }

    pub(super) fn at(endpoint: &Endpoint, at: Position) -> Self {
        Spot { at, ..Spot::of(endpoint) }
    }
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What it does.
    pub effect: Effect,
    /// How sure that is.
    pub certainty: Certainty,
    /// What it is about.
    pub kind: FindingKind,
    /// One sentence, without a full stop.
    pub text: String,
    /// The matcher that it is about, as the policy has it: an entry of `rules` or `deny_rules`.
    pub matcher: Option<Value>,
    /// Where the old policy says what it said.
    pub old: Option<Spot>,
    /// Where the new policy says what it says.
    pub new: Option<Spot>,
}
