//! The rules of an `mcp` endpoint: methods, and the tools of `tools/call`.

use super::body::{Held, Judgement, judge};
use crate::decide::RuleLabel;
use crate::matcher::SegmentedGlob;
use crate::operation::McpMessage;

/// What may be called, and what may not all the same.
#[derive(Debug)]
pub(crate) struct McpRules {
    pub(crate) allow: Box<[McpRule]>,
    pub(crate) deny: Box<[McpRule]>,
    pub(crate) other: OtherMethods,
}

/// What becomes of methods that no rule names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum OtherMethods {
    /// They need a rule.
    NeedRule,
    /// They pass (`allow_all_known_mcp_methods`), all tools included.
    Pass,
    /// They pass, but tools need a rule: some rule names tools.
    PassWithoutTools,
}

/// One rule. The globs' separator is `.`.
#[derive(Debug)]
pub(crate) struct McpRule {
    pub(crate) label: RuleLabel,
    pub(crate) method: SegmentedGlob,
    /// Empty: any tool, and methods without one.
    pub(crate) tools: Box<[SegmentedGlob]>,
}

impl McpRules {
    pub(crate) fn judge(&self, message: &McpMessage) -> Judgement {
        let (method, tool) = match message {
            McpMessage::Call { method, tool } => (method, tool.as_deref()),
            // A stream, its end and answers to the server ask for nothing that the server did not offer.
            McpMessage::Response | McpMessage::Stream | McpMessage::SessionEnd => return Judgement::Allowed(None),
        };
        let matches = |rule: &McpRule| rule.fails(method, tool).is_none();
        let judgement = judge(&self.deny, &self.allow, |rule| rule.label, matches, matches);
        let passes = match self.other {
            OtherMethods::NeedRule => false,
            OtherMethods::Pass => true,
            OtherMethods::PassWithoutTools => tool.is_none(),
        };
        if judgement == Judgement::NoRule && passes {
            return Judgement::Allowed(None);
        }
        judgement
    }

    pub(super) fn trace(&self, message: &McpMessage) -> Vec<Held> {
        let McpMessage::Call { method, tool } = message else {
            return Vec::new();
        };
        let held = |rule: &McpRule| (rule.label, rule.fails(method, tool.as_deref()));
        self.deny.iter().chain(&self.allow).map(held).collect()
    }
}

impl McpRule {
    fn fails(&self, method: &str, tool: Option<&str>) -> Option<&'static str> {
        if !self.method.matches(method.as_bytes()) {
            return Some("method");
        }
        let fits = self.tools.is_empty() || tool.is_some_and(|tool| self.tools.iter().any(|glob| glob.matches(tool.as_bytes())));
        (!fits).then_some("tool")
    }
}
