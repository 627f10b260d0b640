//! `filesystem_policy`, `landlock`, `process`.

use super::At;
use super::reader::{MapReader, wrong_type};
use super::tree::{Node, Value};
use crate::diagnostic::Diagnostics;

#[derive(Debug)]
pub(crate) struct FilesystemSection {
    pub(crate) include_workdir: bool,
    pub(crate) read_only: Vec<At<String>>,
    pub(crate) read_write: Vec<At<String>>,
}

impl FilesystemSection {
    pub(super) fn read(node: Node, found: &mut Diagnostics) -> Option<Self> {
        let mut map = MapReader::open(node, "filesystem_policy", found)?;
        let section = FilesystemSection {
            include_workdir: map.boolean("include_workdir", found).is_some_and(|flag| flag.value),
            read_only: map.texts("read_only", found).map(|list| list.value).unwrap_or_default(),
            read_write: map.texts("read_write", found).map(|list| list.value).unwrap_or_default(),
        };
        map.finish(found);
        Some(section)
    }
}

#[derive(Debug)]
pub(crate) struct LandlockSection {
    pub(crate) compatibility: Option<At<String>>,
}

impl LandlockSection {
    pub(super) fn read(node: Node, found: &mut Diagnostics) -> Option<Self> {
        let mut map = MapReader::open(node, "landlock", found)?;
        let compatibility = map.text("compatibility", found);
        map.finish(found);
        Some(LandlockSection { compatibility })
    }
}

#[derive(Debug)]
pub(crate) struct ProcessSection {
    pub(crate) run_as_user: Option<At<String>>,
    pub(crate) run_as_group: Option<At<String>>,
}

impl ProcessSection {
    pub(super) fn read(node: Node, found: &mut Diagnostics) -> Option<Self> {
        let mut map = MapReader::open(node, "process", found)?;
        let section = ProcessSection {
            run_as_user: identity(map.take("run_as_user"), "run_as_user", found),
            run_as_group: identity(map.take("run_as_group"), "run_as_group", found),
        };
        map.finish(found);
        Some(section)
    }
}

/// A name or a number, with or without quotes.
fn identity(node: Option<Node>, key: &'static str, found: &mut Diagnostics) -> Option<At<String>> {
    let node = node?;
    let value = match &node.value {
        Value::Text(text) => text.clone(),
        Value::Integer(number) => number.to_string(),
        _ => return wrong_type(&node, key, "`sandbox` or a number", found),
    };
    Some(At { value, at: node.at })
}
