//! The rules of GraphQL operations: over HTTP, and wherever else a message holds some.

use std::collections::HashMap;

use super::body::{Held, Judgement, judge};
use crate::decide::RuleLabel;
use crate::matcher::SegmentedGlob;
use crate::operation::{GraphqlOperation, OperationKind, RootSelection};

/// What may be asked for, and what may not all the same.
#[derive(Debug)]
pub(crate) struct GraphqlRules {
    pub(crate) allow: Box<[GraphqlRule]>,
    pub(crate) deny: Box<[GraphqlRule]>,
    /// What stands behind the names of persisted queries; empty where none is taken.
    pub(crate) persisted: HashMap<Box<str>, RootSelection>,
}

/// One rule. The globs' separator is `.`, which GraphQL names never hold.
#[derive(Debug)]
pub(crate) struct GraphqlRule {
    pub(crate) label: RuleLabel,
    /// `None`: any.
    pub(crate) kind: Option<OperationKind>,
    pub(crate) name: Option<SegmentedGlob>,
    /// Empty: any.
    pub(crate) fields: Box<[SegmentedGlob]>,
}

impl GraphqlRules {
    pub(crate) fn judge(&self, operation: &GraphqlOperation) -> Judgement {
        let Some(root) = self.meant(operation) else {
            return Judgement::NoRule;
        };
        judge(
            &self.deny,
            &self.allow,
            |rule| rule.label,
            |rule| rule.denial_fails(root).is_none(),
            |rule| rule.allowance_fails(root).is_none(),
        )
    }

    pub(crate) fn trace(&self, operation: &GraphqlOperation) -> Vec<Held> {
        let Some(root) = self.meant(operation) else {
            return Vec::new();
        };
        let deny = self.deny.iter().map(|rule| (rule.label, rule.denial_fails(root)));
        let allow = self.allow.iter().map(|rule| (rule.label, rule.allowance_fails(root)));
        deny.chain(allow).collect()
    }

    /// The server's text of a persisted query is what the policy says it is, or nothing.
    fn meant<'o>(&'o self, operation: &'o GraphqlOperation) -> Option<&'o RootSelection> {
        match operation {
            GraphqlOperation::Document(root) => Some(root),
            GraphqlOperation::Persisted { key } => self.persisted.get(key),
        }
    }
}

impl GraphqlRule {
    /// Every field must match: one safe field must not carry an unsafe one along.
    fn allowance_fails(&self, root: &RootSelection) -> Option<&'static str> {
        self.head_fails(root).or_else(|| {
            let fits = self.fields.is_empty() || (!root.fields.is_empty() && root.fields.iter().all(|field| self.has(field)));
            (!fits).then_some("fields")
        })
    }

    /// One field that matches is enough.
    fn denial_fails(&self, root: &RootSelection) -> Option<&'static str> {
        self.head_fails(root).or_else(|| {
            let fits = self.fields.is_empty() || root.fields.iter().any(|field| self.has(field));
            (!fits).then_some("fields")
        })
    }

    fn head_fails(&self, root: &RootSelection) -> Option<&'static str> {
        if self.kind.is_some_and(|kind| kind != root.kind) {
            return Some("operation_type");
        }
        let name = root.name.as_deref().unwrap_or_default();
        let fits = self.name.as_ref().is_none_or(|glob| glob.matches(name.as_bytes()));
        (!fits).then_some("operation_name")
    }

    fn has(&self, field: &str) -> bool {
        self.fields.iter().any(|glob| glob.matches(field.as_bytes()))
    }
}
