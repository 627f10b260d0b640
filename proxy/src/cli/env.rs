//! `tollgate env`: the environment that makes clients use the proxy and trust its certificate.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{CliError, Exit};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Sh,
    Dotenv,
    Json,
}

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// For a POSIX shell's `eval`, for env files, or one JSON object
    #[arg(long, value_enum, default_value = "sh")]
    format: Format,
    /// The folder of the file that `tollgate run` names as `ca=…` when it is ready
    #[arg(long, value_name = "DIR")]
    ca_dir: Option<PathBuf>,
    /// The proxy, as its clients reach it
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:3128")]
    proxy: String,
}

pub(super) fn run(_arguments: &Arguments) -> Result<Exit, CliError> {
    Err(CliError::NotSupportedYet("`tollgate env`"))
}
