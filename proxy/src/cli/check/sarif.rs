//! Findings as SARIF 2.1.0, which code hosts show beside the lines of a change.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use serde::Serialize;
use tollgate_policy::{Code, Severity};
use url::Url;

use super::checked::{Checked, Finding};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Log<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run<'a> {
    tool: Tool,
    /// As our columns count.
    column_kind: &'static str,
    results: Vec<Outcome<'a>>,
}

#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    semantic_version: &'static str,
    rules: Vec<Rule>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    id: &'static str,
    short_description: Message,
}

#[derive(Serialize)]
struct Message {
    text: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome<'a> {
    rule_id: &'a str,
    rule_index: usize,
    level: Severity,
    message: Message,
    locations: [Location; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    physical_location: PhysicalLocation,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    region: Region,
}

#[derive(Serialize)]
struct ArtifactLocation {
    uri: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u32,
    start_column: u32,
    end_column: u32,
}

/// One run with all files.
pub(super) fn document(files: &[Checked]) -> String {
    let summaries: BTreeMap<&'static str, &'static str> = Code::ALL.iter().map(|code| (code.as_str(), code.summary())).collect();
    let found = files.iter().flat_map(|checked| &checked.diagnostics);
    let mut ids: Vec<&'static str> = found.map(|finding| finding.code).collect();
    ids.sort_unstable();
    ids.dedup();
    let results = files
        .iter()
        .flat_map(|checked| checked.diagnostics.iter().map(|finding| outcome(&checked.file, finding, &ids)))
        .collect();
    let rules = ids.iter().map(|id| Rule {
        id,
        short_description: Message {
            // The operator's file has findings of its own, whose names speak for themselves.
            text: summaries
                .get(id)
                .map_or_else(|| id.replace('-', " "), |summary| (*summary).to_owned()),
        },
    });
    let log = Log {
        schema: SCHEMA,
        version: "2.1.0",
        runs: [Run {
            tool: Tool {
                driver: Driver {
                    name: "tollgate",
                    semantic_version: env!("CARGO_PKG_VERSION"),
                    rules: rules.collect(),
                },
            },
            column_kind: "unicodeCodePoints",
            results,
        }],
    };
    // Texts and numbers only: nothing that JSON can't hold.
    serde_json::to_string_pretty(&log).unwrap_or_default()
}

fn outcome<'a>(file: &str, finding: &'a Finding, ids: &[&'static str]) -> Outcome<'a> {
    let hint = finding.hint.as_ref().map(|hint| format!("\n{hint}"));
    Outcome {
        rule_id: finding.code,
        rule_index: ids.binary_search(&finding.code).unwrap_or_default(),
        level: finding.severity,
        message: Message {
            text: format!("{}{}", finding.message, hint.unwrap_or_default()),
        },
        locations: [Location {
            physical_location: PhysicalLocation {
                artifact_location: ArtifactLocation { uri: uri(file) },
                region: Region {
                    start_line: finding.line,
                    start_column: finding.column,
                    end_column: finding.end_column,
                },
            },
        }],
    }
}

/// A relative path stays relative: code hosts take it from the root of the repository, where checks are run.
fn uri(file: &str) -> String {
    let path = Path::new(file);
    if path.is_absolute() {
        return Url::from_file_path(path).map_or_else(|()| file.to_owned(), Into::into);
    }
    let Ok(mut url) = Url::parse("file:///") else {
        return file.to_owned();
    };
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.clear();
        for component in path.components() {
            if let Component::Normal(part) = component {
                segments.push(&part.to_string_lossy());
            }
        }
    }
    let climbs = path.components().filter(|component| *component == Component::ParentDir).count();
    format!("{}{}", "../".repeat(climbs), url.path().trim_start_matches('/'))
}
