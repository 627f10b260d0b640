//! What comes out.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

use super::Refusal;
use crate::address::AddressScope;
use crate::diagnostic::Position;
use crate::operation::BodyReading;
use crate::path::EncodedSlash;
use crate::reason::Reason;

/// The outcome for one connection or request.
#[derive(Debug, Clone)]
pub struct Decision<'a> {
    /// Allowed or not.
    pub action: Action,
    /// The key of the rule that decided: the smallest of those that match, or the nearest one where none does.
    pub policy: Option<&'a str>,
    /// Which allow or deny rule of the endpoint decided.
    pub rule: Option<RuleLabel>,
    /// How the traffic is to be treated; `None` where host, port or binary are not allowed.
    pub treatment: Option<Treatment<'a>>,
}

impl Decision<'_> {
    /// The reason of a denial, also where audit mode lets it pass.
    pub fn reason(&self) -> Option<Reason> {
        self.refusal().map(|refusal| refusal.reason)
    }

    /// The refusal, also where audit mode lets it pass.
    pub fn refusal(&self) -> Option<&Refusal> {
        match &self.action {
            Action::Allow => None,
            Action::WouldDeny(refusal) | Action::Deny(refusal) => Some(refusal),
        }
    }
}

/// Allowed or not.
#[derive(Debug, Clone)]
pub enum Action {
    /// It may pass.
    Allow,
    /// It may pass because the endpoint only audits; enforced, it would be denied.
    WouldDeny(Refusal),
    /// It may not pass.
    Deny(Refusal),
}

impl Action {
    /// Whether it may pass.
    pub fn passes(&self) -> bool {
        !matches!(self, Action::Deny(_))
    }

    /// `allow`, `would_deny` or `deny`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Action::Allow => "allow",
            Action::WouldDeny(_) => "would_deny",
            Action::Deny(_) => "deny",
        }
    }
}

/// Which list of an endpoint a rule stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleList {
    /// `rules`.
    Rules,
    /// `deny_rules`.
    DenyRules,
    /// The `access` preset.
    Access,
}

/// One allow or deny rule of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct RuleLabel {
    /// The list.
    pub list: RuleList,
    /// The place in it, from 0.
    pub index: u32,
    /// Where the rule stands in the file.
    pub at: Position,
}

/// `rules[0]`, `deny_rules[2]` or `access`.
impl fmt::Display for RuleLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.list {
            RuleList::Rules => write!(f, "rules[{}]", self.index),
            RuleList::DenyRules => write!(f, "deny_rules[{}]", self.index),
            RuleList::Access => f.write_str("access"),
        }
    }
}

/// How allowed traffic is to be treated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Treatment<'a> {
    /// How deep it is read.
    pub inspection: Inspection,
    /// What becomes of a client's messages if the request upgrades to a WebSocket.
    pub messages: Messages,
    /// Where it may be dialled.
    pub addresses: Cow<'a, AddressScope>,
    /// How its paths are canonicalised.
    pub encoded_slash: EncodedSlash,
    /// The body decides, read like this: what passes by its head alone must not leave before each of its operations has passed as well.
    pub body: Option<BodyReading>,
}

/// What becomes of a client's messages after an upgrade to a WebSocket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Messages {
    /// No endpoint that covers the request reads them.
    #[default]
    Unread,
    /// Each text message is judged, as a request with the method [`WEBSOCKET_TEXT`](super::WEBSOCKET_TEXT).
    Judged,
    /// The same, but each by the GraphQL operations in it.
    Operations,
}

/// How deep traffic is read; where several endpoints match, the deepest counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Inspection {
    /// Not at all: TLS is not terminated (`tls: skip`).
    Opaque,
    /// TLS and HTTP are read where they are spoken; anything else may pass.
    Transport,
    /// HTTP requests, each judged; anything else is refused.
    Http,
}
