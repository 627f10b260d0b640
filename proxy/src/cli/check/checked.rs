//! One file, and what there is to say about it.

use std::ffi::OsStr;
use std::path::Path;

use serde::Serialize;

use crate::cli::Exit;
use crate::config::{Config, ConfigError};

/// Whether a finding keeps the file from being used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Severity {
    Error,
}

/// One finding, in the stable machine form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) severity: Severity,
    pub(super) code: String,
    /// From 1; 1 where the file as a whole is meant.
    pub(super) line: u64,
    /// From 1, in characters.
    pub(super) column: u64,
    pub(super) message: String,
    pub(super) hint: Option<String>,
    /// As a person reads it.
    #[serde(skip)]
    pub(super) printed: String,
}

impl From<ConfigError> for Finding {
    fn from(error: ConfigError) -> Self {
        let printed = error.to_string();
        let (line, column) = error.position.unwrap_or((1, 1));
        Finding {
            severity: Severity::Error,
            code: error.code.to_owned(),
            line,
            column,
            message: error.message,
            hint: error.hint,
            printed,
        }
    }
}

/// One file.
#[derive(Debug, Serialize)]
pub(super) struct Checked {
    pub(super) file: String,
    pub(super) diagnostics: Vec<Finding>,
    #[serde(skip)]
    pub(super) exit: Exit,
}

impl Checked {
    pub(super) fn of(path: &Path) -> Self {
        let name = path.file_name().and_then(OsStr::to_str);
        if matches!(name, Some("tollgate.yaml" | "tollgate.yml")) {
            Self::config(path)
        } else {
            Self::policy(path)
        }
    }

    fn config(path: &Path) -> Self {
        let (diagnostics, exit) = match Config::load(Some(path)) {
            Ok(_) => (Vec::new(), Exit::Yes),
            Err(error) => {
                let exit = if error.is_unreadable() { Exit::Unusable } else { Exit::No };
                (vec![Finding::from(error)], exit)
            }
        };
        Checked {
            file: path.display().to_string(),
            diagnostics,
            exit,
        }
    }

    fn policy(path: &Path) -> Self {
        let error = ConfigError::whole_file(path, "not-supported-yet", "policies can't be checked yet".into());
        Checked {
            file: path.display().to_string(),
            diagnostics: vec![error.into()],
            exit: Exit::Unusable,
        }
    }
}
