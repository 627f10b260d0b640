//! `tollgate demo`: origin, seller, rail and proxy on loopback, and what the three rules do with them.

use std::io::IsTerminal as _;

use clap::Args;

use super::{CliError, Exit, output};
use crate::demo::{self, Paint};

const HEAD: &str = "\
Tollgate, on this machine alone: an origin, an x402 seller, a payment rail, and one agent behind the gate
with a throwaway key that pays whatever it is asked to.
";

#[derive(Debug, Args)]
pub(super) struct Arguments {}

pub(super) fn run(_: Arguments) -> Result<Exit, CliError> {
    let report = super::runtime()?.block_on(demo::run())?;
    let colours = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty());
    output::result(HEAD);
    output::verbatim(&report.table(if colours { Paint::Ansi } else { Paint::Plain }));
    Ok(if report.is_as_expected() { Exit::Yes } else { Exit::No })
}
