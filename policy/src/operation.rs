//! What a request asks for in its body: GraphQL operations, JSON-RPC calls, MCP tools.
//!
//! In: a body that was held and decoded, and what of its head changes its meaning. Out: one [`Operation`] for each thing it asks for, to
//! be judged one by one; or why the body has no single meaning, which is never softened by audit mode. Only names get in here, never
//! arguments or variables, so that an operation may be written down.

mod document;
mod envelope;
mod error;
mod json_rpc;
mod look_alike;
mod mcp;
mod media;
mod parameters;
mod socket;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use document::document;
pub use envelope::envelope;
pub use error::OperationError;
pub use look_alike::folds_to;
pub(crate) use mcp::is_strict as is_strict_tool_name;
pub use media::Media;
pub use socket::{GRAPHQL_SUBPROTOCOLS, SocketMessage, socket_message};

use crate::json::{self, Value};

/// Nesting that no honest request has; `serde_json` gives up at 128.
const MAX_DEPTH: u8 = 100;
/// Operations of one batch that are looked at: judging them takes time, and the body limit may be raised.
const MAX_OPERATIONS: usize = 1024;

/// A protocol whose requests are told apart by their bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BodyProtocol {
    /// GraphQL over HTTP.
    Graphql,
    /// JSON-RPC 2.0 over HTTP.
    JsonRpc,
    /// The streamable HTTP transport of MCP.
    Mcp,
}

impl BodyProtocol {
    /// As `protocol` has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            BodyProtocol::Graphql => "graphql",
            BodyProtocol::JsonRpc => "json-rpc",
            BodyProtocol::Mcp => "mcp",
        }
    }
}

impl fmt::Display for BodyProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Which names of MCP tools are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum ToolNames {
    /// `[A-Za-z0-9_.-]{1,128}`.
    #[default]
    Strict,
    /// Any text.
    Any,
}

/// How a body has to be read before it can be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BodyReading {
    /// By which protocol.
    pub protocol: BodyProtocol,
    /// The most bytes that are held, decoded.
    pub limit: usize,
    /// For MCP.
    pub tool_names: ToolNames,
}

/// A request, as far as its operations depend on it.
#[derive(Debug, Clone, Copy)]
pub struct Sent<'a> {
    /// The method as sent.
    pub method: &'a str,
    /// The query as sent, without `?`.
    pub query: Option<&'a str>,
    /// What the body is declared to be.
    pub media: Media,
    /// The whole body, decoded.
    pub body: &'a [u8],
}

impl BodyReading {
    /// Everything that the request asks for; never nothing.
    pub fn read(&self, sent: &Sent<'_>) -> Result<Vec<Operation>, OperationError> {
        if sent.media == Media::Unreadable {
            return Err(OperationError::Media);
        }
        let operations = match self.protocol {
            BodyProtocol::Graphql => envelope::request(sent)?.into_iter().map(Operation::Graphql).collect(),
            BodyProtocol::JsonRpc => json_rpc::request(sent)?.into_iter().map(Operation::JsonRpc).collect(),
            BodyProtocol::Mcp => mcp::request(sent, self.tool_names)?.into_iter().map(Operation::Mcp).collect(),
        };
        within(operations)
    }
}

fn within<T>(operations: Vec<T>) -> Result<Vec<T>, OperationError> {
    match operations.len() {
        0 => Err(OperationError::Empty),
        1..=MAX_OPERATIONS => Ok(operations),
        _ => Err(OperationError::TooMany),
    }
}

/// One thing that a request asks for. Audit lines have it whole: `{"protocol":"mcp","asks":"call","method":"tools/call","tool":"search"}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "protocol", rename_all = "kebab-case")]
pub enum Operation {
    /// By GraphQL.
    Graphql(GraphqlOperation),
    /// By JSON-RPC.
    JsonRpc(JsonRpcMessage),
    /// By MCP.
    Mcp(McpMessage),
}

impl Operation {
    /// The names in it, which the client made up.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let (first, second, more): (Option<&str>, Option<&str>, &[Box<str>]) = match self {
            Operation::Graphql(GraphqlOperation::Document(root)) => (root.name.as_deref(), None, &root.fields),
            Operation::Graphql(GraphqlOperation::Persisted { key }) => (Some(key), None, &[]),
            Operation::JsonRpc(JsonRpcMessage::Call { method }) => (Some(method), None, &[]),
            Operation::Mcp(McpMessage::Call { method, tool }) => (Some(method), tool.as_deref(), &[]),
            Operation::JsonRpc(_) | Operation::Mcp(_) => (None, None, &[]),
        };
        first.into_iter().chain(second).chain(more.iter().map(AsRef::as_ref))
    }

    /// The protocol it was read by.
    pub fn protocol(&self) -> BodyProtocol {
        match self {
            Operation::Graphql(_) => BodyProtocol::Graphql,
            Operation::JsonRpc(_) => BodyProtocol::JsonRpc,
            Operation::Mcp(_) => BodyProtocol::Mcp,
        }
    }
}

/// What a GraphQL operation does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OperationKind {
    /// Reads.
    Query,
    /// Changes.
    Mutation,
    /// Asks to be told.
    Subscription,
}

impl OperationKind {
    /// As a document has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            OperationKind::Query => "query",
            OperationKind::Mutation => "mutation",
            OperationKind::Subscription => "subscription",
        }
    }
}

/// One GraphQL operation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "asks", rename_all = "snake_case")]
pub enum GraphqlOperation {
    /// With its text.
    Document(RootSelection),
    /// By what the server knows its text under.
    Persisted {
        /// A name or a hash.
        key: Box<str>,
    },
}

/// What an operation selects at its root.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RootSelection {
    /// Query, mutation or subscription.
    pub kind: OperationKind,
    /// Its name, if it has one.
    pub name: Option<Box<str>>,
    /// The fields, by their own names and not by aliases, through fragments; sorted, each once.
    pub fields: Box<[Box<str>]>,
}

/// One JSON-RPC message from the client.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "asks", rename_all = "snake_case")]
pub enum JsonRpcMessage {
    /// A request or a notification.
    Call {
        /// Its method.
        method: Box<str>,
    },
    /// An answer to a request of the server.
    Response,
}

/// One message of an MCP client, or what it asks for without one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "asks", rename_all = "snake_case")]
pub enum McpMessage {
    /// A request or a notification.
    Call {
        /// Its method.
        method: Box<str>,
        /// The tool of `tools/call`.
        tool: Option<Box<str>>,
    },
    /// An answer to a request of the server, such as an elicitation.
    Response,
    /// GET: listens for messages of the server.
    Stream,
    /// DELETE: ends the session.
    SessionEnd,
}

/// The longest name, and the most fields, that are written down.
const SHOWN: (usize, usize) = (128, 16);

/// For people and audit lines: names only, bounded, without control characters.
impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operation::Graphql(GraphqlOperation::Document(root)) => root.fmt(f),
            Operation::Graphql(GraphqlOperation::Persisted { key }) => write!(f, "persisted query {}", Shown(key)),
            Operation::JsonRpc(JsonRpcMessage::Call { method }) | Operation::Mcp(McpMessage::Call { method, tool: None }) => {
                Shown(method).fmt(f)
            }
            Operation::Mcp(McpMessage::Call { method, tool: Some(tool) }) => write!(f, "{} {}", Shown(method), Shown(tool)),
            Operation::JsonRpc(JsonRpcMessage::Response) | Operation::Mcp(McpMessage::Response) => f.write_str("response"),
            Operation::Mcp(McpMessage::Stream) => f.write_str("stream"),
            Operation::Mcp(McpMessage::SessionEnd) => f.write_str("session end"),
        }
    }
}

/// `mutation Remove { deleteRepository }`.
impl fmt::Display for RootSelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.as_str())?;
        if let Some(name) = &self.name {
            write!(f, " {}", Shown(name))?;
        }
        f.write_str(" {")?;
        for field in self.fields.iter().take(SHOWN.1) {
            write!(f, " {}", Shown(field))?;
        }
        f.write_str(if self.fields.len() > SHOWN.1 { " … }" } else { " }" })
    }
}

struct Shown<'a>(&'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0.chars();
        for c in rest.by_ref().take(SHOWN.0) {
            write!(f, "{}", if c.is_control() { char::REPLACEMENT_CHARACTER } else { c })?;
        }
        f.write_str(if rest.next().is_some() { "…" } else { "" })
    }
}

/// One strict JSON document.
fn parse(body: &[u8]) -> Result<Value<'_>, OperationError> {
    if body.is_empty() {
        return Err(OperationError::NoBody);
    }
    Ok(json::parse(body, MAX_DEPTH)?)
}
