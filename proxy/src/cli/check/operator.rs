//! The operator's side of a check: whose bounds and rails the policies are held against.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::cli::CliError;
use crate::config::Config;
use crate::gate::rail::Rails;
use crate::serve::StartError;

/// The settings that a policy meets at run time, as far as they are known here.
#[derive(Debug)]
pub(super) struct Operator {
    /// Where they come from; `None` where every one is the default.
    pub(super) file: Option<PathBuf>,
    pub(super) config: Config,
    pub(super) rails: Rails,
}

impl Operator {
    /// From the first operator's file among the files, if it can be used; else every default. A file that can't be used is reported
    /// as itself.
    pub(super) fn among(files: &[PathBuf]) -> Result<Self, CliError> {
        let usable = |file: &PathBuf| {
            let config = Config::load(Some(file)).ok()?;
            let rails = Rails::new(&config.rails).ok()?;
            Some(Operator {
                file: Some(file.clone()),
                config,
                rails,
            })
        };
        let given = files.iter().find(|file| is_operators(file)).and_then(usable);
        given.map_or_else(Self::of_defaults, Ok)
    }

    /// Its file, as the origin of what stands there.
    pub(super) fn origin(&self) -> String {
        self.file
            .as_ref()
            .map_or_else(|| "tollgate.yaml".to_owned(), |file| file.display().to_string())
    }

    fn of_defaults() -> Result<Self, CliError> {
        let config = Config::default();
        let rails = Rails::new(&config.rails).map_err(StartError::Rails)?;
        Ok(Operator { file: None, config, rails })
    }
}

/// Whether a file is the operator's, by its name.
pub(super) fn is_operators(path: &Path) -> bool {
    matches!(path.file_name().and_then(OsStr::to_str), Some("tollgate.yaml" | "tollgate.yml"))
}
