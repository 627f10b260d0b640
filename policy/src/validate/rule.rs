//! Network rules.

use std::sync::Arc;

use super::{endpoint, lint};
use crate::diagnostic::{Code, Diagnostics};
use crate::document::{BinaryEntry, RuleSection};
use crate::policy::{Binaries, Binary, Endpoint, EndpointId, Rule, RuleId};

/// Rules that OpenShell composes itself from provider profiles.
const RESERVED_PREFIX: &str = "_provider_";

/// Rules sorted by key, and their endpoints numbered in that order.
pub(super) fn compile(mut sections: Vec<RuleSection>, found: &mut Diagnostics) -> (Vec<Rule>, Vec<Endpoint>) {
    sections.sort_by(|a, b| a.key.value.cmp(&b.key.value));
    let mut rules = Vec::with_capacity(sections.len());
    let mut endpoints: Vec<Endpoint> = Vec::new();
    for (index, section) in sections.into_iter().enumerate() {
        let mut own = Diagnostics::default();
        check(&section, &mut own);
        lint::rule(&section, &mut own);
        found.append(own, section.reading);
        let id = RuleId(u32::try_from(index).unwrap_or(u32::MAX));
        let key: Arc<str> = section.key.value.as_str().into();
        let file: Option<Arc<str>> = found.file_of(section.key.at).map(Arc::from);
        for endpoint in section.endpoints {
            let Some(parts) = endpoint::compile(endpoint, found) else {
                continue;
            };
            endpoints.push(Endpoint {
                id: EndpointId(u32::try_from(endpoints.len()).unwrap_or(u32::MAX)),
                rule: id,
                rule_key: Arc::clone(&key),
                file: file.clone(),
                ..parts
            });
        }
        let listed = section.binaries.iter();
        let listed = listed.map(|binary| (binary.path.value.as_str().into(), binary.path.at)).collect();
        let binaries = section
            .binaries
            .into_iter()
            .filter_map(|binary| compile_binary(binary, found))
            .collect();
        rules.push(Rule {
            key,
            binaries: Binaries::new(binaries),
            listed,
        });
    }
    (rules, endpoints)
}

fn check(section: &RuleSection, found: &mut Diagnostics) {
    let (key, at) = (&section.key.value, section.key.at);
    if key.is_empty() {
        found.error(Code::InvalidRuleName, at, "a rule needs a key that names it", "");
    }
    if key.starts_with(RESERVED_PREFIX) {
        let message = format!("keys that begin with `{RESERVED_PREFIX}` are reserved");
        found.error(Code::InvalidRuleName, at, message, "give the rule another key");
    }
    if section.endpoints.is_empty() {
        let message = format!("rule `{key}` lists no endpoint and never matches");
        found.warn(Code::NoEndpoints, at, message, "list hosts and ports under `endpoints`");
    }
    if section.binaries.is_empty() {
        let message = format!("rule `{key}` lists no binary and never matches");
        found.warn(Code::NoBinaries, at, message, "list binaries, or `- path: \"/**\"` for any");
    }
}

fn compile_binary(binary: BinaryEntry, found: &mut Diagnostics) -> Option<Binary> {
    if let Some(harness) = binary.harness {
        found.warn(Code::Deprecated, harness.at, "`harness` has no effect", "remove it");
    }
    let (path, at) = (&binary.path.value, binary.path.at);
    if !path.starts_with('/') && !path.starts_with("**") {
        let message = format!("`{path}` is not absolute and never matches");
        found.warn(Code::RelativeBinary, at, message, "write the resolved path, such as /usr/bin/curl");
    }
    match Binary::parse(path) {
        Ok(binary) => Some(binary),
        Err(error) => {
            found.error(Code::InvalidGlob, at, format!("the binary's path: {error}"), "");
            None
        }
    }
}
