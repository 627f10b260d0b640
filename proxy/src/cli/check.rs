//! `tollgate check`: what is wrong with policies, or with the operator's file.
//!
//! The words are those of `run` and of a reload: the same loader, the same rail and payment findings.

mod checked;
mod operator;
mod report;

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{CliError, Exit};
use checked::Checked;
use operator::Operator;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Human,
    Json,
    Sarif,
}

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Policies; a file named `tollgate.yaml` is read as the operator's file, and the policies are checked against it
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// For reading, or one document for machines
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
}

pub(super) fn run(Arguments { files, format }: &Arguments) -> Result<Exit, CliError> {
    let report = match format {
        Format::Human => report::human,
        Format::Json => report::json,
        Format::Sarif => return Err(CliError::NotSupportedYet("`--format sarif`")),
    };
    let operator = Operator::among(files);
    let checked: Vec<Checked> = files.iter().map(|file| Checked::of(file, &operator)).collect();
    report(&checked);
    Ok(checked.iter().map(|checked| checked.exit).max().unwrap_or(Exit::Yes))
}

#[cfg(test)]
mod tests;
