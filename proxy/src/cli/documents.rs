//! The two files that most commands read.

use std::path::{Path, PathBuf};

use clap::Args;

use super::CliError;
use crate::config::Config;
use crate::serve::Settings;

/// `--policy` and `--config`.
#[derive(Debug, Clone, Args)]
pub struct Documents {
    /// The policy: what may leave; a folder stands for its *.yaml. May be repeated: rules are joined by their keys
    #[arg(long, value_name = "FILE|FOLDER", required = true)]
    pub policy: Vec<PathBuf>,
    /// The operator's settings; every one has a default
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

impl Documents {
    /// Reads the operator's file.
    pub fn load_config(&self) -> Result<Config, CliError> {
        Ok(Config::load(self.config.as_deref())?)
    }

    /// Reads the operator's file, and says where everything is.
    pub fn settings(&self) -> Result<Settings, CliError> {
        let directory = self.config.as_deref().and_then(Path::parent).unwrap_or(Path::new("")).to_owned();
        Ok(Settings {
            policy: self.policy.clone().into(),
            config: self.load_config()?,
            directory,
        })
    }
}
