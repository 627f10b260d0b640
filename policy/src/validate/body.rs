//! Endpoints of the protocols that are told apart by their bodies: what they have in common.

use super::{graphql, json_rpc, lists, mcp, pattern};
use crate::diagnostic::{Code, Diagnostics, Position};
use crate::document::{At, BodySection, EndpointSection};
use crate::matcher::EndpointPath;
use crate::operation::{BodyProtocol, BodyReading, ToolNames};
use crate::policy::{BodyRules, OperationRules, Tls, Traffic};

/// What a body may have where nothing else is written.
pub(crate) const DEFAULT_LIMIT: usize = 65_536;

pub(super) fn compile(section: &mut EndpointSection, protocol: BodyProtocol, tls: Tls, found: &mut Diagnostics) -> Option<Traffic> {
    lists::refuse_tls_skip(section, tls, found);
    let options = &section.body;
    let max_body_bytes = match protocol {
        BodyProtocol::Graphql => options.graphql.max_body_bytes.as_ref(),
        BodyProtocol::JsonRpc => options.json_rpc.as_ref().and_then(|options| options.max_body_bytes.as_ref()),
        BodyProtocol::Mcp => options.mcp.as_ref().and_then(|options| options.max_body_bytes.as_ref()),
    };
    let limit = limit(max_body_bytes, found);
    let tool_names = mcp::tool_names(options.mcp.as_ref());
    let rules = match protocol {
        BodyProtocol::Graphql => graphql::compile(section, found).map(OperationRules::Graphql),
        BodyProtocol::JsonRpc => json_rpc::compile(section, found).map(OperationRules::JsonRpc),
        BodyProtocol::Mcp => mcp::compile(section, found).map(OperationRules::Mcp),
    };
    Some(Traffic::Body(BodyRules {
        reading: BodyReading {
            protocol,
            limit: limit?,
            tool_names: if protocol == BodyProtocol::Mcp {
                tool_names
            } else {
                ToolNames::Strict
            },
        },
        rules: rules?,
        path: any_case(section),
    }))
}

/// What is wrong with the path is reported where it is read; until then it is every path.
fn any_case(section: &EndpointSection) -> EndpointPath {
    let text = section.path.as_ref().map_or("", |path| path.value.as_str());
    EndpointPath::parse(&pattern::canonical(text).to_ascii_lowercase()).unwrap_or(EndpointPath::Any)
}

fn limit(bytes: Option<&At<i64>>, found: &mut Diagnostics) -> Option<usize> {
    let Some(bytes) = bytes else { return Some(DEFAULT_LIMIT) };
    match u32::try_from(bytes.value) {
        Ok(limit) if limit > 0 => usize::try_from(limit).ok(),
        _ => {
            let message = format!("{} is no size of a body", bytes.value);
            found.error(
                Code::InvalidBodyLimit,
                bytes.at,
                message,
                "write a number of bytes from 1 to 4294967295",
            );
            None
        }
    }
}

/// Options of another protocol than the endpoint's.
pub(super) fn check_options(options: &BodySection, protocol: Option<&str>, found: &mut Diagnostics) {
    let Some(protocol) = protocol else { return };
    let BodySection { graphql, json_rpc, mcp } = options;
    let graphql = [
        ("graphql_max_body_bytes", graphql.max_body_bytes.as_ref().map(|value| value.at)),
        ("persisted_queries", graphql.persisted_queries.as_ref().map(|value| value.at)),
        ("graphql_persisted_queries", graphql.registry.as_ref().map(|value| value.at)),
    ];
    for (name, at) in graphql {
        // Messages of a WebSocket may hold persisted queries too, and have a limit of their own.
        if protocol != "graphql" && (protocol != "websocket" || name == "graphql_max_body_bytes") {
            ignored(name, at, found);
        }
    }
    if protocol != "json-rpc" {
        ignored("json_rpc", json_rpc.as_ref().map(|options| options.at), found);
    }
    if let Some(options) = mcp.as_ref().filter(|_| protocol != "mcp") {
        found.error(
            Code::OptionNotForProtocol,
            options.at,
            "`mcp` belongs to `protocol: mcp`",
            "write `protocol: mcp`, or remove it",
        );
    }
}

/// Options for persisted queries on a WebSocket whose rules are not about operations.
pub(super) fn refuse_persisted_queries(options: &BodySection, found: &mut Diagnostics) {
    let graphql = &options.graphql;
    ignored("persisted_queries", graphql.persisted_queries.as_ref().map(|value| value.at), found);
    ignored("graphql_persisted_queries", graphql.registry.as_ref().map(|value| value.at), found);
}

fn ignored(name: &str, at: Option<Position>, found: &mut Diagnostics) {
    if let Some(at) = at {
        let message = format!("`{name}` is of no effect for this protocol");
        found.warn(Code::OptionNotForProtocol, at, message, "remove it");
    }
}
