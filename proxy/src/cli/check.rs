//! `tollgate check`: what is wrong with a policy, or with the operator's file.

mod checked;
mod report;

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{CliError, Exit};
use checked::Checked;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Human,
    Json,
    Sarif,
}

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Policies; a file named `tollgate.yaml` is read as the operator's file
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// For reading, or one document for machines
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

pub(super) fn run(Arguments { files, format }: &Arguments) -> Result<Exit, CliError> {
    if *format == Format::Sarif {
        return Err(CliError::NotSupportedYet("`--format sarif`"));
    }
    let checked: Vec<Checked> = files.iter().map(|file| Checked::of(file)).collect();
    match format {
        Format::Json => report::json(&checked),
        Format::Human | Format::Sarif => report::human(&checked),
    }
    Ok(checked.iter().map(|checked| checked.exit).max().unwrap_or(Exit::Yes))
}
