//! One file, and what there is to say about it.

use std::path::Path;

use serde::Serialize;
use tollgate_policy::{Diagnostic, Severity, Sources, Style};

use super::links;
use super::operator::Operator;
use crate::cli::Exit;
use crate::config::{Config, ConfigError, Remark};
use crate::gate::stanzas::Stanzas;
use crate::serve::{Judged, PolicyPaths, Unreadable};

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
    /// The column after the offending part.
    #[serde(skip)]
    pub(super) end_column: u32,
    /// As a person reads it.
    #[serde(skip)]
    pub(super) printed: String,
}

impl Finding {
    fn new(diagnostic: &Diagnostic, sources: &Sources, style: Style) -> Self {
        Finding {
            severity: diagnostic.severity,
            code: diagnostic.code.as_str(),
            line: diagnostic.line,
            column: diagnostic.column,
            message: diagnostic.message.clone(),
            hint: diagnostic.hint.clone(),
            end_column: sources.end_column(diagnostic),
            printed: sources.render(diagnostic, style),
        }
    }
}

impl Finding {
    /// About the operator's file as a whole.
    fn remark(file: &str, remark: Remark) -> Self {
        let Remark { code, message, hint } = remark;
        Finding {
            severity: Severity::Warning,
            code,
            line: 1,
            column: 1,
            end_column: 2,
            printed: format!("{file}: warning[{code}]: {message}\nhint: {hint}"),
            message: message.to_owned(),
            hint: Some(hint.to_owned()),
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
            end_column: column.saturating_add(1),
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
    /// The operator's file.
    pub(super) fn config(path: &Path) -> Self {
        let file = path.display().to_string();
        match Config::load(Some(path)) {
            Ok(config) => Checked {
                diagnostics: config.remarks().into_iter().map(|remark| Finding::remark(&file, remark)).collect(),
                file,
                exit: Exit::Yes,
            },
            Err(error) => Checked::refused(error),
        }
    }

    /// A policy, file by file.
    pub(super) fn policy(paths: &PolicyPaths, operator: &Operator, style: Style) -> Vec<Self> {
        let sources = match paths.read() {
            Ok(sources) => sources,
            Err(Unreadable { path, source }) => return vec![Checked::refused(ConfigError::unreadable(&path, &source))],
        };
        let stanzas = Stanzas {
            operator: &operator.config.payments,
        };
        let mut judged = Judged::of(&sources, stanzas, &operator.rails);
        judged.add(judged.policy.iter().flat_map(links::findings).collect());
        let exit = if judged.policy.is_some() { Exit::Yes } else { Exit::No };
        let of_file = |id| judged.findings.iter().filter(move |finding| finding.source == id);
        let files = sources.iter().map(|(id, source)| Checked {
            file: source.name().to_owned(),
            diagnostics: of_file(id).map(|finding| Finding::new(finding, &sources, style)).collect(),
            exit,
        });
        files.collect()
    }

    fn refused(error: ConfigError) -> Self {
        let exit = if error.is_unreadable() { Exit::Unusable } else { Exit::No };
        Checked {
            file: error.file.display().to_string(),
            diagnostics: vec![error.into()],
            exit,
        }
    }
}
