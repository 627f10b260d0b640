//! The rules of a `json-rpc` endpoint: methods, each as it stands.

use super::body::{Held, Judgement, judge};
use crate::decide::RuleLabel;
use crate::operation::JsonRpcMessage;

/// What may be called, and what may not all the same.
#[derive(Debug)]
pub(crate) struct JsonRpcRules {
    pub(crate) allow: Box<[JsonRpcRule]>,
    pub(crate) deny: Box<[JsonRpcRule]>,
}

/// One rule.
#[derive(Debug)]
pub(crate) struct JsonRpcRule {
    pub(crate) label: RuleLabel,
    /// `None`: any.
    pub(crate) method: Option<Box<str>>,
}

impl JsonRpcRules {
    pub(crate) fn judge(&self, message: &JsonRpcMessage) -> Judgement {
        match message {
            JsonRpcMessage::Call { method } => judge(
                &self.deny,
                &self.allow,
                |rule| rule.label,
                |rule| rule.matches(method),
                |rule| rule.matches(method),
            ),
            // Nothing was asked, so there is nothing to answer.
            JsonRpcMessage::Response => Judgement::Never,
        }
    }

    pub(super) fn trace(&self, message: &JsonRpcMessage) -> Vec<Held> {
        let JsonRpcMessage::Call { method } = message else {
            return Vec::new();
        };
        let held = |rule: &JsonRpcRule| (rule.label, (!rule.matches(method)).then_some("method"));
        self.deny.iter().chain(&self.allow).map(held).collect()
    }
}

impl JsonRpcRule {
    fn matches(&self, method: &str) -> bool {
        self.method.as_deref().is_none_or(|own| own == method)
    }
}
