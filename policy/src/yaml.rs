//! How every YAML file of the product is read: one strict way, so that no file can mean one thing here and another to its author's tools.

use serde_saphyr::{DuplicateKeyPolicy, Options};

use crate::load::Limits;

/// No anchors, aliases, merges, foreign tags, `yes` for `true`, octal numbers, second documents or deep nesting.
///
/// Errors come without an excerpt of the source, which may hold secrets.
#[must_use]
pub fn strict(limits: Limits, duplicate_keys: DuplicateKeyPolicy) -> Options {
    let budget = serde_saphyr::budget! {
        max_reader_input_bytes: Some(limits.bytes),
        max_aliases: 0,
        max_anchors: 0,
        max_depth: 32,
        max_nodes: limits.nodes,
        max_events: limits.nodes.saturating_mul(4),
        max_documents: 1,
        max_merge_keys: 0,
    };
    serde_saphyr::options! {
        budget: budget,
        strict_booleans: true,
        legacy_octal_numbers: false,
        reject_unsupported_tags: true,
        duplicate_keys: duplicate_keys,
        with_snippet: false,
    }
}
