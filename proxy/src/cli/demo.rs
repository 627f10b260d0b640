//! `tollgate demo`: origin, seller, rail and proxy on loopback, and what the three rules do with them.

use clap::Args;

use super::{CliError, Exit};

#[derive(Debug, Args)]
pub(super) struct Arguments {}

pub(super) fn run(_: Arguments) -> Result<Exit, CliError> {
    Err(CliError::NotSupportedYet("`tollgate demo`"))
}
