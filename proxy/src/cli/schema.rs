//! `tollgate schema`: the JSON Schema of a file, for completion and hover in an editor, and of an audit line, for those who read them.

mod audit;

use clap::{Args, ValueEnum};
use serde_json::Value;
use tollgate_policy::schema::{self, MiddlewareConfig};

use super::{Exit, output};
use crate::config;
use crate::gate::payment;
use crate::gate::stanzas::MIDDLEWARE;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Document {
    /// policy.yaml
    Policy,
    /// tollgate.yaml
    Config,
    /// A line of the audit trail
    Audit,
}

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// What it is the schema of
    #[arg(value_enum, value_name = "DOCUMENT")]
    document: Document,
}

pub(super) fn run(Arguments { document }: Arguments) -> Exit {
    output::result(document.text());
    Exit::Yes
}

impl Document {
    fn text(self) -> String {
        format!("{:#}", self.schema())
    }

    fn schema(self) -> Value {
        match self {
            Document::Policy => schema::json(&[MiddlewareConfig {
                middleware: MIDDLEWARE,
                schema: payment::schema::stanza(),
            }]),
            Document::Config => config::schema::json(),
            Document::Audit => audit::json(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// Run with `UPDATE_EXPECTED=1` to write them anew.
    #[test]
    fn the_published_schemas_are_those_that_are_printed() {
        for (document, published) in [
            (Document::Policy, "policy/schema/policy.schema.json"),
            (Document::Config, "proxy/schema/config.schema.json"),
            (Document::Audit, "proxy/schema/audit.schema.json"),
        ] {
            let file = format!("{}/../{published}", env!("CARGO_MANIFEST_DIR"));
            jsonschema::draft7::new(&document.schema()).unwrap();
            let printed = document.text() + "\n";
            if std::env::var_os("UPDATE_EXPECTED").is_some() {
                std::fs::write(&file, &printed).unwrap();
            }
            assert_eq!(std::fs::read_to_string(file).unwrap(), printed, "{published} has drifted");
        }
    }
}
