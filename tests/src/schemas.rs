//! The published JSON Schemas of what Tollgate reads and writes. Every test that starts it holds its files against them.

use std::path::Path;
use std::sync::LazyLock;

use jsonschema::Validator;
use serde_json::Value;

static CONFIG: LazyLock<Validator> = LazyLock::new(|| published("config"));
static AUDIT: LazyLock<Validator> = LazyLock::new(|| published("audit"));

fn published(name: &str) -> Validator {
    let file = format!("../proxy/schema/{name}.schema.json");
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    jsonschema::draft7::options()
        .should_validate_formats(true)
        .build(&serde_json::from_str(&text).unwrap())
        .unwrap()
}

/// What the schema of tollgate.yaml has against a configuration.
pub fn against_config(config: &Value) -> Vec<String> {
    against(&CONFIG, config)
}

/// What the schema of audit lines has against one.
pub fn against_audit_line(line: &Value) -> Vec<String> {
    against(&AUDIT, line)
}

fn against(validator: &Validator, document: &Value) -> Vec<String> {
    let errors = validator.iter_errors(document);
    errors.map(|error| format!("{}: {error}", error.instance_path())).collect()
}
