//! An endpoint.

use super::At;
use super::body::BodySection;
use super::later::{self, LaterField};
use super::matcher::{AllowEntry, MatcherSection};
use super::reader::{MapReader, integer};
use super::tree::Node;
use crate::diagnostic::{Diagnostics, Position, Reading};

#[derive(Debug)]
pub(crate) struct EndpointSection {
    pub(crate) at: Position,
    pub(crate) reading: Reading,
    pub(crate) host: Option<At<String>>,
    pub(crate) port: Option<At<i64>>,
    pub(crate) ports: Option<At<Vec<At<i64>>>>,
    pub(crate) path: Option<At<String>>,
    pub(crate) protocol: Option<At<String>>,
    pub(crate) tls: Option<At<String>>,
    pub(crate) enforcement: Option<At<String>>,
    pub(crate) access: Option<At<String>>,
    pub(crate) rules: Option<At<Vec<AllowEntry>>>,
    pub(crate) deny_rules: Option<At<Vec<MatcherSection>>>,
    pub(crate) allowed_ips: Option<At<Vec<At<String>>>>,
    pub(crate) allow_encoded_slash: bool,
    pub(crate) body: BodySection,
    pub(crate) later: Vec<LaterField>,
}

impl EndpointSection {
    pub(super) fn read(node: Node, found: &mut Diagnostics) -> Option<Self> {
        let (section, reading) = found.watch(|found| Self::read_fields(node, found));
        section.map(|section| EndpointSection { reading, ..section })
    }

    fn read_fields(node: Node, found: &mut Diagnostics) -> Option<Self> {
        let mut map = MapReader::open(node, "an endpoint", found)?;
        let section = EndpointSection {
            at: map.at(),
            reading: Reading::Complete,
            host: map.text("host", found),
            port: map.integer("port", found),
            ports: map.list("ports", found).map(|list| At {
                value: list.value.into_iter().filter_map(|node| integer(&node, "ports", found)).collect(),
                at: list.at,
            }),
            path: map.text("path", found),
            protocol: map.text("protocol", found),
            tls: map.text("tls", found),
            enforcement: map.text("enforcement", found),
            access: map.text("access", found),
            rules: map.list("rules", found).map(|list| At {
                value: list.value.into_iter().filter_map(|node| AllowEntry::read(node, found)).collect(),
                at: list.at,
            }),
            deny_rules: map.list("deny_rules", found).map(|list| At {
                value: list
                    .value
                    .into_iter()
                    .filter_map(|node| MatcherSection::read(node, "a deny rule", found))
                    .collect(),
                at: list.at,
            }),
            allowed_ips: map.texts("allowed_ips", found),
            allow_encoded_slash: map.boolean("allow_encoded_slash", found).is_some_and(|flag| flag.value),
            body: BodySection::read(&mut map, found),
            later: later::read_all(&mut map, found),
        };
        map.finish(found);
        Some(section)
    }
}
