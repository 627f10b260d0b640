//! Endpoint options of the protocols that are told apart by their bodies.

use super::At;
use super::reader::{MapReader, entries};
use super::tree::Node;
use crate::diagnostic::{Diagnostics, Position};

/// All of them; which of them mean something, the protocol says.
#[derive(Debug, Default)]
pub(crate) struct BodySection {
    pub(crate) graphql: GraphqlSection,
    pub(crate) json_rpc: Option<JsonRpcSection>,
    pub(crate) mcp: Option<McpSection>,
}

#[derive(Debug, Default)]
pub(crate) struct GraphqlSection {
    pub(crate) max_body_bytes: Option<At<i64>>,
    pub(crate) persisted_queries: Option<At<String>>,
    pub(crate) registry: Option<RegistrySection>,
}

/// `graphql_persisted_queries`.
#[derive(Debug)]
pub(crate) struct RegistrySection {
    pub(crate) at: Position,
    pub(crate) queries: Vec<PersistedSection>,
}

/// What the server knows by a name.
#[derive(Debug)]
pub(crate) struct PersistedSection {
    pub(crate) key: At<String>,
    pub(crate) at: Position,
    pub(crate) operation_type: Option<At<String>>,
    pub(crate) operation_name: Option<At<String>>,
    pub(crate) fields: Option<At<Vec<At<String>>>>,
}

#[derive(Debug)]
pub(crate) struct JsonRpcSection {
    pub(crate) at: Position,
    pub(crate) max_body_bytes: Option<At<i64>>,
}

#[derive(Debug)]
pub(crate) struct McpSection {
    pub(crate) at: Position,
    pub(crate) max_body_bytes: Option<At<i64>>,
    pub(crate) strict_tool_names: Option<At<bool>>,
    pub(crate) allow_all_known_mcp_methods: Option<At<bool>>,
}

impl BodySection {
    pub(super) fn read(map: &mut MapReader, found: &mut Diagnostics) -> Self {
        BodySection {
            graphql: GraphqlSection {
                max_body_bytes: map.integer("graphql_max_body_bytes", found),
                persisted_queries: map.text("persisted_queries", found).filter(|text| !text.value.is_empty()),
                registry: map
                    .take("graphql_persisted_queries")
                    .and_then(|node| RegistrySection::read(node, found)),
            },
            json_rpc: map.take("json_rpc").and_then(|node| JsonRpcSection::read(node, found)),
            mcp: map.take("mcp").and_then(|node| McpSection::read(node, found)),
        }
    }
}

impl RegistrySection {
    fn read(node: Node, found: &mut Diagnostics) -> Option<Self> {
        let at = node.at;
        let queries = entries(node, "graphql_persisted_queries", found)?;
        let read = |(key, node)| PersistedSection::read(key, node, found);
        Some(RegistrySection {
            at,
            queries: queries.into_iter().filter_map(read).collect(),
        })
    }
}

impl PersistedSection {
    fn read(key: At<String>, node: Node, found: &mut Diagnostics) -> Option<Self> {
        let mut map = MapReader::open(node, "a persisted query", found)?;
        let section = PersistedSection {
            key,
            at: map.at(),
            operation_type: map.text("operation_type", found),
            operation_name: map.text("operation_name", found),
            fields: map.texts("fields", found),
        };
        map.finish(found);
        Some(section)
    }
}

impl JsonRpcSection {
    fn read(node: Node, found: &mut Diagnostics) -> Option<Self> {
        let mut map = MapReader::open(node, "json_rpc", found)?;
        let section = JsonRpcSection {
            at: map.at(),
            max_body_bytes: map.integer("max_body_bytes", found),
        };
        map.finish(found);
        Some(section)
    }
}

impl McpSection {
    fn read(node: Node, found: &mut Diagnostics) -> Option<Self> {
        let mut map = MapReader::open(node, "mcp", found)?;
        let section = McpSection {
            at: map.at(),
            max_body_bytes: map.integer("max_body_bytes", found),
            strict_tool_names: map.boolean("strict_tool_names", found),
            allow_all_known_mcp_methods: map.boolean("allow_all_known_mcp_methods", found),
        };
        map.finish(found);
        Some(section)
    }
}
