//! The published JSON Schema against real policies: what loads is valid, and what an editor can know to be wrong is not.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::path::Path;

use jsonschema::Validator;
use serde_json::Value;

use crate::broken::{fixtures, rendered};
use tollgate_policy::Code;

fn validator() -> Validator {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/policy.schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    jsonschema::draft7::new(&schema).unwrap()
}

/// `None` where it is no YAML that has a meaning in JSON.
fn document(path: &Path) -> Option<Value> {
    serde_saphyr::from_str(&std::fs::read_to_string(path).ok()?).ok()
}

/// What editors are told by the schema. The rest takes the loader: hosts, globs, overlaps.
const KNOWN_TO_THE_SCHEMA: [Code; 12] = [
    Code::UnknownKey,
    Code::MissingKey,
    Code::WrongType,
    Code::UnsupportedVersion,
    Code::InvalidLandlock,
    Code::MissingPort,
    Code::InvalidPort,
    Code::UnknownProtocol,
    Code::InvalidTls,
    Code::UnknownEnforcement,
    Code::UnknownAccess,
    Code::AccessWithRules,
];

#[test]
fn what_loads_is_valid() {
    let validator = validator();
    let mut seen = 0;
    for path in ["good", "warned"].iter().flat_map(|folder| fixtures(folder)) {
        let document = document(&path).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&document)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{}: {errors:#?}", path.display());
        seen += 1;
    }
    assert!(seen >= 7);
}

#[test]
fn what_an_editor_can_know_to_be_wrong_is_invalid() {
    let validator = validator();
    let mut seen = std::collections::BTreeSet::new();
    for path in fixtures("broken").into_iter().filter(|path| path.is_file()) {
        let Some(document) = document(&path) else { continue };
        let codes: Vec<Code> = rendered(&path).1.diagnostics.iter().map(|diagnostic| diagnostic.code).collect();
        let known: Vec<Code> = codes.into_iter().filter(|code| KNOWN_TO_THE_SCHEMA.contains(code)).collect();
        if !known.is_empty() {
            assert!(!validator.is_valid(&document), "{} is valid, but has {known:?}", path.display());
            seen.extend(known);
        }
    }
    assert_eq!(seen.len(), KNOWN_TO_THE_SCHEMA.len(), "only {seen:?} were seen");
}

#[test]
fn every_repository_example_is_valid() {
    let validator = validator();
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../README.md")).unwrap();
    let mut seen = 0;
    for block in readme.split("```yaml\n").skip(1) {
        let text = block.split("```").next().unwrap();
        if !text.contains("version: 1\n") {
            continue;
        }
        let document: Value = serde_saphyr::from_str(text).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&document)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{text}\n{errors:#?}");
        seen += 1;
    }
    assert!(seen >= 2);
}
