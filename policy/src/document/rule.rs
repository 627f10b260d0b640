//! `network_policies`.

use super::At;
use super::endpoint::EndpointSection;
use super::reader::{MapReader, entries};
use super::tree::Node;
use crate::diagnostic::{Diagnostics, Reading};

#[derive(Debug)]
pub(crate) struct RuleSection {
    pub(crate) key: At<String>,
    pub(crate) reading: Reading,
    pub(crate) endpoints: Vec<EndpointSection>,
    pub(crate) binaries: Vec<BinaryEntry>,
}

#[derive(Debug)]
pub(crate) struct BinaryEntry {
    pub(crate) path: At<String>,
    /// Deprecated, and of no effect.
    pub(crate) harness: Option<At<bool>>,
}

pub(super) fn read_all(node: Node, found: &mut Diagnostics) -> Vec<RuleSection> {
    let Some(entries) = entries(node, "network_policies", found) else {
        return Vec::new();
    };
    entries
        .into_iter()
        .filter_map(|(key, node)| RuleSection::read(key, node, found))
        .collect()
}

impl RuleSection {
    fn read(key: At<String>, node: Node, found: &mut Diagnostics) -> Option<Self> {
        let (section, reading) = found.watch(|found| Self::read_fields(key, node, found));
        section.map(|section| RuleSection { reading, ..section })
    }

    fn read_fields(key: At<String>, node: Node, found: &mut Diagnostics) -> Option<Self> {
        let mut map = MapReader::open(node, "a rule", found)?;
        // Denials and events name the key, which is unique; the name is OpenShell's.
        let _ = map.text("name", found);
        let endpoints = map.list("endpoints", found).map(|list| list.value).unwrap_or_default();
        let binaries = map.list("binaries", found).map(|list| list.value).unwrap_or_default();
        map.finish(found);
        Some(RuleSection {
            key,
            reading: Reading::Complete,
            endpoints: endpoints
                .into_iter()
                .filter_map(|node| EndpointSection::read(node, found))
                .collect(),
            binaries: binaries.into_iter().filter_map(|node| BinaryEntry::read(node, found)).collect(),
        })
    }
}

impl BinaryEntry {
    fn read(node: Node, found: &mut Diagnostics) -> Option<Self> {
        let mut map = MapReader::open(node, "a binary", found)?;
        let path = map
            .required("path", found)
            .and_then(|node| super::reader::text(node, "path", found));
        let harness = map.boolean("harness", found);
        map.finish(found);
        Some(BinaryEntry { path: path?, harness })
    }
}
