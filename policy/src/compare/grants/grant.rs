//! What of an endpoint is held against the other policy: what it lets pass, part by part.

use crate::decide::RuleLabel;
use crate::operation::RootSelection;
use crate::policy::{
    AllowRule, BodyRules, Endpoint, GraphqlRule, GraphqlRules, JsonRpcRule, McpRule, OperationRules, OtherMethods, SocketRules, Traffic,
};

/// See the module.
#[derive(Debug, Clone, Copy)]
pub(super) enum Grant<'a> {
    /// Whatever is sent.
    Unread,
    /// The requests of one rule, or the messages.
    Requests(&'a AllowRule),
    /// That messages are judged as they are, and no stricter.
    Messages,
    /// That bodies are read by the protocol, as large and with as many names.
    Bodies,
    /// GraphQL operations of one rule.
    Operation(&'a GraphqlRule),
    /// What the server knows by a name.
    Persisted(&'a str, &'a RootSelection),
    /// JSON-RPC calls of one rule.
    Call(&'a JsonRpcRule),
    /// MCP calls of one rule.
    Tool(&'a McpRule),
    /// MCP calls that need no rule.
    OtherMethods(OtherMethods),
    /// The end of an MCP session.
    SessionEnd,
}

impl<'a> Grant<'a> {
    /// All that an endpoint lets pass.
    pub(super) fn all(endpoint: &'a Endpoint) -> Vec<Self> {
        match &endpoint.traffic {
            Traffic::L4 => vec![Grant::Unread],
            Traffic::Rest(rules) => rules.allow.iter().map(Grant::Requests).collect(),
            Traffic::WebSocket(SocketRules { head, operations }) => {
                let requests = head.allow.iter().map(Grant::Requests);
                let operations = operations.iter().flat_map(Grant::of_graphql);
                std::iter::once(Grant::Messages).chain(requests).chain(operations).collect()
            }
            Traffic::Body(rules) => std::iter::once(Grant::Bodies).chain(Grant::of_body(endpoint, rules)).collect(),
        }
    }

    fn of_graphql(rules: &'a GraphqlRules) -> Vec<Self> {
        let mut persisted: Vec<_> = rules.persisted.iter().collect();
        persisted.sort_by_key(|(key, _)| *key);
        let persisted = persisted.into_iter().map(|(key, root)| Grant::Persisted(key, root));
        rules.allow.iter().map(Grant::Operation).chain(persisted).collect()
    }

    fn of_body(endpoint: &'a Endpoint, rules: &'a BodyRules) -> Vec<Self> {
        match &rules.rules {
            OperationRules::Graphql(rules) => Grant::of_graphql(rules),
            OperationRules::JsonRpc(rules) => rules.allow.iter().map(Grant::Call).collect(),
            OperationRules::Mcp(own) => {
                let mut grants: Vec<_> = own.allow.iter().map(Grant::Tool).collect();
                if own.other != OtherMethods::NeedRule {
                    grants.push(Grant::OtherMethods(own.other));
                }
                if endpoint.takes(rules.protocol(), "DELETE") {
                    grants.push(Grant::SessionEnd);
                }
                grants
            }
        }
    }

    /// The rule that says so.
    pub(super) fn label(&self) -> Option<RuleLabel> {
        match self {
            Grant::Requests(rule) => Some(rule.label),
            Grant::Operation(rule) => Some(rule.label),
            Grant::Call(rule) => Some(rule.label),
            Grant::Tool(rule) => Some(rule.label),
            Grant::Unread | Grant::Messages | Grant::Bodies | Grant::Persisted(..) | Grant::OtherMethods(_) | Grant::SessionEnd => None,
        }
    }

    /// A preset is several rules at one place.
    pub(super) fn is_of_one_preset_with(&self, other: &Self) -> bool {
        self.label().is_some_and(|own| other.label() == Some(own))
    }
}
