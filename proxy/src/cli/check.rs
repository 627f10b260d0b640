//! `tollgate check`: what is wrong with policies, or with the operator's file.
//!
//! The words are those of `run` and of a reload: the same loader, the same rail and payment findings.

mod checked;
mod effective;
mod links;
mod operator;
mod report;
mod sarif;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tollgate_policy::Style;

use super::{CliError, Exit, output};
use crate::serve::PolicyPaths;
use checked::Checked;
use operator::{Operator, is_operators};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Human,
    Json,
    Sarif,
}

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Policies, each by itself; a folder is one policy, joined from its *.yaml. A file named `tollgate.yaml` is read as the operator's
    /// file, and the policies are checked against it
    #[arg(value_name = "FILE|FOLDER", required_unless_present = "policy")]
    files: Vec<PathBuf>,
    /// Files and folders that are one policy, as for `run`; may be repeated
    #[arg(long, value_name = "FILE|FOLDER")]
    policy: Vec<PathBuf>,
    /// For reading, or one document for machines
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
    /// Print the policy as the gate has it: every key with where its value comes from, and what holds besides the policy
    #[arg(long, conflicts_with = "format")]
    effective: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, CliError> {
    let Arguments {
        files,
        policy,
        format,
        effective,
    } = arguments;
    let style = match format {
        Format::Human => output::style(),
        Format::Json | Format::Sarif => Style::Plain,
    };
    let operator = Operator::among(files)?;
    let checked = check(files, policy, &operator, style);
    let exit = worst(&checked);
    match format {
        Format::Human if *effective => {
            report::findings(&checked);
            if exit == Exit::Yes {
                output::verbatim(&effective::document(&policies(files, policy), &operator)?);
            }
        }
        Format::Human => report::human(&checked),
        Format::Json => report::json(&checked),
        Format::Sarif => output::result(sarif::document(&checked)),
    }
    Ok(exit)
}

fn check(files: &[PathBuf], joined: &[PathBuf], operator: &Operator, style: Style) -> Vec<Checked> {
    let mut checked: Vec<Checked> = Vec::new();
    for file in files {
        if is_operators(file) {
            checked.push(Checked::config(file));
        } else {
            checked.extend(Checked::policy(&file.clone().into(), operator, style));
        }
    }
    if !joined.is_empty() {
        checked.extend(Checked::policy(&joined.to_vec().into(), operator, style));
    }
    checked
}

/// Each file by itself, and those that are one policy.
fn policies(files: &[PathBuf], joined: &[PathBuf]) -> Vec<PolicyPaths> {
    let mut policies: Vec<PolicyPaths> = files
        .iter()
        .filter(|file| !is_operators(file))
        .map(|file| file.clone().into())
        .collect();
    if !joined.is_empty() {
        policies.push(joined.to_vec().into());
    }
    policies
}

fn worst(checked: &[Checked]) -> Exit {
    checked.iter().map(|checked| checked.exit).max().unwrap_or(Exit::Yes)
}

#[cfg(test)]
mod tests;
