//! `network_middlewares`.

use super::At;
use super::reader::{MapReader, entries, text};
use super::tree::Node;
use crate::diagnostic::{Diagnostics, Position};

#[derive(Debug)]
pub(crate) struct MiddlewareSection {
    pub(crate) key: At<String>,
    pub(crate) at: Position,
    pub(crate) name: Option<At<String>>,
    pub(crate) middleware: Option<At<String>>,
    pub(crate) order: Option<At<i64>>,
    pub(crate) config: Option<Node>,
    pub(crate) on_error: Option<At<String>>,
    pub(crate) on_uninspectable: Option<At<String>>,
    /// Whether `endpoints` is there and could be read.
    pub(crate) has_endpoints: bool,
    pub(crate) include: Option<At<Vec<At<String>>>>,
    pub(crate) exclude: Option<At<Vec<At<String>>>>,
}

pub(super) fn read_all(node: Node, found: &mut Diagnostics) -> Vec<MiddlewareSection> {
    let entries = entries(node, "network_middlewares", found).unwrap_or_default();
    entries
        .into_iter()
        .filter_map(|(key, node)| MiddlewareSection::read(key, node, found))
        .collect()
}

impl MiddlewareSection {
    fn read(key: At<String>, node: Node, found: &mut Diagnostics) -> Option<Self> {
        let mut map = MapReader::open(node, "a middleware", found)?;
        let at = map.at();
        let name = map.text("name", found);
        let middleware = map.required("middleware", found).and_then(|node| text(node, "middleware", found));
        let order = map.integer("order", found);
        let config = map.take("config");
        let on_error = map.text("on_error", found);
        let on_uninspectable = map.text("on_uninspectable", found);
        let endpoints = map.required("endpoints", found);
        let selectors = endpoints.and_then(|node| selectors(node, found));
        let has_endpoints = selectors.is_some();
        let (include, exclude) = selectors.unwrap_or_default();
        map.finish(found);
        Some(MiddlewareSection {
            key,
            at,
            name,
            middleware,
            order,
            config,
            on_error,
            on_uninspectable,
            has_endpoints,
            include,
            exclude,
        })
    }
}

type Selectors = (Option<At<Vec<At<String>>>>, Option<At<Vec<At<String>>>>);

fn selectors(node: Node, found: &mut Diagnostics) -> Option<Selectors> {
    let mut map = MapReader::open(node, "the endpoints of a middleware", found)?;
    let include = map.texts("include", found);
    let exclude = map.texts("exclude", found);
    map.finish(found);
    Some((include, exclude))
}
