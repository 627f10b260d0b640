//! `tollgate schema`: the JSON Schema of a file, for completion and hover in an editor.

use clap::{Args, ValueEnum};
use serde_json::Value;
use tollgate_policy::schema::{self, MiddlewareConfig};

use super::{Exit, output};
use crate::gate::payment;
use crate::gate::stanzas::MIDDLEWARE;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Document {
    /// policy.yaml
    Policy,
}

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The file
    #[arg(value_enum, value_name = "FILE")]
    document: Document,
}

pub(super) fn run(Arguments { document }: Arguments) -> Exit {
    match document {
        Document::Policy => output::result(text(&policy())),
    }
    Exit::Yes
}

fn policy() -> Value {
    schema::json(&[MiddlewareConfig {
        middleware: MIDDLEWARE,
        schema: payment::schema::stanza(),
    }])
}

fn text(schema: &Value) -> String {
    format!("{schema:#}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Run with `UPDATE_EXPECTED=1` to write it anew.
    #[test]
    fn the_published_schema_is_the_one_that_is_printed() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../policy/schema/policy.schema.json");
        let printed = text(&policy()) + "\n";
        if std::env::var_os("UPDATE_EXPECTED").is_some() {
            std::fs::write(file, &printed).unwrap();
        }
        assert_eq!(
            std::fs::read_to_string(file).unwrap(),
            printed,
            "policy/schema/policy.schema.json has drifted"
        );
    }
}
