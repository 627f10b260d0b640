//! `audit:`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, de::Error as _};

use crate::audit::Output;

/// Where audit lines go.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AuditConfig {
    /// A file, or `-` for standard output; when it is not written, the command decides.
    #[serde(rename = "path", deserialize_with = "output")]
    pub output: Option<Output>,
}

impl AuditConfig {
    pub(super) fn resolve(&mut self, base: &Path) {
        if let Some(Output::File(path)) = &mut self.output {
            *path = base.join(&*path);
        }
    }
}

fn output<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Output>, D::Error> {
    match String::deserialize(deserializer)?.as_str() {
        "" => Err(D::Error::custom("expected a file, or `-` for standard output")),
        "-" => Ok(Some(Output::Stdout)),
        path => Ok(Some(Output::File(PathBuf::from(path)))),
    }
}
