//! The document: what the file says, with the place of every value, before anybody asks whether it makes sense.
//!
//! In: YAML text. Out: a [`Document`] of typed fields, and a finding for every unknown key, repeated key and wrong type; all of
//! them at once, as the tree is read by hand and not by derived code that stops at the first.

mod body;
mod endpoint;
mod join;
mod later;
mod matcher;
mod middleware;
pub(crate) mod raw;
pub(crate) mod reader;
mod rule;
mod sandbox;
mod tree;

use crate::diagnostic::{Diagnostics, Position};
use crate::load::Limits;
use crate::source::{SourceId, Sources};

pub(crate) use body::{BodySection, GraphqlSection, McpSection, PersistedSection};
pub(crate) use endpoint::EndpointSection;
pub(crate) use later::{LaterField, LaterWhy};
pub(crate) use matcher::{AllowEntry, GlobValue, MatcherSection, ParamsSection, QueryEntry};
pub(crate) use middleware::MiddlewareSection;
pub(crate) use rule::{BinaryEntry, RuleSection};
pub(crate) use sandbox::{FilesystemSection, LandlockSection, ProcessSection};
pub(crate) use tree::{Node, Value};

/// A value and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct At<T> {
    pub(crate) value: T,
    pub(crate) at: Position,
}

/// The file, typed.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) at: Position,
    /// One for each file.
    pub(crate) versions: Vec<At<i64>>,
    pub(crate) filesystem: Option<At<FilesystemSection>>,
    pub(crate) landlock: Option<At<LandlockSection>>,
    pub(crate) process: Option<At<ProcessSection>>,
    pub(crate) rules: Vec<RuleSection>,
    pub(crate) middlewares: Vec<MiddlewareSection>,
}

/// The files as trees, for those who show them and do not judge them; `None` where one is no YAML.
pub(crate) fn trees(sources: &Sources, limits: Limits, found: &mut Diagnostics) -> Option<Vec<Node>> {
    sources
        .iter()
        .map(|(id, source)| tree::parse(id, source.text(), limits, found))
        .collect()
}

/// Reads the text; `None` where there is no document to go on with.
pub(crate) fn read(file: SourceId, text: &str, limits: Limits, found: &mut Diagnostics) -> Option<Document> {
    let root = tree::parse(file, text, limits, found)?;
    let mut map = reader::MapReader::open(root, "the policy", found)?;
    let version = map
        .required("version", found)
        .and_then(|node| reader::integer(&node, "version", found));
    let versions = version.into_iter().collect();
    let filesystem = section(map.take("filesystem_policy"), |node| FilesystemSection::read(node, found));
    let landlock = section(map.take("landlock"), |node| LandlockSection::read(node, found));
    let process = section(map.take("process"), |node| ProcessSection::read(node, found));
    let rules = map
        .take("network_policies")
        .map(|node| rule::read_all(node, found))
        .unwrap_or_default();
    let middlewares = map
        .take("network_middlewares")
        .map(|node| middleware::read_all(node, found))
        .unwrap_or_default();
    let at = map.at();
    map.finish(found);
    Some(Document {
        at,
        versions,
        filesystem,
        landlock,
        process,
        rules,
        middlewares,
    })
}

fn section<T>(node: Option<Node>, read: impl FnOnce(Node) -> Option<T>) -> Option<At<T>> {
    let node = node?;
    let at = node.at;
    read(node).map(|value| At { value, at })
}
