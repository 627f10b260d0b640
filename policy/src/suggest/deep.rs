//! What was asked for at one path beyond the head: operations in bodies, and messages on WebSockets.

use std::collections::{BTreeMap, BTreeSet};

use super::rule::AllowedRequest;
use crate::operation::{BodyProtocol, GraphqlOperation, JsonRpcMessage, McpMessage, Operation, RootSelection};

/// Where an operation was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// In a request: its body, or its target.
    Request,
    /// In a message on a WebSocket.
    Message,
}

/// Everything at one path.
#[derive(Debug, Clone, Default)]
pub(super) struct Deep {
    /// An entry without rules is an endpoint that was used without asking for anything: a stream.
    pub(super) in_requests: BTreeMap<BodyProtocol, Asked>,
    pub(super) in_messages: BTreeSet<AllowedRequest>,
    pub(super) messages: Messages,
}

/// What was asked for by one protocol.
#[derive(Debug, Clone, Default)]
pub(super) struct Asked {
    pub(super) rules: BTreeSet<AllowedRequest>,
    pub(super) odd_tool_names: OddToolNames,
}

/// Whether text messages were sent that are judged as a whole.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Messages {
    #[default]
    NotSeen,
    Seen,
}

/// Whether tools were called whose names `strict_tool_names` refuses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum OddToolNames {
    #[default]
    NotSeen,
    Seen,
}

/// Whether a rule can allow the operation at all.
pub fn is_nameable(operation: &Operation) -> bool {
    match operation {
        // What the server knows by a name is not known here, and answers to calls that nobody made are for no rule to allow.
        Operation::Graphql(GraphqlOperation::Persisted { .. }) | Operation::JsonRpc(JsonRpcMessage::Response) => false,
        Operation::Graphql(GraphqlOperation::Document(_)) | Operation::Mcp(_) => true,
        // In rules it is any.
        Operation::JsonRpc(JsonRpcMessage::Call { method }) => &**method != "*",
    }
}

impl Deep {
    /// Takes a message in, and says how many entries it added.
    pub(super) fn add_message(&mut self) -> usize {
        usize::from(std::mem::replace(&mut self.messages, Messages::Seen) == Messages::NotSeen)
    }

    /// Takes an operation in, and says how many entries it added.
    pub(super) fn add(&mut self, operation: &Operation, carrier: Carrier) -> usize {
        let rule = rule(operation);
        let rules = match carrier {
            Carrier::Message => &mut self.in_messages,
            Carrier::Request => {
                let asked = self.in_requests.entry(operation.protocol()).or_default();
                if let Operation::Mcp(McpMessage::Call { tool: Some(tool), .. }) = operation
                    && !crate::operation::is_strict_tool_name(tool)
                {
                    asked.odd_tool_names = OddToolNames::Seen;
                }
                &mut asked.rules
            }
        };
        rule.map_or(0, |rule| usize::from(rules.insert(rule)))
    }

    pub(super) fn merge(&mut self, other: &Deep) {
        for (protocol, asked) in &other.in_requests {
            let own = self.in_requests.entry(*protocol).or_default();
            own.rules.extend(asked.rules.iter().cloned());
            own.odd_tool_names = own.odd_tool_names.max(asked.odd_tool_names);
        }
        self.in_messages.extend(other.in_messages.iter().cloned());
        self.messages = self.messages.max(other.messages);
    }
}

/// What a rule has to say to allow it; `None` where none is needed.
fn rule(operation: &Operation) -> Option<AllowedRequest> {
    match operation {
        Operation::Graphql(GraphqlOperation::Document(RootSelection { kind, fields, .. })) => Some(AllowedRequest::graphql(*kind, fields)),
        Operation::JsonRpc(JsonRpcMessage::Call { method }) => Some(AllowedRequest::call(method)),
        Operation::Mcp(McpMessage::Call { method, tool }) => Some(AllowedRequest::mcp(method, tool.as_deref())),
        Operation::Graphql(GraphqlOperation::Persisted { .. }) | Operation::JsonRpc(JsonRpcMessage::Response) | Operation::Mcp(_) => None,
    }
}

/// Without those that another one covers: `{ a }` beside `{ a b }`.
pub(super) fn smallest(rules: &BTreeSet<AllowedRequest>) -> Vec<AllowedRequest> {
    let covered = |rule: &&AllowedRequest| rules.iter().any(|other| other != *rule && other.covers(rule));
    rules.iter().filter(|rule| !covered(rule)).cloned().collect()
}
