//! `tollgate inside`: what `tollgate exec --isolate` starts itself as, in order to become the command. Not for users.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

use super::{CliError, Exit};
use crate::isolation;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The socket of the process that started us
    #[arg(long)]
    channel: PathBuf,
    /// The listener's port on loopback
    #[arg(long)]
    port: u16,
    /// The command and its arguments
    #[arg(last = true, required = true, num_args = 1..)]
    command: Vec<OsString>,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, CliError> {
    let Some((program, rest)) = arguments.command.split_first() else {
        return Err(CliError::Usage("no command".to_owned()));
    };
    match isolation::enter(&arguments.channel, arguments.port, program, rest) {
        Ok(source) => Err(CliError::Command {
            program: program.display().to_string(),
            source,
        }),
        // Whoever started us has been told, and says it.
        Err(_) => Ok(Exit::Unusable),
    }
}
