//! One file, and what there is to say about it.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use serde::Serialize;
use tollgate_policy::{Diagnostic, Severity};

use super::operator::{Operator, is_operators};
use crate::cli::Exit;
use crate::config::{Config, ConfigError};
use crate::gate::lints;
use crate::gate::stanzas::Stanzas;

/// One byte more than a policy may have, so that the loader can say that it has too many.
const LARGEST: u64 = (1 << 20) + 1;

/// One finding, in the stable machine form.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) severity: Severity,
    pub(super) code: &'static str,
    /// From 1; 1 where the file as a whole is meant.
    pub(super) line: u32,
    /// From 1, in characters.
    pub(super) column: u32,
    pub(super) message: String,
    pub(super) hint: Option<String>,
    /// As a person reads it.
    #[serde(skip)]
    pub(super) printed: String,
}

impl Finding {
    fn new(diagnostic: Diagnostic, file: &str, source: &str) -> Self {
        Finding {
            printed: diagnostic.render(file, source),
            severity: diagnostic.severity,
            code: diagnostic.code.as_str(),
            line: diagnostic.line,
            column: diagnostic.column,
            message: diagnostic.message,
            hint: diagnostic.hint,
        }
    }
}

impl From<ConfigError> for Finding {
    fn from(error: ConfigError) -> Self {
        let (line, column) = error.position.unwrap_or((1, 1));
        Finding {
            printed: error.to_string(),
            severity: Severity::Error,
            code: error.code,
            line,
            column,
            message: error.message,
            hint: error.hint.map(String::from),
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
    pub(super) fn of(path: &Path, operator: &Operator) -> Self {
        let file = path.display().to_string();
        let (diagnostics, exit) = if is_operators(path) {
            config(path)
        } else {
            match read(path) {
                Ok(source) => policy(&file, &source, operator),
                Err(error) => refused(ConfigError::unreadable(path, &error)),
            }
        };
        Checked { file, diagnostics, exit }
    }
}

fn config(path: &Path) -> (Vec<Finding>, Exit) {
    match Config::load(Some(path)) {
        Ok(_) => (Vec::new(), Exit::Yes),
        Err(error) => refused(error),
    }
}

fn refused(error: ConfigError) -> (Vec<Finding>, Exit) {
    let exit = if error.is_unreadable() { Exit::Unusable } else { Exit::No };
    (vec![error.into()], exit)
}

fn policy(file: &str, source: &str, operator: &Operator) -> (Vec<Finding>, Exit) {
    let stanzas = Stanzas {
        operator: &operator.config.payments,
    };
    let loaded = tollgate_policy::load(source, &stanzas);
    let exit = if loaded.policy.is_some() { Exit::Yes } else { Exit::No };
    let lints = loaded.policy.iter().zip(&operator.rails);
    let lints = lints.flat_map(|(policy, rails)| lints::findings(policy, rails));
    let mut found: Vec<Diagnostic> = loaded.diagnostics.into_iter().chain(lints).collect();
    found.sort_by_key(|diagnostic| (diagnostic.line, diagnostic.column, diagnostic.severity));
    (
        found.into_iter().map(|diagnostic| Finding::new(diagnostic, file, source)).collect(),
        exit,
    )
}

fn read(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST).read_to_end(&mut bytes)?;
    // Cutting the file may cut a character.
    match String::from_utf8(bytes) {
        Ok(source) => Ok(source),
        Err(error) if error.as_bytes().len() as u64 == LARGEST => Ok(String::from_utf8_lossy(error.as_bytes()).into_owned()),
        Err(_) => Err(io::Error::other("the file is not UTF-8")),
    }
}
