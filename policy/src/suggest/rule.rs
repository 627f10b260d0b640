//! Rules as they are proposed: serialised, an entry of `network_policies`.

use serde::Serialize;

use super::adopt::Adopted;
use super::deep::OddToolNames;
use crate::matcher::literal_glob;
use crate::operation::{OperationKind, ToolNames};
use crate::path::EncodedSlash;
use crate::policy::{Enforcement, OtherMethods, Protocol, Tls};
use crate::validate::DEFAULT_LIMIT;

/// One new rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuggestedRule {
    /// Its key.
    pub key: String,
    /// What stands under the key.
    pub entry: SuggestedEntry,
    /// What an author should know before taking it over.
    pub stands: Vec<Stands>,
}

/// Why a rule is wider than the requests that were seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stands {
    /// Nobody looked who was calling.
    AnyProgram,
    /// Only the connection was seen, and no request in it.
    ConnectionOnly,
    /// Bytes that are not HTTP were seen.
    Bytes,
    /// The program connected, and is given what the others were seen to request.
    Borrowed,
    /// The policy's own endpoints for the host only audit.
    Audits,
    /// A server's stream was used, and its calls are not in the audit lines.
    StreamsOnly,
}

/// The value of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SuggestedEntry {
    /// Where to.
    pub endpoints: Vec<SuggestedEndpoint>,
    /// Who.
    pub binaries: Vec<SuggestedBinary>,
}

/// A program.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct SuggestedBinary {
    /// Its path, or `/**` for any.
    pub path: String,
}

/// A host on one or several ports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SuggestedEndpoint {
    /// Exact.
    pub host: String,
    #[serde(flatten)]
    ports: Ports,
    #[serde(skip_serializing_if = "Option::is_none")]
    tls: Option<Tls>,
    #[serde(flatten)]
    requests: Option<Requests>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    allowed_ips: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Ports {
    Port(u16),
    Ports(Vec<u16>),
}

/// What may be requested, where requests are read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Requests {
    protocol: Protocol,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    enforcement: Enforcement,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    allow_encoded_slash: bool,
    #[serde(flatten)]
    options: Options,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rules: Vec<AllowedRequest>,
}

/// Options of the body protocols, where they are not the usual ones.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Options {
    #[serde(skip_serializing_if = "Option::is_none")]
    graphql_max_body_bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    json_rpc: Option<BodyOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mcp: Option<BodyOptions>,
}

/// Of `json_rpc` and `mcp`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct BodyOptions {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_body_bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict_tool_names: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    allow_all_known_mcp_methods: Option<bool>,
}

/// One entry of `rules`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct AllowedRequest {
    allow: Matcher,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
enum Matcher {
    Head {
        method: String,
        path: String,
    },
    Operation {
        operation_type: OperationKind,
        fields: Vec<String>,
    },
    Call {
        method: String,
    },
    Tool {
        method: String,
        tool: String,
    },
}

impl AllowedRequest {
    pub(super) fn new(method: &str, path: String) -> Self {
        let method = method.to_owned();
        let allow = Matcher::Head { method, path };
        AllowedRequest { allow }
    }

    pub(super) fn graphql(operation_type: OperationKind, fields: &[Box<str>]) -> Self {
        let fields = fields.iter().map(|field| literal_glob(field)).collect();
        let allow = Matcher::Operation { operation_type, fields };
        AllowedRequest { allow }
    }

    /// JSON-RPC methods are no globs.
    pub(super) fn call(method: &str) -> Self {
        let method = method.to_owned();
        let allow = Matcher::Call { method };
        AllowedRequest { allow }
    }

    pub(super) fn mcp(method: &str, tool: Option<&str>) -> Self {
        let method = literal_glob(method);
        let allow = match tool.map(literal_glob) {
            None => Matcher::Call { method },
            Some(tool) => Matcher::Tool { method, tool },
        };
        AllowedRequest { allow }
    }

    pub(super) fn by_path(&self) -> (&str, &str) {
        match &self.allow {
            Matcher::Head { method, path } => (path, method),
            _ => ("", ""),
        }
    }

    /// Whether it allows all that the other one does.
    pub(super) fn covers(&self, other: &Self) -> bool {
        match (&self.allow, &other.allow) {
            (
                Matcher::Operation { operation_type, fields },
                Matcher::Operation {
                    operation_type: other_type,
                    fields: other_fields,
                },
            ) => operation_type == other_type && other_fields.iter().all(|field| fields.contains(field)),
            (own, other) => own == other,
        }
    }
}

/// An endpoint without its host and ports: what is the same for several of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Body {
    /// `None`: whatever is sent.
    pub(super) requests: Option<Reading>,
    pub(super) encoded_slash: EncodedSlash,
    pub(super) adopted: Adopted,
}

/// How requests are read, and what may be requested.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Reading {
    pub(super) protocol: Protocol,
    /// `None`: any.
    pub(super) path: Option<String>,
    pub(super) odd_tool_names: OddToolNames,
    pub(super) rules: Vec<AllowedRequest>,
}

impl Reading {
    fn options(&self, adopted: &Adopted) -> Options {
        let reading = adopted.reading.filter(|_| adopted.protocol == Some(self.protocol));
        let limit = reading.map(|reading| reading.limit).filter(|limit| *limit != DEFAULT_LIMIT);
        let any_name = reading.map_or(self.odd_tool_names == OddToolNames::Seen, |reading| {
            reading.tool_names == ToolNames::Any
        });
        let mcp = BodyOptions {
            max_body_bytes: limit,
            strict_tool_names: any_name.then_some(false),
            allow_all_known_mcp_methods: (reading.is_some() && adopted.other_methods == Some(OtherMethods::Pass)).then_some(true),
        };
        let mcp = Some(mcp).filter(|options| *options != BodyOptions::default());
        match self.protocol {
            Protocol::Graphql => Options {
                graphql_max_body_bytes: limit,
                ..Options::default()
            },
            Protocol::JsonRpc => Options {
                json_rpc: mcp,
                ..Options::default()
            },
            Protocol::Mcp => Options { mcp, ..Options::default() },
            Protocol::L4 | Protocol::Rest | Protocol::WebSocket => Options::default(),
        }
    }
}

impl SuggestedEndpoint {
    pub(super) fn new(host: &str, ports: Vec<u16>, body: Body) -> Self {
        let Body {
            requests,
            encoded_slash,
            adopted,
        } = body;
        SuggestedEndpoint {
            host: host.to_owned(),
            ports: match *ports {
                [port] => Ports::Port(port),
                _ => Ports::Ports(ports),
            },
            tls: (adopted.tls == Tls::Skip).then_some(Tls::Skip),
            requests: requests.map(|reading| Requests {
                protocol: reading.protocol,
                enforcement: adopted.enforcement,
                allow_encoded_slash: adopted.encoded_slash.unwrap_or(encoded_slash) == EncodedSlash::Keep,
                options: reading.options(&adopted),
                path: reading.path,
                rules: reading.rules,
            }),
            allowed_ips: adopted.allowed_ips,
        }
    }
}
