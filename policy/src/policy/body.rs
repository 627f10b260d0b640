//! The rules of an endpoint that tells requests apart by their bodies.

use super::{GraphqlRules, JsonRpcRules, McpRules};
use crate::decide::{RuleLabel, RuleList};
use crate::operation::{BodyProtocol, BodyReading, Operation};

/// How bodies are read, and what may be asked for in them.
#[derive(Debug)]
pub(crate) struct BodyRules {
    pub(crate) reading: BodyReading,
    pub(crate) rules: OperationRules,
}

/// By protocol.
#[derive(Debug)]
pub(crate) enum OperationRules {
    Graphql(GraphqlRules),
    JsonRpc(JsonRpcRules),
    Mcp(McpRules),
}

/// What an endpoint says to one operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// A deny rule matches.
    Denied(RuleLabel),
    /// An allow rule matches, or none is needed.
    Allowed(Option<RuleLabel>),
    /// No rule matches.
    NoRule,
    /// It is not for this endpoint at all, not even where it only audits.
    Never,
    /// It was read by another protocol, of which the endpoint knows nothing.
    OtherProtocol,
}

/// A rule held against one operation: the first part that does not match.
pub(crate) type Held = (RuleLabel, Option<&'static str>);

impl BodyRules {
    pub(crate) fn protocol(&self) -> BodyProtocol {
        self.reading.protocol
    }

    /// Whether the allow rules are an `access` preset.
    pub(crate) fn has_preset(&self) -> bool {
        matches!(&self.rules, OperationRules::Graphql(rules) if rules.allow.iter().any(|rule| rule.label.list == RuleList::Access))
    }

    pub(crate) fn judge(&self, operation: &Operation) -> Judgement {
        match (&self.rules, operation) {
            (OperationRules::Graphql(rules), Operation::Graphql(operation)) => rules.judge(operation),
            (OperationRules::JsonRpc(rules), Operation::JsonRpc(message)) => rules.judge(message),
            (OperationRules::Mcp(rules), Operation::Mcp(message)) => rules.judge(message),
            _ => Judgement::OtherProtocol,
        }
    }

    /// Every rule, deny rules first.
    pub(crate) fn trace(&self, operation: &Operation) -> Vec<Held> {
        match (&self.rules, operation) {
            (OperationRules::Graphql(rules), Operation::Graphql(operation)) => rules.trace(operation),
            (OperationRules::JsonRpc(rules), Operation::JsonRpc(message)) => rules.trace(message),
            (OperationRules::Mcp(rules), Operation::Mcp(message)) => rules.trace(message),
            _ => Vec::new(),
        }
    }
}

/// Deny beats allow; `fails` names the first part of a rule that does not match.
pub(super) fn judge<R>(
    deny: &[R],
    allow: &[R],
    label: impl Fn(&R) -> RuleLabel,
    denies: impl Fn(&R) -> bool,
    allows: impl Fn(&R) -> bool,
) -> Judgement {
    if let Some(rule) = deny.iter().find(|rule| denies(rule)) {
        return Judgement::Denied(label(rule));
    }
    match allow.iter().find(|rule| allows(rule)) {
        Some(rule) => Judgement::Allowed(Some(label(rule))),
        None => Judgement::NoRule,
    }
}
