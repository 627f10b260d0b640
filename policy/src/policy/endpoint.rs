//! An endpoint, compiled.

use std::sync::Arc;

use serde::Serialize;

use super::{BodyRules, EndpointId, OperationRules, OtherMethods, RestRules, RuleId, SocketRules};
use crate::address::AddressScope;
use crate::diagnostic::Position;
use crate::host::Host;
use crate::matcher::{EndpointPath, HostPattern};
use crate::operation::{BodyProtocol, BodyReading};
use crate::path::EncodedSlash;

/// How the traffic is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// Not at all: host, port and binary decide (`protocol` left out).
    L4,
    /// HTTP requests by method, path and query.
    Rest,
    /// The same, and each text message of a client on a WebSocket.
    #[serde(rename = "websocket")]
    WebSocket,
    /// HTTP requests by the GraphQL operations in them.
    Graphql,
    /// HTTP requests by the JSON-RPC calls in them.
    JsonRpc,
    /// HTTP requests by the MCP methods and tools in them.
    Mcp,
}

impl From<BodyProtocol> for Protocol {
    fn from(protocol: BodyProtocol) -> Self {
        match protocol {
            BodyProtocol::Graphql => Protocol::Graphql,
            BodyProtocol::JsonRpc => Protocol::JsonRpc,
            BodyProtocol::Mcp => Protocol::Mcp,
        }
    }
}

/// What happens to TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tls {
    /// Terminated wherever it is spoken.
    Auto,
    /// Never terminated.
    Skip,
}

/// What a denial by method, path, query or deny rule means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Enforcement {
    /// Log and forward.
    Audit,
    /// Refuse.
    Enforce,
}

/// How an endpoint judges requests.
#[derive(Debug)]
pub(crate) enum Traffic {
    /// Whatever is sent passes.
    L4,
    /// By the head.
    Rest(RestRules),
    /// By the head, and each text message after an upgrade.
    WebSocket(SocketRules),
    /// By the body.
    Body(BodyRules),
}

impl Traffic {
    /// The rules by method, path and query, where there are any.
    pub(crate) fn rules(&self) -> Option<&RestRules> {
        match self {
            Traffic::L4 | Traffic::Body(_) => None,
            Traffic::Rest(rules) | Traffic::WebSocket(SocketRules { head: rules, .. }) => Some(rules),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) id: EndpointId,
    pub(crate) rule: RuleId,
    pub(crate) rule_key: Arc<str>,
    /// `None`: any host on these ports (`allowed_ips` decides).
    pub(crate) host: Option<HostPattern>,
    /// Sorted.
    pub(crate) ports: Box<[u16]>,
    pub(crate) path: EndpointPath,
    pub(crate) tls: Tls,
    pub(crate) enforcement: Enforcement,
    pub(crate) encoded_slash: EncodedSlash,
    pub(crate) addresses: AddressScope,
    pub(crate) traffic: Traffic,
    pub(crate) at: Position,
    /// The name of the file that `at` is in, in a policy of several.
    pub(crate) file: Option<Arc<str>>,
}

impl Endpoint {
    pub(crate) fn protocol(&self) -> Protocol {
        match &self.traffic {
            Traffic::L4 => Protocol::L4,
            Traffic::Rest(_) => Protocol::Rest,
            Traffic::WebSocket(_) => Protocol::WebSocket,
            Traffic::Body(rules) => rules.protocol().into(),
        }
    }

    /// How bodies are read, where they are.
    pub(crate) fn reading(&self) -> Option<&BodyReading> {
        match &self.traffic {
            Traffic::Body(rules) => Some(&rules.reading),
            Traffic::L4 | Traffic::Rest(_) | Traffic::WebSocket(_) => None,
        }
    }

    /// What MCP methods without a rule may do here, whether or not its rules are about tools.
    pub(crate) fn other_methods(&self) -> Option<OtherMethods> {
        match &self.traffic {
            Traffic::Body(BodyRules {
                rules: OperationRules::Mcp(rules),
                ..
            }) => Some(match rules.other {
                OtherMethods::NeedRule => OtherMethods::NeedRule,
                OtherMethods::Pass | OtherMethods::PassWithoutTools => OtherMethods::Pass,
            }),
            _ => None,
        }
    }

    /// Whether a request of this method can be one of the protocol. DELETE ends a session only at a path that is said to be the
    /// server's: without one, it would reach everything on the host.
    pub(crate) fn takes(&self, protocol: BodyProtocol, method: &str) -> bool {
        match (protocol, method) {
            (_, "POST") | (BodyProtocol::Graphql | BodyProtocol::Mcp, "GET") => true,
            (BodyProtocol::Mcp, "DELETE") => self.path != EndpointPath::Any,
            _ => false,
        }
    }

    /// Whether requests are judged one by one.
    pub(crate) fn is_read(&self) -> bool {
        !matches!(self.traffic, Traffic::L4)
    }

    pub(crate) fn keeps_encoded_slash(&self) -> bool {
        self.encoded_slash == EncodedSlash::Keep
    }

    /// A line of the endpoint, as texts speak of it.
    pub(crate) fn place(&self, line: u32) -> String {
        match &self.file {
            None => format!("line {line}"),
            Some(file) => format!("{file}:{line}"),
        }
    }

    /// The host as written; `*` stands for any host in texts.
    pub(crate) fn host_text(&self) -> &str {
        self.host.as_ref().map_or("*", HostPattern::as_str)
    }
}

/// An endpoint for those who look at a policy as a whole: lints, `check`, `show`.
#[derive(Debug, Clone, Copy)]
pub struct EndpointView<'a> {
    /// The rule's key.
    pub rule: &'a str,
    /// The host; `None` where the endpoint names only addresses.
    pub host: Option<&'a HostPattern>,
    /// The ports, ascending.
    pub ports: &'a [u16],
    /// How the traffic is read.
    pub protocol: Protocol,
    /// What happens to TLS.
    pub tls: Tls,
    /// Audit or enforce.
    pub enforcement: Enforcement,
    /// The addresses it tolerates.
    pub addresses: &'a AddressScope,
    /// Where it stands in the file.
    pub at: Position,
}

impl<'a> EndpointView<'a> {
    pub(super) fn new(endpoint: &'a Endpoint) -> Self {
        EndpointView {
            rule: &endpoint.rule_key,
            host: endpoint.host.as_ref(),
            ports: &endpoint.ports,
            protocol: endpoint.protocol(),
            tls: endpoint.tls,
            enforcement: endpoint.enforcement,
            addresses: &endpoint.addresses,
            at: endpoint.at,
        }
    }

    /// Whether a connection to this host and port can match the endpoint.
    pub fn covers(&self, host: &Host, port: u16) -> bool {
        self.ports.binary_search(&port).is_ok() && self.host.is_none_or(|pattern| pattern.matches(host))
    }
}
