//! The operator's side of a check: whose bounds and rails the policies are held against.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::gate::rail::Rails;

/// The settings that a policy meets at run time, as far as they are known here.
#[derive(Debug)]
pub(super) struct Operator {
    pub(super) config: Config,
    /// `None` only if the built-in list is broken.
    pub(super) rails: Option<Rails>,
}

impl Operator {
    /// From the first operator's file among the files, if it can be used; else every default. A file that can't be used is reported
    /// as itself.
    pub(super) fn among(files: &[PathBuf]) -> Self {
        let file = files.iter().find(|file| is_operators(file));
        let config = file.and_then(|file| Config::load(Some(file)).ok()).unwrap_or_default();
        let rails = Rails::new(&config.rails).ok();
        Operator { config, rails }
    }
}

/// Whether a file is the operator's, by its name.
pub(super) fn is_operators(path: &Path) -> bool {
    matches!(path.file_name().and_then(OsStr::to_str), Some("tollgate.yaml" | "tollgate.yml"))
}
