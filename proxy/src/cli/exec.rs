//! `tollgate exec`: the proxy, and one command behind it.

use std::ffi::OsString;

use clap::Args;

use super::{CliError, Documents, Exit};

#[derive(Debug, Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    documents: Documents,
    /// The command and its arguments
    #[arg(last = true, required = true, num_args = 1.., value_names = ["COMMAND", "ARG"])]
    command: Vec<OsString>,
}

pub(super) fn run(Arguments { documents, command }: Arguments) -> Result<Exit, CliError> {
    let _config = documents.load_config()?;
    drop(command);
    Err(CliError::NotSupportedYet("`tollgate exec`"))
}
